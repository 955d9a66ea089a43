//! A launcher that exits 0 although a worker was lost.

use std::time::Duration;

use coxswain_simulator::plan::{Deed, Ending, Settings};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::history::{History, LAUNCHER, MINUTE, SECOND, annotated, job, worker};

/// A job of two workers that has run for a minute, at the beginning of a second.
fn running(annotations: &[(&str, &str)]) -> History {
    let history = History::running(annotated(job(2, &json!({})), annotations));
    history.pass(MINUTE);
    history.align();
    history
}

/// The launcher exits 0, so long after; the job's last condition.
fn success_after(history: &History, time: Duration) -> String {
    history.pass(time);
    history.end_launcher(0);
    history.rest();
    history.last_condition()
}

/// The launcher exits 0 at once; how long after the end of its Job the status says that the job has succeeded.
fn judged_after(history: &History) -> Duration {
    history.end_launcher(0);
    history.rest();
    assert_eq!(history.last_condition(), "Succeeded=True MPIJobSucceeded");
    history.since("Succeeded=True") - history.launcher_job_ended()
}

/// What is judged at once: the queue gathers for a moment, and requests take theirs.
const AT_ONCE: Duration = Duration::from_millis(500);

#[test]
fn a_job_whose_worker_failed_just_before_the_end_has_failed() {
    let history = running(&[]);
    history.fail_worker(1);

    assert_eq!(success_after(&history, 30 * SECOND), "Failed=True WorkerLost");
    assert_eq!(history.times("WorkerLost"), 1);
}

#[test]
fn a_launcher_that_went_on_without_a_worker_succeeds_with_a_warning() {
    let history = running(&[]);
    history.fail_worker(1);

    assert_eq!(success_after(&history, 31 * SECOND), "Succeeded=True MPIJobSucceeded");
    assert_eq!(history.times("WorkerLost"), 1);
}

#[test]
fn the_job_may_say_that_a_loss_is_always_or_never_a_failure() {
    let strict = running(&[("lost-worker", "fail")]);
    strict.fail_worker(1);
    assert_eq!(success_after(&strict, 10 * MINUTE), "Failed=True WorkerLost");

    let lenient = running(&[("lost-worker", "ignore")]);
    lenient.fail_worker(1);
    assert_eq!(success_after(&lenient, Duration::ZERO), "Succeeded=True MPIJobSucceeded");
    assert_eq!(lenient.times("WorkerLost"), 0);
}

#[test]
fn a_worker_that_was_deleted_and_made_again_was_lost() {
    let history = running(&[]);
    history.lose_worker(0);
    history.until("it is made again", |history| history.created("Pod", &worker(0)) == 2);
    assert_eq!(history.workers(), [0, 1]);

    assert_eq!(success_after(&history, SECOND), "Failed=True WorkerLost");
}

/// Nothing comes in its place: the quota is used up.
fn without_worker_1(annotations: &[(&str, &str)]) -> History {
    let history = running(annotations);
    history.forbid("Pod", &worker(1), "exceeded quota: pods");
    history.lose_worker(1);
    history
}

#[test]
fn a_worker_that_is_gone_when_the_launcher_ends_was_lost() {
    let history = without_worker_1(&[]);

    assert_eq!(success_after(&history, Duration::ZERO), "Failed=True WorkerLost");
    assert_eq!(history.created("Pod", &worker(1)), 1);
}

/// As every job of a queue, whose spec was changed when it was admitted.
#[test]
fn the_last_worker_of_a_job_that_was_resumed_is_known_to_have_been_there() {
    let history = History::of(job(2, &json!({"runPolicy": {"suspend": true}})));
    history.pass(10 * SECOND);
    history.suspend(false);
    history.until_running();
    history.pass(MINUTE);
    history.forbid("Pod", &worker(1), "exceeded quota: pods");
    history.lose_worker(1);

    assert_eq!(success_after(&history, Duration::ZERO), "Failed=True WorkerLost");
}

#[test]
fn a_worker_that_a_larger_job_never_got_was_not_lost() {
    let history = running(&[]);
    history.forbid("Pod", &worker(2), "exceeded quota: pods");
    history.scale(3);

    assert_eq!(success_after(&history, MINUTE), "Succeeded=True MPIJobSucceeded");
}

#[test]
fn workers_of_an_elastic_job_may_come_and_go() {
    let history = without_worker_1(&[("start-min-workers", "1")]);

    assert_eq!(success_after(&history, Duration::ZERO), "Succeeded=True MPIJobSucceeded");
}

