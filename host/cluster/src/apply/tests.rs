use coxswain_model::{
    api::{annotations, labels, resource},
    job::Verdict,
    observed::{ObservedState, PodPhase, Uid, Version},
    step::{FailureReason, Kind},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::*;
use crate::{
    kind::Watched as _,
    kinds::{DecodedMpiJob, DecodedPod},
    leadership::Leadership,
    limiter::ConcurrencyLimiter,
    rate::Rate,
    rest::Call,
};
use coxswain_test_support::api_server::{Asked, Fake, Reply};

const UID: &str = "job-uid";

fn job() -> ValidJob {
    let raw = json!({
        "metadata": {"name": "pi", "namespace": "team-a", "uid": UID, "resourceVersion": "1"},
        "spec": {"mpiReplicaSpecs": {
            "Launcher": {"template": {"spec": {"containers": [{"name": "l"}]}}},
            "Worker": {"replicas": 3, "template": {"spec": {"containers": [{"name": "w"}]}}},
        }},
    });
    let index = Shared::default();
    let (key, row) = serde_json::from_value::<DecodedMpiJob>(raw).unwrap().row().unwrap();
    index.write().jobs.shown(&key, row);
    match ValidJob::parse(&index.job(&key).unwrap(), None) {
        Verdict::Valid(job) => *job,
        other => panic!("{other:?}"),
    }
}

fn key() -> JobKey {
    JobKey::new("team-a", "pi")
}

fn owners() -> Value {
    json!([{"apiVersion": resource::API_VERSION, "kind": "MPIJob", "name": "pi", "uid": UID, "controller": true}])
}

/// The cluster as a reconcile writes to it, over a server that answers with `answer`.
struct Bench {
    fake: Fake,
    rest: Rest,
    index: Shared,
    metrics: Arc<Metrics>,
    job: ValidJob,
}

impl Bench {
    fn new(answer: impl Fn(&Fake, &Asked) -> Reply + Send + Sync + 'static) -> Self {
        Self::at(None, answer)
    }

    /// Under `--kube-api-qps`.
    fn at(rate: Option<Rate>, answer: impl Fn(&Fake, &Asked) -> Reply + Send + Sync + 'static) -> Self {
        let fake = Fake::default();
        let metrics = Arc::new(Metrics::new().unwrap());
        let limiter = ConcurrencyLimiter::new(rate, Arc::clone(&metrics));
        tokio::spawn(Arc::clone(&limiter).run());
        let client = fake.client(Duration::from_millis(20), answer);
        let rest = Rest::new(client, limiter, Arc::clone(&metrics));
        Self { fake, rest, index: Shared::default(), metrics, job: job() }
    }

    async fn apply(&self, steps: Vec<Step>) -> (Done, bool) {
        let applier = Applier {
            rest: &self.rest,
            index: &self.index,
            metrics: &self.metrics,
            job: &self.job,
            key: key(),
            deadline: Instant::now() + BUDGET,
        };
        applier.apply(steps).await
    }

    fn observed(&self) -> ObservedState {
        self.index.read().observed(&key(), &self.job)
    }
}

fn all_well(fake: &Fake, asked: &Asked) -> Reply {
    if asked.method == http::Method::POST { fake.stored(asked) } else { Reply::ok(asked.body.clone()) }
}

fn object(kind: Kind, name: &str) -> ObjectName {
    ObjectName { kind, name: name.into() }
}

fn manifest(name: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "team-a", "labels": {labels::LABEL_JOB: "pi"}, "ownerReferences": owners()}})
}

fn create(kind: Kind, name: &str, wave: Wave) -> Step {
    Step::Create { object: object(kind, name), manifest: manifest(name), wave }
}

