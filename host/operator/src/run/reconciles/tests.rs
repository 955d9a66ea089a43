//! The queue, reconciles and limiter together, over an API server made of a closure.

use coxswain_test_support::{
    api_server::{Asked, Fake, Reply},
    job::Job,
};
use std::collections::BTreeMap;

use coxswain_model::{
    api::{annotations, labels, resource},
    pin::{Digest, Pin, PinnedPlugin},
};
use http::Method;
use kube::Client;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::*;
use crate::queue::Settings;
use coxswain_cluster::{
    events,
    index::Shared,
    kind::Watched as _,
    kinds::{DecodedConfigMap, DecodedJob, DecodedMpiJob},
    leadership::Leadership,
    limiter::ConcurrencyLimiter,
    live::Claimed,
    metrics::{Metrics, Registry},
    rest::Rest,
    wake::Cause,
};
use coxswain_plugins::{InCluster, LiveJobs, Rules, store::Store};

const WORKERS: u32 = 3;

struct Bench {
    index: Shared,
    queue: Arc<Queue>,
    stop: watch::Sender<Option<Duration>>,
    running: JoinHandle<()>,
}

impl Bench {
    fn new(client: &Client, plugins: Plugins) -> Self {
        let metrics = Arc::new(Metrics::new().unwrap());
        let counts = Arc::new(ReconcileMetrics::new(metrics.registry()).unwrap());
        let limiter = ConcurrencyLimiter::new(None, Arc::clone(&metrics));
        tokio::spawn(Arc::clone(&limiter).run());
        let rest = Rest::new(client.clone(), limiter, Arc::clone(&metrics));
        // Nobody writes events here.
        let (sink, _) = events::channel(rest.clone(), Arc::clone(&metrics));
        let queue = Arc::new(Queue::new(Settings::default(), Arc::clone(&counts)));
        let index = Shared::default();
        let wake = {
            let queue = Arc::clone(&queue);
            Arc::new(move |job: &JobKey, cause| queue.wake(job, cause, 0))
        };
        let claimed = Claimed::default();
        let live = Live { rest, index: index.clone(), events: sink, metrics, wake, claimed };
        let reconciles =
            Reconciles::new(live, Arc::new(plugins), Arc::clone(&queue), counts, &Options::default());
        let (stop, stopped) = watch::channel(None);
        let running = tokio::spawn(reconciles.run(stopped));
        Self { index, queue, stop, running }
    }

    /// A job that the MPI Operator has started and whose workers are missing: an adopted job needs no plugin.
    fn adopt(&self, key: &JobKey) {
        self.show_job(key);
        self.show_launcher(key, &json!({}));
        self.queue.wake(key, Cause::Job, 0);
    }

    fn show_job(&self, key: &JobKey) {
        self.show_job_with(key, &json!([]));
    }

    /// A job with these variables of its workers.
    fn show_job_with(&self, key: &JobKey, env: &Value) {
        let job = Job::new(&key.name, WORKERS)
            .stored(&key.namespace, &uid(key))
            .worker_container("env", env.clone());
        let (key, row) = job.read::<DecodedMpiJob>().row().unwrap();
        self.index.write().jobs.shown(&key, row);
    }

    fn show_launcher(&self, key: &JobKey, status: &Value) {
        let version = if status.get("conditions").is_some() { "3" } else { "2" };
        let mut launcher = owned(key, "launcher", version);
        launcher["status"] = status.clone();
        let (key, row) = serde_json::from_value::<DecodedJob>(launcher).unwrap().row().unwrap();
        self.index.write().launchers.shown(&key, row);
    }

    /// A job that is pinned to a component of which there is a copy at best.
    fn pin(&self, key: &JobKey) {
        self.show_job(key);
        let launcher = PinnedPlugin {
            name: "openmpi".to_owned(),
            digest: Digest::of(b"an earlier component"),
            settings: BTreeMap::default(),
        };
        let pin = Pin { launcher, tuners: Vec::new(), cluster_domain: None, claims: BTreeMap::default() };
        let mut config = owned(key, "config", "2");
        config["metadata"]["annotations"] = json!({annotations::ANNOTATION_PIN: pin.to_annotation()});
        let (config, row) = serde_json::from_value::<DecodedConfigMap>(config).unwrap().row().unwrap();
        self.index.write().configs.shown(&config, row);
        self.queue.wake(key, Cause::Job, 0);
    }

    fn is_up(&self, key: &JobKey) -> bool {
        self.index.read().pods.of(key).len() == WORKERS as usize
    }

    /// How long it takes until all workers of the job are made.
    async fn up(&self, key: &JobKey) -> Duration {
        let start = Instant::now();
        while !self.is_up(key) {
            tokio::time::sleep(Duration::from_millis(5)).await;
            assert!(start.elapsed() < Duration::from_mins(30), "{key} does not come up");
        }
        start.elapsed()
    }

    async fn end(self) {
        self.stop.send_replace(Some(Duration::from_secs(10)));
        self.running.await.unwrap();
    }
}

fn uid(key: &JobKey) -> String {
    format!("uid of {key}")
}

fn owned(key: &JobKey, what: &str, version: &str) -> Value {
    let owner = json!({
        "apiVersion": resource::API_VERSION, "kind": "MPIJob", "name": &*key.name, "uid": uid(key), "controller": true,
    });
    json!({"metadata": {
        "name": format!("{}-{what}", key.name), "namespace": &*key.namespace, "uid": format!("{what} of {key}"),
        "resourceVersion": version, "labels": {labels::LABEL_JOB: &*key.name}, "ownerReferences": [owner],
    }})
}

