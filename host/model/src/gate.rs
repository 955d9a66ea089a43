//! When the launcher may start: once its workers answer, so that it does not burn its back-off on them.
//!
//! A worker answers when it is Ready and DNS knows it. The second follows the first by up to two seconds on a busy
//! cluster, and a launcher that asks in between is refused for as long as the refusal is cached, 30 s by default.
//!
//! In go the job, what is observed and the time; out comes whether our scheduling gate on the launcher pod stays,
//! or why it opens. [`crate::diff`] makes a step of it, [`crate::status`] an event and a wake-up.

mod dns_wait;

use std::collections::HashSet;

use jiff::Timestamp;

pub use self::dns_wait::DNS_CACHE;
use crate::{
    condition,
    job::{Group, ValidJob},
    kind::PodId,
    object::Version,
    observed::{ObservedLauncher, ObservedPod, ObservedState},
    phase::{self, Phase},
};

/// Hosts that an event names at most; a job has up to some ten thousand.
const SAMPLE: usize = 8;

/// What becomes of the gate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Gate {
    /// Nothing to open: no launcher pod carries our gate, or the job does not run.
    #[default]
    NotUsed,
    /// The launcher waits.
    Closed {
        /// For these workers; none if it waits for DNS to forget those of before.
        waiting_for: Missing,
        /// Until then at most.
        until: Timestamp,
    },
    /// The launcher may start.
    Open {
        /// Launcher pod.
        pod: String,
        /// Its version.
        version: Version,
        /// Where the gate stands in its `spec.schedulingGates`.
        position: usize,
        /// Why.
        because: Because,
    },
}

/// Workers that are not Ready, or that DNS does not know yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// The first of each group, at most eight.
    pub sample: Vec<PodId>,
    /// How many there are.
    pub count: u32,
}

/// Why a gate opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Because {
    /// Every worker is Ready and in DNS.
    AllReady,
    /// Waiting is in vain: a worker has ended.
    WorkerFailed,
    /// The launcher ran before; a retry is not held back.
    RanBefore,
    /// As many workers are Ready as the job says it can start with.
    Minimum,
    /// It has waited long enough.
    TimedOut {
        /// For these workers in vain.
        missing: Missing,
    },
}

/// Decides at `now`. Ready means what the pods' probes say; a terminating worker is not Ready, whatever it says.
/// Where the job has just been resumed, or made again under its name, the launcher also waits until DNS has forgotten the
/// workers of before.
pub fn decide(job: &ValidJob, observed: &ObservedState, now: Timestamp) -> Gate {
    let launcher = observed.launcher_of(job).filter(|_| phase::of(job, observed) == Phase::Active);
    let gated = launcher.and_then(|launcher| {
        let mut pods = observed.launcher_pods().filter(|pod| !pod.deleting && !pod.is_terminal());
        pods.find_map(|pod| Some((launcher, pod, pod.gate?)))
    });
    let Some((launcher, pod, position)) = gated else { return Gate::NotUsed };
    let missing = missing(job, observed);
    let until = deadline(job, pod);
    let because = if missing.count == 0 {
        Because::AllReady
    } else if ran_before(job, observed, launcher, pod) {
        Because::RanBefore
    } else if has_ended_worker(job, observed) {
        Because::WorkerFailed
    } else if job.workers().saturating_sub(missing.count) >= least(job) {
        Because::Minimum
    } else if now >= until {
        Because::TimedOut { missing }
    } else {
        return Gate::Closed { waiting_for: missing, until };
    };
    if matches!(because, Because::AllReady | Because::Minimum) {
        let is_retry = ran_before(job, observed, launcher, pod);
        let until = dns_wait::forgotten(job, observed, now, is_retry).map(|forgotten| forgotten.min(until));
        if let Some(until) = until.filter(|until| now < *until) {
            return Gate::Closed { waiting_for: Missing::default(), until };
        }
    }
    Gate::Open { pod: pod.name.to_string(), version: pod.version, position, because }
}

/// A launcher that is made only when its workers are Ready is due: all are, or as many as the job says it needs, or
/// waiting is in vain because a worker has ended. Whether DNS knows them is for the gate on its pod, which may be
/// turned off.
pub fn is_launcher_due(job: &ValidJob, observed: &ObservedState) -> bool {
    let ready = |group| ready(job, observed, group).map(|pod| pod.index).collect::<HashSet<_>>().len();
    let ready: usize = job.groups().run_by_pods().map(ready).sum();
    ready >= usize::try_from(least(job)).unwrap_or(usize::MAX) || has_ended_worker(job, observed)
}

/// The elastic minimum; a minimum above the job's size means all.
fn least(job: &ValidJob) -> u32 {
    job.options().start_min_workers.unwrap_or(u32::MAX).min(job.workers())
}

fn missing(job: &ValidJob, observed: &ObservedState) -> Missing {
    let mut missing = Missing::default();
    for group in job.groups().run_by_pods() {
        let answer = ready(job, observed, group).filter(|pod| observed.published.contains(&pod.uid));
        let ready: HashSet<u32> = answer.map(|pod| pod.index).collect();
        let count = group.replicas();
        let absent = count.saturating_sub(u32::try_from(ready.len()).unwrap_or(count));
        if absent > 0 {
            let indexes = (0..count).filter(|index| !ready.contains(index));
            let room = SAMPLE.saturating_sub(missing.sample.len());
            missing.sample.extend(indexes.map(|index| PodId { role: group.id(), index }).take(room));
        }
        missing.count = missing.count.saturating_add(absent);
    }
    missing
}

fn ready<'a>(
    job: &'a ValidJob,
    observed: &'a ObservedState,
    group: &'a Group,
) -> impl Iterator<Item = &'a ObservedPod> {
    observed.group_of(job, group).filter(|pod| pod.ready && !pod.deleting && !pod.is_terminal())
}

fn has_ended_worker(job: &ValidJob, observed: &ObservedState) -> bool {
    observed.wanted_workers_of(job).any(|pod| pod.is_terminal() && !pod.deleting)
}

/// After a resume only what ran since then counts: the workers are new again.
fn ran_before(
    job: &ValidJob,
    observed: &ObservedState,
    launcher: &ObservedLauncher,
    gated: &ObservedPod,
) -> bool {
    let mut ended = observed.launcher_pods().filter(|pod| pod.is_terminal() && pod.uid != gated.uid);
    match condition::resumed(job.status()) {
        Some(since) => ended.any(|pod| pod.created >= since),
        None => launcher.failed > 0 || ended.next().is_some(),
    }
}

fn deadline(job: &ValidJob, pod: &ObservedPod) -> Timestamp {
    pod.created.checked_add(job.options().start_gate_timeout).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests;
