//! Where a job stands in its life: what the reconciles of the MPI Operator branch on.

use crate::{
    api::mpijob::JobStatus,
    condition,
    job::ValidJob,
    observed::{LauncherEnd, LauncherGone, ObservedPod, ObservedState, PodPhase},
};

/// `status.reason` that the kubelet gives a pod that it evicted.
const EVICTED: &str = "Evicted";

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Its objects are to exist and to run.
    Active,
    /// Its user (or Kueue) holds it back: no pods are made, the launcher Job is suspended.
    Suspended,
    /// The launcher Job is Complete or Failed, the status does not say so yet.
    Ended,
    /// It lost workers to the kubelet and cannot go on: ends as Failed.
    Evicted {
        /// Workers lost.
        lost: u32,
        /// Workers that it had.
        of: u32,
    },
    /// Its launcher Job may have run and is gone, and nobody saw how it ended: ends as Failed, as what has run must not
    /// run again.
    Lost,
    /// The status says Succeeded or Failed, and since when. Only cleaning up is left.
    Finished,
}

/// Reads the phase off the stored status and the cluster.
pub fn of(job: &ValidJob, observed: &ObservedState) -> Phase {
    if is_finished(job.status()) && job.status().completion_time.is_some() {
        return Phase::Finished;
    }
    if end(job, observed).is_some() {
        return Phase::Ended;
    }
    if let Some(evicted) = evicted(job, observed).filter(|_| !job.is_suspended()) {
        return evicted;
    }
    let is_gone = observed.launcher_of(job).is_none() && observed.launcher_gone == LauncherGone::Unobserved;
    if is_gone && had_launcher(job) {
        return Phase::Lost;
    }
    if job.is_suspended() { Phase::Suspended } else { Phase::Active }
}

/// How the driver ended, which decides how the job does.
pub fn end<'a>(job: &ValidJob, observed: &'a ObservedState) -> Option<&'a LauncherEnd> {
    observed.launcher_of(job)?.end.as_ref()
}

/// The status says that there is a launcher Job that is not suspended: it may have run.
pub fn had_launcher(job: &ValidJob) -> bool {
    job.status().replica_statuses.contains_key(job.kind().driver().key)
        && !condition::is_true(job.status(), condition::SUSPENDED)
}

/// Objects have to be created or followed, so the job has to be rendered.
pub fn needs_plan(phase: Phase) -> bool {
    matches!(phase, Phase::Active | Phase::Suspended)
}

/// Succeeded or Failed is True.
pub fn is_finished(status: &JobStatus) -> bool {
    [condition::SUCCEEDED, condition::FAILED].iter().any(|kind| condition::is_true(status, kind))
}

/// The MPI Operator declares such a job Failed and lets it go on half dead, without end time or cleanup; here
/// it ends. A job that may start with fewer workers may also go on with as few. A job that the MPI Operator
/// left half dead is taken over as one that ends now.
fn evicted(job: &ValidJob, observed: &ObservedState) -> Option<Phase> {
    let of = job.workers();
    let evicted = observed.wanted_workers_of(job).filter(|pod| is_evicted(pod)).count();
    let lost = u32::try_from(evicted).unwrap_or(of);
    let enough = job.options().start_min_workers.is_some_and(|least| of.saturating_sub(lost) >= least);
    let declared = condition::find(job.status(), condition::FAILED).is_some_and(|failed| {
        failed.status == condition::TRUE && failed.reason == job.kind().reasons.evicted
    });
    ((lost > 0 && !enough) || declared).then_some(Phase::Evicted { lost, of })
}

fn is_evicted(pod: &ObservedPod) -> bool {
    pod.phase == PodPhase::Failed && pod.failure.as_ref().is_some_and(|failure| failure.reason == EVICTED)
}
