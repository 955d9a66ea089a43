//! When the launcher starts.

use std::time::Duration;

use coxswain_model::{
    api::{annotations, scheduling},
    gate::{Because, Gate, Missing},
    status::{self, Outcome},
    step::{Done, FailureReason, Kind, ObjectName, Step, StepFailure},
};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::{
    cluster::{Cluster, launcher, pod_name},
    sample::{annotate, noon, raw, suspend, valid},
};

/// Three workers that do not answer yet, and a launcher pod that waits for them.
fn waiting(annotations: &[(&str, &str)]) -> Cluster {
    let mut job = raw(3);
    for (key, value) in annotations {
        annotate(&mut job, key, value);
    }
    let mut cluster = Cluster::new(job);
    cluster.settle();
    cluster.launch("pi-launcher-a");
    cluster
}

fn because(cluster: &Cluster) -> Option<Because> {
    match cluster.gate() {
        Gate::Open { pod, because, .. } => {
            assert_eq!(pod, "pi-launcher-a");
            Some(because)
        }
        Gate::Closed { .. } | Gate::NotUsed => None,
    }
}

#[test]
fn it_stays_closed_until_every_worker_is_ready() {
    let mut cluster = waiting(&[]);
    cluster.worker(0, &json!({"phase": "Running", "ready": true}));
    cluster.worker(1, &json!({"phase": "Running"}));
    let until = noon() + Duration::from_mins(10);
    let waiting_for = Missing { sample: vec![1, 2], count: 2 };
    assert_eq!(cluster.gate(), Gate::Closed { waiting_for, until });
    assert_eq!(cluster.pass().update.wake, Some(Duration::from_mins(10)));

    cluster.ready();
    assert_eq!(because(&cluster), Some(Because::AllReady));
}

#[test]
fn it_stays_closed_until_dns_knows_every_worker() {
    let mut cluster = waiting(&[]);
    cluster.unpublished.insert(pod_name("pi-worker-1"));
    cluster.ready();
    let waiting_for = Missing { sample: vec![1], count: 1 };
    assert!(matches!(cluster.gate(), Gate::Closed { waiting_for: missing, .. } if missing == waiting_for));

    cluster.unpublished.clear();
    assert_eq!(because(&cluster), Some(Because::AllReady));
}

/// A running job that is suspended and resumed five seconds later.
#[test]
fn after_a_short_suspension_it_waits_until_dns_has_forgotten_the_old_workers() {
    let mut cluster = waiting(&[]);
    cluster.advance(Duration::from_mins(1));
    cluster.ready();
    cluster.settle();
    cluster.run_launcher("pi-launcher-a");
    cluster.settle();
    let stopped = cluster.now + Duration::from_mins(1);
    cluster.advance(Duration::from_mins(1));
    suspend(&mut cluster.raw, true);
    cluster.settle();
    cluster.stop_launcher();
    cluster.reap();
    cluster.advance(Duration::from_secs(5));
    suspend(&mut cluster.raw, false);
    cluster.settle();
    cluster.launch("pi-launcher-a");
    cluster.ready();

    let until = stopped + Duration::from_secs(30);
    assert_eq!(cluster.gate(), Gate::Closed { waiting_for: Missing::default(), until });
    assert_eq!(cluster.pass().update.wake, Some(Duration::from_secs(25)));
    cluster.advance(Duration::from_secs(25));
    assert_eq!(because(&cluster), Some(Because::AllReady));
}

/// A job whose launcher runs.
fn running() -> Cluster {
    let mut cluster = waiting(&[]);
    cluster.advance(Duration::from_mins(1));
    cluster.ready();
    cluster.settle();
    cluster.run_launcher("pi-launcher-a");
    cluster.settle();
    cluster.advance(Duration::from_mins(1));
    cluster
}

/// The job is deleted and made again five seconds later, with other annotations; its workers are Ready after five more.
fn made_again(cluster: &mut Cluster, annotations: &[(&str, &str)]) {
    cluster.recreate("job-2");
    for (key, value) in annotations {
        annotate(&mut cluster.raw, key, value);
    }
    cluster.collect("job-1");
    cluster.advance(Duration::from_secs(5));
    cluster.settle();
    cluster.launch("pi-launcher-a");
    cluster.advance(Duration::from_secs(5));
    cluster.ready();
}