fn workers(indexes: impl IntoIterator<Item = u32>) -> Step {
    let pod = json!({
        "metadata": {"namespace": "team-a", "ownerReferences": owners(), "labels": {
            labels::LABEL_JOB_NAME: "pi", labels::LABEL_JOB_ROLE: "worker", labels::LABEL_OPERATOR_NAME: labels::OPERATOR_NAME}},
        "spec": {},
    });
    Step::CreateWorkers {
        template: Arc::new(WorkerTemplate::new(&pod, "pi-worker-", 0)),
        indexes: indexes.into_iter().collect(),
    }
}

#[tokio::test(start_paused = true)]
async fn a_wave_begins_when_the_one_before_it_has_ended() {
    let bench = Bench::new(all_well);

    let (done, left) = bench
        .apply(vec![
            workers(0..2),
            create(Kind::Job, "pi-launcher", Wave::Pods),
            create(Kind::Service, "pi", Wave::Dependencies),
            Step::CreateSecret { object: object(Kind::Secret, "pi-ssh"), manifest: manifest("pi-ssh") },
        ])
        .await;

    let mut lines = bench.fake.lines();
    lines[..2].sort();
    lines[2..].sort();
    assert_eq!(
        lines,
        [
            "POST secrets pi-ssh",
            "POST services pi",
            "POST jobs pi-launcher",
            "POST pods pi-worker-0",
            "POST pods pi-worker-1"
        ]
    );
    assert_eq!((done.created, done.failures.len(), left), (5, 0, false));
}

#[tokio::test(start_paused = true)]
async fn what_was_created_is_seen_at_once() {
    let bench = Bench::new(all_well);

    bench
        .apply(vec![
            create(Kind::Service, "pi", Wave::Dependencies),
            create(Kind::ConfigMap, "pi-config", Wave::Dependencies),
            create(Kind::Job, "pi-launcher", Wave::Pods),
            workers(0..3),
        ])
        .await;

    let observed = bench.observed();
    let uid = Uid::from(UID);
    assert!(observed.service.unwrap().object.is_controlled_by(&uid));
    assert!(observed.config.unwrap().object.is_controlled_by(&uid));
    assert!(observed.launcher.unwrap().object.is_controlled_by(&uid));
    let pods: Vec<_> = observed.pods.iter().map(|pod| (pod.index, pod.phase)).collect();
    assert_eq!(pods, [(0, PodPhase::Pending), (1, PodPhase::Pending), (2, PodPhase::Pending)]);
}

#[tokio::test(start_paused = true)]
async fn the_private_key_goes_into_the_request_and_only_metadata_comes_back() {
    let bench = Bench::new(all_well);

    bench
        .apply(vec![Step::CreateSecret {
            object: object(Kind::Secret, "pi-ssh"),
            manifest: manifest("pi-ssh"),
        }])
        .await;

    let asked = &bench.fake.asked()[0];
    assert!(asked.body["data"]["ssh-privatekey"].as_str().unwrap().len() > 200);
    assert!(asked.accept.starts_with("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"));
}

#[tokio::test(start_paused = true)]
async fn workers_start_slowly_and_then_as_fast_as_the_pace_allows() {
    let bench = Bench::new(all_well);
    let start = Instant::now();

    let (done, _) = bench.apply(vec![workers(0..2000)]).await;

    assert_eq!(done.created, 2000);
    let most = bench.fake.most();
    assert!((64..=96).contains(&most), "{most} at once");
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    assert_eq!(bench.fake.lines()[0], "POST pods pi-worker-0");
}

#[tokio::test(start_paused = true)]
async fn a_quota_costs_one_request_and_not_thousands() {
    let bench = Bench::new(|_, _| Reply::refused(403, "Forbidden"));

    let (done, _) = bench.apply(vec![workers(0..5000)]).await;

    assert_eq!(bench.fake.asked().len(), 1);
    assert_eq!(done.failures[0].reason, FailureReason::Forbidden);
    assert_eq!(done.failures[0].object, object(Kind::Pod, "pi-worker-0"));
    assert_eq!(done.failures[0].message, "refused: Forbidden");
}

