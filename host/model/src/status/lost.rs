//! Whether a worker was lost while the launcher ran that then exited 0: what the launcher's exit code does not say.
//!
//! In go the job, what is seen, the launcher's end and the time; out comes the last loss before that end. What the operator
//! removes itself is none: surplus workers have other indexes, and nothing is removed of a job that runs. What only shows
//! that a worker is not there any more counts as long as the end is fresh: pods of a job that has ended may go.

use std::{collections::HashSet, time::Duration};

use jiff::Timestamp;

use super::draft::Draft;
use crate::{
    condition,
    job::{LostWorker, ValidJob},
    seen::{LauncherEnd, PodPhase, PodSeen, Seen},
};

/// A launcher that ends so soon after a loss did not go on without the worker: MPI takes seconds to notice, an elastic
/// framework longer than that to gather again.
const SOON: Duration = Duration::from_secs(30);
/// How long after the launcher's end a worker that is gone, or about to, was lost before it.
const FRESH: Duration = Duration::from_secs(10);

/// A worker that was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Loss {
    /// Its index.
    index: u32,
    /// When, as far as is known: at the launcher's end at the latest.
    at: Timestamp,
    /// What became of it.
    how: &'static str,
}

impl Draft<'_> {
    /// The launcher exited 0: does the job count as one that succeeded?
    pub(super) fn judge(&mut self, end: &LauncherEnd) {
        let ended = end.time.unwrap_or(self.now);
        let policy = self.job.wishes().lost_worker.unwrap_or_default();
        let loss = lost(self.job, self.seen, ended, self.now).filter(|_| policy != LostWorker::Ignore);
        let Some(loss) = loss else { return self.succeed(end) };
        let worker = self.job.names().worker(loss.index);
        let before = ended.duration_since(loss.at).as_secs().max(0);
        let what = format!("worker {worker} {} {before} s before the launcher exited 0", loss.how);
        if policy == LostWorker::Fail || ended.duration_since(loss.at).unsigned_abs() <= SOON {
            self.fail(condition::WORKER_LOST, &format!("{what}: its part of the result may be missing"));
        } else {
            if !condition::is_true(&self.status, condition::SUCCEEDED) {
                self.event(true, condition::WORKER_LOST, &format!("{what}, which went on without it"));
            }
            self.succeed(end);
        }
    }
}

/// The last loss between the start of the job's run, or of the launcher's last attempt, and `ended`.
fn lost(job: &ValidJob, seen: &Seen, ended: Timestamp, now: Timestamp) -> Option<Loss> {
    let running = condition::find(job.status(), condition::RUNNING);
    let since = running.filter(|running| running.status == condition::TRUE)?.last_transition_time?;
    // A loss that an earlier attempt of the launcher met is none of the one that succeeded.
    let began = |pod: &PodSeen| pod.attempt.as_deref().copied().unwrap_or(pod.created);
    let since = seen.launcher_pods().map(began).fold(since, Ord::max);
    let ours = || seen.workers_of(job).filter(|pod| pod.index < job.workers());
    let failed = ours().filter_map(|pod| Some(Loss { index: pod.index, at: finished(pod)?, how: "failed" }));
    // Workers that a larger `replicas` added are new, too, but there is no older one beyond them.
    let last_of_before = ours().filter(|pod| pod.created <= since).map(|pod| pod.index).max();
    let replaced = ours().filter(|pod| last_of_before.is_some_and(|last| pod.index < last)).map(|pod| Loss {
        index: pod.index,
        at: pod.created,
        how: "was replaced",
    });
    let leaving = ours().filter(|pod| pod.deleting).map(|pod| pod.index);
    let held: HashSet<u32> = seen.workers().map(|pod| pod.index).collect();
    let gone = (0..job.workers()).find(|index| !held.contains(index));
    let gone = leaving.chain(gone).map(|index| Loss { index, at: ended, how: "was deleted" });
    let is_fresh = now.duration_since(ended).unsigned_abs() <= FRESH && !job.is_suspended();
    // Workers of an elastic job come and go as it is scaled.
    let is_fixed = job.wishes().start_min_workers.is_none();
    failed
        .chain(replaced.filter(|_| is_fixed))
        .chain(gone.filter(|_| is_fixed && is_fresh))
        .filter(|loss| since < loss.at && loss.at <= ended)
        .max_by_key(|loss| loss.at)
}

/// When the containers of a failed worker ended.
fn finished(pod: &PodSeen) -> Option<Timestamp> {
    pod.failure.as_ref().filter(|_| pod.phase == PodPhase::Failed)?.finished
}