#[test]
fn a_job_made_again_waits_until_dns_has_forgotten_the_workers_of_the_earlier_one() {
    let mut cluster = running();
    let left = cluster.now;
    made_again(&mut cluster, &[]);

    let until = left + Duration::from_secs(30);
    assert_eq!(cluster.gate(), Gate::Closed { waiting_for: Missing::default(), until });
    let pass = cluster.pass();
    assert_eq!(pass.update.wake, Some(Duration::from_secs(20)));
    cluster.settle();
    cluster.advance(Duration::from_secs(19));
    assert!(cluster.pass().is_idle(), "it waits without a word");
    cluster.advance(Duration::from_secs(1));
    assert_eq!(because(&cluster), Some(Because::AllReady));
}

/// The launcher of before has ended at the start of that time, and nobody has asked since.
#[test]
fn a_job_made_again_long_after_the_earlier_launcher_ended_starts_at_once() {
    let mut cluster = running();
    cluster.patch(&pod_name("pi-launcher-a"), &json!({"status": {"phase": "Succeeded"}}));
    cluster.end("Complete", "", "");
    cluster.settle();
    cluster.advance(Duration::from_secs(25));
    made_again(&mut cluster, &[]);

    assert_eq!(because(&cluster), Some(Because::AllReady));
}

#[test]
fn a_job_made_again_before_the_earlier_launcher_started_has_nothing_to_forget() {
    let mut cluster = waiting(&[]);
    cluster.ready();
    made_again(&mut cluster, &[]);

    assert_eq!(because(&cluster), Some(Because::AllReady));
}

/// It belongs to a node that is lost, or its shell ignores SIGTERM.
#[test]
fn a_launcher_of_an_earlier_job_that_does_not_leave_is_waited_for_30_s_after_the_workers_were_made() {
    let mut cluster = running();
    let stuck = cluster.objects[&pod_name("pi-launcher-a")].clone();
    made_again(&mut cluster, &[]);
    cluster.objects.insert(pod_name("pi-launcher-z"), stuck);

    let until = cluster.now + Duration::from_secs(25);
    assert_eq!(cluster.gate(), Gate::Closed { waiting_for: Missing::default(), until });
    cluster.advance(Duration::from_secs(25));
    assert_eq!(because(&cluster), Some(Because::AllReady));
}

#[test]
fn an_elastic_job_at_its_minimum_waits_for_dns_too() {
    let mut cluster = running();
    made_again(&mut cluster, &[(annotations::ANNOTATION_START_MIN_WORKERS, "2")]);
    cluster.worker(2, &json!({"phase": "Pending", "ready": false}));

    assert!(matches!(cluster.gate(), Gate::Closed { waiting_for, .. } if waiting_for == Missing::default()));
    cluster.advance(Duration::from_secs(20));
    assert_eq!(because(&cluster), Some(Because::Minimum));
}

#[test]
fn the_time_out_ends_the_wait_for_dns() {
    let mut cluster = running();
    made_again(&mut cluster, &[(annotations::ANNOTATION_START_GATE_TIMEOUT, "10s")]);

    assert!(matches!(cluster.gate(), Gate::Closed { .. }));
    cluster.advance(Duration::from_secs(5));
    assert_eq!(because(&cluster), Some(Because::AllReady));
}

#[test]
fn a_job_made_again_without_a_gate_waits_for_nothing() {
    let mut cluster = running();
    made_again(&mut cluster, &[(annotations::ANNOTATION_START_GATE, "none")]);

    assert_eq!(cluster.gate(), Gate::NotUsed);
}

