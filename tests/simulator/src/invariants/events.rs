//! S14: an event is about what there is or was, and is not said again and again.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, PoisonError},
};

use super::Violations;
use crate::{
    fleet::Fleet,
    plan::Plan,
    server::{
        Observer,
        kind::{EVENT, MPI_JOB},
        store::{Change, text},
    },
};

/// A leader that follows another one may say once more what it finds, and what comes back after it had passed is news.
const SAID: usize = 3;

pub struct Events {
    violations: Violations,
    bound: usize,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// Uids of jobs.
    jobs: HashSet<String>,
    /// By uid, reason and message.
    said: HashMap<(String, String, String), usize>,
}

impl Events {
    pub fn new(plan: &Plan, violations: Violations) -> Self {
        let bound = SAID + 2 * plan.faults.len() + plan.users.len();
        Self { violations, bound, known: Mutex::default() }
    }
}

impl Observer for Events {
    fn changed(&self, who: &str, change: &Change) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if change.kind == &MPI_JOB {
            known.jobs.insert(text(change.object(), "uid").to_owned());
        }
        let is_new = change.kind == &EVENT && change.before.is_none() && Fleet::replica(who).is_some();
        let Some(event) = change.after.as_ref().filter(|_| is_new) else { return };
        let field = |pointer: &str| {
            event.pointer(pointer).and_then(|value| value.as_str()).unwrap_or_default().to_owned()
        };
        let (kind, uid) = (field("/involvedObject/kind"), field("/involvedObject/uid"));
        if kind == MPI_JOB.kind && !known.jobs.contains(&uid) {
            self.violations.add("S14", &format!("an event about a job that never was: {event}"));
        }
        let (reason, message) = (field("/reason"), field("/message"));
        let said = known.said.entry((uid, reason.clone(), message.clone())).or_default();
        *said += 1;
        if *said == self.bound + 1 {
            self.violations.add("S14", &format!("said more than {} times: {reason}: {message}", self.bound));
        }
    }
}
