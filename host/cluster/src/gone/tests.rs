use coxswain_test_support::api_server::{Fake, Reply};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use coxswain_model::{
    api::{labels, resource},
    job::{ValidJob, Verdict},
    phase::{self, Phase},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::{
    events,
    index::Shared,
    key::JobKey,
    kind::Watched as _,
    kinds::DecodedMpiJob,
    limiter::ConcurrencyLimiter,
    live::{Claimed, Live},
    metrics::Metrics,
    rest::Rest,
    wake::Wake,
};

/// The operator after it has listed, and an API server that has a launcher Job or not, or does not answer.
struct Bench {
    live: Live,
    fake: Fake,
    /// It answers.
    is_up: Arc<AtomicBool>,
}

impl Bench {
    fn new(launcher: Option<Value>) -> Self {
        let fake = Fake::default();
        let is_up = Arc::new(AtomicBool::new(true));
        let up = Arc::clone(&is_up);
        let client = fake.client(Duration::from_millis(5), move |_, asked| {
            let found = launcher.clone().filter(|_| asked.path.ends_with("/jobs/pi-launcher"));
            match found {
                _ if !up.load(Ordering::SeqCst) => Reply::refused(500, "InternalError"),
                Some(launcher) => Reply::ok(launcher),
                None => Reply::refused(404, "NotFound"),
            }
        });
        let metrics = Arc::new(Metrics::new().unwrap());
        let limiter = ConcurrencyLimiter::new(None, Arc::clone(&metrics));
        tokio::spawn(Arc::clone(&limiter).run());
        let rest = Rest::new(client, limiter, Arc::clone(&metrics));
        let (events, _) = events::channel(rest.clone(), Arc::clone(&metrics));
        let wake: Wake = Arc::new(|_, _| {});
        let index = Shared::default();
        Self { live: Live { rest, index, events, metrics, wake, claimed: Claimed::default() }, fake, is_up }
    }

    /// The job as its status stands.
    fn job(&self, version: u32, replicas: &Value) -> ValidJob {
        let created = json!({"type": "Created", "status": "True", "reason": "MPIJobCreated"});
        let raw = json!({
            "metadata": {"name": "pi", "namespace": "team-a", "uid": "j", "resourceVersion": version.to_string()},
            "spec": {"mpiReplicaSpecs": {"Launcher": {"template": {"spec": {"containers": [{"name": "l"}]}}}}},
            "status": {"conditions": [created], "replicaStatuses": replicas},
        });
        let (key, row) = serde_json::from_value::<DecodedMpiJob>(raw).unwrap().row().unwrap();
        self.live.index.write().jobs.shown(&key, row);
        match ValidJob::parse(&self.live.index.job(&key).unwrap(), None) {
            Verdict::Valid(job) => *job,
            other => panic!("{other:?}"),
        }
    }

    fn phase(&self, job: &ValidJob) -> Phase {
        phase::of(job, &self.live.observe(job))
    }
}

fn launcher() -> Value {
    json!({"metadata": {
        "name": "pi-launcher", "namespace": "team-a", "uid": "l", "resourceVersion": "7",
        "labels": {labels::LABEL_JOB: "pi"},
        "ownerReferences": [
            {"apiVersion": resource::API_VERSION, "kind": "MPIJob", "name": "pi", "uid": "j", "controller": true},
        ],
    }})
}

#[tokio::test(start_paused = true)]
async fn a_launcher_that_may_have_run_is_lost_only_once_the_api_server_says_so() {
    let bench = Bench::new(None);
    let job = bench.job(1, &json!({"Launcher": {"active": 1}, "Worker": {}}));
    bench.is_up.store(false, Ordering::SeqCst);
    assert!(bench.live.adopt(&job).await.is_err());
    assert_eq!(bench.phase(&job), Phase::Active);

    bench.is_up.store(true, Ordering::SeqCst);
    bench.live.adopt(&job).await.unwrap();
    assert_eq!(bench.phase(&job), Phase::Lost);

    let asked = bench.fake.asked().len();
    bench.live.adopt(&job).await.unwrap();
    assert_eq!(bench.fake.asked().len(), asked, "it is not looked for again");
}

/// The status is newer than what the watch of Jobs has shown.
#[tokio::test(start_paused = true)]
async fn a_launcher_that_the_watches_do_not_show_yet_is_not_lost() {
    let bench = Bench::new(Some(launcher()));
    let job = bench.job(1, &json!({"Launcher": {"active": 1}, "Worker": {}}));

    bench.live.adopt(&job).await.unwrap();

    assert_eq!(bench.phase(&job), Phase::Active);
    assert!(bench.live.observe(&job).launcher.is_some());
    let key = JobKey::new("team-a", "pi");
    assert!(!bench.live.index.read().gone.knows(&key, job.uid()), "nobody says that it is gone");
}

/// As under `WaitForWorkersReady`, and with a watch that missed the launcher's end later on.
#[tokio::test(start_paused = true)]
async fn a_launcher_is_looked_for_also_where_there_was_none_before() {
    let bench = Bench::new(None);
    let waits = bench.job(1, &json!({"Worker": {}}));
    bench.live.adopt(&waits).await.unwrap();
    assert_eq!(bench.phase(&waits), Phase::Active);
    let asked = bench.fake.asked().len();
    bench.live.adopt(&waits).await.unwrap();
    assert_eq!(bench.fake.asked().len(), asked);

    let ran = bench.job(2, &json!({"Launcher": {}, "Worker": {}}));
    bench.live.adopt(&ran).await.unwrap();

    assert_eq!(bench.phase(&ran), Phase::Lost);
}
