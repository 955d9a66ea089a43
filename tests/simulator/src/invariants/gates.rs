//! S5: a launcher's gate opens for workers that are there, or for one of the reasons that users are told.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use tokio::time::Instant;

use super::{JOB_NAME, JOB_ROLE, Violations, lag};
use crate::{
    controllers::{has_ended, is_ending},
    fleet::Fleet,
    network::Network,
    plan::Plan,
    server::{
        Observer,
        kind::{ENDPOINT_SLICE, JOB, MPI_JOB, POD},
        store::{Change, Object, text},
    },
};

const GATE: &str = "coxswain.dev/workers";

const MIN_WORKERS: &str = "coxswain.dev/start-min-workers";
const TIMEOUT: &str = "coxswain.dev/start-gate-timeout";
/// Where the job does not say.
const LONGEST_WAIT: Duration = Duration::from_mins(10);

/// From workers that were there to a gate that is open, where no watch is made to lag: two writes and their events.
const REACTION: Duration = Duration::from_secs(5);

pub struct Gates {
    network: Network,
    violations: Violations,
    unheard: Duration,
    known: Mutex<Known>,
}

/// By the job's uid.
#[derive(Default)]
struct Known {
    /// When all of a job's workers were last there.
    complete: HashMap<String, Instant>,
    /// A worker or a launcher has ended: what waits would wait for ever.
    excused: HashSet<String>,
    /// How many workers were asked for, and from when on.
    sizes: HashMap<String, Vec<(Instant, u64)>>,
}

impl Gates {
    pub fn new(plan: &Plan, network: Network, violations: Violations) -> Self {
        Self { network, violations, unheard: REACTION + lag(plan), known: Mutex::default() }
    }

    fn notes(&self, namespace: &str, known: &mut Known) {
        for job in self.network.server.all(&MPI_JOB, Some(namespace)) {
            let uid = text(&job, "uid").to_owned();
            let pods = self.network.server.all(&POD, Some(namespace));
            let name = text(&job, "name");
            let mut of_job = pods.iter().filter(|pod| pod["metadata"]["labels"][JOB_NAME] == name);
            if of_job.any(|pod| has_ended(pod)) {
                known.excused.insert(uid.clone());
            }
            let workers = self.fewest(&job, known);
            if self.are_there(&job, &pods, workers) {
                known.complete.insert(uid, Instant::now());
            }
        }
    }

    /// The smallest job that a leader may still take it for.
    fn fewest(&self, job: &Object, known: &mut Known) -> u64 {
        let now = Instant::now();
        let replicas = job["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"].as_u64().unwrap_or(0);
        let least = job["metadata"]["annotations"][MIN_WORKERS].as_str().and_then(|least| least.parse().ok());
        let workers = least.map_or(replicas, |least: u64| least.min(replicas));
        let sizes = known.sizes.entry(text(job, "uid").to_owned()).or_default();
        if sizes.last().is_none_or(|(_, last)| *last != workers) {
            sizes.push((now, workers));
        }
        let from = sizes.iter().rposition(|(at, _)| now.duration_since(*at) > self.unheard).unwrap_or(0);
        sizes.iter().skip(from).map(|(_, workers)| *workers).min().unwrap_or(workers)
    }

    /// Every worker is Ready, and DNS gives out its address.
    fn are_there(&self, job: &Object, pods: &[Object], workers: u64) -> bool {
        let slices = self.network.server.all(&ENDPOINT_SLICE, Some(text(job, "namespace")));
        let endpoints: Vec<_> =
            slices.iter().flat_map(|slice| slice["endpoints"].as_array().into_iter().flatten()).collect();
        let is_there = |pod: &&Object| {
            let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
            let mut ready = conditions.filter(|condition| condition["type"] == "Ready");
            let is_published =
                || endpoints.iter().any(|endpoint| endpoint["targetRef"]["uid"] == pod["metadata"]["uid"]);
            !is_ending(pod) && ready.any(|condition| condition["status"] == "True") && is_published()
        };
        let worker = format!("{}-worker-", text(job, "name"));
        let of_job = |pod: &&Object| text(pod, "name").starts_with(&worker);
        pods.iter().filter(of_job).filter(is_there).count() as u64 >= workers
    }

    /// The launcher has waited for as long as the job lets it.
    fn has_waited(&self, job: &Object, pod: &Object) -> bool {
        let limit = longest_wait(job);
        let made: Option<Timestamp> = text(pod, "creationTimestamp").parse().ok();
        let waited = made.map(|made| self.network.now().duration_since(made));
        // Times of objects know no fractions of seconds.
        waited.is_some_and(|waited| waited.as_secs() + 1 >= limit.as_secs().cast_signed())
    }

    fn opened(&self, pod: &Object, known: &Known) {
        let Some(name) = pod["metadata"]["labels"][JOB_NAME].as_str() else { return };
        let Some(job) = self.network.server.get(&MPI_JOB, text(pod, "namespace"), name) else { return };
        let uid = text(&job, "uid");
        let is_late = |at: &Instant| Instant::now().duration_since(*at) > self.unheard;
        if !known.excused.contains(uid)
            && !self.has_waited(&job, pod)
            && known.complete.get(uid).is_none_or(is_late)
        {
            let what = format!("the gate of {} opened, and its workers were not there", text(pod, "name"));
            self.violations.add("S5", &what);
        }
    }
}

/// How long a launcher waits, as its job says.
pub fn longest_wait(job: &Object) -> Duration {
    job["metadata"]["annotations"][TIMEOUT].as_str().and_then(parsed).unwrap_or(LONGEST_WAIT)
}

/// `90s`, `10m`.
fn parsed(text: &str) -> Option<Duration> {
    text.parse::<jiff::SignedDuration>().ok()?.try_into().ok()
}

/// It waits.
pub fn has_gate(pod: &Object) -> bool {
    pod["spec"]["schedulingGates"]
        .as_array()
        .is_some_and(|gates| gates.iter().any(|gate| gate["name"] == GATE))
}

impl Observer for Gates {
    fn changed(&self, who: &str, change: &Change) {
        if ![&POD, &ENDPOINT_SLICE, &MPI_JOB, &JOB].contains(&change.kind) {
            return;
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // Before it is gone, too: what has ended and was deleted has ended.
        self.notes(text(change.object(), "namespace"), &mut known);
        let (Some(before), Some(after)) = (&change.before, &change.after) else { return };
        let is_launcher = change.kind == &POD && after["metadata"]["labels"][JOB_ROLE] == "launcher";
        if is_launcher && has_gate(before) && !has_gate(after) && Fleet::replica(who).is_some() {
            self.opened(after, &known);
        }
    }
}
