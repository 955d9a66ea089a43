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

fn last_condition(cluster: &Cluster) -> String {
    let last = cluster.raw.status.as_ref().unwrap().conditions.last().unwrap();
    format!("{} {}", last.kind, last.reason)
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
    last_condition(cluster)
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

    assert_eq!(last_condition(&cluster), "Succeeded MPIJobSucceeded");
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

/// The spec of a job of generation 1 is still the one that it was created with.
#[test]
fn the_last_worker_of_a_job_that_was_never_changed_is_known_to_have_been_there() {
    let made_again = |generation| {
        let mut cluster = running(&[]);
        cluster.raw.metadata.generation = generation;
        cluster.objects.remove(&pod_name("pi-worker-1"));
        cluster.settle();
        assert_eq!(cluster.workers(), [0, 1], "it is made again");
        success_after(&mut cluster, Duration::from_secs(1))
    };

    assert_eq!(made_again(1), "Failed WorkerLost");
    assert_eq!(made_again(2), "Succeeded MPIJobSucceeded", "it may have been added");
}

#[test]
fn a_loss_that_is_reported_after_the_launchers_end_still_counts() {
    for policy in ["auto", "fail"] {
        let mut cluster = running(&[("lost-worker", policy)]);
        let lost_at = cluster.now;
        cluster.end_just_now("Complete", "", "");
        cluster.advance(Duration::from_millis(400));
        let first = cluster.pass();
        assert_eq!(first.update.wake, Some(Duration::from_millis(1600)), "{policy}");
        assert_eq!(last_condition(&cluster), "Running MPIJobRunning");

        cluster.worker(1, &json!({"phase": "Failed", "ready": false, "finished": lost_at}));
        cluster.settle();

        assert_eq!(last_condition(&cluster), "Failed WorkerLost", "{policy}");
    }
}

#[test]
fn an_end_waits_for_such_reports_two_seconds_at_most() {
    let mut cluster = running(&[]);
    cluster.end_just_now("Complete", "", "");
    cluster.advance(Duration::from_millis(1999));
    cluster.pass();
    assert_eq!(last_condition(&cluster), "Running MPIJobRunning");

    cluster.advance(Duration::from_millis(1));
    cluster.settle();

    assert_eq!(last_condition(&cluster), "Succeeded MPIJobSucceeded");
}

#[test]
fn an_end_waits_for_nothing_where_nothing_can_be_reported() {
    let ended_at_once = |cluster: &mut Cluster| {
        cluster.end_just_now("Complete", "", "");
        cluster.settle();
        last_condition(cluster)
    };
    let mut lenient = running(&[("lost-worker", "ignore")]);
    assert_eq!(ended_at_once(&mut lenient), "Succeeded MPIJobSucceeded");

    let mut all_ended = running(&[]);
    for index in [0, 1] {
        all_ended.worker(index, &json!({"phase": "Succeeded", "ready": false}));
    }
    assert_eq!(ended_at_once(&mut all_ended), "Succeeded MPIJobSucceeded");

    let mut alone = Cluster::new(raw(0));
    alone.settle();
    alone.launch("pi-launcher-a");
    alone.run_launcher("pi-launcher-a");
    alone.settle();
    assert_eq!(ended_at_once(&mut alone), "Succeeded MPIJobSucceeded");
}

#[test]
fn clocks_that_differ_hold_up_no_end() {
    for hours in [-1, 1] {
        let mut cluster = running(&[]);
        let here = cluster.now;
        cluster.now = here + jiff::SignedDuration::from_hours(hours);
        cluster.end_just_now("Complete", "", "");
        cluster.now = here;
        cluster.settle();

        assert_eq!(last_condition(&cluster), "Succeeded MPIJobSucceeded", "{hours} h");
    }
}
