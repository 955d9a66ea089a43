//! What of a job's writes may wait a moment while its workers come up, and how long.
//!
//! Each worker that starts changes the counters of the status and the list of running hosts. Until the launcher runs
//! nobody needs either at once, so those of a large job are written together: when all are there, or when the first of
//! them has waited for a time that grows with the job. In go the steps and the status update of a reconcile; out comes how long what
//! may wait of them waits.

use std::time::Duration;

use crate::{
    condition,
    gate::Gate,
    job::ValidJob,
    object::Kind,
    observed::{ObservedPod, ObservedState},
    phase::Phase,
    status::StatusUpdate,
    step::Step,
};

/// What a small job waits for, so that workers that start together are reported together. People and programs look at
/// counters every second or so; the queue has gathered for 75 ms before.
const LEAST: Duration = Duration::from_millis(300);

/// What each worker adds beyond [`LEAST`]: two writes for so many pods are few beside the five that each pod costs.
const EACH: Duration = Duration::from_millis(4);

/// What no job waits beyond, as of 2,500 workers: pulling an image takes longer.
const MOST: Duration = Duration::from_secs(10);

/// What the Job controller takes at most to say that a Job has ended whose pod has: it gathers for a second.
const JOB_ENDS: Duration = Duration::from_secs(2);

/// The same, and what it takes until all losses of workers have been reported ([`crate::status`]).
const JOB_IS_JUDGED: Duration = Duration::from_secs(5);

/// How long the update of the hosts script waits, if it is among `steps` and no launcher reads it yet.
pub fn hosts_wait(
    job: &ValidJob,
    observed: &ObservedState,
    phase: Phase,
    gate: &Gate,
    steps: &[Step],
) -> Option<Duration> {
    // The pin is written along, and has to be there before anything that it pins.
    let is_pinned = observed.config.as_ref().is_some_and(|config| config.pin.is_some());
    let opens = matches!(gate, Gate::Open { .. });
    let reads = observed.launcher_pods().any(|pod| pod.gate.is_none());
    let may = phase == Phase::Active
        && is_pinned
        && !opens
        && !reads
        && steps.iter().any(|step| is_hosts(job, step));
    may.then(|| coming_up(job))
}

/// It updates the hosts script.
pub fn is_hosts(job: &ValidJob, step: &Step) -> bool {
    matches!(step, Step::Patch { object, .. } if object.kind == Kind::ConfigMap && object.name == job.names().config())
}

/// How long the status of `update` waits, if it has nothing new in it but counters of a job that is not yet Running, or
/// that is about to end or to be told how it ended.
pub fn status_wait(
    job: &ValidJob,
    observed: &ObservedState,
    phase: Phase,
    update: &StatusUpdate,
) -> Option<Duration> {
    let status = update.status.as_ref()?;
    let counters = matches!(phase, Phase::Active | Phase::Ended)
        && update.events.is_empty()
        && status.conditions == job.status().conditions
        && status.start_time == job.status().start_time
        && status.completion_time == job.status().completion_time;
    if !counters {
        return None;
    }
    if phase == Phase::Ended {
        return Some(JOB_IS_JUDGED);
    }
    let ends = observed.launcher_pods().count() > 0 && observed.launcher_pods().all(ObservedPod::is_terminal);
    if ends {
        return Some(JOB_ENDS);
    }
    (!condition::is_true(job.status(), condition::RUNNING)).then(|| coming_up(job))
}

/// In proportion to the job, so that a job of any size costs about equally many writes on its way up.
fn coming_up(job: &ValidJob) -> Duration {
    (EACH * job.workers()).clamp(LEAST, MOST)
}

#[cfg(test)]
mod tests;
