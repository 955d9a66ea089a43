//! What users do and what becomes of pods, at its time.

use std::time::Duration;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use crate::{
    components,
    controllers::{
        Inside,
        inside::{has_ended, is_ending, phase},
        kubelet,
    },
    holds::{Holds, is_called},
    network::Network,
    plan::{Deed, Denial, Held, Hold, Plan, Team},
    server::{
        ask::Propagation,
        kind::{CONFIG_MAP, Kind, MPI_JOB, NAMESPACE, POD},
        refused,
        state::Answer,
        status,
        store::{Object, text},
    },
};

/// Where the users work of whom most is told.
pub const TEAM: &str = Team::A.namespace();
/// Where others do.
pub const OTHERS: &str = Team::B.namespace();

/// Enters everything that is going to happen beside the operators.
pub fn start(plan: &Plan, network: &Network, holds: &Holds) {
    for act in &plan.users {
        let (network, holds, team, deed) = (network.clone(), holds.clone(), act.team, act.does.clone());
        let at = Duration::from_secs(act.at_seconds);
        network.clone().agenda.after(at, move || does(&network, &holds, team, &deed));
    }
}

/// Lets it happen now. What concerns an object that is not there does not happen.
pub fn does(network: &Network, holds: &Holds, team: Team, deed: &Deed) {
    let namespace = team.namespace();
    match deed {
        Deed::EndPod { .. } | Deed::LosePod { .. } | Deed::RestartPod { .. } => {
            becomes_of(&Inside::new(network.clone(), "kubelet"), namespace, deed);
        }
        Deed::Hold(hold) => {
            holds.hold(hold.clone());
            probe(network, namespace, hold, false);
        }
        Deed::Release(hold) => {
            holds.release(hold);
            probe(network, namespace, hold, true);
        }
        Deed::Swap { version } => swap(&Inside::new(network.clone(), "administrator"), *version),
        Deed::Refuse(denial) => refuse(network, denial),
        Deed::Admit { kind, name } => {
            network.server.state().denials.remove(&(named(kind).kind, name.clone()));
        }
        _ => asks(&Inside::new(network.clone(), "user"), namespace, deed),
    }
}

fn asks(inside: &Inside, team: &str, deed: &Deed) {
    let delete = |kind, name: &str, propagation| {
        inside.get(kind, team, name).map(|object| inside.delete(kind, &object, propagation, None))
    };
    let done = match deed {
        Deed::Create(job) => Some(inside.create(&MPI_JOB, team, job.clone())),
        Deed::Change { job, change } => {
            inside.get(&MPI_JOB, team, job).map(|job| inside.patch(&MPI_JOB, &job, change.clone()))
        }
        Deed::Delete { job, propagation } => delete(&MPI_JOB, job, *propagation),
        Deed::DeletePod { name } => {
            let pod = newest(inside, team, name);
            pod.map(|pod| inside.delete(&POD, &pod, Propagation::Background, None))
        }
        Deed::DeleteNamespace => {
            let namespace = inside.get(&NAMESPACE, "", team);
            namespace.map(|namespace| inside.delete(&NAMESPACE, &namespace, Propagation::Background, None))
        }
        Deed::Make { kind, object } => Some(inside.create(named(kind), team, object.clone())),
        Deed::Alter { kind, name, change } => {
            let kind = named(kind);
            inside.get(kind, team, name).map(|object| inside.patch(kind, &object, change.clone()))
        }
        Deed::Tell { kind, name, status } => {
            let kind = named(kind);
            // The status of what a CRD defines is written with the version that it rests on.
            inside.get(kind, team, name).map(|object| inside.patch_status(kind, &object, status))
        }
        Deed::Remove { kind, name } => delete(named(kind), name, Propagation::Background),
        _ => None,
    };
    if let Some(Err(refusal)) = done.filter(|done| !is_not_made(deed, done)) {
        panic!("a user is refused: {}", refusal.message);
    }
}

/// There is one of its name, or a quota does not let it be.
fn is_not_made(deed: &Deed, done: &Answer) -> bool {
    matches!(deed, Deed::Make { .. })
        && refused(done).is_some_and(|refusal| ["AlreadyExists", "Forbidden"].contains(&refusal.reason))
}

fn swap(inside: &Inside, version: u32) {
    const NAME: &str = "openmpi";
    let bytes = BASE64_STANDARD.encode(components::version(version));
    let content = json!({"binaryData": {"plugin.wasm": bytes}});
    let done = if let Some(map) = inside.get(&CONFIG_MAP, "mpi-operator", NAME) {
        inside.patch(&CONFIG_MAP, &map, content)
    } else {
        let mut map = json!({"metadata": {"name": NAME, "labels": {"coxswain.dev/plugin": NAME}}});
        json_patch::merge(&mut map, &content);
        inside.create(&CONFIG_MAP, "mpi-operator", map)
    };
    done.expect("an administrator may");
}

fn becomes_of(inside: &Inside, team: &str, deed: &Deed) {
    match deed {
        Deed::EndPod { pod, how } => {
            if let Some(pod) = newest(inside, team, pod).filter(|pod| !has_ended(pod)) {
                kubelet::end(inside, &pod, how);
            }
        }
        Deed::LosePod { pod } => {
            if let Some(pod) = newest(inside, team, pod) {
                let _ = inside.delete(&POD, &pod, Propagation::Background, Some(0));
            }
        }
        Deed::RestartPod { pod } => {
            if let Some(pod) = newest(inside, team, pod).filter(|pod| phase(pod) == "Running") {
                kubelet::restart(inside, &pod);
            }
        }
        _ => {}
    }
}

/// Of the pods that are called so, the one that runs or will; the last one made, if there are more.
fn newest(inside: &Inside, team: &str, called: &str) -> Option<Object> {
    let mut pods = inside.all(&POD, team);
    pods.retain(|pod| is_called(text(pod, "name"), called));
    let made = |pod: &Object| (!has_ended(pod) && !is_ending(pod), text(pod, "creationTimestamp").to_owned());
    pods.into_iter().max_by_key(made)
}

/// Readiness is told at once; what else is held is looked at again by whoever does it.
fn probe(network: &Network, team: &str, hold: &Hold, is_ready: bool) {
    if hold.what != Held::Readiness {
        return;
    }
    let inside = Inside::new(network.clone(), "kubelet");
    for pod in inside.all(&POD, team) {
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
    let template =
        |container: &str| json!({"spec": {"containers": [{"name": container, "image": "example.com/pi"}]}});
    let mut job = json!({
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
        json_patch::merge(&mut job, &json!({"spec": {"mpiReplicaSpecs": {"Worker": null}}}));
    }
    json_patch::merge(&mut job["spec"], more);
    job
}
