//! Whole lives of jobs: made, run, ended.

use std::time::Duration;

use coxswain_model::{gate::Gate, status::Count, step::Step};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::{
    cluster::{Cluster, POD, launcher, pod_name, running},
    sample::{clean, raw},
};

#[test]
fn a_job_is_created_waits_for_its_workers_runs_and_succeeds() {
    let mut cluster = Cluster::new(raw(2));
    cluster.settle();
    assert_eq!(cluster.conditions(), ["Created=True MPIJobCreated"]);
    assert_eq!(cluster.counters("Launcher"), Some((0, 0, 0)));
    assert_eq!(cluster.counters("Worker"), Some((0, 0, 0)));

    cluster.launch(POD);
    cluster.settle();
    assert!(matches!(cluster.gate(), Gate::Closed { .. }));
    cluster.ready();
    cluster.settle();
    assert_eq!(cluster.counters("Worker"), Some((2, 0, 0)));
    cluster.run_launcher(POD);
    cluster.settle();
    assert_eq!(cluster.conditions(), ["Created=True MPIJobCreated", "Running=True MPIJobRunning"]);
    assert_eq!(cluster.counters("Launcher"), Some((1, 0, 0)));

    cluster.advance(Duration::from_mins(1));
    cluster.patch(&pod_name(POD), &json!({"status": {"phase": "Succeeded"}}));
    let ended = cluster.now;
    cluster.end("Complete", "", "");
    cluster.settle();
    assert_eq!(
        cluster.conditions(),
        ["Created=True MPIJobCreated", "Running=False MPIJobRunning", "Succeeded=True MPIJobSucceeded"]
    );
    assert_eq!(cluster.counters("Launcher"), Some((0, 1, 0)));
    assert_eq!(cluster.counters("Worker"), Some((0, 0, 0)));
    assert_eq!(cluster.workers(), [0, 1], "cleanPodPolicy None keeps the workers");
    assert_eq!(cluster.raw.status.as_ref().unwrap().completion_time, Some(ended));
    assert_eq!(cluster.told(), ["MPIJobCreated", "PluginsPinned", "MPIJobRunning", "MPIJobSucceeded"]);
    assert_eq!(cluster.counts, [Count::Created, Count::Succeeded]);
}

#[test]
fn workers_are_removed_after_the_status_says_how_the_job_ended() {
    let mut policy_all = raw(2);
    clean(&mut policy_all, "All");
    let mut cluster = running(policy_all);
    cluster.end("Complete", "", "");

    let end = cluster.pass();
    assert!(end.steps.is_empty() && end.update.status.is_some());
    let after = cluster.pass();
    let names: Vec<_> = after.steps.iter().map(|s| matches!(s, Step::Delete { version: None, .. })).collect();
    assert_eq!(names, [true, true]);
    cluster.settle();
    cluster.reap();
    cluster.settle();
    assert_eq!(cluster.workers(), [0_u32; 0]);
    assert!(cluster.objects.contains_key(&launcher()), "the launcher Job stays");
}

#[test]
fn policy_running_keeps_the_workers_that_have_ended() {
    let mut policy = raw(3);
    clean(&mut policy, "Running");
    let mut cluster = running(policy);
    cluster.worker(1, &json!({"phase": "Failed"}));
    cluster.end("Failed", "", "");
    cluster.settle();

    assert_eq!(cluster.workers(), [1]);
}

#[test]
fn a_failed_launcher_pod_is_no_failed_job_but_a_failed_launcher_job_is() {
    let mut cluster = running(raw(1));
    cluster.patch(&pod_name(POD), &json!({"status": {"phase": "Failed", "ready": false}}));
    cluster.patch(&launcher(), &json!({"status": {"failed": 1}}));
    cluster.settle();
    assert_eq!(cluster.counters("Launcher"), Some((0, 0, 1)));
    assert_eq!(cluster.conditions().last().unwrap(), "Running=True MPIJobRunning");

    cluster.launch("pi-launcher-b");
    cluster.settle();
    cluster.run_launcher("pi-launcher-b");
    cluster.end("Failed", "", "");
    cluster.settle();
    assert_eq!(cluster.conditions().last().unwrap(), "Failed=True MPIJobFailed");
    let last = cluster.events.last().unwrap();
    assert_eq!((last.warning, last.message.as_str()), (true, "MPIJob team-a/pi has failed"));
}

#[test]
fn a_retry_of_the_launcher_is_not_held_back_by_workers_that_are_gone() {
    let mut cluster = running(raw(2));
    cluster.worker(0, &json!({"phase": "Pending", "ready": false}));
    cluster.patch(&launcher(), &json!({"status": {"failed": 1}}));
    cluster.launch("pi-launcher-b");
    cluster.settle();

    cluster.run_launcher("pi-launcher-b");
}
