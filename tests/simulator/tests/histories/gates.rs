//! When the launcher starts.

use std::time::Duration;

use coxswain_simulator::plan::Held;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::history::{GATE, History, LAUNCHER, MINUTE, SECOND, annotated, job, worker};

/// Three workers.
fn three(annotations: &[(&str, &str)]) -> Value {
    annotated(job(3, &json!({})), annotations)
}

/// How long DNS may remember a worker that is gone, or that was not there.
const DNS: Duration = Duration::from_secs(30);

/// A job whose launcher has run for a minute.
fn running() -> History {
    let history = History::running(three(&[]));
    history.pass(MINUTE);
    history
}

/// The gate opens as soon as the workers are Ready and in DNS, and nothing is told of it.
fn assert_opened_with_its_workers(history: &History) {
    history.until("the launcher is let go", History::is_let_go);
    let late = history.opened().saturating_sub(history.ready("pi-worker"));
    assert!(late < 3 * SECOND, "opened {late:?} after the workers were Ready");
    assert_eq!(history.times("StartGateOpened") + history.times("StartGateTimedOut"), 0);
}

/// The gate opens when DNS has forgotten what the launcher that left then may have asked for.
fn assert_opened_once_forgotten(history: &History, left: Duration) {
    history.until("the launcher is let go", History::is_let_go);
    let waited = history.opened().saturating_sub(left);
    assert!((DNS..DNS + 2 * SECOND).contains(&waited), "opened {waited:?} after the earlier launcher left");
    assert!(history.ready("pi-worker") + 5 * SECOND < history.opened(), "not for its workers");
}

#[test]
fn it_stays_closed_until_every_worker_is_ready() {
    let history = History::begin();
    history.hold(Held::Start, &worker(2));
    history.hold(Held::Readiness, &worker(1));
    history.create(three(&[]));
    history.pass(MINUTE);
    assert!(history.is_gated());
    history.release(Held::Start, &worker(2));
    history.pass(MINUTE);
    assert!(history.is_gated(), "one of them runs and is not ready");

    history.release(Held::Readiness, &worker(1));

    assert_opened_with_its_workers(&history);
    history.until_running();
}

#[test]
fn it_stays_closed_until_dns_knows_every_worker() {
    let history = History::begin();
    history.hold(Held::Publication, &worker(1));
    history.create(three(&[]));
    history.pass(MINUTE);
    assert!(history.is_gated());
    let published = history.at();

    history.release(Held::Publication, &worker(1));
    history.until("the launcher is let go", History::is_let_go);

    assert!(history.opened() - published < 3 * SECOND);
    assert_eq!(history.times("StartGateTimedOut"), 0);
    history.until_running();
}

/// A running job that is suspended and resumed five seconds after its pods have gone.
#[test]
fn after_a_short_suspension_it_waits_until_dns_has_forgotten_the_old_workers() {
    let history = running();
    history.suspend(true);
    history.until("its pods are gone", |history| history.pods("pi-").is_empty());
    let left = history.left("Pod", LAUNCHER);
    history.pass(5 * SECOND);
    history.suspend(false);
    history.until("there is a launcher", History::is_gated);

    assert_opened_once_forgotten(&history, left);
}

/// The job is deleted and made again, and its workers are Ready long before DNS has forgotten those of before.
#[test]
fn a_job_made_again_waits_until_dns_has_forgotten_the_workers_of_the_earlier_one() {
    let history = running();
    history.make_again(three(&[]));
    history.until("there is another launcher", |history| history.created("Job", LAUNCHER) == 2);
    history.until("its pod waits", History::is_gated);
    let left = history.left("Pod", LAUNCHER);
    history.until("its workers are ready", |history| history.counters("Worker") == Some((3, 0, 0)));
    let (told, writes) = (history.events().len(), history.by_operator().len());

    history.pass(left + DNS - SECOND - history.at());

    assert_eq!(
        (history.events().len(), history.by_operator().len()),
        (told, writes),
        "it waits without a word"
    );
    assert!(history.is_gated());
    assert_opened_once_forgotten(&history, left);
}

/// The launcher of before has ended 35 s before, and nobody has asked since.
#[test]
fn a_job_made_again_long_after_the_earlier_launcher_ended_starts_at_once() {
    let history = running();
    history.end_launcher(0);
    history.pass(35 * SECOND);
    history.make_again(three(&[]));
    history.until("there is another launcher", |history| history.created("Job", LAUNCHER) == 2);

    assert_opened_with_its_workers(&history);
}