#[tokio::test(start_paused = true)]
async fn a_quota_met_on_the_way_stops_what_stands_in_line() {
    let bench = Bench::new(|fake, asked| {
        if fake.asked().len() > 300 { Reply::refused(403, "Forbidden") } else { all_well(fake, asked) }
    });

    let (done, _) = bench.apply(vec![workers(0..5000)]).await;

    assert!(bench.fake.asked().len() < 400, "{} requests", bench.fake.asked().len());
    assert_eq!(done.failures.len(), REPORTED);
    assert_eq!(bench.observed().pods.len(), done.created);
}

#[tokio::test(start_paused = true)]
async fn after_a_wave_that_fails_goes_on_what_needs_nothing_of_it() {
    let bench = Bench::new(|fake, asked| match asked.method {
        http::Method::POST if asked.path.ends_with("services") => Reply::refused(422, "Invalid"),
        _ => all_well(fake, asked),
    });
    let config = create(Kind::ConfigMap, "pi-config", Wave::Dependencies);

    let (done, _) = bench
        .apply(vec![create(Kind::Service, "pi", Wave::Dependencies), config, workers(0..3), delete(None)])
        .await;

    let mut lines = bench.fake.lines();
    lines.sort();
    assert_eq!(lines, ["DELETE pi-worker-0", "POST configmaps pi-config", "POST services pi"]);
    assert_eq!((done.created, done.deleted), (1, 1));
    assert_eq!(done.failures[0].reason, FailureReason::Invalid);
}

/// How often this was asked for up to now.
fn times(fake: &Fake, asked: &Asked) -> usize {
    fake.lines().iter().filter(|line| **line == asked.line()).count()
}

