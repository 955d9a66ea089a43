//! What of a job's writes may wait a moment while its workers come up.
//!
//! Each worker that starts changes the counters of the status and the list of running hosts. Until the launcher runs
//! nobody needs either at once, so they are written together: when all are there, or after [`WAIT`]. In go the steps and
//! the tale of a pass; out comes which of it may wait.

use std::time::Duration;

use crate::{
    gate::Gate,
    job::ValidJob,
    phase::Phase,
    seen::{PodSeen, Seen},
    status::{Tale, condition},
    step::{Kind, Step},
};

/// How old a counter may be that people look at while a job comes up: pulling an image takes longer.
pub const WAIT: Duration = Duration::from_secs(10);

/// The update of the hosts script, if it is among `steps` and no launcher reads it yet.
pub fn hosts_may_wait(job: &ValidJob, seen: &Seen, phase: Phase, gate: &Gate, steps: &[Step]) -> bool {
    let opens = matches!(gate, Gate::Open { .. });
    let reads = seen.launcher_pods().any(|pod| pod.gate.is_none());
    phase == Phase::Active && !opens && !reads && steps.iter().any(|step| is_hosts(job, step))
}

/// It updates the hosts script.
pub fn is_hosts(job: &ValidJob, step: &Step) -> bool {
    matches!(step, Step::Patch { object, .. } if object.kind == Kind::ConfigMap && object.name == job.names.config())
}

/// The status of `tale`, if it has nothing new in it but counters of a job that is not yet Running, or that is about
/// to end: the Job controller needs a second to say so of a launcher that has ended.
pub fn status_may_wait(job: &ValidJob, seen: &Seen, phase: Phase, tale: &Tale) -> bool {
    let Some(status) = &tale.status else { return false };
    let ends = || seen.launcher_pods().count() > 0 && seen.launcher_pods().all(PodSeen::is_terminal);
    phase == Phase::Active
        && tale.events.is_empty()
        && status.conditions == job.status.conditions
        && status.start_time == job.status.start_time
        && status.completion_time == job.status.completion_time
        && (comes_up(job) || ends())
}

/// Its status does not say yet that it runs.
fn comes_up(job: &ValidJob) -> bool {
    !condition::is_true(&job.status, condition::RUNNING)
}

/// A job of which something may wait again later on.
pub fn may_wait(job: &ValidJob, phase: Phase) -> bool {
    phase == Phase::Active && comes_up(job)
}
