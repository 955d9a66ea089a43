//! Until when DNS may give out the addresses of workers that are gone.
//!
//! CoreDNS keeps an answer for up to [`DNS_CACHE`], but only what somebody asked for, and of a job's pods the launcher is
//! the one that asks. A launcher that is told the address of a worker that is gone connects to nobody, and not every ssh
//! gives up on that within minutes. From that follows when there is something to wait for:
//!
//! - No launcher has run yet: nothing. A worker that is deleted and made again while the launcher waits has another
//!   address, but nobody has asked for the one of before.
//! - A launcher has run and left, because the job was suspended, or because it was deleted and made again under its
//!   name: what it asked for last is forgotten [`DNS_CACHE`] after it ended. It can have been told of the workers of before
//!   only while those were there, and each was gone before the one that now has its name was created. (One that outlives
//!   that and goes on asking may make DNS remember that there is no such name, which ssh says at once and a retry mends.)
//! - A launcher has failed and is tried again: nothing, [`super::Because::RanBefore`]; the Job controller's back-off
//!   (10 s, doubling) has passed, and if that is too short for a worker that was made again, it tries once more.
//!
//! In go the job, what is observed (which tells when launchers left) and the time; out comes until when to wait.

use std::time::Duration;

use jiff::Timestamp;

use crate::{
    condition,
    job::ValidJob,
    observed::{ObservedPod, ObservedState},
};

/// How long DNS may give out what it was asked for once: `ttl` and `cache` of the CoreDNS configuration that kubeadm
/// installs.
pub const DNS_CACHE: Duration = Duration::from_secs(30);

/// When DNS has forgotten the workers of before a suspension, or of an earlier job of this name; nothing if there were
/// none, as far as is known: who looks after a restart of the operator sees launchers that are about to end, and none
/// that have.
pub fn forgotten(
    job: &ValidJob,
    observed: &ObservedState,
    now: Timestamp,
    is_retry: bool,
) -> Option<Timestamp> {
    let asked = asked(job, observed, now).filter(|_| !is_retry);
    let last = stopped(job).max(asked)?;
    Some(last.checked_add(DNS_CACHE).unwrap_or(Timestamp::MAX))
}

/// Until when a launcher may have been told of a worker that is gone.
fn asked(job: &ValidJob, observed: &ObservedState, now: Timestamp) -> Option<Timestamp> {
    let asks = observed.pods.iter().any(ObservedPod::asks_dns);
    let asked = if asks { Some(now) } else { observed.asked };
    let newest = observed.workers_of(job).map(|pod| pod.created).max();
    // Also the end of a launcher whose node is lost: it is there until somebody removes the node.
    Some(asked?.min(newest?))
}

/// When the job was suspended last, unless it did not run before.
fn stopped(job: &ValidJob) -> Option<Timestamp> {
    condition::resumed(job.status())?;
    let since = |kind: &str, status: &str| {
        let condition = condition::find(job.status(), kind).filter(|condition| condition.status == status);
        condition.and_then(|condition| condition.last_transition_time)
    };
    // A job that was created suspended is not running since its creation.
    let stopped = since(condition::RUNNING, condition::FALSE)?;
    let ran = since(condition::CREATED, condition::TRUE) != Some(stopped);
    ran.then_some(stopped)
}