#[test]
fn a_worker_that_fails_after_the_launcher_was_not_lost() {
    let history = running(&[]);
    history.end_launcher(0);
    history.pass(Duration::from_millis(1500));
    assert_eq!(history.last_condition(), "Running=True MPIJobRunning", "nothing is judged yet");
    history.fail_worker(1);
    history.rest();

    assert_eq!(history.last_condition(), "Succeeded=True MPIJobSucceeded");
}

#[test]
fn a_worker_that_fails_after_the_end_changes_nothing() {
    let history = running(&[]);
    history.end_launcher(0);
    history.pass(5 * SECOND);
    history.fail_worker(1);
    history.rest();

    assert_eq!(history.last_condition(), "Succeeded=True MPIJobSucceeded");
}

/// `OnFailure` restarts its container, and its pod stays.
#[test]
fn a_loss_that_an_earlier_attempt_of_the_launcher_met_is_none_of_the_one_that_succeeds() {
    let history = running(&[]);
    history.fail_worker(1);
    history.pass(5 * SECOND);
    history.does(Deed::RestartPod { pod: LAUNCHER.to_owned() });

    assert_eq!(success_after(&history, 5 * SECOND), "Succeeded=True MPIJobSucceeded");
}

#[test]
fn a_worker_that_was_added_just_before_the_end_was_not_lost() {
    let history = running(&[]);
    history.scale(3);
    history.until_workers(&[0, 1, 2]);

    assert_eq!(success_after(&history, 9 * SECOND), "Succeeded=True MPIJobSucceeded");
}

/// The spec of a job of generation 1 is still the one that it was created with.
#[test]
fn the_last_worker_of_a_job_that_was_never_changed_is_known_to_have_been_there() {
    let made_again = |changes: bool| {
        let history = running(&[]);
        if changes {
            history.change(json!({"spec": {"runPolicy": {"ttlSecondsAfterFinished": 3600}}}));
        }
        assert_eq!(history.job()["metadata"]["generation"], if changes { 2 } else { 1 });
        history.lose_worker(1);
        history.until("it is made again", |history| history.created("Pod", &worker(1)) == 2);
        success_after(&history, SECOND)
    };

    assert_eq!(made_again(false), "Failed=True WorkerLost");
    assert_eq!(made_again(true), "Succeeded=True MPIJobSucceeded", "it may have been added");
}

#[test]
fn a_loss_that_is_reported_after_the_launchers_end_still_counts() {
    for policy in ["auto", "fail"] {
        let history = running(&[("lost-worker", policy)]);
        history.end_launcher(0);
        history.until("the Job has ended", |history| {
            history.object("Job", LAUNCHER)["status"]["completionTime"].is_string()
        });
        history.pass(Duration::from_millis(400));
        assert_eq!(history.last_condition(), "Running=True MPIJobRunning", "{policy}");

        history.end_pod(&worker(1), Ending { code: 1, late_seconds: 1, ..Ending::default() });
        history.pass(AT_ONCE);

        assert_eq!(history.last_condition(), "Failed=True WorkerLost", "{policy}");
    }
}

#[test]
fn an_end_waits_for_such_reports_two_seconds_at_most() {
    let history = running(&[]);

    let waited = judged_after(&history);

    // The Job's own time is a whole second, and it ended up to one later.
    let whole = Duration::from_secs(history.launcher_job_ended().as_secs());
    let since_whole = history.since("Succeeded=True") - whole;
    assert!(waited > SECOND, "judged {waited:?} after the end");
    assert!((2 * SECOND..2 * SECOND + AT_ONCE).contains(&since_whole), "judged {since_whole:?} after it");
}

#[test]
fn an_end_waits_for_nothing_where_nothing_can_be_reported() {
    let lenient = running(&[("lost-worker", "ignore")]);
    assert!(judged_after(&lenient) < AT_ONCE);

    let all_ended = running(&[]);
    for index in [0, 1] {
        all_ended.end_pod(&worker(index), Ending::default());
    }
    assert!(judged_after(&all_ended) < AT_ONCE);

    let alone = History::running(job(0, &json!({})));
    alone.align();
    assert!(judged_after(&alone) < AT_ONCE);
}

#[test]
fn clocks_that_differ_hold_up_no_end() {
    for hours in [-1, 1] {
        let history = History::with(Settings { ahead_seconds: hours * 3600, ..Settings::default() });
        // By its own clock the job began, by the server's it ended.
        history.breaks("S11");
        // Of the launcher's pod the server says when it was made.
        history.create(annotated(job(2, &json!({})), &[("start-gate-timeout", "3h")]));
        history.until_running();
        history.pass(MINUTE);
        history.align();

        assert!(judged_after(&history) < AT_ONCE, "{hours} h");
    }
}