#[test]
fn a_job_made_again_before_the_earlier_launcher_started_has_nothing_to_forget() {
    let history = History::waiting(three(&[]));
    history.make_again(three(&[]));
    history.release(Held::Start, "pi-worker");
    history.until("there is another launcher", |history| history.created("Job", LAUNCHER) == 2);

    assert_opened_with_its_workers(&history);
}

/// It belongs to a node that is lost, or its shell ignores SIGTERM.
#[test]
fn a_launcher_of_an_earlier_job_that_does_not_leave_is_waited_for_30_s_after_the_workers_were_made() {
    let history = running();
    history.hold(Held::Stop, LAUNCHER);
    history.make_again(three(&[]));
    history.until("there is another launcher", |history| history.created("Job", LAUNCHER) == 2);
    history.until("its pod waits", History::is_gated);

    history.until("it is let go", History::is_let_go);

    assert_eq!(history.pods(LAUNCHER).len(), 2, "the other one is still there");
    let waited = history.opened() - history.made("Pod", "pi-worker");
    assert!(
        (DNS - SECOND..DNS + 2 * SECOND).contains(&waited),
        "opened {waited:?} after the workers were made"
    );
}

#[test]
fn an_elastic_job_at_its_minimum_waits_for_dns_too() {
    let history = running();
    history.hold(Held::Start, &worker(2));
    history.make_again(three(&[("start-min-workers", "2")]));
    history.until("there is another launcher", |history| history.created("Job", LAUNCHER) == 2);
    history.until("its pod waits", History::is_gated);
    let left = history.left("Pod", LAUNCHER);

    assert_opened_once_forgotten(&history, left);
    assert_eq!(history.counters("Worker"), Some((2, 0, 0)));
    assert_eq!(history.times("StartGateTimedOut"), 0);
}

#[test]
fn the_time_out_ends_the_wait_for_dns() {
    let history = running();
    history.make_again(three(&[("start-gate-timeout", "10s")]));
    history.until("there is another launcher", |history| history.created("Job", LAUNCHER) == 2);
    history.until("its pod waits", History::is_gated);
    let (left, made) = (history.left("Pod", LAUNCHER), history.made("Pod", LAUNCHER));

    history.until("it is let go", History::is_let_go);

    let waited = history.opened() - made;
    assert!((9 * SECOND..12 * SECOND).contains(&waited), "opened {waited:?} after its pod was made");
    assert!(history.opened() - left < DNS);
    assert_eq!(history.times("StartGateTimedOut"), 0, "all workers were there");
}

#[test]
fn a_job_made_again_without_a_gate_waits_for_nothing() {
    let history = running();
    history.make_again(three(&[("start-gate", "none")]));
    history.until("there is another launcher", |history| history.created("Job", LAUNCHER) == 2);
    history.until("it has a pod", |history| history.launcher_pod().is_some());

    assert!(history.is_let_go());
}

/// Nobody has asked for the address of the one before.
#[test]
fn a_worker_made_again_while_the_launcher_waits_is_waited_for_and_dns_is_not() {
    let history = History::begin();
    history.hold(Held::Start, &worker(2));
    history.create(three(&[]));
    history.pass(10 * SECOND);
    history.lose_worker(1);
    history.release(Held::Start, &worker(2));
    history.hold(Held::Start, &worker(1));
    history.until("it is made again", |history| history.created("Pod", &worker(1)) == 2);
    history.pass(10 * SECOND);
    assert!(history.is_gated());

    history.release(Held::Start, &worker(1));

    assert_opened_with_its_workers(&history);
}

/// The back-off lies between the two.
#[test]
fn a_retry_does_not_wait_for_dns() {
    let history = running();
    history.lose_worker(1);
    history.end_launcher(1);
    history.until("there is a second launcher", |history| {
        history.pods(LAUNCHER).len() == 2 && history.launcher_pod().is_some()
    });
    let (left, made) = (history.at() - 15 * SECOND, history.made("Pod", LAUNCHER));

    history.until("it is let go", History::is_let_go);

    assert!(history.opened() - made < SECOND);
    assert!(history.opened() - left < DNS);
}

#[test]
fn a_job_that_was_created_suspended_has_nothing_to_forget() {
    let history = History::of(job(3, &json!({"runPolicy": {"suspend": true}})));
    history.pass(5 * SECOND);
    history.suspend(false);
    history.until("there is a launcher", |history| history.launcher_pod().is_some());

    assert_opened_with_its_workers(&history);
}

