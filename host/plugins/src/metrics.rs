//! What plugins cost, do wrong and serve, as metrics. Series of a component go when it does.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use coxswain_model::pin::{Digest, Pin};
use coxswain_sandbox::{Break, Call, Function, Observer, Plugin};
use prometheus::{HistogramVec, IntCounterVec, IntGaugeVec, core::Collector, exponential_buckets};

use crate::{registry::Active, verdict::Verdict};
use coxswain_cluster::{key::JobKey, metrics::Registry};

/// By plugin and the first digits of its digest, which bounds them by the components in memory.
#[derive(Clone)]
pub struct PluginMetrics {
    calls: IntCounterVec,
    seconds: HistogramVec,
    fuel: IntCounterVec,
    output: IntCounterVec,
    faults: IntCounterVec,
    requests: IntCounterVec,
    active: IntGaugeVec,
    pinned: IntGaugeVec,
}

const COMPONENT: [&str; 2] = ["plugin", "digest"];
/// What may become of a ConfigMap.
const OUTCOMES: [&str; 4] = ["serves", "rolled-back", "held", "refused"];
const FUNCTION: [&str; 3] = ["plugin", "digest", "function"];

impl PluginMetrics {
    /// Instruments in `registry`.
    pub fn new(registry: &Registry) -> prometheus::Result<Self> {
        // 16 µs to 2 s, where a call is stopped.
        let buckets = exponential_buckets(0.000_016, 4.0, 9)?;
        Ok(Self {
            calls: registry.counters("coxswain_plugin_calls_total", "Calls", &FUNCTION)?,
            seconds: registry.histograms_in(
                buckets,
                "coxswain_plugin_call_seconds",
                "Seconds that calls took",
                &FUNCTION,
            )?,
            fuel: registry.counters(
                "coxswain_plugin_fuel_total",
                "Instructions that calls used",
                &FUNCTION,
            )?,
            output: registry.counters(
                "coxswain_plugin_output_bytes_total",
                "Bytes of text that calls returned",
                &FUNCTION,
            )?,
            faults: registry.counters(
                "coxswain_plugin_faults_total",
                "Calls in which the plugin broke",
                &["plugin", "digest", "reason"],
            )?,
            requests: registry.counters(
                "coxswain_plugin_requests_total",
                "What became of ConfigMaps. Outcome: `serves`, `held`, `rolled-back`, `refused`",
                &["plugin", "outcome"],
            )?,
            active: registry.int_gauges(
                "coxswain_plugin_active",
                "1 for what new jobs get",
                &["plugin", "digest", "version"],
            )?,
            pinned: registry.int_gauges(
                "coxswain_plugin_jobs_pinned",
                "Jobs that have not ended and are pinned to it",
                &COMPONENT,
            )?,
        })
    }

    /// Is notified of every call.
    pub fn observer(&self) -> Observer {
        let this = self.clone();
        Arc::new(move |call| this.called(call))
    }

    fn called(&self, call: &Call<'_>) {
        let digest = call.digest.short();
        let labels = [call.plugin, digest.as_str(), call.function.name()];
        self.calls.with_label_values(&labels).inc();
        self.seconds.with_label_values(&labels).observe(call.elapsed.as_secs_f64());
        self.fuel.with_label_values(&labels).inc_by(call.fuel);
        self.output.with_label_values(&labels).inc_by(u64::try_from(call.output_bytes).unwrap_or(u64::MAX));
        if call.function == Function::Describe {
            // Loaded, and nothing has gone wrong yet: of a series that is born at 1, Prometheus sees no increase.
            for reason in Break::REASONS {
                self.faults.with_label_values(&[call.plugin, digest.as_str(), reason]);
            }
        }
        if let Some(broken) = call.broken {
            self.faults.with_label_values(&[call.plugin, digest.as_str(), broken.reason()]).inc();
        }
    }

    /// What new jobs get under a name from now on.
    pub fn serves(&self, name: &str, active: Option<&Active>) {
        remove(&self.active, |labels| labels.contains(&("plugin", name)));
        for outcome in OUTCOMES {
            self.requests.with_label_values(&[name, outcome]);
        }
        if let Some(active) = active {
            let (digest, version) = (active.plugin.digest().short(), &active.plugin.descriptor().version);
            self.active.with_label_values(&[name, digest.as_str(), version.as_str()]).set(1);
        }
    }

