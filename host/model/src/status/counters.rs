//! `replicaStatuses`: counted anew at each reconcile.

use super::draft::Draft;
use crate::{
    api::mpijob::{JobStatus, ReplicaStatus},
    job::{Group, ValidJob},
    observed::{ObservedLauncher, ObservedState, PodPhase},
    phase::Phase,
};

impl Draft<'_> {
    /// The workers of a suspended or ended job do not count, even while they still run; a role that the job has no group
    /// of has an empty entry. The launcher's entry is absent while there is no Job: so clients see that it waits for its
    /// workers. A suspended Job that makes way for another one has not run, which [`crate::phase::had_launcher`] reads off
    /// the entry.
    pub(super) fn count_replicas(&mut self) {
        let counted = matches!(self.phase, Phase::Active | Phase::Evicted { .. });
        for role in self.job.kind().run_by_pods() {
            let group = self.job.groups().of(role.id).filter(|_| counted);
            let pods = group.map(|group| pods(self.job, self.observed, group)).unwrap_or_default();
            self.status.replica_statuses.insert(role.key.to_owned(), pods);
        }
        let makes_way = |launcher: &ObservedLauncher| launcher.object.deleting && launcher.suspended;
        if self.observed.launcher_of(self.job).is_some_and(|launcher_job| !makes_way(launcher_job)) {
            launcher(self.job, self.observed, &mut self.status);
        } else if !self.launcher_was_not_reached() {
            self.status.replica_statuses.remove(self.job.kind().driver().key);
        }
    }
}

/// Counts the pods of a group by phase.
fn pods(job: &ValidJob, observed: &ObservedState, group: &Group) -> ReplicaStatus {
    let mut counted = ReplicaStatus::default();
    for pod in observed.group_of(job, group) {
        match pod.phase {
            PodPhase::Running => counted.active += 1,
            PodPhase::Succeeded => counted.succeeded += 1,
            PodPhase::Failed => counted.failed += 1,
            PodPhase::Pending | PodPhase::Unknown => {}
        }
    }
    counted
}

/// Counts the launcher, if its Job exists.
pub fn launcher(job: &ValidJob, observed: &ObservedState, status: &mut JobStatus) {
    let Some(launcher) = observed.launcher_of(job) else { return };
    let mut counted = ReplicaStatus { failed: launcher.failed, ..ReplicaStatus::default() };
    if let Some(end) = &launcher.end {
        counted.succeeded = i32::from(end.complete);
    } else {
        let running = observed.launcher_pods().filter(|pod| pod.phase == PodPhase::Running).count();
        counted.active = i32::try_from(running).unwrap_or(i32::MAX);
    }
    status.replica_statuses.insert(job.kind().driver().key.to_owned(), counted);
}
