//! What users do, at its time.

use std::time::Duration;

use serde_json::Value;

use crate::{
    controllers::Inside,
    network::Network,
    plan::{Deed, Plan},
    server::{
        ask::Propagation,
        kind::{MPI_JOB, NAMESPACE, POD},
    },
};

/// Where they work.
pub const TEAM: &str = "team-a";

/// Enters everything that users are going to do.
pub fn start(plan: &Plan, network: &Network) {
    for act in &plan.users {
        let (inside, deed) = (Inside::new(network.clone(), "user"), act.does.clone());
        network.agenda.after(Duration::from_secs(act.at_seconds), move || does(&inside, &deed));
    }
}

fn does(inside: &Inside, deed: &Deed) {
    let done = match deed {
        Deed::Create(job) => Some(inside.create(&MPI_JOB, TEAM, job.clone())),
        Deed::Change { job, change } => {
            inside.get(&MPI_JOB, TEAM, job).map(|job| inside.patch(&MPI_JOB, &job, change.clone()))
        }
        Deed::Delete { job, propagation } => {
            inside.get(&MPI_JOB, TEAM, job).map(|job| inside.delete(&MPI_JOB, &job, *propagation, None))
        }
        Deed::DeletePod { name } => {
            inside.get(&POD, TEAM, name).map(|pod| inside.delete(&POD, &pod, Propagation::Background, None))
        }
        Deed::DeleteNamespace => {
            let namespace = inside.get(&NAMESPACE, "", TEAM);
            namespace.map(|namespace| inside.delete(&NAMESPACE, &namespace, Propagation::Background, None))
        }
    };
    if let Some(Err(refusal)) = done {
        panic!("a user is refused: {}", refusal.message);
    }
}

/// An `MPIJob` of so many workers, with more of a spec. None at all is a launcher alone.
pub fn job(name: &str, workers: u32, more: &Value) -> Value {
    let template = |container: &str| serde_json::json!({"spec": {"containers": [{"name": container, "image": "example.com/pi"}]}});
    let mut job = serde_json::json!({
        "metadata": {"name": name},
        "spec": {
            "slotsPerWorker": 1,
            "mpiReplicaSpecs": {
                "Launcher": {"replicas": 1, "template": template("launcher")},
                "Worker": {"replicas": workers, "template": template("worker")},
            },
        },
    });
    if workers == 0 {
        json_patch::merge(&mut job, &serde_json::json!({"spec": {"mpiReplicaSpecs": {"Worker": null}}}));
    }
    json_patch::merge(&mut job["spec"], more);
    job
}