    /// A request was decided on.
    pub fn decided(&self, plugin: &str, verdict: &Verdict) {
        let outcome = match verdict {
            Verdict::Unchanged => return,
            Verdict::Serves(_) => "serves",
            Verdict::RolledBack(_) => "rolled-back",
            Verdict::Held(_) => "held",
            Verdict::Refused(_) => "refused",
        };
        self.requests.with_label_values(&[plugin, outcome]).inc();
    }

    /// Counts pins, when scraped. `name` tells components that are in memory: tenants can write pins, and what they
    /// write must make no series.
    pub fn count(&self, pins: &[(JobKey, Arc<Pin>)], name: impl Fn(&Digest) -> Option<String>) {
        let pinned: BTreeSet<(&JobKey, &Digest)> = pins
            .iter()
            .flat_map(|(job, pin)| pin.plugins().map(move |plugin| (job, &plugin.digest)))
            .collect();
        let mut jobs: BTreeMap<&Digest, i64> = BTreeMap::new();
        for (_, digest) in pinned {
            *jobs.entry(digest).or_default() += 1;
        }
        self.pinned.reset();
        for (digest, count) in jobs {
            if let Some(name) = name(digest) {
                self.pinned.with_label_values(&[name.as_str(), digest.short().as_str()]).set(count);
            }
        }
    }

    /// A component is in memory no more.
    pub fn forget(&self, plugin: &Plugin) {
        let digest = plugin.digest().short();
        let is_its = |labels: &[(&str, &str)]| labels.contains(&("digest", digest.as_str()));
        for counters in [&self.calls, &self.fuel, &self.output, &self.faults] {
            remove(counters, is_its);
        }
        remove(&self.seconds, is_its);
    }
}

/// Instruments with labels.
trait Vector: Collector {
    fn remove_series(&self, labels: &std::collections::HashMap<&str, &str>);
}

macro_rules! vector {
    ($($type:ty),*) => {$(
        impl Vector for $type {
            fn remove_series(&self, labels: &std::collections::HashMap<&str, &str>) {
                // It is there: it was collected a moment ago.
                let _ = self.remove(labels);
            }
        }
    )*};
}
vector!(IntCounterVec, IntGaugeVec, HistogramVec);

/// Removes the series whose labels are meant.
fn remove<V: Vector>(vector: &V, is_meant: impl Fn(&[(&str, &str)]) -> bool) {
    for family in vector.collect() {
        for metric in family.get_metric() {
            let labels: Vec<(&str, &str)> =
                metric.get_label().iter().map(|pair| (pair.name(), pair.value())).collect();
            if is_meant(&labels) {
                vector.remove_series(&labels.into_iter().collect());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn call<'a>(digest: &'a Digest, function: Function, broken: Option<&'a Break>) -> Call<'a> {
        Call {
            plugin: "mine",
            digest,
            function,
            fuel: 1,
            budget: 1,
            elapsed: Duration::ZERO,
            output_bytes: 1,
            broken,
        }
    }

    /// The series of faults, as Prometheus would read them.
    fn faults(registry: &Registry) -> Vec<String> {
        let text = registry.text().unwrap();
        text.lines()
            .filter(|line| line.starts_with("coxswain_plugin_faults_total{"))
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn faults_of_a_component_begin_at_zero_when_it_is_loaded() {
        let registry = Registry::default();
        let metrics = PluginMetrics::new(&registry).unwrap();
        let digest = Digest::of(b"1");

        metrics.called(&call(&digest, Function::Describe, None));
        let loaded = faults(&registry);
        metrics.called(&call(&digest, Function::Render, Some(&Break::OutOfStack)));
        let broke = faults(&registry);

        assert_eq!(loaded.len(), Break::REASONS.len());
        assert!(loaded.iter().all(|line| line.ends_with(" 0")), "{loaded:?}");
        assert_eq!(broke.len(), loaded.len(), "a reason is missing in Break::REASONS: {broke:?}");
        let counted: Vec<&String> = broke.iter().filter(|line| line.ends_with(" 1")).collect();
        assert!(matches!(&*counted, [line] if line.contains("OutOfStack")), "{broke:?}");
    }
}
