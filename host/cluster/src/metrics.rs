//! What is counted of jobs, requests, watches and the cache. Methods are named after what happened; no label has values
//! without bound, except the two of `job_info`, whose series go with their jobs.

mod registry;
mod watches;

use std::time::Duration;

use prometheus::{Gauge, GaugeVec, HistogramVec, IntCounter, IntCounterVec, IntGauge};

pub use self::{registry::Registry, watches::Watches};
use crate::key::JobKey;

/// A label of which all values are known, so that its series can begin at 0.
const FLOWS: [&str; 3] = ["objects", "pods", "events"];

/// All instruments.
pub struct Metrics {
    registry: Registry,
    jobs_created: IntCounter,
    jobs_successful: IntCounter,
    jobs_failed: IntCounter,
    job_info: GaugeVec,
    is_leader: IntGauge,
    api_requests: IntCounterVec,
    api_seconds: HistogramVec,
    api_in_flight: GaugeVec,
    api_limit: Gauge,
    pods_created: IntCounter,
    watch_events: IntCounterVec,
    cache_objects: GaugeVec,
    events_dropped: IntCounter,
    watches: Watches,
}

impl Metrics {
    /// Fresh instruments in a registry of their own. Series whose labels are known begin at 0: of one that is born at 1,
    /// Prometheus sees no increase.
    pub fn new() -> prometheus::Result<Self> {
        let metrics = Self::within(Registry::default())?;
        for flow in FLOWS {
            metrics.api_in_flight.with_label_values(&[flow]);
        }
        Ok(metrics)
    }

    fn within(registry: Registry) -> prometheus::Result<Self> {
        let r = &registry;
        Ok(Self {
            jobs_created: r.counter("mpi_operator_jobs_created_total", "Counts number of MPI jobs created")?,
            jobs_successful: r
                .counter("mpi_operator_jobs_successful_total", "Counts number of MPI jobs successful")?,
            jobs_failed: r.counter("mpi_operator_jobs_failed_total", "Counts number of MPI jobs failed")?,
            job_info: r.gauges(
                "mpi_operator_job_info",
                "Information about MPIJob",
                &["launcher", "namespace"],
            )?,
            is_leader: r.int_gauge(
                "mpi_operator_is_leader",
                "Is this client the leader of this mpi-operator client set?",
            )?,
            api_requests: r.counters(
                "coxswain_api_requests_total",
                "Requests to the API server; code 0 is no answer",
                &["verb", "kind", "code"],
            )?,
            api_seconds: r.histograms(
                "coxswain_api_request_seconds",
                "Seconds until the API server had answered a write or a read; without waiting for the limiter",
                &["verb", "kind"],
            )?,
            api_in_flight: r.gauges(
                "coxswain_api_in_flight",
                "Requests under way. Flow: `objects`, `pods`, `events`",
                &["flow"],
            )?,
            api_limit: r.gauge(
                "coxswain_api_limit",
                "Requests that may be under way at once, as the API server's answers allow",
            )?,
            pods_created: r.counter("coxswain_pods_created_total", "Worker pods created")?,
            watch_events: r.counters(
                "coxswain_watch_events_total",
                "Events of watches. Type: `list`, `listed`, `listed_all`, `apply`, `delete`, `bookmark`, `error`",
                &["kind", "type"],
            )?,
            cache_objects: r.gauges(
                "coxswain_cache_objects",
                "Objects that the operator keeps in memory",
                &["kind"],
            )?,
            events_dropped: r.counter(
                "coxswain_events_dropped_total",
                "Kubernetes events not written: too many for one job, or the queue was full",
            )?,
            watches: Watches::new(r)?,
            registry,
        })
    }

    /// A reconcile saw a job without conditions.
    pub fn job_created(&self) {
        self.jobs_created.inc();
    }

    /// A job ended well.
    pub fn job_succeeded(&self) {
        self.jobs_successful.inc();
    }

    /// A job failed.
    pub fn job_failed(&self) {
        self.jobs_failed.inc();
    }

    /// A job has a launcher Job of this name.
    pub fn job_launched(&self, launcher: &str, namespace: &str) {
        self.job_info.with_label_values(&[launcher, namespace]).set(1.0);
    }

    /// The job is no more.
    pub fn job_gone(&self, job: &JobKey) {
        let launcher = format!("{}-launcher", job.name);
        // The series is missing if the job never had a launcher.
        let _ = self.job_info.remove_label_values(&[launcher.as_str(), &*job.namespace]);
    }

    /// This process leads, or no longer does. Who does not lead knows nothing of launchers.
    pub fn leads(&self, leads: bool) {
        self.is_leader.set(i64::from(leads));
        if !leads {
            self.job_info.reset();
        }
    }

    /// The API server answered, or did not (code 0).
    pub fn api_request(&self, verb: &str, kind: &str, code: u16, elapsed: Duration) {
        self.api_requests.with_label_values(&[verb, kind, &code.to_string()]).inc();
        self.api_seconds.with_label_values(&[verb, kind]).observe(elapsed.as_secs_f64());
    }

    /// Requests under way in one flow.
    pub fn in_flight(&self, flow: &str, change: f64) {
        self.api_in_flight.with_label_values(&[flow]).add(change);
    }

    /// The limit that the limiter has found, read when scraped.
    pub fn limit(&self, limit: usize) {
        self.api_limit.set(u32::try_from(limit).unwrap_or(u32::MAX).into());
    }

    /// A worker pod was created.
    pub fn pod_created(&self) {
        self.pods_created.inc();
    }

    /// An event of a watch.
    pub fn watch_event(&self, kind: &str, kind_of_event: &str) {
        self.watch_events.with_label_values(&[kind, kind_of_event]).inc();
    }

    /// How the watches fare.
    pub fn watches(&self) -> &Watches {
        &self.watches
    }

    /// A Kubernetes event was not written.
    pub fn event_dropped(&self) {
        self.events_dropped.inc();
    }

    /// Sizes of the index, read when scraped.
    pub fn cached(&self, kind: &str, objects: usize) {
        self.cache_objects.with_label_values(&[kind]).set(u32::try_from(objects).unwrap_or(u32::MAX).into());
    }

    /// A place for the instruments of others, and everything in Prometheus' text format.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_whose_labels_are_known_begin_at_zero() {
        let text = Metrics::new().unwrap().registry().text().unwrap();

        for series in [r#"coxswain_api_in_flight{flow="pods"} 0"#, "coxswain_events_dropped_total 0"] {
            assert!(text.contains(series), "{series} is missing in {text}");
        }
    }

    #[test]
    fn a_job_leaves_no_series_behind() {
        let metrics = Metrics::new().unwrap();

        metrics.job_launched("pi-launcher", "team-a");
        let with = metrics.registry().text().unwrap();
        metrics.job_gone(&JobKey::new("team-a", "pi"));
        let without = metrics.registry().text().unwrap();

        assert!(
            with.contains(r#"mpi_operator_job_info{launcher="pi-launcher",namespace="team-a"} 1"#),
            "{with}"
        );
        assert!(!without.contains("pi-launcher"), "{without}");
    }

    #[test]
    fn what_belongs_to_a_term_goes_with_it() {
        let metrics = Metrics::new().unwrap();
        metrics.leads(true);
        metrics.job_launched("pi-launcher", "team-a");

        metrics.leads(false);

        let text = metrics.registry().text().unwrap();
        assert!(text.contains("mpi_operator_is_leader 0") && !text.contains("pi-launcher"), "{text}");
    }
}
