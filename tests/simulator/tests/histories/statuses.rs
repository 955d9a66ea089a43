//! What is told.

use coxswain_simulator::plan::{Ending, Held};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::history::{History, LAUNCHER, MINUTE, SECOND, annotated, job, worker};

/// The operator was away while it ran.
#[test]
fn a_launcher_that_ends_unseen_leaves_a_running_condition_that_was_never_true() {
    let history = History::waiting(job(2, &json!({})));
    history.release(Held::Start, "pi-worker");
    history.until("the launcher is let go", History::is_let_go);
    history.operator_is_away(MINUTE);
    history.pass(20 * SECOND);
    history.end_launcher(0);
    history.pass(MINUTE);

    assert_eq!(
        history.conditions(),
        ["Created=True MPIJobCreated", "Running=False MPIJobRunning", "Succeeded=True MPIJobSucceeded"]
    );
    let (status, running) = (history.status(), history.condition("Running"));
    assert_eq!(running["message"], "MPIJob team-a/pi is finished but Running condition was never set.");
    assert_eq!(running["lastTransitionTime"], status["completionTime"], "not after the completion");
    assert_eq!(status["completionTime"], history.object("Job", LAUNCHER)["status"]["completionTime"]);
    assert_eq!(history.counters("Launcher"), Some((0, 1, 0)));
}

#[test]
fn too_many_failures_are_explained_by_the_newest_failed_pod() {
    let history = History::running(job(2, &json!({"runPolicy": {"backoffLimit": 1}})));
    for number in [1, 2] {
        history.until("it runs", |history| {
            history.launcher_pod().is_some_and(|pod| pod["status"]["phase"] == "Running")
        });
        let (reason, message) = (format!("FailedReason{number}"), format!("message {number}"));
        history.end_pod(LAUNCHER, Ending { code: 1, reason, message, ..Ending::default() });
        history.pass(2 * SECOND);
    }
    history.rest();

    let (kind, reason, message) = history.events().pop().unwrap();
    assert_eq!((&*kind, &*reason), ("Warning", "BackoffLimitExceeded/FailedReason2"));
    assert_eq!(message, "Job has reached the specified backoff limit: message 2");
    assert_eq!(history.last_condition(), "Failed=True BackoffLimitExceeded/FailedReason2");
    assert_eq!(history.counters("Launcher"), Some((0, 0, 2)));
}

#[test]
fn a_job_runs_only_while_launcher_and_all_workers_do() {
    // The launcher starts with one of them.
    let history = History::begin();
    history.hold(Held::Start, &worker(1));
    history.create(annotated(job(2, &json!({})), &[("start-min-workers", "1")]));
    history.until("the launcher runs", |history| history.counters("Launcher") == Some((1, 0, 0)));
    history.rest();
    assert_eq!(history.conditions(), ["Created=True MPIJobCreated"]);
    assert_eq!(history.counters("Worker"), Some((1, 0, 0)));

    history.release(Held::Start, &worker(1));
    history.until_running();
    history.pass(SECOND);
    assert_eq!(history.conditions()[1], "Running=True MPIJobRunning");
    assert_eq!(history.events().pop().unwrap().2, "MPIJob team-a/pi is running");
}

#[test]
fn a_launcher_alone_needs_no_workers_to_run() {
    let history = History::running(job(0, &json!({})));

    assert_eq!(history.conditions()[1], "Running=True MPIJobRunning");
    assert_eq!(history.counters("Worker"), Some((0, 0, 0)));
}

#[test]
fn an_invalid_job_is_told_once_and_runs_once_it_is_corrected() {
    let history = History::running(job(2, &json!({})));
    let before = history.status();
    history.change(json!({"spec": {"runPolicy": {"cleanPodPolicy": "Nonesuch"}}}));
    history.pass(10 * MINUTE);

    assert_eq!(history.times("ValidationError"), 1);
    assert!(
        history.warnings()[0].starts_with("Found validation errors: spec.runPolicy.cleanPodPolicy"),
        "{:?}",
        history.warnings()
    );
    assert_eq!(history.last_condition(), "Accepted=False ValidationError");
    let status = history.status();
    assert_eq!(status["conditions"].as_array().unwrap()[..2], before["conditions"].as_array().unwrap()[..]);
    assert_eq!(
        (&status["startTime"], &status["replicaStatuses"]),
        (&before["startTime"], &before["replicaStatuses"])
    );

    history.change(json!({"spec": {"runPolicy": {"cleanPodPolicy": "None"}}}));
    history.pass(10 * SECOND);
    assert_eq!(
        history.conditions(),
        ["Created=True MPIJobCreated", "Accepted=True Accepted", "Running=True MPIJobRunning"]
    );
}

/// The spec was rejected before anything was made.
#[test]
fn a_job_that_is_invalid_from_the_start_has_no_objects() {
    let history = History::of(job(2, &json!({"runPolicy": {"cleanPodPolicy": "Nonesuch"}})));
    history.rest();

    assert_eq!(history.conditions(), ["Accepted=False ValidationError"]);
    assert_eq!(history.creations(), [""; 0]);

    history.change(json!({"spec": {"runPolicy": {"cleanPodPolicy": "None"}}}));
    history.until_running();
    assert_eq!(history.conditions()[..2], ["Accepted=True Accepted", "Created=True MPIJobCreated"]);
}

#[test]
fn annotations_without_effect_are_told_once_and_the_job_goes_on() {
    let history = History::running(annotated(job(1, &json!({})), &[("start-gat", "none")]));
    history.rest();

    let conditions = history.conditions();
    assert_eq!(
        conditions,
        ["Accepted=True AnnotationsIgnored", "Created=True MPIJobCreated", "Running=True MPIJobRunning"],
        "the last condition is the job's state"
    );
    assert_eq!(history.times("AnnotationsIgnored"), 1);
    assert!(
        history.warnings()[0]
            .starts_with("accepted, but without effect: metadata.annotations[coxswain.dev/start-gat]")
    );

    history.change(json!({"metadata": {"annotations": {"coxswain.dev/start-gat": null}}}));
    history.pass(10 * SECOND);
    assert!(
        history.conditions().contains(&"Accepted=True Accepted".to_owned()),
        "{:?}",
        history.conditions()
    );
}
