use coxswain_test_support::api_server::{Fake, Reply};
use std::time::Duration;

use coxswain_model::{api::mpijob::JobStatus, status::Event};
use pretty_assertions::assert_eq;
use tokio::sync::watch;

use super::*;
use crate::{
    events,
    job_row::JobRow,
    kind::Watched as _,
    kinds::{DecodedJob, DecodedMpiJob},
    limiter::ConcurrencyLimiter,
};

const UID: &str = "00000000-0000-4000-8000-000000000001";

struct Bench {
    fake: Fake,
    live: Live,
    job: Arc<MpiJob>,
    _stop: watch::Sender<bool>,
}

/// A cluster whose API server answers a patch of the status so.
fn bench(status: fn() -> Reply) -> Bench {
    let fake = Fake::default();
    let metrics = Arc::new(Metrics::new().unwrap());
    let client = fake.client(Duration::from_millis(5), move |fake, asked| {
        if asked.path.ends_with("/status") { status() } else { fake.stored(asked) }
    });
    let rest = Rest::new(client, ConcurrencyLimiter::new(None, Arc::clone(&metrics)), Arc::clone(&metrics));
    let (sink, writer) = events::channel(rest.clone(), Arc::clone(&metrics));
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(writer.run(stopped));
    let index = Shared::default();
    let raw = json!({"metadata": {"name": "pi", "namespace": "team-a", "uid": UID, "resourceVersion": "1"}, "spec": {}});
    let (key, row) = serde_json::from_value::<DecodedMpiJob>(raw).unwrap().row().unwrap();
    index.write().jobs.shown(&key, row);
    let job = index.job(&key).unwrap();
    let wake: Wake = Arc::new(|_, _| ());
    let live = Live { rest, index, events: sink, metrics, wake, claimed: Claimed::default() };
    Bench { fake, live, job, _stop: stop }
}

fn event(reason: &str) -> Event {
    Event { warning: false, reason: reason.into(), message: "m".into() }
}

/// What a first reconcile has to report, and which events reach the API server.
async fn reported(bench: &Bench) -> Vec<String> {
    let update = StatusUpdate {
        status: Some(JobStatus::default()),
        events: vec![event("MPIJobCreated")],
        acts: vec![event("PluginsPinned")],
        ..StatusUpdate::default()
    };
    let _ = bench.live.record(&bench.job, &update).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let events = bench.fake.asked().into_iter().filter(|asked| asked.path.ends_with("/events"));
    events.map(|asked| asked.body["reason"].as_str().unwrap().to_owned()).collect()
}

/// The next reconcile finds the pin written, and says nothing of it any more.
#[tokio::test(start_paused = true)]
async fn what_was_done_is_told_although_the_status_was_refused_and_once() {
    assert_eq!(reported(&bench(|| Reply::refused(409, "Conflict"))).await, ["PluginsPinned"]);
    assert_eq!(reported(&bench(|| Reply::ok(json!({})))).await, ["MPIJobCreated", "PluginsPinned"]);
}

#[tokio::test(start_paused = true)]
async fn a_status_that_is_never_taken_does_not_hide_what_it_says() {
    let reported = reported(&bench(|| Reply::refused(422, "Invalid"))).await;
    assert_eq!(reported, ["MPIJobCreated", "PluginsPinned"]);
}

#[tokio::test(start_paused = true)]
async fn only_the_jobs_own_launcher_has_a_series() {
    let bench = bench(|| Reply::ok(json!({})));
    let labelled = |name: &str, owner: &str| {
        let raw = json!({"metadata": {
            "name": name, "namespace": "team-a", "uid": format!("uid of {name} {owner}"), "resourceVersion": "2",
            "labels": {"coxswain.dev/job": "pi"},
            "ownerReferences": [{"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "name": "pi", "uid": owner,
                "controller": true}],
        }});
        let (key, row) = serde_json::from_value::<DecodedJob>(raw).unwrap().row().unwrap();
        bench.live.index.write().launchers.shown(&key, row);
    };
    let series = async || {
        bench.live.record(&bench.job, &StatusUpdate::default()).await.unwrap();
        let text = bench.live.metrics.registry().text().unwrap();
        text.lines()
            .filter(|line| line.starts_with("mpi_operator_job_info{"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };

    labelled("another", UID);
    labelled("pi-launcher", "00000000-0000-4000-8000-000000000002");
    assert_eq!(series().await, [""; 0]);
    labelled("pi-launcher", UID);
    assert_eq!(series().await, [r#"mpi_operator_job_info{launcher="pi-launcher",namespace="team-a"} 1"#]);
}

/// The watch has lost the job's end.
#[tokio::test(start_paused = true)]
async fn a_job_whose_status_cannot_be_written_because_it_is_gone_is_forgotten() {
    for (message, left) in [
        ("mpijobs.kubeflow.org \"pi\" not found", 0),
        ("the server could not find the requested resource", 1),
    ] {
        let client = Fake::default().client(Duration::from_millis(5), move |_, _| Reply {
            body: json!({"reason": "NotFound", "message": message}),
            ..Reply::refused(404, "NotFound")
        });
        let metrics = Arc::new(Metrics::new().unwrap());
        let rest =
            Rest::new(client, ConcurrencyLimiter::new(None, Arc::clone(&metrics)), Arc::clone(&metrics));
        let (events, _) = events::channel(rest.clone(), Arc::clone(&metrics));
        let index = Shared::default();
        let wake: Wake = Arc::new(|_, _| {});
        let live = Live { rest, index: index.clone(), events, metrics, wake, claimed: Claimed::default() };
        let mut job = MpiJob::default();
        job.metadata.namespace = "team-a".into();
        job.metadata.name = "pi".into();
        job.metadata.uid = "1".into();
        index.write().jobs.shown(&JobKey::new("team-a", "pi"), JobRow::new(&job));

        let update = StatusUpdate { status: Some(JobStatus::default()), ..StatusUpdate::default() };
        live.record(&job, &update).await.unwrap();

        assert_eq!(index.read().jobs.count(), left, "{message}");
    }
}
