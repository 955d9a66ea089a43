//! Whole lives of jobs: made, run, ended.

use coxswain_simulator::plan::Held;
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::history::{History, LAUNCHER, MINUTE, SECOND, job, timestamp, worker};

#[test]
fn a_job_is_created_waits_for_its_workers_runs_and_succeeds() {
    let history = History::waiting(job(2, &json!({})));
    assert_eq!(history.conditions(), ["Created=True MPIJobCreated"]);
    assert_eq!(history.counters("Launcher"), Some((0, 0, 0)));
    assert_eq!(history.counters("Worker"), Some((0, 0, 0)));
    assert!(history.is_gated());

    history.release(Held::Start, "pi-worker");
    history.until("both workers are counted", |history| history.counters("Worker") == Some((2, 0, 0)));
    history.until_running();
    assert_eq!(history.conditions(), ["Created=True MPIJobCreated", "Running=True MPIJobRunning"]);
    assert_eq!(history.counters("Launcher"), Some((1, 0, 0)));

    history.pass(MINUTE);
    history.end_launcher(0);
    history.rest();
    assert_eq!(
        history.conditions(),
        ["Created=True MPIJobCreated", "Running=False MPIJobRunning", "Succeeded=True MPIJobSucceeded"]
    );
    assert_eq!(history.counters("Launcher"), Some((0, 1, 0)));
    assert_eq!(history.counters("Worker"), Some((0, 0, 0)));
    assert_eq!(history.workers(), [0, 1], "cleanPodPolicy None keeps the workers");
    assert_eq!(history.status()["completionTime"], timestamp(history.launcher_job_ended()));
    assert_eq!(history.told(), ["MPIJobCreated", "PluginsPinned", "MPIJobRunning", "MPIJobSucceeded"]);
}

#[test]
fn workers_are_removed_after_the_status_says_how_the_job_ended() {
    let history = History::running(job(2, &json!({"runPolicy": {"cleanPodPolicy": "All"}})));
    history.end_launcher(0);
    history.rest();

    assert_eq!(history.deletions(), ["Pod pi-worker-0", "Pod pi-worker-1"]);
    assert!(history.since("Succeeded=True") < history.deleted()[0].at);
    assert_eq!(history.workers(), [0_u32; 0]);
    assert!(history.has("Job", LAUNCHER), "the launcher Job stays");
}

#[test]
fn policy_running_keeps_the_workers_that_have_ended() {
    let history =
        History::running(job(3, &json!({"runPolicy": {"cleanPodPolicy": "Running", "backoffLimit": 0}})));
    history.fail_worker(1);
    history.end_launcher(1);
    history.rest();

    assert_eq!(history.last_condition(), "Failed=True BackoffLimitExceeded/");
    assert_eq!(history.workers(), [1]);
}

#[test]
fn a_failed_launcher_pod_is_no_failed_job_but_a_failed_launcher_job_is() {
    let history = History::running(job(1, &json!({"runPolicy": {"backoffLimit": 1}})));
    history.end_launcher(1);
    history.until("it is counted", |history| history.counters("Launcher") == Some((0, 0, 1)));
    assert_eq!(history.last_condition(), "Running=True MPIJobRunning");

    history.until("it runs again", |history| history.counters("Launcher") == Some((1, 0, 1)));
    history.end_launcher(1);
    history.rest();
    assert!(history.last_condition().starts_with("Failed=True"), "{:?}", history.conditions());
    let (kind, _, message) = history.events().pop().unwrap();
    assert_eq!((&*kind, &*message), ("Warning", "Job has reached the specified backoff limit"));
}

#[test]
fn a_retry_of_the_launcher_is_not_held_back_by_workers_that_are_gone() {
    let history = History::running(job(2, &json!({})));
    history.hold(Held::Start, &worker(0));
    history.lose_worker(0);
    history.until("it is made again", |history| history.created("Pod", &worker(0)) == 2);
    history.end_launcher(1);
    history.until("there is a second launcher", |history| {
        history.pods(LAUNCHER).len() == 2 && history.launcher_pod().is_some()
    });
    let made = history.made("Pod", LAUNCHER);

    history.until("it is let go", History::is_let_go);

    assert!(history.at() - made < SECOND, "let go at {:?}, made at {made:?}", history.at());
}
