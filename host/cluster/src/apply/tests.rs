use coxswain_model::{
    api::{annotations, labels, resource},
    job::Verdict,
    kind::WORKER,
    observed::{ObservedState, PodPhase, Uid, Version},
    step::{FailureReason, Kind, ObjectName},
};
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

mod changes;
mod failures;
mod occupied;
mod waves;

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
        template: Arc::new(WorkerTemplate::new(pod, WORKER, "pi-worker-".to_owned(), 0)),
        indexes: indexes.into_iter().collect(),
    }
}

fn delete(version: Option<u64>) -> Step {
    Step::Delete {
        object: object(Kind::Pod, "pi-worker-0"),
        uid: Uid::from("p"),
        version: version.map(Version),
    }
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
