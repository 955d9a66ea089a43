//! Whether a worker was lost while the launcher ran that then exited 0: what the launcher's exit code does not say.
//!
//! In go the job, what is observed, the launcher's end and the time; out comes the last loss before that end. What the operator
//! removes itself is none: surplus workers have other indexes, and nothing is removed of a job that runs. What only shows
//! that a worker is not there any more counts as long as the end is fresh: pods of a job that has ended may go.

use std::{collections::HashSet, time::Duration};

use jiff::Timestamp;

use super::draft::Draft;
use crate::{
    condition,
    job::{Group, LostWorker, ValidJob},
    kind::PodId,
    observed::{LauncherEnd, ObservedPod, ObservedState, PodPhase},
};

/// A launcher that ends so soon after a loss did not go on without the worker: MPI takes seconds to notice, an elastic
/// framework longer than that to gather again.
const SOON: Duration = Duration::from_secs(30);
/// How long after the launcher's end a worker that is gone, or about to, was lost before it.
const FRESH: Duration = Duration::from_secs(10);
/// How long after the launcher Job's completion a worker's earlier failure may come to light. Kubelets look at their
/// containers each second, and the worker's may be later than the launcher's; the Job controller has gathered for a second
/// before, and tells times in whole seconds.
const REPORTED: Duration = Duration::from_secs(2);

/// A worker that was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Loss {
    /// Which one.
    pod: PodId,
    /// When, as far as is known: at the launcher's end at the latest.
    at: Timestamp,
    /// What became of it.
    how: &'static str,
}

impl Draft<'_> {
    /// The launcher exited 0: does the job count as one that succeeded?
    pub(super) fn judge(&mut self, end: &LauncherEnd) {
        let ended = end.time.unwrap_or(self.now);
        let policy = self.job.options().lost_worker.unwrap_or_default();
        if policy == LostWorker::Ignore {
            return self.succeed(end);
        }
        let loss = lost(self.job, self.observed, ended, self.now);
        let what = loss.as_ref().map(|loss| {
            let worker = self.job.pod_name(loss.pod);
            let before = ended.duration_since(loss.at).as_secs().max(0);
            format!("worker {worker} {} {before} s before the launcher exited 0", loss.how)
        });
        let is_soon = |loss: &Loss| ended.duration_since(loss.at).unsigned_abs() <= SOON;
        if let Some(what) = &what
            && (policy == LostWorker::Fail || loss.as_ref().is_some_and(is_soon))
        {
            self.fail(condition::WORKER_LOST, &format!("{what}: its part of the result may be missing"));
            return;
        }
        if let Some(left) = unreported(self.job, self.observed, end.time, self.exactly) {
            self.wake(left);
            return;
        }
        if let Some(what) = what
            && !condition::is_true(&self.status, condition::SUCCEEDED)
        {
            self.event(true, condition::WORKER_LOST, &format!("{what}, which went on without it"));
        }
        self.succeed(end);
    }
}

/// How long a failure from before the launcher's end may still be on its way; nothing where there can be none.
fn unreported(
    job: &ValidJob,
    observed: &ObservedState,
    completed: Option<Timestamp>,
    now: Timestamp,
) -> Option<Duration> {
    let may_have_failed = observed.wanted_workers_of(job).any(|pod| !pod.is_terminal());
    if job.is_suspended() || !may_have_failed || running_since(job).is_none() {
        return None;
    }
    let since = now.duration_since(completed?);
    // Clocks that differ by more than that hold up no job.
    if since.unsigned_abs() >= REPORTED {
        return None;
    }
    Some(REPORTED.saturating_sub(Duration::try_from(since).unwrap_or_default()))
}

fn running_since(job: &ValidJob) -> Option<Timestamp> {
    let running = condition::find(job.status(), condition::RUNNING);
    running.filter(|running| running.status == condition::TRUE)?.last_transition_time
}

/// The last loss between the start of the job's run, or of the launcher's last attempt, and `ended`.
fn lost(job: &ValidJob, observed: &ObservedState, ended: Timestamp, now: Timestamp) -> Option<Loss> {
    let since = running_since(job)?;
    // A loss that an earlier attempt of the launcher met is none of the one that succeeded.
    let began = |pod: &ObservedPod| pod.attempt.as_deref().copied().unwrap_or(pod.created);
    let since = observed.launcher_pods().map(began).fold(since, Ord::max);
    let is_fresh = now.duration_since(ended).unsigned_abs() <= FRESH && !job.is_suspended();
    let run = Run { since, ended, is_fresh };
    let lost = |group| lost_of(job, observed, group, &run);
    job.groups().run_by_pods().filter_map(lost).max_by_key(|loss| loss.at)
}

/// What the launcher's last attempt lasted.
struct Run {
    since: Timestamp,
    ended: Timestamp,
    /// It has just ended.
    is_fresh: bool,
}

/// The last loss of one group during the run.
fn lost_of(job: &ValidJob, observed: &ObservedState, group: &Group, run: &Run) -> Option<Loss> {
    let Run { since, ended, is_fresh } = *run;
    let loss = |index: u32, at: Timestamp, how: &'static str| {
        let pod = PodId { role: group.id(), index };
        Loss { pod, at, how }
    };
    let ours = || observed.group_of(job, group);
    let failed = ours().filter_map(|pod| Some(loss(pod.index, finished(pod)?, "failed")));
    // Workers that a larger `replicas` added are new, too: but not in a job whose spec is still the first one, and there is
    // no older one beyond them.
    let last_of_before = ours().filter(|pod| pod.created <= since).map(|pod| pod.index).max();
    let was_there = |index: &u32| job.generation() == 1 || last_of_before.is_some_and(|last| *index < last);
    let replaced = ours().filter(|pod| was_there(&pod.index));
    let replaced = replaced.map(|pod| loss(pod.index, pod.created, "was replaced"));
    let leaving = ours().filter(|pod| pod.deleting).map(|pod| pod.index);
    let held: HashSet<u32> = observed.group(group).map(|pod| pod.index).collect();
    // One that a larger `replicas` asked for and that could not be made is missing, too. Of a job that was suspended the spec
    // has another reason to be a later one: its queue changes it at admission, and does not let it grow.
    let was_queued = condition::find(job.status(), condition::SUSPENDED).is_some();
    let mut asked = (0..group.replicas()).filter(|index| was_queued || was_there(index));
    let gone = asked.find(|index| !held.contains(index));
    let gone = leaving.chain(gone).map(|index| loss(index, ended, "was deleted"));
    // Workers of an elastic job come and go as it is scaled.
    let is_fixed = job.options().start_min_workers.is_none();
    failed
        .chain(replaced.filter(|_| is_fixed))
        .chain(gone.filter(|_| is_fixed && is_fresh))
        .filter(|loss| since < loss.at && loss.at <= ended)
        .max_by_key(|loss| loss.at)
}

/// When the containers of a failed worker ended.
fn finished(pod: &ObservedPod) -> Option<Timestamp> {
    pod.failure.as_ref().filter(|_| pod.phase == PodPhase::Failed)?.finished
}
