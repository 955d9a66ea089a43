use std::time::Duration;

use pretty_assertions::assert_eq;

use super::*;
use crate::{
    api::{annotations, mpijob::Condition},
    kind::WORKER,
    object::Uid,
    observed::PodPhase,
    testing::{annotated, complete, failed, launcher_pod, noon, raw, suspend, valid},
};

fn workers(indexes: impl IntoIterator<Item = u32>) -> Vec<PodId> {
    indexes.into_iter().map(|index| PodId { role: WORKER, index }).collect()
}

fn three() -> ValidJob {
    annotated(3, &[])
}

/// Of three workers, these are not Ready.
fn without(job: &ValidJob, pending: &[u32]) -> ObservedState {
    let mut observed = complete(job);
    for pod in observed.pods.iter_mut().filter(|pod| pending.contains(&pod.index) && pod.gate.is_none()) {
        (pod.phase, pod.ready) = (PodPhase::Pending, false);
    }
    observed
}

fn because(job: &ValidJob, observed: &ObservedState, now: Timestamp) -> Option<Because> {
    match decide(job, observed, now) {
        Gate::Open { pod, because, .. } => {
            assert_eq!(pod, "pi-launcher-a");
            Some(because)
        }
        Gate::Closed { .. } | Gate::NotUsed => None,
    }
}

#[test]
fn it_waits_for_workers_that_are_not_ready_and_names_them() {
    let job = three();
    let mut observed = without(&job, &[2]);
    observed.pods[1].ready = false;

    let waiting_for = Missing { sample: workers([1, 2]), count: 2 };
    let until = noon() + Duration::from_mins(10);
    assert_eq!(decide(&job, &observed, noon()), Gate::Closed { waiting_for, until });
    assert_eq!(because(&job, &complete(&job), noon()), Some(Because::AllReady));
}

#[test]
fn it_waits_for_workers_that_dns_does_not_know_and_names_them() {
    let job = three();
    let mut observed = complete(&job);
    observed.published.remove(&Uid::from("worker-1"));

    let waiting_for = Missing { sample: workers([1]), count: 1 };
    assert!(
        matches!(decide(&job, &observed, noon()), Gate::Closed { waiting_for: missing, .. } if missing == waiting_for)
    );
}

#[test]
fn it_names_no_more_than_eight() {
    let job = annotated(20, &[]);
    let observed = without(&job, &(0..20).collect::<Vec<_>>());

    let waiting_for = Missing { sample: workers(0..8), count: 20 };
    assert!(
        matches!(decide(&job, &observed, noon()), Gate::Closed { waiting_for: missing, .. } if missing == waiting_for)
    );
}

#[test]
fn terminating_and_foreign_workers_are_not_ready() {
    let job = three();
    let mut terminating = complete(&job);
    terminating.pods[1].deleting = true;
    let mut foreign = complete(&job);
    foreign.pods[1].controller = None;

    assert_eq!(because(&job, &terminating, noon()), None);
    assert_eq!(because(&job, &foreign, noon()), None);
}

#[test]
fn it_opens_at_once_when_a_worker_has_ended() {
    let job = three();
    for phase in [PodPhase::Failed, PodPhase::Succeeded] {
        let mut observed = without(&job, &[0, 1, 2]);
        observed.pods[2].phase = phase;
        assert_eq!(because(&job, &observed, noon()), Some(Because::WorkerFailed));
    }
}

#[test]
fn it_opens_at_once_for_a_retry() {
    let job = three();
    let mut counted = without(&job, &[0]);
    counted.launcher.as_mut().unwrap().failed = 1;
    assert_eq!(because(&job, &counted, noon()), Some(Because::RanBefore));

    let mut observed = without(&job, &[0]);
    observed.pods.push(failed(launcher_pod("pi-launcher-0"), ""));
    assert_eq!(because(&job, &observed, noon()), Some(Because::RanBefore));
}

#[test]
fn what_failed_before_a_suspension_does_not_open_it() {
    let mut raw = raw(3);
    let resumed = Condition {
        kind: condition::SUSPENDED.to_owned(),
        status: condition::FALSE.to_owned(),
        reason: "MPIJobResumed".to_owned(),
        message: String::new(),
        last_update_time: Some(noon()),
        last_transition_time: Some(noon()),
    };
    raw.status.get_or_insert_default().conditions.push(resumed);
    let job = valid(&raw);
    let mut observed = without(&job, &[0]);
    observed.launcher.as_mut().unwrap().failed = 2;
    observed.pods.push(failed(launcher_pod("pi-launcher-0"), ""));
    let last = observed.pods.len() - 1;
    observed.pods[last].created = noon() - Duration::from_secs(1);
    assert_eq!(because(&job, &observed, noon()), None);

    observed.pods[last].created = noon();
    assert_eq!(because(&job, &observed, noon()), Some(Because::RanBefore));
}

#[test]
fn it_opens_at_the_elastic_minimum() {
    let job = annotated(3, &[(annotations::ANNOTATION_START_MIN_WORKERS, "2")]);

    assert_eq!(because(&job, &without(&job, &[1, 2]), noon()), None);
    assert_eq!(because(&job, &without(&job, &[1]), noon()), Some(Because::Minimum));
}

#[test]
fn it_opens_after_its_time_and_names_whom_it_waited_for_in_vain() {
    let job = annotated(3, &[(annotations::ANNOTATION_START_GATE_TIMEOUT, "90s")]);
    let observed = without(&job, &[0, 2]);
    let missing = Missing { sample: workers([0, 2]), count: 2 };

    assert_eq!(because(&job, &observed, noon() + Duration::from_secs(89)), None);
    assert_eq!(
        because(&job, &observed, noon() + Duration::from_secs(90)),
        Some(Because::TimedOut { missing })
    );
}

#[test]
fn it_waits_until_dns_has_forgotten_what_an_earlier_launcher_asked_for() {
    let job = three();
    let mut observed = complete(&job);
    let left = noon() - Duration::from_secs(5);
    observed.asked = Some(left);

    let until = left + DNS_CACHE;
    assert_eq!(decide(&job, &observed, noon()), Gate::Closed { waiting_for: Missing::default(), until });
    assert_eq!(because(&job, &observed, until), Some(Because::AllReady));
}

#[test]
fn it_is_found_wherever_it_stands() {
    let job = three();
    let mut observed = complete(&job);
    observed.pods[3].gate = Some(1);

    assert!(matches!(decide(&job, &observed, noon()), Gate::Open { position: 1, .. }));
}

#[test]
fn an_endless_timeout_is_no_error() {
    let job = annotated(3, &[(annotations::ANNOTATION_START_GATE_TIMEOUT, "18446744073709551615s")]);

    let gate = decide(&job, &without(&job, &[0]), noon());
    assert!(matches!(gate, Gate::Closed { until, .. } if until == Timestamp::MAX));
}

#[test]
fn it_is_left_alone_while_the_job_is_suspended_or_does_not_use_it() {
    let mut held = raw(3);
    suspend(&mut held, true);
    let held = valid(&held);
    assert_eq!(decide(&held, &complete(&held), noon()), Gate::NotUsed);

    let job = three();
    let mut open = complete(&job);
    open.pods[3].gate = None;
    assert_eq!(decide(&job, &open, noon()), Gate::NotUsed);
}
