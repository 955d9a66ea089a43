//! L4, L8: a job of one team starts in time whatever becomes of the other team's, and a gate is not closed for longer than its
//! job lets it.

use std::{sync::Arc, time::Duration};

use super::{
    JOB_NAME, JOB_ROLE, Violations,
    gates::{has_gate, longest_wait},
    patience,
};
use crate::{
    network::Network,
    plan::{Deed, Fault, Plan, Team},
    server::{
        Observer,
        kind::{MPI_JOB, POD},
        store::{Change, Object, text},
    },
    users::TEAM,
};

/// From a job to its launcher: 5 s for each pod to start, 3 s of the slices, and as long again.
const START: Duration = Duration::from_secs(20);

pub struct Waits {
    network: Network,
    violations: Violations,
    /// Nothing but what concerns team B can keep team A's jobs from running.
    is_apart: bool,
    patience: Duration,
}

impl Waits {
    pub fn new(plan: &Plan, network: Network, violations: Violations) -> Arc<Self> {
        let of_others = plan.users.iter().any(|act| act.team == Team::B);
        let creates = |deed: &Deed| matches!(deed, Deed::Create(_));
        let is_theirs = |fault: &Fault| matches!(fault, Fault::Webhook { .. });
        let is_apart = of_others
            && plan.faults.iter().all(is_theirs)
            && plan.users.iter().filter(|act| act.team == Team::A).all(|act| creates(&act.does));
        Arc::new(Self { network, violations, is_apart, patience: patience(plan) })
    }

    fn runs(&self, name: &str, uid: &str) {
        let Some(job) = self.network.server.get(&MPI_JOB, TEAM, name) else { return };
        let started = !job["status"]["conditions"].as_array().into_iter().flatten().all(|condition| {
            condition["status"] != "True" || condition["type"] == "Created" || condition["type"] == "Accepted"
        });
        if text(&job, "uid") == uid && !started {
            let seconds = START.as_secs();
            self.violations.add(
                "L4",
                &format!(
                    "{name} does not run after {seconds} s, and nothing is wrong but in another namespace"
                ),
            );
        }
    }

    fn is_open(&self, namespace: &str, name: &str, uid: &str) {
        let Some(pod) = self.network.server.get(&POD, namespace, name) else { return };
        let job = pod["metadata"]["labels"][JOB_NAME].as_str().unwrap_or_default();
        let Some(job) = self.network.server.get(&MPI_JOB, namespace, job) else { return };
        let is_ending = |object: &Object| !object["metadata"]["deletionTimestamp"].is_null();
        let is_excused = is_ending(&pod) || is_ending(&job) || job["spec"]["runPolicy"]["suspend"] == true;
        if text(&pod, "uid") == uid && has_gate(&pod) && !is_excused {
            let seconds = self.patience.as_secs();
            self.violations.add("L8", &format!("the gate of {name} is closed {seconds} s after its time"));
        }
    }
}

/// Enters the checks.
pub struct Watcher(pub Arc<Waits>);

impl Observer for Watcher {
    fn changed(&self, _: &str, change: &Change) {
        let (None, Some(object)) = (&change.before, &change.after) else { return };
        let text = |field| text(object, field).to_owned();
        let (namespace, name, uid) = (text("namespace"), text("name"), text("uid"));
        let waits = Arc::clone(&self.0);
        let agenda = &self.0.network.agenda;
        if change.kind == &MPI_JOB && namespace == TEAM && waits.is_apart {
            agenda.after(START, move || waits.runs(&name, &uid));
        } else if change.kind == &POD
            && object["metadata"]["labels"][JOB_ROLE] == "launcher"
            && has_gate(object)
        {
            let job = object["metadata"]["labels"][JOB_NAME].as_str().unwrap_or_default();
            let Some(job) = self.0.network.server.get(&MPI_JOB, &namespace, job) else { return };
            let until = longest_wait(&job) + waits.patience;
            agenda.after(until, move || waits.is_open(&namespace, &name, &uid));
        }
    }
}