#[tokio::test(start_paused = true)]
async fn what_may_pass_by_itself_is_tried_again_in_the_same_reconcile() {
    for status in [429, 500, 502, 503, 504] {
        let bench = Bench::new(move |fake, asked| {
            if times(fake, asked) < 3 { Reply::refused(status, "x") } else { all_well(fake, asked) }
        });

        let (done, left) =
            bench.apply(vec![create(Kind::Service, "pi", Wave::Dependencies), workers(0..20)]).await;

        assert_eq!((done.created, done.failures.len(), left), (21, 0, false), "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_creation_that_was_not_answered_is_found_by_the_next_try() {
    let mut bench = Bench::new(all_well);
    let fake = Fake::default();
    let hangs = fake.clone();
    let client = fake.uneven(
        move |_| Duration::from_millis(if hangs.asked().len() == 1 { 60_000 } else { 20 }),
        occupied(existing(&owners(), &json!({labels::LABEL_JOB: "pi"}))),
    );
    let limiter = ConcurrencyLimiter::new(None, Arc::clone(&bench.metrics));
    bench.rest = Rest::new(client, limiter, Arc::clone(&bench.metrics));

    let (done, _) = bench.apply(vec![create(Kind::Job, "pi-launcher", Wave::Pods)]).await;

    assert_eq!(done.failures, []);
    assert_eq!(fake.lines(), ["POST jobs pi-launcher", "POST jobs pi-launcher", "GET pi-launcher"]);
}

#[tokio::test(start_paused = true)]
async fn one_worker_that_cannot_be_made_does_not_keep_the_others_from_it() {
    let bench = Bench::new(|fake, asked| match &*asked.line() {
        "POST pods pi-worker-0" => Reply::refused(500, "InternalError"),
        "POST pods pi-worker-7" => Reply::refused(409, "AlreadyExists"),
        "GET pi-worker-7" => Reply::ok(existing(&json!([]), &json!({}))),
        _ => all_well(fake, asked),
    });

    let (done, _) = bench.apply(vec![workers(0..50)]).await;

    assert_eq!(done.created, 48);
    let mut failed: Vec<_> = done.failures.iter().map(|failure| &*failure.object.name).collect();
    failed.sort_unstable();
    assert_eq!(failed, ["pi-worker-0", "pi-worker-7"]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_every_worker_is_asked_for_a_few() {
    let bench = Bench::new(|_, _| Reply::refused(500, "InternalError"));

    let (done, _) = bench.apply(vec![workers(0..5000)]).await;

    assert_eq!(done.created, 0);
    assert!(bench.fake.asked().len() < 60, "{} requests", bench.fake.asked().len());
}

#[tokio::test(start_paused = true)]
async fn refusals_are_told_apart() {
    for (status, reason) in [
        (400, FailureReason::Invalid),
        (403, FailureReason::Forbidden),
        (422, FailureReason::Invalid),
        (429, FailureReason::Unavailable),
        (500, FailureReason::Unavailable),
        (503, FailureReason::Unavailable),
    ] {
        let bench = Bench::new(move |_, _| Reply::refused(status, "x"));
        let (done, _) = bench.apply(vec![create(Kind::Service, "pi", Wave::Dependencies)]).await;
        assert_eq!(done.failures[0].reason, reason, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_is_given_up_on() {
    let fake = Fake::default();
    let mut bench = Bench::new(all_well);
    let client = fake.client(Duration::from_hours(1), all_well);
    let limiter = ConcurrencyLimiter::new(None, Arc::clone(&bench.metrics));
    bench.rest = Rest::new(client, limiter, Arc::clone(&bench.metrics));
    let start = Instant::now();

    let (done, _) = bench.apply(vec![create(Kind::Service, "pi", Wave::Dependencies)]).await;

    assert!((20..21).contains(&start.elapsed().as_secs()), "a second try fits into the time");
    assert_eq!(done.failures[0].reason, FailureReason::Unavailable);
    assert_eq!(done.failures[0].message, "no answer within 10 s");
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_does_not_begin_writes_for_ever() {
    let deletes = (0..500).map(|index| Step::Delete {
        object: object(Kind::Pod, &format!("pi-worker-{index}")),
        uid: Uid::from("p"),
        version: None,
    });
    for steps in [vec![workers(0..500)], deletes.collect()] {
        let bench = Bench::at(Some(Rate { qps: 5.0, burst: 10.0 }), all_well);
        let start = Instant::now();

        let (done, left) = bench.apply(steps).await;

        assert!(left, "another reconcile is due");
        assert_eq!(start.elapsed().as_secs(), BUDGET.as_secs());
        let begun = bench.fake.asked().len();
        assert!((105..=111).contains(&begun), "the burst and 20 s at 5 a second, not {begun}");
        assert_eq!((done.created + done.deleted, done.failures.len()), (begun, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_cannot_be_sent_is_no_sign_of_load() {
    let bench = Bench::new(all_well);
    let limit = bench.rest.limiter().limit();

    for _ in 0..10 {
        let call =
            Call::new("Pod", http::Method::GET, "/api/v1/namespaces/team-a/pods/not a path".to_owned());
        let refused = bench.rest.send(Flow::Objects, "team-a/pi", call).await.unwrap_err();
        assert!(!refused.is_transient(), "{refused}");
        tokio::time::sleep(Duration::from_secs(2)).await;
    }

    assert_eq!(bench.rest.limiter().limit(), limit);
    assert_eq!(bench.fake.lines(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn the_servers_word_slows_down_and_a_webhooks_does_not() {
    for (message, halved) in [
        ("the server has asked for the client to try again later", true),
        ("admission webhook \"quota.team-a.example\" denied the request: come back later", false),
    ] {
        let bench = Bench::new(move |_, _| {
            let body = json!({"kind": "Status", "reason": "TooManyRequests", "message": message});
            Reply { body, ..Reply::refused(429, "TooManyRequests") }
        });
        let limit = bench.rest.limiter().limit();

        bench.apply(vec![create(Kind::Service, "pi", Wave::Dependencies)]).await;

        assert_eq!(bench.rest.limiter().limit() < limit, halved, "{message}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_has_lost_the_lease_sends_nothing() {
    let mut bench = Bench::new(all_well);
    bench.rest = bench.rest.while_leading(Leadership::default());

    let (done, _) = bench.apply(vec![create(Kind::Service, "pi", Wave::Dependencies)]).await;

    assert_eq!(done.failures[0].reason, FailureReason::Unavailable);
    assert_eq!(bench.fake.lines(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn what_began_in_one_term_sends_nothing_in_a_later_one() {
    let mut bench = Bench::new(all_well);
    let (leadership, deadline) = (Leadership::default(), Duration::from_secs(10));
    leadership.renewed(Instant::now(), deadline);
    bench.rest = bench.rest.while_leading(leadership.clone()).in_term(leadership.term());
    bench.apply(vec![create(Kind::Service, "pi", Wave::Dependencies)]).await;
    assert_eq!(bench.fake.lines(), ["POST services pi"]);

    leadership.lost();
    leadership.renewed(Instant::now(), deadline);
    assert!(leadership.leads());
    let (done, _) = bench.apply(vec![create(Kind::Service, "po", Wave::Dependencies)]).await;

    assert_eq!(done.failures[0].reason, FailureReason::Unavailable);
    assert_eq!(bench.fake.lines(), ["POST services pi"]);
}

/// A server on which `existing` stands where a POST wants to go.
fn occupied(existing: Value) -> impl Fn(&Fake, &Asked) -> Reply + Send + Sync {
    move |_, asked| {
        let mut object = existing.clone();
        match asked.method {
            http::Method::POST => Reply::refused(409, "AlreadyExists"),
            http::Method::PATCH => {
                object["metadata"]["resourceVersion"] = "51".into();
                object["metadata"]["labels"] = asked.body["metadata"]["labels"].clone();
                Reply::ok(object)
            }
            _ => Reply::ok(object),
        }
    }
}

fn existing(owners: &Value, labels: &Value) -> Value {
    json!({"metadata": {"name": "pi-launcher", "namespace": "team-a", "uid": "l", "resourceVersion": "50",
        "ownerReferences": owners, "labels": labels}, "spec": {"suspend": true}})
}

#[tokio::test(start_paused = true)]
async fn what_the_mpi_operator_made_gets_the_label_that_our_watches_select() {
    let bench = Bench::new(occupied(existing(&owners(), &json!({"app": "pi"}))));

    let (done, _) = bench.apply(vec![create(Kind::Job, "pi-launcher", Wave::Pods)]).await;

    assert_eq!(done, Done::default());
    assert_eq!(bench.fake.lines(), ["POST jobs pi-launcher", "GET pi-launcher", "PATCH pi-launcher"]);
    let patch = &bench.fake.asked()[2];
    assert_eq!(patch.body, json!({"metadata": {"uid": "l", "labels": {labels::LABEL_JOB: "pi"}}}));
    assert_eq!(patch.content, "application/merge-patch+json");
    assert!(bench.observed().launcher.unwrap().suspended);
}

#[tokio::test(start_paused = true)]
async fn a_creation_whose_answer_was_lost_counts_as_done() {
    let bench = Bench::new(occupied(existing(&owners(), &json!({labels::LABEL_JOB: "pi"}))));

    let (done, _) = bench.apply(vec![create(Kind::Job, "pi-launcher", Wave::Pods)]).await;

    assert_eq!(done.failures, []);
    assert_eq!(bench.fake.lines(), ["POST jobs pi-launcher", "GET pi-launcher"]);
    assert!(bench.observed().launcher.is_some());
}

#[tokio::test(start_paused = true)]
async fn what_belongs_to_someone_else_is_left_alone() {
    let bench = Bench::new(occupied(existing(&json!([]), &json!({}))));

    let (done, _) = bench.apply(vec![create(Kind::Job, "pi-launcher", Wave::Pods)]).await;

    assert_eq!(done.failures[0].reason, FailureReason::Foreign);
    assert_eq!(bench.fake.lines(), ["POST jobs pi-launcher", "GET pi-launcher"]);
    assert_eq!(bench.observed().launcher, None);
}

#[tokio::test(start_paused = true)]
async fn leftovers_of_an_earlier_job_of_the_name_are_waited_for() {
    let mut owners = owners();
    owners[0]["uid"] = "an earlier one".into();
    let bench = Bench::new(occupied(existing(&owners, &json!({}))));

    let (done, _) = bench.apply(vec![create(Kind::Job, "pi-launcher", Wave::Pods)]).await;

    assert_eq!(done.failures[0].reason, FailureReason::Conflict);
}

#[tokio::test(start_paused = true)]
async fn what_another_operator_made_is_found_by_name_and_the_launcher_last() {
    let bench = Bench::new(|_, asked| {
        let name = asked.path.rsplit('/').next().unwrap_or_default();
        let mut object = existing(&owners(), &json!({"app": "pi"}));
        object["metadata"]["name"] = name.into();
        match (asked.method.as_str(), name) {
            ("GET", "pi-ssh") => Reply::refused(404, "NotFound"),
            ("GET", _) => Reply::ok(object),
            _ => {
                object["metadata"]["labels"] = asked.body["metadata"]["labels"].clone();
                Reply::ok(object)
            }
        }
    });
    let applier = Applier {
        rest: &bench.rest,
        index: &bench.index,
        metrics: &bench.metrics,
        job: &bench.job,
        key: key(),
        deadline: Instant::now() + BUDGET,
    };

    applier.claim().await.unwrap();

    assert_eq!(
        bench.fake.lines(),
        [
            "GET pi",
            "PATCH pi",
            "GET pi-config",
            "PATCH pi-config",
            "GET pi-ssh",
            "GET pi-launcher",
            "PATCH pi-launcher"
        ]
    );
    let observed = bench.observed();
    assert!(observed.service.is_some() && observed.config.is_some() && observed.launcher.is_some());
}

fn delete(version: Option<u64>) -> Step {
    Step::Delete {
        object: object(Kind::Pod, "pi-worker-0"),
        uid: Uid::from("p"),
        version: version.map(Version),
    }
}

fn with_worker(bench: &Bench) {
    let pod = json!({"metadata": {"name": "pi-worker-0", "namespace": "team-a", "uid": "p", "resourceVersion": "5",
        "labels": {labels::LABEL_JOB_NAME: "pi", labels::LABEL_JOB_ROLE: "worker"}}});
    let (key, row) = serde_json::from_value::<DecodedPod>(pod).unwrap().row().unwrap();
    bench.index.write().pods.shown(&key, row);
}

#[tokio::test(start_paused = true)]
async fn a_delete_names_the_object_that_it_means() {
    let pod = json!({"kind": "PartialObjectMetadata", "metadata": {"uid": "p", "resourceVersion": "9"}});
    let bench = Bench::new(move |_, _| Reply::ok(pod.clone()));
    with_worker(&bench);

    let (done, another_reconcile) = bench.apply(vec![delete(Some(5))]).await;

    assert_eq!((done.deleted, another_reconcile), (1, false), "the watch tells when it is gone");
    let options = &bench.fake.asked()[0].body;
    assert_eq!(options["preconditions"], json!({"uid": "p", "resourceVersion": "5"}));
    assert_eq!(options["propagationPolicy"], "Background");
    let pod = &bench.observed().pods[0];
    assert_eq!((pod.deleting, pod.version), (true, Version(9)));
}

#[tokio::test(start_paused = true)]
async fn what_is_gone_already_is_as_good_as_deleted() {
    for status in [404, 409] {
        let bench = Bench::new(move |_, _| Reply::refused(status, "x"));
        with_worker(&bench);

        let (done, another_reconcile) = bench.apply(vec![delete(None)]).await;

        assert_eq!((done.deleted, done.failures.len(), bench.observed().pods.len()), (1, 0, 0), "{status}");
        assert!(another_reconcile, "nothing more is heard of it");
    }
    let bench = Bench::new(|_, _| Reply::refused(409, "Conflict"));
    let (done, _) = bench.apply(vec![delete(Some(5))]).await;
    assert_eq!(done.failures[0].reason, FailureReason::Conflict);
}

/// As a ConfigMap does, whose deletion is answered by a Status.
#[tokio::test(start_paused = true)]
async fn what_goes_at_once_is_looked_after_at_once() {
    let status = json!({"kind": "Status", "status": "Success", "details": {"uid": "p"}});
    let bench = Bench::new(move |_, _| Reply::ok(status.clone()));
    with_worker(&bench);

    let (done, another_reconcile) = bench.apply(vec![delete(None)]).await;

    assert_eq!((done.deleted, another_reconcile, bench.observed().pods.len()), (1, true, 0));
}

#[tokio::test(start_paused = true)]
async fn the_gate_is_removed_only_where_it_was_seen() {
    let bench = Bench::new(|_, _| Reply::refused(422, "Invalid"));

    let step = Step::OpenGate { pod: "pi-launcher-x".into(), version: Version(7), position: 1 };
    let (done, _) = bench.apply(vec![step]).await;

    assert_eq!(
        bench.fake.asked()[0].body,
        json!([
            {"op": "test", "path": "/metadata/resourceVersion", "value": "7"},
            {"op": "test", "path": "/spec/schedulingGates/1/name", "value": "coxswain.dev/workers"},
            {"op": "remove", "path": "/spec/schedulingGates/1"},
        ])
    );
    assert_eq!(bench.fake.asked()[0].content, "application/json-patch+json");
    assert_eq!(done.failures[0].reason, FailureReason::Conflict, "a test that does not hold is a change");
}

#[tokio::test(start_paused = true)]
async fn a_patch_is_refused_if_the_object_has_changed() {
    let bench = Bench::new(|_, _| Reply::refused(409, "Conflict"));
    let step = Step::Patch {
        object: object(Kind::Job, "pi-launcher"),
        uid: Uid::from("l"),
        version: Version(8),
        patch: json!({"spec": {"suspend": true}}),
        subresource: None,
        wave: Wave::LauncherUpdate,
    };

    let (done, _) = bench.apply(vec![step]).await;

    assert_eq!(
        bench.fake.asked()[0].body,
        json!({"spec": {"suspend": true}, "metadata": {"uid": "l", "resourceVersion": "8"}})
    );
    assert_eq!(done.failures[0].reason, FailureReason::Conflict);
}

#[tokio::test(start_paused = true)]
async fn a_launcher_that_ran_before_is_reset_and_then_resumed() {
    let stored = json!({"metadata": {"name": "pi-launcher", "namespace": "team-a", "uid": "l", "resourceVersion": "8",
        "labels": {labels::LABEL_JOB: "pi"}}, "spec": {"suspend": true}, "status": {"startTime": "2026-01-01T00:00:00Z"}});
    let bench = Bench::new(move |_, asked| match asked.method {
        http::Method::PUT => Reply::ok(asked.body.clone()),
        http::Method::PATCH => {
            let mut reset = stored.clone();
            reset["metadata"]["resourceVersion"] = "9".into();
            reset["status"] = json!({});
            Reply::ok(reset)
        }
        _ => Reply::ok(stored.clone()),
    });
    let step = Step::Resume {
        object: object(Kind::Job, "pi-launcher"),
        uid: Uid::from("l"),
        launcher: json!({"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}}),
    };

    let (done, _) = bench.apply(vec![step]).await;

    assert_eq!(done, Done::default());
    let asked = bench.fake.asked();
    assert_eq!(bench.fake.lines(), ["GET pi-launcher", "PATCH status", "PUT pi-launcher pi-launcher"]);
    assert_eq!(asked[1].body["status"], json!({"startTime": null}));
    assert_eq!(asked[2].body["metadata"]["resourceVersion"], "9");
    assert_eq!(asked[2].body.pointer("/spec/template/spec/nodeSelector"), Some(&json!({"a": "b"})));
    assert!(!bench.observed().launcher.unwrap().suspended);
}

/// The rows are there, the objects are not: the watch has lost their ends.
#[tokio::test(start_paused = true)]
async fn what_a_write_does_not_find_is_forgotten() {
    let patch = |kind: Kind, name: &str| Step::Patch {
        object: object(kind, name),
        uid: Uid::from(name),
        version: Version(5),
        patch: json!({"data": {}}),
        subresource: None,
        wave: Wave::LauncherUpdate,
    };
    let steps = vec![
        patch(Kind::Service, "pi"),
        patch(Kind::ConfigMap, "pi-config"),
        patch(Kind::Secret, "pi-ssh"),
        patch(Kind::Job, "pi-launcher"),
        Step::OpenGate { pod: "pi-launcher-x".into(), version: Version(5), position: 0 },
    ];
    let not_found = |asked: &Asked| {
        let name = asked.path.rsplit('/').next().unwrap();
        let message = format!("things \"{name}\" not found");
        Reply { body: json!({"reason": "NotFound", "message": message}), ..Reply::refused(404, "NotFound") }
    };
    for (is_named, left) in [(true, 0), (false, 5)] {
        let bench = Bench::new(
            move |_, asked| {
                if is_named { not_found(asked) } else { Reply::refused(404, "NotFound") }
            },
        );
        for (kind, name) in [
            (Kind::Service, "pi"),
            (Kind::ConfigMap, "pi-config"),
            (Kind::Secret, "pi-ssh"),
            (Kind::Job, "pi-launcher"),
            (Kind::Pod, "pi-launcher-x"),
        ] {
            let mut object = manifest(name);
            object["metadata"]["uid"] = name.into();
            object["metadata"]["resourceVersion"] = "5".into();
            object["metadata"]["labels"][labels::LABEL_JOB_NAME] = "pi".into();
            object["metadata"]["labels"][labels::LABEL_JOB_ROLE] = "launcher".into();
            (crate::kinds::written(kind).wrote)(&bench.index, &object.to_string().into());
        }

        // One after the other: a wave ends with its first failure.
        for step in steps.clone() {
            let (done, _) = bench.apply(vec![step]).await;
            assert_eq!(done.failures[0].reason, FailureReason::Conflict);
        }

        let observed = bench.observed();
        let rows = [
            observed.service.is_some(),
            observed.config.is_some(),
            observed.secret.is_some(),
            observed.launcher.is_some(),
            !observed.pods.is_empty(),
        ];
        assert_eq!(rows.into_iter().filter(|stays| *stays).count(), left, "{rows:?}");
    }
}

/// A leader of before, or a tenant, was faster: workers by our pin beside its ConfigMap would contradict each other.
#[tokio::test(start_paused = true)]
async fn a_config_map_with_another_pin_stops_the_reconcile_and_is_seen() {
    let config = |pin: &str| {
        let mut config = manifest("pi-config");
        config["metadata"]["annotations"] =
            json!({annotations::ANNOTATION_PIN: pin, annotations::ANNOTATION_CONTENT: "c"});
        config
    };
    for (theirs, created) in [("theirs", 0), ("ours", 1)] {
        let mut there = config(theirs);
        there["metadata"]["uid"] = "uid-of-theirs".into();
        there["metadata"]["resourceVersion"] = "7".into();
        let bench = Bench::new(move |fake, asked| match asked.line().as_str() {
            "POST configmaps pi-config" => Reply::refused(409, "AlreadyExists"),
            "GET pi-config" => Reply::ok(there.clone()),
            _ => all_well(fake, asked),
        });
        let step = Step::Create {
            object: object(Kind::ConfigMap, "pi-config"),
            manifest: config("ours"),
            wave: Wave::Dependencies,
        };

        let (done, _) = bench.apply(vec![step, workers([0])]).await;

        let reasons: Vec<_> = done.failures.iter().map(|failure| failure.reason).collect();
        assert_eq!((done.created, reasons.len()), (created, 1 - created), "{theirs}");
        assert!(reasons.iter().all(|reason| *reason == FailureReason::Conflict));
        assert_eq!(bench.observed().config.unwrap().pin.as_deref(), Some(theirs));
    }
}
