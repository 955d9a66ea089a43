//! What users do and what becomes of pods, at its time.

use std::time::Duration;

use serde_json::Value;

use crate::{
    controllers::{
        Inside,
        inside::{has_ended, is_ending, phase},
        kubelet,
    },
    holds::{Holds, is_called},
    network::Network,
    plan::{Deed, Denial, Held, Hold, Plan},
    server::{
        ask::Propagation,
        kind::{Kind, MPI_JOB, NAMESPACE, POD},
        status,
        store::{Object, text},
    },
};

/// Where they work.
pub const TEAM: &str = "team-a";

/// Enters everything that is going to happen beside the operators.
pub fn start(plan: &Plan, network: &Network, holds: &Holds) {
    for act in &plan.users {
        let (network, holds, deed) = (network.clone(), holds.clone(), act.does.clone());
        let at = Duration::from_secs(act.at_seconds);
        network.clone().agenda.after(at, move || does(&network, &holds, &deed));
    }
}

/// Lets it happen now. What concerns an object that is not there does not happen.
pub fn does(network: &Network, holds: &Holds, deed: &Deed) {
    match deed {
        Deed::EndPod { .. } | Deed::LosePod { .. } | Deed::RestartPod { .. } => {
            becomes_of(&Inside::new(network.clone(), "kubelet"), deed);
        }
        Deed::Hold(hold) => {
            holds.hold(hold.clone());
            probe(network, hold, false);
        }
        Deed::Release(hold) => {
            holds.release(hold);
            probe(network, hold, true);
        }
        Deed::Refuse(denial) => refuse(network, denial),
        Deed::Admit { kind, name } => {
            network.server.state().denials.remove(&(named(kind).kind, name.clone()));
        }
        _ => asks(&Inside::new(network.clone(), "user"), deed),
    }
}

fn asks(inside: &Inside, deed: &Deed) {
    let delete = |kind, name: &str, propagation| {
        inside.get(kind, TEAM, name).map(|object| inside.delete(kind, &object, propagation, None))
    };
    let done = match deed {
        Deed::Create(job) => Some(inside.create(&MPI_JOB, TEAM, job.clone())),
        Deed::Change { job, change } => {
            inside.get(&MPI_JOB, TEAM, job).map(|job| inside.patch(&MPI_JOB, &job, change.clone()))
        }
        Deed::Delete { job, propagation } => delete(&MPI_JOB, job, *propagation),
        Deed::DeletePod { name } => {
            let pod = newest(inside, name);
            pod.map(|pod| inside.delete(&POD, &pod, Propagation::Background, None))
        }
        Deed::DeleteNamespace => {
            let namespace = inside.get(&NAMESPACE, "", TEAM);
            namespace.map(|namespace| inside.delete(&NAMESPACE, &namespace, Propagation::Background, None))
        }
        Deed::Make { kind, object } => Some(inside.create(named(kind), TEAM, object.clone())),
        Deed::Alter { kind, name, change } => {
            let kind = named(kind);
            inside.get(kind, TEAM, name).map(|object| inside.patch(kind, &object, change.clone()))
        }
        Deed::Tell { kind, name, status } => {
            let kind = named(kind);
            // The status of what a CRD defines is written with the version that it rests on.
            inside.get(kind, TEAM, name).map(|object| inside.patch_status(kind, &object, status))
        }
        Deed::Remove { kind, name } => delete(named(kind), name, Propagation::Background),
        _ => None,
    };
    if let Some(Err(refusal)) = done {
        panic!("a user is refused: {}", refusal.message);
    }
}

fn becomes_of(inside: &Inside, deed: &Deed) {
    match deed {
        Deed::EndPod { pod, how } => {
            if let Some(pod) = newest(inside, pod).filter(|pod| !has_ended(pod)) {
                kubelet::end(inside, &pod, how);
            }
        }
        Deed::LosePod { pod } => {
            if let Some(pod) = newest(inside, pod) {
                let _ = inside.delete(&POD, &pod, Propagation::Background, Some(0));
            }
        }
        Deed::RestartPod { pod } => {
            if let Some(pod) = newest(inside, pod).filter(|pod| phase(pod) == "Running") {
                kubelet::restart(inside, &pod);
            }
        }
        _ => {}
    }
}

/// Of the pods that are called so, the one that runs or will; the last one made, if there are more.
fn newest(inside: &Inside, called: &str) -> Option<Object> {
    let mut pods = inside.all(&POD, TEAM);
    pods.retain(|pod| is_called(text(pod, "name"), called));
    let made = |pod: &Object| (!has_ended(pod) && !is_ending(pod), text(pod, "creationTimestamp").to_owned());
    pods.into_iter().max_by_key(made)
}

/// Readiness is told at once; what else is held is looked at again by whoever does it.
fn probe(network: &Network, hold: &Hold, is_ready: bool) {
    if hold.what != Held::Readiness {
        return;
    }
    let inside = Inside::new(network.clone(), "kubelet");
    for pod in inside.all(&POD, TEAM) {
        if is_called(text(&pod, "name"), &hold.pod) && phase(&pod) == "Running" {
            kubelet::probe(&inside, &pod, is_ready);
        }
    }
}

fn refuse(network: &Network, denial: &Denial) {
    let Denial { kind, name, is_invalid, message } = denial;
    let (code, reason) = if *is_invalid { (422, "Invalid") } else { (403, "Forbidden") };
    let refusal = status::failure(code, reason, message);
    network.server.state().denials.insert((named(kind).kind, name.clone()), refusal);
}

fn named(kind: &str) -> &'static Kind {
    Kind::named(kind).unwrap_or_else(|| panic!("the simulated API server does not know {kind}"))
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
