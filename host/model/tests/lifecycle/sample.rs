//! Jobs to test with.

use coxswain_model::{
    api::MpiJob,
    desired::{self, AdoptedJob, Desired, Gang},
    job::{ValidJob, Verdict},
    observed::{ObservedState, PodPhase},
    pin::{Digest, Pin, PinnedPlugin},
    plan::{File, Place},
    policy::Granted,
};
use jiff::Timestamp;
use serde_json::json;

/// When the tests begin.
pub fn noon() -> Timestamp {
    "2026-11-21T12:00:00Z".parse().unwrap()
}

/// `team-a/pi` with that many workers; none means no `Worker` block at all.
pub fn raw(workers: u32) -> MpiJob {
    let template = |name: &str| json!({"spec": {"containers": [{"name": name, "image": "pi"}]}});
    let mut replicas = json!({"Launcher": {"replicas": 1, "template": template("launcher")}});
    if workers > 0 {
        replicas["Worker"] = json!({"replicas": workers, "template": template("worker")});
    }
    serde_json::from_value(json!({
        "metadata": {"name": "pi", "namespace": "team-a", "uid": "job-1", "resourceVersion": "1"},
        "spec": {"mpiReplicaSpecs": replicas, "runPolicy": {}},
    }))
    .unwrap()
}

/// The job as it is read.
pub fn valid(raw: &MpiJob) -> ValidJob {
    match ValidJob::parse(raw, None) {
        Verdict::Valid(job) => *job,
        other => panic!("{other:?}"),
    }
}

/// Changes the number of workers.
pub fn scale(raw: &mut MpiJob, workers: u32) {
    let specs = raw.spec.mpi_replica_specs.as_mut().unwrap();
    specs.get_mut("Worker").unwrap().as_mut().unwrap().replicas = Some(workers.try_into().unwrap());
}

/// Sets `spec.runPolicy.suspend`.
pub fn suspend(raw: &mut MpiJob, suspended: bool) {
    raw.spec.run_policy.as_mut().unwrap().suspend = Some(suspended);
}

/// Sets `spec.runPolicy.cleanPodPolicy`.
pub fn clean(raw: &mut MpiJob, policy: &str) {
    raw.spec.run_policy.as_mut().unwrap().clean_pod_policy = Some(policy.to_owned());
}

/// Sets an annotation.
pub fn annotate(raw: &mut MpiJob, key: &str, value: &str) {
    raw.metadata.annotations.insert(key.to_owned(), value.to_owned());
}

/// What a plugin would have made of the job: a hostfile that follows the spec, a script that follows the pods.
fn granted(job: &ValidJob, seen: &ObservedState) -> Granted {
    let host = |index| job.names().fqdn(&job.names().worker(index));
    let hosts: Vec<String> = (0..job.workers()).map(|i| format!("{} slots=1\n", host(i))).collect();
    let running = seen.workers_of(job).filter(|pod| pod.phase == PodPhase::Running);
    let echos: Vec<String> = running.map(|pod| format!("echo {}\n", host(pod.index))).collect();
    let file = |name: &str, content: String| File {
        by: "openmpi".to_owned(),
        name: name.to_owned(),
        place: Place::Job,
        executable: false,
        content,
    };
    Granted {
        job_files: vec![
            file("hostfile", hosts.concat()),
            file("discover_hosts.sh", format!("#!/bin/sh\n{}", echos.concat())),
        ],
        ..Granted::default()
    }
}

/// Everything that should exist of a job.
pub fn desired(job: &ValidJob, seen: &ObservedState, gang: &Gang) -> Desired {
    let plugin = PinnedPlugin { name: "openmpi".into(), digest: Digest::of(b"openmpi"), settings: [].into() };
    let pin = Pin { launcher: plugin, tuners: vec![], cluster_domain: None, claims: [].into() };
    desired::objects(job, &granted(job, seen), &pin, gang, &[].into())
}

/// What is kept up of a job of the MPI Operator.
pub fn adopted_job(job: &ValidJob, seen: &ObservedState, gang: &Gang) -> AdoptedJob {
    desired::adopted_job(job, Some(&granted(job, seen)), gang)
}
