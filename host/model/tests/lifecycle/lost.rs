//! A launcher that exits 0 although a worker was lost.

use std::time::Duration;

use serde_json::json;

use crate::{
    cluster::{Cluster, pod_name},
    sample::{raw, scale},
};

const MINUTE: Duration = Duration::from_mins(1);

/// A job of two workers that has run for a minute.
fn running(annotations: &[(&str, &str)]) -> Cluster {
    let mut job = raw(2);
    for (key, value) in annotations {
        job.metadata.annotations.insert(format!("coxswain.dev/{key}"), (*value).to_owned());
    }
    let mut cluster = Cluster::new(job);
    cluster.settle();
    cluster.launch("pi-launcher-a");
    cluster.ready();
    cluster.settle();
    cluster.run_launcher("pi-launcher-a");
    cluster.settle();
    cluster.advance(MINUTE);
    cluster
}

fn fail_worker(cluster: &mut Cluster) {
    let now = cluster.now;
    cluster.worker(1, &json!({"phase": "Failed", "ready": false, "finished": now}));
}

/// The launcher exits 0, so long after; the job's last condition.
fn success_after(cluster: &mut Cluster, time: Duration) -> String {
    cluster.advance(time);
    cluster.end("Complete", "", "");
    cluster.settle();
    let last = cluster.raw.status.as_ref().unwrap().conditions.last().unwrap();
    format!("{} {}", last.kind, last.reason)
}

#[test]
fn a_job_whose_worker_failed_just_before_the_end_has_failed() {
    let mut cluster = running(&[]);
    fail_worker(&mut cluster);

    assert_eq!(success_after(&mut cluster, Duration::from_secs(30)), "Failed WorkerLost");
    assert!(cluster.told().contains(&"WorkerLost"));
}

#[test]
fn a_launcher_that_went_on_without_a_worker_succeeds_with_a_warning() {
    let mut cluster = running(&[]);
    fail_worker(&mut cluster);

    assert_eq!(success_after(&mut cluster, Duration::from_secs(31)), "Succeeded MPIJobSucceeded");
    assert_eq!(cluster.told().iter().filter(|reason| **reason == "WorkerLost").count(), 1);
}

#[test]
fn the_job_may_say_that_a_loss_is_always_or_never_a_failure() {
    let mut strict = running(&[("lost-worker", "fail")]);
    fail_worker(&mut strict);
    let mut lenient = running(&[("lost-worker", "ignore")]);
    fail_worker(&mut lenient);

    assert_eq!(success_after(&mut strict, 10 * MINUTE), "Failed WorkerLost");
    assert_eq!(success_after(&mut lenient, Duration::ZERO), "Succeeded MPIJobSucceeded");
    assert!(!lenient.told().contains(&"WorkerLost"));
}

#[test]
fn a_worker_that_was_deleted_and_made_again_was_lost() {
    let mut cluster = running(&[]);
    cluster.objects.remove(&pod_name("pi-worker-0"));
    cluster.settle();
    assert_eq!(cluster.workers(), [0, 1], "it is made again");

    assert_eq!(success_after(&mut cluster, Duration::from_secs(1)), "Failed WorkerLost");
}

#[test]
fn a_worker_that_is_gone_when_the_launcher_ends_was_lost() {
    let mut cluster = running(&[]);
    cluster.objects.remove(&pod_name("pi-worker-1"));

    assert_eq!(success_after(&mut cluster, Duration::ZERO), "Failed WorkerLost");
}

#[test]
fn workers_of_an_elastic_job_may_come_and_go() {
    let mut cluster = running(&[("start-min-workers", "1")]);
    cluster.objects.remove(&pod_name("pi-worker-1"));

    assert_eq!(success_after(&mut cluster, Duration::ZERO), "Succeeded MPIJobSucceeded");
}

#[test]
fn a_worker_that_fails_after_the_launcher_was_not_lost() {
    let mut cluster = running(&[]);
    cluster.end("Complete", "", "");
    cluster.advance(Duration::from_secs(5));
    fail_worker(&mut cluster);
    cluster.settle();

    let last = cluster.raw.status.as_ref().unwrap().conditions.last().unwrap();
    assert_eq!(last.kind, "Succeeded");
}

/// `OnFailure` restarts its container, and its pod stays.
#[test]
fn a_loss_that_an_earlier_attempt_of_the_launcher_met_is_none_of_the_one_that_succeeds() {
    let mut cluster = running(&[]);
    fail_worker(&mut cluster);
    cluster.advance(Duration::from_secs(5));
    let again = cluster.now.to_string();
    cluster.patch(&pod_name("pi-launcher-a"), &json!({"status": {"attempt": again}}));

    assert_eq!(success_after(&mut cluster, Duration::from_secs(5)), "Succeeded MPIJobSucceeded");
}

#[test]
fn a_worker_that_was_added_just_before_the_end_was_not_lost() {
    let mut cluster = running(&[]);
    scale(&mut cluster.raw, 3);
    cluster.settle();
    assert_eq!(cluster.workers(), [0, 1, 2]);

    assert_eq!(success_after(&mut cluster, Duration::from_secs(9)), "Succeeded MPIJobSucceeded");
}