fn all_well(fake: &Fake, asked: &Asked) -> Reply {
    if asked.method == Method::POST { fake.stored(asked) } else { Reply::ok(asked.body.clone()) }
}

/// The slowest of a minute's jobs, one a second in turn for three namespaces, beside so many in a namespace whose
/// pods' webhook never answers.
async fn slowest_beside(hanging: usize) -> Duration {
    let fake = Fake::default();
    let client = fake.uneven(
        |asked| {
            let hangs = asked.method == Method::POST && asked.path.starts_with("/api/v1/namespaces/bad/pods");
            if hangs { Duration::from_hours(10) } else { Duration::from_millis(20) }
        },
        all_well,
    );
    let bench = Bench::new(&client, Plugins::new(Rules::default()).unwrap());
    for number in 0..hanging {
        bench.adopt(&JobKey::new("bad", &format!("job-{number}")));
    }
    let mut slowest = Duration::ZERO;
    for number in 0..60 {
        let key = JobKey::new(&format!("good-{}", number % 3), &format!("job-{number}"));
        bench.adopt(&key);
        slowest = slowest.max(bench.up(&key).await);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    bench.end().await;
    slowest
}

#[tokio::test(start_paused = true)]
async fn a_namespace_whose_webhook_hangs_costs_the_others_nothing() {
    let undisturbed = slowest_beside(0).await;

    for hanging in [30, 300] {
        let disturbed = slowest_beside(hanging).await;
        assert!(
            disturbed <= undisturbed.mul_f64(1.5),
            "{disturbed:?} beside {hanging}, {undisturbed:?} alone"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_job_is_told_although_a_worker_cannot_be_made() {
    let fake = Fake::default();
    let client = fake.client(Duration::from_millis(20), |fake, asked| match asked.method {
        Method::POST => Reply::refused(403, "Forbidden"),
        _ => all_well(fake, asked),
    });
    let bench = Bench::new(&client, Plugins::new(Rules::default()).unwrap());
    let key = JobKey::new("team-a", "pi");
    bench.adopt(&key);
    // Long enough for the quota to be met a few times.
    tokio::time::sleep(Duration::from_mins(10)).await;
    let tries = fake.lines().iter().filter(|line| line.starts_with("POST")).count();
    assert!((3..=6).contains(&tries), "{tries} tries in ten minutes");

    let condition =
        json!({"type": "Complete", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"});
    bench.show_launcher(&key, &json!({
        "startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:00:00Z", "conditions": [condition],
    }));
    bench.queue.wake(&key, Cause::Child, 0);
    tokio::time::sleep(Duration::from_secs(2)).await;

    let reported = fake.asked().into_iter().any(|asked| {
        asked.path.ends_with("mpijobs/pi/status") && asked.body.to_string().contains("Succeeded")
    });
    assert!(reported, "{:?}", fake.lines());
    bench.end().await;
}

#[tokio::test(start_paused = true)]
async fn jobs_whose_component_is_slow_to_come_hold_up_no_other() {
    let fake = Fake::default();
    let client = fake.uneven(
        |asked| Duration::from_millis(if asked.path.contains("coxswain-copy-") { 14_000 } else { 20 }),
        |fake, asked| {
            if asked.path.contains("coxswain-copy-") {
                Reply::refused(404, "NotFound")
            } else {
                all_well(fake, asked)
            }
        },
    );
    let leadership = Leadership::default();
    let jobs =
        LiveJobs { index: Shared::default(), gang: coxswain_model::desired::Gang::Off, synced: Vec::new() };
    let cluster = InCluster { store: Store::new(client.clone(), "mpi-operator"), jobs, leadership };
    let (plugins, _reviews) = Plugins::in_cluster(Rules::default(), cluster, &Registry::default()).unwrap();
    let bench = Bench::new(&client, plugins);
    for number in 0..20 {
        bench.pin(&JobKey::new("slow", &format!("job-{number}")));
    }
    tokio::time::sleep(Duration::from_secs(1)).await;

    let key = JobKey::new("team-a", "pi");
    bench.adopt(&key);

    let took = bench.up(&key).await;
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert!(fake.lines().iter().any(|line| line.contains("coxswain-copy-")), "{:?}", fake.lines());
    bench.end().await;
}

/// Decoded, each takes some 3.5 MiB.
#[tokio::test(start_paused = true)]
async fn passes_over_large_jobs_leave_memory_to_the_others() {
    let fake = Fake::default();
    let client = fake.uneven(
        |asked| Duration::from_millis(if asked.method == Method::POST { 9_000 } else { 20 }),
        all_well,
    );
    let bench = Bench::new(&client, Plugins::new(Rules::default()).unwrap());
    let variables: Vec<Value> = (0..4_000).map(|n| json!({"name": format!("N{n}"), "value": "x"})).collect();
    for number in 0..60 {
        let key = JobKey::new("large", &format!("job-{number}"));
        bench.show_job_with(&key, &Value::from(variables.clone()));
        bench.show_launcher(&key, &json!({}));
        bench.queue.wake(&key, Cause::Job, 0);
    }

    tokio::time::sleep(Duration::from_secs(5)).await;

    let begun = fake.asked().iter().filter(|asked| asked.method == Method::POST).count();
    assert!((8..=16).contains(&begun), "{begun} reconciles at once");
    bench.end().await;
}
