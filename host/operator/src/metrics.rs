//! What we count. Methods are named after what happened; no label has values without bound, except the two of
//! `job_info`, whose series go with their jobs.

mod registry;
mod watches;

use std::{fs, time::Duration};

use prometheus::{
    CounterVec, Encoder, Gauge, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec,
    IntGauge, Opts, TextEncoder, core::Collector, exponential_buckets,
};

pub use self::{registry::Registry, watches::Watches};
use crate::cluster::key::JobKey;

/// Labels of which all values are known, so that their series can begin at 0.
const OUTCOMES: [&str; 3] = ["ok", "failed", "panicked"];
const FLOWS: [&str; 3] = ["objects", "pods", "events"];

/// All instruments.
pub struct Metrics {
    registry: Registry,
    jobs_created: IntCounter,
    jobs_successful: IntCounter,
    jobs_failed: IntCounter,
    job_info: GaugeVec,
    is_leader: IntGauge,
    passes: HistogramVec,
    panics: IntCounter,
    queue_wait: Histogram,
    queue_depth: IntGauge,
    api_requests: IntCounterVec,
    api_seconds: HistogramVec,
    api_in_flight: GaugeVec,
    api_limit: Gauge,
    info: GaugeVec,
    pods_created: IntCounter,
    watch_events: IntCounterVec,
    cache_objects: GaugeVec,
    events_dropped: IntCounter,
    watches: Watches,
    process: Process,
}

impl Metrics {
    /// Fresh instruments in a registry of their own. Series whose labels are known begin at 0: of one that is born at 1,
    /// Prometheus sees no increase.
    pub fn new() -> prometheus::Result<Self> {
        let registry = Registry::default();
        let metrics = Self::within(registry)?;
        for outcome in OUTCOMES {
            metrics.passes.with_label_values(&[outcome]);
        }
        for flow in FLOWS {
            metrics.api_in_flight.with_label_values(&[flow]);
        }
        Ok(metrics)
    }

    #[allow(clippy::too_many_lines, reason = "a list")]
    fn within(registry: Registry) -> prometheus::Result<Self> {
        let r = &registry;
        Ok(Self {
            jobs_created: counter(r, "mpi_operator_jobs_created_total", "Counts number of MPI jobs created")?,
            jobs_successful: counter(
                r,
                "mpi_operator_jobs_successful_total",
                "Counts number of MPI jobs successful",
            )?,
            jobs_failed: counter(r, "mpi_operator_jobs_failed_total", "Counts number of MPI jobs failed")?,
            job_info: gauges(
                r,
                "mpi_operator_job_info",
                "Information about MPIJob",
                &["launcher", "namespace"],
            )?,
            is_leader: int_gauge(
                r,
                "mpi_operator_is_leader",
                "Is this client the leader of this mpi-operator client set?",
            )?,
            passes: histograms(
                r,
                "coxswain_pass_seconds",
                "Seconds that passes over jobs took. Outcome: `ok`, `failed` (is tried again), `panicked`",
                &["outcome"],
            )?,
            panics: counter(
                r,
                "coxswain_pass_panics_total",
                "Passes that ended in a panic: faults of the operator",
            )?,
            queue_wait: registered(
                r,
                Histogram::with_opts(options(
                    "coxswain_queue_wait_seconds",
                    "Seconds that jobs were due before a pass took them",
                )?)?,
            )?,
            queue_depth: int_gauge(r, "coxswain_queue_depth", "Jobs due or running")?,
            api_requests: counters(
                r,
                "coxswain_api_requests_total",
                "Requests to the API server; code 0 is no answer",
                &["verb", "kind", "code"],
            )?,
            api_seconds: histograms(
                r,
                "coxswain_api_request_seconds",
                "Seconds until the API server had answered a write or a read; without waiting for a turn",
                &["verb", "kind"],
            )?,
            api_in_flight: gauges(
                r,
                "coxswain_api_in_flight",
                "Requests under way. Flow: `objects`, `pods`, `events`",
                &["flow"],
            )?,
            api_limit: float_gauge(
                r,
                "coxswain_api_limit",
                "Requests that may be under way at once, as the API server's answers allow",
            )?,
            info: gauges(
                r,
                "coxswain_info",
                "1. Version, and the namespace that the operator looks at; `*`: all",
                &["version", "watches"],
            )?,
            pods_created: counter(r, "coxswain_pods_created_total", "Worker pods created")?,
            watch_events: counters(
                r,
                "coxswain_watch_events_total",
                "Events of watches. Type: `list`, `listed`, `listed_all`, `apply`, `delete`, `bookmark`, `error`",
                &["kind", "type"],
            )?,
            cache_objects: gauges(
                r,
                "coxswain_cache_objects",
                "Objects that the operator keeps in memory",
                &["kind"],
            )?,
            events_dropped: counter(
                r,
                "coxswain_events_dropped_total",
                "Kubernetes events not written: too many for one job, or the queue was full",
            )?,
            watches: Watches::new(r)?,
            process: Process::new(r)?,
            registry,
        })
    }

