//! What is counted of reconciles and of the process.

use std::time::Duration;

use coxswain_cluster::metrics::Registry;
use prometheus::{
    GaugeVec, Histogram, HistogramVec, IntCounter, IntGauge, process_collector::ProcessCollector,
};

/// A label of which all values are known, so that its series can begin at 0: of one that is born at 1, Prometheus sees no
/// increase.
const OUTCOMES: [&str; 3] = ["ok", "failed", "panicked"];

/// All instruments of this crate.
pub struct ReconcileMetrics {
    info: GaugeVec,
    reconciles: HistogramVec,
    panics: IntCounter,
    queue_wait: Histogram,
    queue_depth: IntGauge,
}

impl ReconcileMetrics {
    /// Fresh instruments in `registry`, beside those of Prometheus' own for the process.
    pub fn new(registry: &Registry) -> prometheus::Result<Self> {
        let metrics = Self {
            info: registry.gauges(
                "coxswain_info",
                "1. Version, and the namespace that the operator looks at; `*`: all",
                &["version", "watches"],
            )?,
            reconciles: registry.histograms(
                "coxswain_reconcile_seconds",
                "Seconds that reconciles of jobs took. Outcome: `ok`, `failed` (is tried again), `panicked`",
                &["outcome"],
            )?,
            panics: registry.counter(
                "coxswain_reconcile_panics_total",
                "Reconciles that ended in a panic: faults of the operator",
            )?,
            queue_wait: registry.histogram(
                "coxswain_queue_wait_seconds",
                "Seconds that jobs were due before a reconcile took them",
            )?,
            queue_depth: registry.int_gauge("coxswain_queue_depth", "Jobs due or running")?,
        };
        for outcome in OUTCOMES {
            metrics.reconciles.with_label_values(&[outcome]);
        }
        registry.register(Box::new(ProcessCollector::for_self()))?;
        Ok(metrics)
    }

    /// The namespace that this process looks at; none is all.
    pub fn looks_at(&self, namespace: Option<&str>) {
        self.info.with_label_values(&[env!("CARGO_PKG_VERSION"), namespace.unwrap_or("*")]).set(1.0);
    }

    /// A reconcile is over.
    pub fn reconcile_finished(&self, outcome: &str, elapsed: Duration) {
        self.reconciles.with_label_values(&[outcome]).observe(elapsed.as_secs_f64());
    }

    /// A reconcile ended in a panic.
    pub fn reconcile_panicked(&self) {
        self.panics.inc();
    }

    /// A job was given to a reconcile after this long.
    pub fn queue_waited(&self, waited: Duration) {
        self.queue_wait.observe(waited.as_secs_f64());
    }

    /// Length of the queue, read when scraped.
    pub fn queued(&self, jobs: usize) {
        self.queue_depth.set(i64::try_from(jobs).unwrap_or(i64::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_begin_at_zero_and_the_process_is_counted() {
        let registry = Registry::default();
        ReconcileMetrics::new(&registry).unwrap();

        let text = registry.text().unwrap();

        for series in [
            r#"coxswain_reconcile_seconds_count{outcome="panicked"} 0"#,
            "coxswain_reconcile_panics_total 0",
            "process_resident_memory_bytes ",
            "process_cpu_seconds_total ",
            "process_open_fds ",
        ] {
            assert!(text.contains(series), "{series} is missing in {text}");
        }
    }
}