#[test]
fn it_opens_at_once_when_a_worker_has_ended() {
    for code in [1, 0] {
        let history = History::waiting(three(&[]));
        history.end_pod(&worker(2), coxswain_simulator::plan::Ending { code, ..Default::default() });
        let ended = history.at();

        history.until("it is let go", History::is_let_go);

        assert!(history.opened() - ended < SECOND);
        history.pass(SECOND);
        assert_eq!(history.times("StartGateOpened"), 1);
        assert_eq!(
            history.warnings(),
            ["the launcher starts although not all workers are ready: a worker has ended"]
        );
        history.until("the launcher starts", |history| {
            history.pods(LAUNCHER).iter().any(|pod| pod["status"]["startTime"].is_string())
        });
    }
}

/// The workers are new again.
#[test]
fn what_failed_before_a_suspension_does_not_open_it() {
    let history = running();
    history.end_launcher(1);
    history.until("it failed once", |history| {
        history.counters("Launcher").is_some_and(|(_, _, failed)| failed == 1)
    });
    history.suspend(true);
    history.until("its workers are gone", |history| history.pods("pi-worker").is_empty());
    history.hold(Held::Start, "pi-worker");
    history.suspend(false);
    history.until("there is a launcher", |history| history.launcher_pod().is_some());
    history.pass(MINUTE);
    assert!(history.is_gated(), "it failed before");

    history.release(Held::Start, "pi-worker");
    history.until_running();
    history.hold(Held::Start, &worker(0));
    history.lose_worker(0);
    history.end_launcher(1);
    let failed = history.at();
    history.until("there is another launcher", |history| history.launcher_pod().is_some());

    history.until("it is let go", History::is_let_go);

    assert!(history.opened() - failed < 30 * SECOND, "it failed since");
}

#[test]
fn it_opens_at_the_elastic_minimum() {
    let history = History::waiting(three(&[("start-min-workers", "2")]));
    history.hold(Held::Start, &worker(1));
    history.hold(Held::Start, &worker(2));
    history.release(Held::Start, "pi-worker");
    history.pass(MINUTE);
    assert!(history.is_gated());

    history.release(Held::Start, &worker(2));
    let started = history.at();
    history.until("it is let go", History::is_let_go);

    assert!(history.opened() - started < 3 * SECOND);
    assert_eq!(history.times("StartGateOpened") + history.times("StartGateTimedOut"), 0);
    history.pass(5 * SECOND);
    assert_eq!(history.counters("Launcher"), Some((1, 0, 0)));
}

#[test]
fn it_opens_after_its_time_and_names_the_missing_hosts() {
    let history = History::begin();
    history.hold(Held::Start, &worker(0));
    history.hold(Held::Start, &worker(2));
    history.create(three(&[("start-gate-timeout", "90s")]));
    history.until("there is a launcher", History::is_gated);
    let made = history.made("Pod", LAUNCHER);
    history.pass(88 * SECOND);
    assert!(history.is_gated());

    history.until("it is let go", History::is_let_go);

    let waited = history.opened() - made;
    assert!((89 * SECOND..92 * SECOND).contains(&waited), "opened after {waited:?}");
    history.pass(SECOND);
    assert_eq!(
        history.warnings(),
        [
            "the launcher starts after 90 s although 2 of 3 workers are not ready or not in DNS: pi-worker-0, pi-worker-2"
        ]
    );
    history.rest();
    assert_eq!(history.times("StartGateTimedOut"), 1);
}

#[test]
fn without_a_word_of_the_job_it_waits_for_ten_minutes() {
    let history = History::waiting(three(&[]));
    let made = history.made("Pod", LAUNCHER);
    history.pass(9 * MINUTE);
    assert!(history.is_gated());

    history.until("it is let go", History::is_let_go);

    let waited = history.opened() - made;
    assert!((10 * MINUTE - SECOND..10 * MINUTE + 2 * SECOND).contains(&waited), "opened after {waited:?}");
}

#[test]
fn only_our_gate_is_removed_wherever_it_stands() {
    let gates = json!([{"name": "example.com/license"}, {"name": GATE}, {"name": "example.com/b"}]);
    let mut job = three(&[]);
    job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["schedulingGates"] = gates.clone();
    let history = History::waiting(job);
    assert_eq!(history.launcher_pod().unwrap()["spec"]["schedulingGates"], gates);

    history.release(Held::Start, "pi-worker");
    history.until("it is let go", History::is_let_go);
    history.pass(MINUTE);

    assert_eq!(
        history.launcher_pod().unwrap()["spec"]["schedulingGates"],
        json!([{"name": "example.com/license"}, {"name": "example.com/b"}])
    );
}
