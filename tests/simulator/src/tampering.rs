//! What tenants do by hand to what belongs to a job, what others put in its way, Kueue, and an administrator who swaps plugins.

use serde_json::{Value, json};

use crate::plan::Deed;

/// Ways to do so.
pub const WAYS: u64 = 14;

const PIN: &str = "coxswain.dev/pin";
const JOB_NAME: &str = "training.kubeflow.org/job-name";
const CONFIG: &str = "pi-config";

/// One of the [`WAYS`], concerning this worker or, of the administrator's, this version of a component; and what takes it back.
pub fn way(number: u64, worker: &str, version: u32) -> (Deed, Option<Deed>) {
    let metadata = |kind: &str, name: &str, metadata: Value| Deed::Alter {
        kind: kind.to_owned(),
        name: name.to_owned(),
        change: json!({ "metadata": metadata }),
    };
    let pod = |change: Value| metadata("Pod", worker, change);
    let config = |change: Value| metadata("ConfigMap", CONFIG, change);
    let job = |change: Value| Deed::Change { job: "pi".to_owned(), change };
    let takes = |kind: &str, object: Value| {
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let kind = kind.to_owned();
        (Deed::Make { kind: kind.clone(), object }, Some(Deed::Remove { kind, name }))
    };
    let alone = match number {
        0 => config(json!({"annotations": {PIN: forged()}})),
        1 => config(json!({"annotations": {PIN: "nothing of ours"}})),
        2 => pod(json!({"labels": {JOB_NAME: null}})),
        3 => pod(json!({"labels": {JOB_NAME: "other"}})),
        4 => pod(json!({ "ownerReferences": null })),
        5 => pod(json!({"ownerReferences": [stranger()]})),
        6 => {
            let holds = |finalizers: Value| pod(json!({ "finalizers": finalizers }));
            return (holds(json!(["example.com/keeps"])), Some(holds(Value::Null)));
        }
        7 => return takes("Pod", labelled("stranger")),
        8 => return takes("Pod", named(worker, json!({"spec": containers()}))),
        9 => return takes("ConfigMap", named(CONFIG, json!({"data": {"hostfile": "elsewhere"}}))),
        10 => return takes("Secret", named("pi-ssh", json!({"data": {}}))),
        11 => return takes("Service", named("pi", json!({"spec": {"ports": [{"port": 80}]}}))),
        12 => {
            let selector = json!({"mpiReplicaSpecs": {"Worker": {"template": {"spec": {"nodeSelector": {"pool": "b"}}}}}});
            let mut resumed = json!({"spec": selector});
            resumed["spec"]["runPolicy"] = json!({"suspend": false});
            return (job(json!({"spec": {"runPolicy": {"suspend": true}}})), Some(job(resumed)));
        }
        _ => Deed::Swap { version },
    };
    (alone, None)
}

/// A pin that is well made, of a component that nobody has admitted.
fn forged() -> String {
    let digest = "0123456789abcdef".repeat(4);
    json!({"launcher": {"name": "openmpi", "digest": digest}}).to_string()
}

fn stranger() -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "name": "gone", "uid": "00000000-0000-4000-8000-000000000000"})
}

fn containers() -> Value {
    json!({"containers": [{"name": "sleep", "image": "example.com/sleep"}]})
}

/// With the labels of a worker, and of no job.
fn labelled(name: &str) -> Value {
    let mut pod = named(name, json!({"spec": containers()}));
    pod["metadata"]["labels"] = json!({
        JOB_NAME: "pi",
        "training.kubeflow.org/job-role": "worker",
        "training.kubeflow.org/operator-name": "mpi-operator",
        "training.kubeflow.org/replica-index": "0",
    });
    pod
}

fn named(name: &str, mut object: Value) -> Value {
    object["metadata"] = json!({ "name": name });
    object
}
