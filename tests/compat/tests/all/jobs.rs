//! Raw jobs, and what becomes of them.

use coxswain_model::job::{ValidJob, Verdict};
use serde_json::{Value, json};

/// A job as the API server hands it out: `spec` over a launcher and so many workers.
pub fn job(name: &str, namespace: &str, workers: u32, spec: &Value) -> Value {
    let template = json!({"spec": {"containers": [{"name": "main", "image": "example.com/mpi"}]}});
    let mut replicas = json!({"Launcher": {"template": template}});
    if workers > 0 {
        replicas["Worker"] = json!({"replicas": workers, "template": template});
    }
    let mut job = json!({
        "metadata": {"name": name, "namespace": namespace, "uid": "u1"},
        "spec": {"mpiReplicaSpecs": replicas},
    });
    job["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    job
}

/// What is said of it.
pub fn parse(raw: &Value, cluster_domain: Option<&str>) -> Verdict {
    ValidJob::parse(&serde_json::from_value(raw.clone()).unwrap(), cluster_domain)
}

/// A job that has to be right.
pub fn valid(raw: &Value, cluster_domain: Option<&str>) -> ValidJob {
    match parse(raw, cluster_domain) {
        Verdict::Valid(job) => *job,
        other => panic!("{raw}: {other:?}"),
    }
}
