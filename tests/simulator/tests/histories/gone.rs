//! Launcher Jobs that are gone before the status says how the job ended.

use std::time::Duration;

use coxswain_simulator::plan::Held;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::history::{History, LAUNCHER, MINUTE, SECOND, job};

fn two() -> Value {
    job(2, &json!({"runPolicy": {"cleanPodPolicy": "All"}}))
}

/// A job whose launcher waits.
fn created() -> History {
    let history = History::waiting(two());
    assert!(history.is_gated());
    history
}

fn running() -> History {
    let history = History::running(two());
    // Nothing of a launcher's end is still to be reported.
    history.pass(MINUTE);
    history
}

/// It is over, with nothing left that runs, and its launcher ran once.
fn assert_over(history: &History, condition: &str) {
    history.rest();
    history.pass(3 * MINUTE);
    assert_eq!(history.last_condition(), condition);
    assert_eq!(history.created("Job", LAUNCHER), 1);
    assert!(!history.has("Job", LAUNCHER));
    assert_eq!(history.pods("pi-").len(), 0);
    assert!(history.status()["completionTime"].is_string());
    let end = condition.split(['=', ' ']).nth(2).unwrap();
    assert_eq!((history.times("MPIJobCreated"), history.times(end)), (1, 1));
}

/// `ttlSecondsAfterFinished: 0`, and a queue that is long.
#[test]
fn a_launcher_whose_end_and_removal_are_seen_at_once_does_not_run_again() {
    for (end, reason, condition, counters) in [
        ("Complete", "", "Succeeded=True MPIJobSucceeded", (0, 1, 0)),
        ("Failed", "DeadlineExceeded", "Failed=True DeadlineExceeded", (0, 0, 0)),
    ] {
        for history in [created(), running()] {
            history.lag("Job", 10 * SECOND);
            history.end_launcher_job(end, reason);
            let at = history.wall_time();
            history.pass(5 * SECOND);
            history.remove("Job", LAUNCHER);
            history.lag("Job", Duration::from_millis(2));

            assert_over(&history, condition);
            assert_eq!(history.counters("Launcher"), Some(counters));
            let is_the_jobs = history.status()["completionTime"] == at;
            assert_eq!(is_the_jobs, end == "Complete", "the Job's own, where it has one");
        }
    }
}

/// The operator was away for longer than the Job's TTL.
#[test]
fn a_launcher_that_is_gone_and_whose_end_nobody_saw_does_not_run_again() {
    for history in [created(), running()] {
        history.operator_is_away(MINUTE);
        history.end_launcher_job("Complete", "");
        history.remove("Job", LAUNCHER);
        history.pass(MINUTE);

        assert_over(&history, "Failed=True LauncherOutcomeUnknown");
        assert_eq!((history.counters("Launcher"), history.counters("Worker")), (None, Some((0, 0, 0))));
        let warnings = history.warnings();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].starts_with("Job pi-launcher is gone, and how it ended was not seen"));
    }
}

#[test]
fn a_job_that_was_suspended_meanwhile_does_not_run_again_either() {
    let history = running();
    history.breaks("L5");
    history.operator_is_away(MINUTE);
    history.remove("Job", LAUNCHER);
    history.suspend(true);
    history.pass(MINUTE);

    assert_over(&history, "Failed=True LauncherOutcomeUnknown");
}

/// As every job of Kueue.
#[test]
fn a_job_that_was_resumed_does_not_run_again_either() {
    let history = History::of(job(2, &json!({"runPolicy": {"cleanPodPolicy": "All", "suspend": true}})));
    history.pass(10 * SECOND);
    history.suspend(false);
    history.until_running();
    history.operator_is_away(MINUTE);
    history.remove("Job", LAUNCHER);
    history.pass(MINUTE);

    assert_over(&history, "Failed=True LauncherOutcomeUnknown");
}

#[test]
fn a_launcher_job_that_is_deleted_while_it_runs_is_made_anew_as_in_the_mpi_operator() {
    let history = running();
    history.remove("Job", LAUNCHER);
    history.until("it is made anew", |history| history.created("Job", LAUNCHER) == 2);
    history.pass(2 * MINUTE);

    assert_eq!(history.last_condition(), "Running=True MPIJobRunning");
    assert_eq!(history.counters("Launcher"), Some((1, 0, 0)));
    assert_eq!(history.created("Job", LAUNCHER), 2);
}

/// Somebody deleted it while no operator was there.
#[test]
fn a_launcher_job_that_was_suspended_has_not_run_and_is_made_anew() {
    let history = running();
    history.suspend(true);
    history.rest();
    history.operator_is_away(MINUTE);
    history.remove("Job", LAUNCHER);
    history.suspend(false);
    history.pass(MINUTE);

    history.until_running();
    assert_eq!(history.created("Job", LAUNCHER), 2);
}

/// That of another operator, which is replaced when its job is resumed, and takes a while to go.
#[test]
fn a_suspended_launcher_job_that_makes_way_does_not_count_as_one_that_may_have_run() {
    let history = History::of(job(2, &json!({"runPolicy": {"cleanPodPolicy": "All", "suspend": true}})));
    history.rest();
    history.alter("Job", LAUNCHER, json!({"metadata": {"finalizers": ["example.com/slow"]}}));
    history.remove("Job", LAUNCHER);
    history.suspend(false);
    history.rest();
    assert_eq!(history.counters("Launcher"), None);
    assert!(history.has("Job", LAUNCHER), "it takes a while");

    history.operator_is_away(MINUTE);
    history.alter("Job", LAUNCHER, json!({"metadata": {"finalizers": null}}));
    assert!(!history.has("Job", LAUNCHER));
    history.pass(MINUTE);

    history.until_running();
    assert_eq!(history.created("Job", LAUNCHER), 2);
}

/// Its index remembers the end of the first one.
#[test]
fn a_job_made_again_under_its_name_runs() {
    let history = running();
    history.lag("Job", 10 * SECOND);
    history.end_launcher(0);
    history.pass(SECOND);
    history.remove("Job", LAUNCHER);
    history.lag("Job", Duration::from_millis(2));
    history.make_again(two());
    history.rest();

    history.until_running();
    assert_eq!(history.created("Job", LAUNCHER), 2);
    assert_eq!(history.status()["completionTime"], Value::Null);
}

#[test]
fn a_stale_view_from_before_the_second_launcher_makes_no_third_one() {
    let history = created();
    history.remove("Job", LAUNCHER);
    // It learns of the removal and of nothing that comes after it.
    history.pass(Duration::from_millis(5));
    history.lag("Job", MINUTE);
    history.until("there is another one", |history| history.created("Job", LAUNCHER) == 2);
    history.end_launcher_job("Complete", "");
    history.remove("Job", LAUNCHER);
    history.pass(30 * SECOND);
    assert_eq!(history.created("Job", LAUNCHER), 2);

    history.pass(MINUTE);
    history.lag("Job", Duration::from_millis(2));
    history.rest();

    assert_eq!(history.created("Job", LAUNCHER), 2);
    assert_eq!(history.last_condition(), "Failed=True LauncherOutcomeUnknown");
}

/// Nothing of it is known to the operator when its watches begin anew.
#[test]
fn the_launcher_of_a_job_that_waits_is_not_lost_with_the_operator() {
    let history = created();
    history.operator_is_away(10 * SECOND);
    history.pass(20 * SECOND);
    history.release(Held::Start, "pi-worker");

    history.until_running();
    assert_eq!(history.created("Job", LAUNCHER), 1);
}