    /// A pass saw a job without conditions.
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

    /// The namespace that this process looks at; none is all.
    pub fn looks_at(&self, namespace: Option<&str>) {
        self.info.with_label_values(&[env!("CARGO_PKG_VERSION"), namespace.unwrap_or("*")]).set(1.0);
    }

    /// This process leads, or no longer does. Who does not lead knows nothing of launchers.
    pub fn leads(&self, leads: bool) {
        self.is_leader.set(i64::from(leads));
        if !leads {
            self.job_info.reset();
        }
    }

    /// A pass is over.
    pub fn pass_finished(&self, outcome: &str, elapsed: Duration) {
        self.passes.with_label_values(&[outcome]).observe(elapsed.as_secs_f64());
    }

    /// A pass ended in a panic.
    pub fn pass_panicked(&self) {
        self.panics.inc();
    }

    /// A job was given to a pass after this long.
    pub fn queue_waited(&self, waited: Duration) {
        self.queue_wait.observe(waited.as_secs_f64());
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

    /// The limit that the pace has found, read when scraped.
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

    /// Length of the queue, read when scraped.
    pub fn queued(&self, jobs: usize) {
        self.queue_depth.set(i64::try_from(jobs).unwrap_or(i64::MAX));
    }

    /// A place for instruments of others (plugins).
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Everything in Prometheus' text format.
    pub fn text(&self) -> prometheus::Result<String> {
        self.process.read();
        let mut text = Vec::new();
        TextEncoder::new().encode(&self.registry.gather(), &mut text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}

/// The process as Linux sees it, under the names that every Prometheus client uses.
struct Process {
    cpu: CounterVec,
    memory: Gauge,
    files: Gauge,
}

impl Process {
    fn new(r: &Registry) -> prometheus::Result<Self> {
        let cpu = Opts::new("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.");
        Ok(Self {
            cpu: registered(r, CounterVec::new(cpu, &[])?)?,
            memory: float_gauge(r, "process_resident_memory_bytes", "Resident memory size in bytes.")?,
            files: float_gauge(r, "process_open_fds", "Number of open file descriptors.")?,
        })
    }

    /// What cannot be read stays as it was: there may be no `/proc`.
    fn read(&self) {
        if let Some(seconds) = fs::read_to_string("/proc/self/stat").ok().and_then(|stat| cpu_seconds(&stat))
        {
            let cpu = self.cpu.with_label_values::<&str>(&[]);
            cpu.inc_by((seconds - cpu.get()).max(0.0));
        }
        if let Some(bytes) = fs::read_to_string("/proc/self/status").ok().and_then(|status| resident(&status))
        {
            self.memory.set(bytes);
        }
        if let Ok(files) = fs::read_dir("/proc/self/fd") {
            self.files.set(u32::try_from(files.count()).unwrap_or(u32::MAX).into());
        }
    }
}

/// User and system time, fields 14 and 15 of `/proc/PID/stat`, in ticks of 10 ms (`USER_HZ`, fixed at 100 on
/// every architecture that Linux shares with Kubernetes). The second field may hold spaces and ends with `)`.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let ticks: u32 = fields.next()?.parse::<u32>().ok()?.saturating_add(fields.next()?.parse().ok()?);
    Some(f64::from(ticks) / 100.0)
}

/// `VmRSS` of `/proc/PID/status`: in KiB whatever the size of a page is, other than `/proc/PID/statm`.
fn resident(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u32 = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    Some(f64::from(kib) * 1024.0)
}

/// 1 ms to 65 s in powers of two.
fn options(name: &str, help: &str) -> prometheus::Result<HistogramOpts> {
    Ok(HistogramOpts::new(name, help).buckets(exponential_buckets(0.001, 2.0, 17)?))
}

fn registered<C: Collector + Clone + 'static>(registry: &Registry, collector: C) -> prometheus::Result<C> {
    registry.register(Box::new(collector.clone()))?;
    Ok(collector)
}

fn counter(r: &Registry, name: &str, help: &str) -> prometheus::Result<IntCounter> {
    registered(r, IntCounter::new(name, help)?)
}

fn counters(r: &Registry, name: &str, help: &str, labels: &[&str]) -> prometheus::Result<IntCounterVec> {
    registered(r, IntCounterVec::new(Opts::new(name, help), labels)?)
}

fn int_gauge(r: &Registry, name: &str, help: &str) -> prometheus::Result<IntGauge> {
    registered(r, IntGauge::new(name, help)?)
}

fn float_gauge(r: &Registry, name: &str, help: &str) -> prometheus::Result<Gauge> {
    registered(r, Gauge::new(name, help)?)
}

fn gauges(r: &Registry, name: &str, help: &str, labels: &[&str]) -> prometheus::Result<GaugeVec> {
    registered(r, GaugeVec::new(Opts::new(name, help), labels)?)
}

fn histograms(r: &Registry, name: &str, help: &str, labels: &[&str]) -> prometheus::Result<HistogramVec> {
    registered(r, HistogramVec::new(options(name, help)?, labels)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_whose_labels_are_known_begin_at_zero() {
        let text = Metrics::new().unwrap().text().unwrap();

        for series in [
            r#"coxswain_pass_seconds_count{outcome="panicked"} 0"#,
            r#"coxswain_api_in_flight{flow="pods"} 0"#,
            "coxswain_pass_panics_total 0",
        ] {
            assert!(text.contains(series), "{series} is missing in {text}");
        }
    }

    #[test]
    fn a_job_leaves_no_series_behind() {
        let metrics = Metrics::new().unwrap();

        metrics.job_launched("pi-launcher", "team-a");
        let with = metrics.text().unwrap();
        metrics.job_gone(&JobKey::new("team-a", "pi"));
        let without = metrics.text().unwrap();

        assert!(
            with.contains(r#"mpi_operator_job_info{launcher="pi-launcher",namespace="team-a"} 1"#),
            "{with}"
        );
        assert!(!without.contains("pi-launcher"), "{without}");
    }

    #[test]
    fn processor_time_is_found_behind_a_name_with_spaces_and_parentheses() {
        let stat = "7 (a b) c) S 1 7 7 0 -1 4194560 100 0 0 0 250 150 0 0 20 0 4 0 100 0 0";

        assert_eq!(cpu_seconds(stat), Some(4.0));
    }

    #[test]
    fn memory_is_counted_in_bytes_whatever_the_size_of_a_page() {
        let status = "Name:\tVmRSS: 7 kB\nVmHWM:\t    128 kB\nVmRSS:\t      64 kB\nRssAnon:\t 32 kB\n";

        assert_eq!(resident(status), Some(65536.0));
        assert_eq!(resident("Name:\tzombie\n"), None);
    }

    #[test]
    fn what_belongs_to_a_term_goes_with_it() {
        let metrics = Metrics::new().unwrap();
        metrics.leads(true);
        metrics.job_launched("pi-launcher", "team-a");

        metrics.leads(false);

        let text = metrics.text().unwrap();
        assert!(text.contains("mpi_operator_is_leader 0") && !text.contains("pi-launcher"), "{text}");
    }
}