/// Nobody has asked for the address of the one before.
#[test]
fn a_worker_made_again_while_the_launcher_waits_is_waited_for_and_dns_is_not() {
    let mut cluster = waiting(&[]);
    cluster.ready();
    cluster.advance(Duration::from_secs(5));
    cluster.objects.remove(&pod_name("pi-worker-1"));
    cluster.settle();
    let waiting_for = Missing { sample: vec![1], count: 1 };
    assert!(matches!(cluster.gate(), Gate::Closed { waiting_for: missing, .. } if missing == waiting_for));

    cluster.ready();
    assert_eq!(because(&cluster), Some(Because::AllReady));
}

/// The back-off lies between the two.
#[test]
fn a_retry_does_not_wait_for_dns() {
    let mut cluster = running();
    cluster.objects.remove(&pod_name("pi-worker-1"));
    cluster.patch(&pod_name("pi-launcher-a"), &json!({"status": {"phase": "Failed"}}));
    cluster.patch(&launcher(), &json!({"status": {"failed": 1}}));
    cluster.settle();
    cluster.launch("pi-launcher-b");
    cluster.ready();

    assert!(matches!(cluster.gate(), Gate::Open { pod, .. } if pod == "pi-launcher-b"));
}

#[test]
fn a_job_that_was_created_suspended_has_nothing_to_forget() {
    let mut job = raw(3);
    suspend(&mut job, true);
    let mut cluster = Cluster::new(job);
    cluster.settle();
    cluster.advance(Duration::from_secs(5));
    suspend(&mut cluster.raw, false);
    cluster.settle();
    cluster.launch("pi-launcher-a");
    cluster.ready();

    assert_eq!(because(&cluster), Some(Because::AllReady));
}

#[test]
fn terminating_and_foreign_workers_are_not_ready() {
    let mut cluster = waiting(&[]);
    cluster.ready();
    cluster.patch(&pod_name("pi-worker-1"), &json!({"metadata": {"deletionTimestamp": noon()}}));
    assert_eq!(because(&cluster), None);

    let mut cluster = waiting(&[]);
    cluster.ready();
    cluster.patch(&pod_name("pi-worker-1"), &json!({"metadata": {"ownerReferences": []}}));
    assert_eq!(because(&cluster), None);
}

#[test]
fn it_opens_at_once_when_a_worker_has_ended() {
    for phase in ["Failed", "Succeeded"] {
        let mut cluster = waiting(&[]);
        cluster.worker(2, &json!({"phase": phase}));
        assert_eq!(because(&cluster), Some(Because::WorkerFailed));
        cluster.settle();
        assert_eq!(cluster.told().iter().filter(|reason| **reason == "StartGateOpened").count(), 1);
        cluster.run_launcher("pi-launcher-a");
    }
}

#[test]
fn it_opens_at_once_for_a_retry() {
    let mut counted = waiting(&[]);
    counted.patch(&launcher(), &json!({"status": {"failed": 1}}));
    assert_eq!(because(&counted), Some(Because::RanBefore));

    let mut seen = waiting(&[]);
    let failed = seen.objects[&pod_name("pi-launcher-a")].clone();
    seen.put(pod_name("pi-launcher-0"), failed);
    seen.patch(&pod_name("pi-launcher-0"), &json!({"status": {"phase": "Failed"}}));
    assert_eq!(because(&seen), Some(Because::RanBefore));
}

#[test]
fn what_failed_before_a_suspension_does_not_open_it() {
    let mut cluster = waiting(&[]);
    cluster.patch(&launcher(), &json!({"status": {"failed": 2}}));
    let status = cluster.raw.status.as_mut().unwrap();
    let mut resumed = status.conditions[0].clone();
    (resumed.kind, resumed.status) = ("Suspended".to_owned(), "False".to_owned());
    status.conditions.push(resumed);
    let pod = cluster.objects[&pod_name("pi-launcher-a")].clone();
    cluster.put(pod_name("pi-launcher-0"), pod);
    let status = json!({"phase": "Failed"});
    let before = json!({"metadata": {"creationTimestamp": "2026-11-21T11:59:59Z"}, "status": status});
    cluster.patch(&pod_name("pi-launcher-0"), &before);
    assert_eq!(because(&cluster), None);

    let since = json!({"metadata": {"creationTimestamp": "2026-11-21T12:00:00Z"}});
    cluster.patch(&pod_name("pi-launcher-0"), &since);
    assert_eq!(because(&cluster), Some(Because::RanBefore));
}

