//! S1, S6, S7: what operators write.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use serde_json::Value;
use tokio::time::Instant;

use super::{JOB_ROLE, Violations, lag};
use crate::{
    fleet::Fleet,
    network::Network,
    plan::Plan,
    server::{
        Observer,
        kind::{CONFIG_MAP, EVENT, JOB, LEASE, MPI_JOB, POD},
        store::{Change, Object, text},
    },
};

const PIN: &str = "coxswain.dev/pin";

/// What a leader may not have heard of yet, where no watch is made to lag: an event and a write on their ways.
const UNHEARD: Duration = Duration::from_secs(1);

pub struct Objects {
    network: Network,
    violations: Violations,
    unheard: Duration,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// Uids of jobs and launcher Jobs that ever were.
    ours: HashSet<String>,
    /// Worker templates by the job's uid and spec.
    templates: HashMap<(String, String), Value>,
    /// Pins by the job's uid.
    pins: HashMap<String, String>,
    /// Uids of jobs that have had a worker or a launcher Job.
    started: HashSet<String>,
    /// How many workers a job had, and whether it was suspended, lately, by uid.
    asked: BTreeMap<String, Vec<(Instant, u64, bool)>>,
}

impl Objects {
    pub fn new(plan: &Plan, network: Network, violations: Violations) -> Self {
        let unheard = UNHEARD + lag(plan);
        Self { network, violations, unheard, known: Mutex::default() }
    }

    /// S1: it is the job's, or the operator's own.
    fn owned(&self, who: &str, change: &Change, known: &Known) {
        let object = change.object();
        let (kind, namespace, name) = (change.kind, text(object, "namespace"), text(object, "name"));
        let is_own = kind == &LEASE
            || kind == &EVENT
            || (kind == &CONFIG_MAP && namespace == "mpi-operator" && name.starts_with("coxswain-"));
        if is_own {
            return;
        }
        let only_status = || {
            let (Some(before), Some(after)) = (&change.before, &change.after) else { return false };
            before["spec"] == after["spec"] && before["metadata"]["labels"] == after["metadata"]["labels"]
        };
        let allowed =
            if kind == &MPI_JOB { only_status() } else { owners(object).any(|uid| known.ours.contains(uid)) };
        if !allowed {
            self.violations
                .add("S1", &format!("{who} wrote {} {namespace}/{name}, which is no job's", kind.kind));
        }
    }

    /// S6: workers of one spec are alike, and a pin stays.
    fn alike(&self, change: &Change, known: &mut Known) {
        let Some(owner) = owners(change.object()).next().map(str::to_owned) else { return };
        if change.kind == &JOB || is_new_worker(change) {
            known.started.insert(owner.clone());
        }
        let Some(object) = &change.after else { return };
        if change.kind == &CONFIG_MAP
            && let Some(pin) = object["metadata"]["annotations"][PIN].as_str()
        {
            let first = known.pins.entry(owner.clone()).or_insert_with(|| pin.to_owned());
            if first != pin {
                self.violations
                    .add("S6", &format!("the pin of {} changed: {first} to {pin}", text(object, "name")));
            }
        }
        if !is_new_worker(change) {
            return;
        }
        let Some(job) = self.job(object, &owner) else { return };
        let name = text(object, "name");
        let template: Value =
            serde_json::from_str(&object["spec"].to_string().replace(name, "NAME")).expect("it was JSON");
        let first =
            known.templates.entry((owner, job["spec"].to_string())).or_insert_with(|| template.clone());
        if *first != template {
            self.violations.add("S6", &format!("worker {name} differs from others of the same spec"));
        }
    }

    /// S7: no worker that was not asked for.
    fn wanted(&self, change: &Change, known: &Known) {
        let Some(object) = change.after.as_ref().filter(|_| is_new_worker(change)) else { return };
        let Some(owner) = owners(object).next() else { return };
        let Some(asked) = known.asked.get(owner) else { return };
        let now = Instant::now();
        // By its name: where the launcher executes ranks, the labels count from 1.
        let index: u64 =
            text(object, "name").rsplit('-').next().and_then(|index| index.parse().ok()).unwrap_or(0);
        // What held when the time that may be unheard of began, and everything since.
        let from = asked.iter().rposition(|(at, ..)| now.duration_since(*at) > self.unheard).unwrap_or(0);
        let lately = &asked[from..];
        if lately.iter().all(|(_, workers, suspended)| *suspended || index >= *workers) {
            self.violations.add("S7", &format!("worker {} was not asked for", text(object, "name")));
        }
    }

    fn job(&self, object: &Object, uid: &str) -> Option<Object> {
        let jobs = self.network.server.all(&MPI_JOB, Some(text(object, "namespace")));
        jobs.into_iter().find(|job| text(job, "uid") == uid)
    }
}

fn is_new_worker(change: &Change) -> bool {
    change.kind == &POD
        && change.before.is_none()
        && change.object()["metadata"]["labels"][JOB_ROLE] == "worker"
}

fn owners(object: &Value) -> impl Iterator<Item = &str> {
    let owners = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    owners.filter_map(|owner| owner["uid"].as_str())
}

impl Observer for Objects {
    fn changed(&self, who: &str, change: &Change) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let object = change.object();
        if change.kind == &MPI_JOB {
            let uid = text(object, "uid").to_owned();
            let workers = object["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"].as_u64().unwrap_or(0);
            let ends = change.after.is_none() || !object["metadata"]["deletionTimestamp"].is_null();
            let suspended = object["spec"]["runPolicy"]["suspend"] == true || ends;
            known.ours.insert(uid.clone());
            known.asked.entry(uid).or_default().push((Instant::now(), workers, suspended));
        }
        if change.kind == &JOB && owners(object).any(|uid| known.ours.contains(uid)) {
            known.ours.insert(text(object, "uid").to_owned());
        }
        if change.kind == &CONFIG_MAP && change.after.is_none() {
            // A pin by which nothing was made yet is chosen anew where somebody takes it away.
            for owner in owners(object).filter(|owner| !known.started.contains(*owner)).collect::<Vec<_>>() {
                known.pins.remove(owner);
            }
        }
        if Fleet::replica(who).is_some() {
            self.owned(who, change, &known);
            self.alike(change, &mut known);
            self.wanted(change, &known);
        }
    }
}
