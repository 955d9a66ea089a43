use pretty_assertions::assert_eq;

use crate::{
    condition,
    job::ValidJob,
    observed::{
        InitiallyScheduled, ObservedNativeGang, ObservedPodGroup, ObservedState, PodBlocker, PodPhase,
    },
    status::{Outcome, next},
    testing::{annotated, complete, native_group, noon},
};

/// Three workers of which `ready` are Ready and the others wait for a place, in a gang that is as it is said.
fn observed(job: &ValidJob, ready: usize, gang: ObservedNativeGang) -> ObservedState {
    let mut observed = complete(job);
    let workers = observed.pods.iter_mut().filter(|pod| pod.controller.as_ref() == Some(job.uid()));
    for pod in workers.skip(ready) {
        pod.ready = false;
        pod.phase = PodPhase::Pending;
    }
    let group = native_group(job, "pi-1", 3, false);
    let gang = ObservedNativeGang { min_count: 3, ..gang };
    observed.pod_group = Some(ObservedPodGroup { native: Some(Box::new(gang)), ..group });
    observed
}

fn scheduled(holds: bool, reason: &str) -> ObservedNativeGang {
    let scheduled = InitiallyScheduled { holds, reason: reason.into(), message: "0/4 nodes fit".into() };
    ObservedNativeGang { scheduled: Some(scheduled), ..ObservedNativeGang::default() }
}

/// Status, reason and message of the condition, and the reasons of the events about it.
fn said(job: &ValidJob, observed: &ObservedState) -> (String, String, String, Vec<String>) {
    let update = next(job, observed, &Outcome::default(), noon());
    let status = update.status.unwrap();
    let first = status.conditions.first().unwrap();
    assert_eq!(first.kind, condition::WORKERS_READY, "it stands before the others: {:?}", status.conditions);
    let events = update.events.into_iter().filter(|event| event.warning).map(|event| event.reason).collect();
    (first.status.clone(), first.reason.clone(), first.message.clone(), events)
}

#[test]
fn a_gang_that_waits_says_why_in_the_schedulers_words() {
    let job = annotated(3, &[]);

    let (status, reason, message, events) = said(&job, &observed(&job, 0, scheduled(false, "Unschedulable")));

    assert_eq!((&*status, &*reason), ("False", "Unschedulable"));
    assert_eq!(message, "0 of 3 ready; the gang waits: 0/4 nodes fit");
    assert_eq!(events, ["Unschedulable"]);
}

#[test]
fn a_gang_that_nobody_looked_at_waits_for_its_members() {
    let job = annotated(3, &[]);

    let (_, reason, message, events) = said(&job, &observed(&job, 0, ObservedNativeGang::default()));

    assert_eq!(reason, "WaitingForMembers");
    assert!(message.starts_with("0 of 3 ready; 3 of the 3 pods exist"), "{message}");
    assert_eq!(events, [""; 0]);
}

#[test]
fn a_scheduler_without_the_gate_is_found_out() {
    let job = annotated(3, &[]);

    let (status, reason, _, events) = said(&job, &observed(&job, 3, ObservedNativeGang::default()));

    assert_eq!((&*status, &*reason), ("False", "GangNotEnforced"));
    assert_eq!(events, ["GangNotEnforced"]);
    let (status, reason, message, _) = said(&job, &observed(&job, 3, scheduled(true, "Scheduled")));
    assert_eq!((&*status, &*reason, &*message), ("True", "AllReady", "3 of 3 ready"));
}

#[test]
fn what_an_api_server_dropped_is_told() {
    let rack = annotated(3, &[("coxswain.dev/topology", "example.com/rack")]);
    let (_, reason, message, _) = said(&rack, &observed(&rack, 0, scheduled(true, "Scheduled")));
    assert_eq!(reason, "TopologyNotEnforced");
    assert!(message.contains("TopologyAwareWorkloadScheduling"), "{message}");

    let shared = annotated(3, &[("coxswain.dev/shared-claims", "chan")]);
    let (_, reason, message, _) = said(&shared, &observed(&shared, 0, scheduled(true, "Scheduled")));
    assert_eq!(reason, "ClaimsNotShared");
    assert!(message.contains("DRAWorkloadResourceClaims"), "{message}");
}

#[test]
fn a_worker_that_does_not_start_is_named_with_its_cause() {
    let job = annotated(3, &[]);
    let mut observed = observed(&job, 2, scheduled(true, "Scheduled"));
    let waits = observed.pods.iter_mut().find(|pod| !pod.ready && pod.controller.as_ref() == Some(job.uid()));
    let blocker = PodBlocker { reason: "ImagePullBackOff".into(), message: "no such image".into() };
    waits.unwrap().blocker = Some(Box::new(blocker));

    let (status, reason, message, events) = said(&job, &observed);

    assert_eq!((&*status, &*reason), ("False", "ImagePullBackOff"));
    assert_eq!(message, "2 of 3 ready; pi-worker-2: ImagePullBackOff: no such image");
    assert_eq!(events, ["ImagePullBackOff"]);
}

#[test]
fn a_gang_that_is_preempted_says_so() {
    let job = annotated(3, &[]);
    let mut observed = observed(&job, 3, scheduled(true, "Scheduled"));
    for pod in observed.pods.iter_mut().filter(|pod| pod.controller.as_ref() == Some(job.uid())) {
        pod.deleting = true;
        let blocker = PodBlocker { reason: "PreemptionByScheduler".into(), message: "".into() };
        pod.blocker = Some(Box::new(blocker));
    }

    let (status, reason, _, events) = said(&job, &observed);

    assert_eq!((&*status, &*reason, events), ("False", "Preempted", vec!["Preempted".to_owned()]));
}