#[test]
fn it_opens_at_the_elastic_minimum() {
    let mut cluster = waiting(&[(annotations::ANNOTATION_START_MIN_WORKERS, "2")]);
    cluster.worker(0, &json!({"phase": "Running", "ready": true}));
    assert_eq!(because(&cluster), None);
    cluster.worker(2, &json!({"phase": "Running", "ready": true}));
    assert_eq!(because(&cluster), Some(Because::Minimum));
}

#[test]
fn it_opens_after_its_time_and_names_the_missing_hosts() {
    let mut cluster = waiting(&[(annotations::ANNOTATION_START_GATE_TIMEOUT, "90s")]);
    cluster.worker(1, &json!({"phase": "Running", "ready": true}));
    cluster.advance(Duration::from_secs(89));
    assert_eq!(cluster.pass().update.wake, Some(Duration::from_secs(1)));
    cluster.advance(Duration::from_secs(1));
    let pass = cluster.pass();

    assert!(matches!(pass.steps.as_slice(), [Step::OpenGate { position: 0, .. }]));
    assert_eq!(
        pass.update.acts[0].message,
        "the launcher starts after 90 s although 2 of 3 workers are not ready or not in DNS: pi-worker-0, pi-worker-2"
    );
    cluster.settle();
    assert_eq!(cluster.told().iter().filter(|reason| **reason == "StartGateTimedOut").count(), 1);
}

#[test]
fn a_gate_that_did_not_open_is_no_event() {
    let cluster = {
        let mut cluster = waiting(&[]);
        cluster.worker(2, &json!({"phase": "Failed"}));
        cluster
    };
    let failed = |kind, name: &str| StepFailure {
        object: ObjectName { kind, name: name.to_owned() },
        reason: FailureReason::Conflict,
        message: "changed".to_owned(),
    };
    let told = |failures| {
        let done = Done { failures, ..Done::default() };
        let outcome = Outcome { done, gate: cluster.gate(), ..Outcome::default() };
        let update = status::next(&valid(&cluster.raw), &cluster.seen(), &outcome, cluster.now);
        update.acts.iter().any(|event| event.reason == "StartGateOpened")
    };
    assert!(told(vec![]));
    assert!(told(vec![failed(Kind::Pod, "pi-worker-0")]), "another write of the same wave");
    assert!(!told(vec![failed(Kind::Pod, "pi-launcher-a")]));
    assert!(!told(vec![failed(Kind::ConfigMap, "pi-config")]), "an earlier wave stops the pass");
}

#[test]
fn an_endless_timeout_is_no_error() {
    let cluster = waiting(&[(annotations::ANNOTATION_START_GATE_TIMEOUT, "18446744073709551615s")]);

    assert!(matches!(cluster.gate(), Gate::Closed { until, .. } if until == jiff::Timestamp::MAX));
}

#[test]
fn only_our_gate_is_removed_wherever_it_stands() {
    let mut cluster = waiting(&[]);
    let gates = json!([{"name": "example.com/license"}, {"name": scheduling::GATE_WORKERS}, {"name": "example.com/b"}]);
    cluster.patch(&pod_name("pi-launcher-a"), &json!({"spec": {"schedulingGates": gates}}));
    cluster.ready();
    cluster.settle();

    assert_eq!(
        cluster.objects[&pod_name("pi-launcher-a")]["spec"]["schedulingGates"],
        json!([{"name": "example.com/license"}, {"name": "example.com/b"}])
    );
}

#[test]
fn it_is_left_alone_while_the_job_is_suspended_or_does_not_use_it() {
    let mut cluster = waiting(&[]);
    cluster.ready();
    suspend(&mut cluster.raw, true);
    assert_eq!(cluster.gate(), Gate::NotUsed);

    let off = waiting(&[(annotations::ANNOTATION_START_GATE, "none")]);
    assert_eq!(off.gate(), Gate::NotUsed);
}
