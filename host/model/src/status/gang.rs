//! The condition `WorkersReady` of a job with a native gang: how many workers are Ready, and what holds the others back in
//! the scheduler's own words. It stands before the others, for the last condition is the job's state.

use super::draft::{Draft, shorten};
use crate::{
    condition,
    job::ValidJob,
    observed::{ObservedNativeGang, ObservedPod, ObservedState, PodBlocker, PodPhase},
};

/// What holds a gang back, the worst first.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Blocker {
    /// The API server dropped `spec.schedulingConstraints`.
    TopologyNotEnforced,
    /// The API server dropped `spec.resourceClaims`.
    ClaimsNotShared,
    /// Members run although the scheduler never looked at their group.
    GangNotEnforced,
    /// The scheduler takes the members' places for others.
    Preempted,
    /// The scheduler says why.
    Scheduler { reason: String, message: String },
    /// There are fewer members than the group starts with, or the scheduler has not looked yet.
    WaitingForMembers { members: usize, least: u32 },
    /// Some have a place and are not Ready: what the first of them says that says anything.
    NotReady { pod: Option<(String, PodBlocker)> },
}

impl Draft<'_> {
    pub(super) fn report_gang(&mut self) {
        let gang =
            self.observed.pod_group.as_ref().filter(|group| group.object.is_controlled_by(self.job.uid()));
        let Some(gang) = gang.and_then(|group| group.native.as_deref()) else { return };
        let of = self.job.workers();
        let workers: Vec<&ObservedPod> = self.observed.wanted_workers_of(self.job).collect();
        let ready = workers.iter().filter(|pod| pod.ready && !pod.deleting).count();
        let counted = format!("{ready} of {of} ready");
        let (holds, reason, message) = match blocker(self.job, self.observed, gang, ready) {
            None => (true, "AllReady".to_owned(), counted),
            Some(blocker) => {
                (false, blocker.reason().to_owned(), format!("{counted}; {}", blocker.message(self.job)))
            }
        };
        let message = shorten(&message);
        let claim =
            condition::Claim { kind: condition::WORKERS_READY, holds, reason: &reason, message: &message };
        let was = condition::find(&self.status, condition::WORKERS_READY).map(|was| was.reason.clone());
        if condition::report(&mut self.status, claim, self.now) {
            condition::make_first(&mut self.status);
        }
        let is_cause = !matches!(&*reason, "AllReady" | "WaitingForMembers" | "NotReady");
        if is_cause && was.as_deref() != Some(&*reason) {
            self.event(true, &reason, &message);
        }
    }
}

fn blocker(
    job: &ValidJob,
    observed: &ObservedState,
    gang: &ObservedNativeGang,
    ready: usize,
) -> Option<Blocker> {
    let options = job.options();
    if options.topology.is_some() && !gang.has_topology {
        return Some(Blocker::TopologyNotEnforced);
    }
    if options.shared_claims.len() > gang.claims {
        return Some(Blocker::ClaimsNotShared);
    }
    let workers = || observed.wanted_workers_of(job).filter(|pod| !pod.deleting);
    let runs = workers().any(|pod| pod.phase == PodPhase::Running);
    let all_ready = u32::try_from(ready).is_ok_and(|ready| ready >= job.workers());
    let preempted = |pod: &ObservedPod| {
        pod.blocker.as_ref().is_some_and(|blocker| &*blocker.reason == "PreemptionByScheduler")
    };
    if observed.wanted_workers_of(job).any(preempted) {
        return Some(Blocker::Preempted);
    }
    let not_ready = || {
        let said = workers().filter(|pod| !pod.ready).find_map(|pod| {
            let blocker = pod.blocker.as_deref()?;
            Some((job.pod_name(pod.id()).to_string(), blocker.clone()))
        });
        Blocker::NotReady { pod: said }
    };
    match &gang.scheduled {
        // A member runs some time after the scheduler has written what it decided; this much after is no race.
        None if all_ready => Some(Blocker::GangNotEnforced),
        None if runs => Some(not_ready()),
        None => Some(Blocker::WaitingForMembers { members: workers().count(), least: gang.min_count }),
        Some(scheduled) if !scheduled.holds => Some(Blocker::Scheduler {
            reason: scheduled.reason.to_string(),
            message: scheduled.message.to_string(),
        }),
        Some(_) => (!all_ready).then(not_ready),
    }
}

impl Blocker {
    fn reason(&self) -> &str {
        match self {
            Self::TopologyNotEnforced => "TopologyNotEnforced",
            Self::ClaimsNotShared => "ClaimsNotShared",
            Self::GangNotEnforced => "GangNotEnforced",
            Self::Scheduler { reason, .. } => reason,
            Self::WaitingForMembers { .. } => "WaitingForMembers",
            Self::Preempted => "Preempted",
            Self::NotReady { pod: Some((_, blocker)) } => &blocker.reason,
            Self::NotReady { pod: None } => "NotReady",
        }
    }

    fn message(&self, job: &ValidJob) -> String {
        let gate = |gate: &str, lost: &str| {
            format!(
                "the API server dropped {lost} of the PodGroup: its feature gate {gate} is off; ask the cluster's administrator"
            )
        };
        match self {
            Self::TopologyNotEnforced => {
                let key = job.options().topology.as_deref().unwrap_or_default();
                let lost = format!("the topology {key}");
                format!("{}, or remove the annotation", gate("TopologyAwareWorkloadScheduling", &lost))
            }
            Self::ClaimsNotShared => {
                format!("{}, or remove the annotation", gate("DRAWorkloadResourceClaims", "the shared claims"))
            }
            Self::GangNotEnforced => "the pods were placed one by one, as the scheduler has not looked at their PodGroup: \
                                      its feature gate GenericWorkload is off; ask the cluster's administrator"
                .to_owned(),
            Self::Scheduler { message, .. } => format!("the gang waits: {message}"),
            Self::WaitingForMembers { members, least } => {
                format!("{members} of the {least} pods exist that start together, or the scheduler has not looked yet")
            }
            Self::Preempted => "the scheduler gives the places of the gang to pods of higher priority".to_owned(),
            Self::NotReady { pod: Some((name, blocker)) } => {
                format!("{name}: {}{}{}", blocker.reason, if blocker.message.is_empty() { "" } else { ": " }, blocker.message)
            }
            Self::NotReady { pod: None } => "the others start".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests;
