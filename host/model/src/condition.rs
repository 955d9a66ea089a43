//! The list of conditions and the one rule by which it changes, as in the MPI Operator 0.8.2.

use jiff::Timestamp;

use crate::api::mpijob::{Condition, JobStatus};

/// The job was observed.
pub const CREATED: &str = "Created";
/// The launcher and all workers run.
pub const RUNNING: &str = "Running";
/// Never set; other software may.
pub const RESTARTING: &str = "Restarting";
/// The launcher Job is complete.
pub const SUCCEEDED: &str = "Succeeded";
/// Held back.
pub const SUSPENDED: &str = "Suspended";
/// The launcher Job failed, workers were evicted, or how the launcher ended is not known.
pub const FAILED: &str = "Failed";
/// Ours: False while something keeps the job from being carried out as written. A healthy job has none.
pub const ACCEPTED: &str = "Accepted";

/// Ours: whether the workers of a native gang are Ready, and what holds them back.
pub const WORKERS_READY: &str = "WorkersReady";

/// Reason of a job whose launcher exited 0 although a worker was lost while it ran.
pub const WORKER_LOST: &str = "WorkerLost";

/// Reason of [`FAILED`] when the launcher Job is gone and nobody saw how it ended.
pub const LAUNCHER_LOST: &str = "LauncherOutcomeUnknown";

/// `status` of a condition that holds.
pub const TRUE: &str = "True";
/// `status` of a condition that does not hold.
pub const FALSE: &str = "False";

/// The condition of that type.
pub fn find<'a>(status: &'a JobStatus, kind: &str) -> Option<&'a Condition> {
    status.conditions.iter().find(|condition| condition.kind == kind)
}

/// A condition of that type exists and holds.
pub fn is_true(status: &JobStatus, kind: &str) -> bool {
    find(status, kind).is_some_and(|condition| condition.status == TRUE)
}

/// When the job was resumed, if it ever was.
pub fn resumed(status: &JobStatus) -> Option<Timestamp> {
    let suspended = find(status, SUSPENDED)?;
    suspended.last_transition_time.filter(|_| suspended.status == FALSE)
}

/// What a condition is to say.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim<'a> {
    pub kind: &'static str,
    pub holds: bool,
    pub reason: &'a str,
    pub message: &'a str,
}

/// Sets a condition; true if that changed anything. Equal status and reason change nothing, whatever the
/// message. A changed condition moves to the end; its transition time is kept where only the reason changed.
pub(crate) fn set(status: &mut JobStatus, claim: Claim, now: Timestamp) -> bool {
    let state = if claim.holds { TRUE } else { FALSE };
    let old = find(status, claim.kind);
    if old.is_some_and(|old| old.status == state && old.reason == claim.reason) {
        return false;
    }
    replace(status, claim, state, now);
    true
}

/// As [`set`], but a new message is a change too.
pub(crate) fn report(status: &mut JobStatus, claim: Claim, now: Timestamp) -> bool {
    let state = if claim.holds { TRUE } else { FALSE };
    let old = find(status, claim.kind);
    if old
        .is_some_and(|old| old.status == state && old.reason == claim.reason && old.message == claim.message)
    {
        return false;
    }
    replace(status, claim, state, now);
    true
}

fn replace(status: &mut JobStatus, claim: Claim, state: &str, now: Timestamp) {
    let since = find(status, claim.kind)
        .filter(|old| old.status == state)
        .map_or(Some(now), |old| old.last_transition_time);
    status.conditions.retain(|condition| condition.kind != claim.kind && !excludes(claim.kind, condition));
    if matches!(claim.kind, SUCCEEDED | FAILED) {
        let over = status.conditions.iter_mut().filter(|c| matches!(c.kind.as_str(), RUNNING | FAILED));
        over.for_each(|condition| FALSE.clone_into(&mut condition.status));
    }
    status.conditions.push(Condition {
        kind: claim.kind.to_owned(),
        status: state.to_owned(),
        reason: claim.reason.to_owned(),
        message: claim.message.to_owned(),
        last_update_time: Some(now),
        last_transition_time: since,
    });
}

/// Puts the condition that was set last before the one that stood last until then, which stays the job's state: `kubectl
/// get mpijobs` shows the last one.
pub(crate) fn make_last_but_one(status: &mut JobStatus) {
    let last = status.conditions.len().saturating_sub(1);
    if last > 0 {
        status.conditions.swap(last - 1, last);
    }
}

/// Puts the condition that was set last before all others: what it tells is not the job's state.
pub(crate) fn make_first(status: &mut JobStatus) {
    status.conditions.rotate_right(1);
}

/// Running and Restarting never stand beside each other.
fn excludes(kind: &str, other: &Condition) -> bool {
    matches!((kind, other.kind.as_str()), (RUNNING, RESTARTING) | (RESTARTING, RUNNING))
}
