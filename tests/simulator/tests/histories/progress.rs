//! How often a job's state is written while it comes up and ends.

use coxswain_simulator::plan::Held;
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::history::{History, SECOND, job, worker};

#[test]
fn a_job_that_ends_needs_one_status() {
    let history = History::running(job(3, &json!({})));
    history.rest();
    let writes = history.status_writes().len();
    history.end_launcher(0);
    history.rest();

    assert_eq!(history.status_writes().len() - writes, 1);
    assert_eq!(history.counters("Worker"), Some((0, 0, 0)));
    assert_eq!(history.counters("Launcher"), Some((0, 1, 0)));
}

/// The first worker that starts waits for the others, and the list of hosts with it.
#[test]
fn workers_that_start_together_are_told_of_together() {
    let history = History::waiting(job(30, &json!({})));
    let writes = history.by_operator().len();
    history.release(Held::Start, "pi-worker");
    history.until_running();

    let written = &history.by_operator()[writes..];
    let of = |kind: &str| written.iter().filter(|one| one.brief() == kind).count();
    assert!(
        of("MPIJob pi") <= 4 && of("ConfigMap pi-config") <= 4,
        "{} and {}",
        of("MPIJob pi"),
        of("ConfigMap pi-config")
    );
}

#[test]
fn a_launcher_that_runs_is_told_of_a_worker_that_is_lost_at_once() {
    let history = History::running(job(3, &json!({})));
    history.rest();
    let script = |history: &History| {
        history.object("ConfigMap", "pi-config")["data"]["discover_hosts.sh"].as_str().unwrap().to_owned()
    };
    assert!(script(&history).contains("pi-worker-2"));
    history.hold(Held::Start, &worker(2));
    history.lose_worker(2);
    let lost = history.at();

    history.until("it is told", |history| !script(history).contains("pi-worker-2"));
    history.until("it is counted", |history| history.counters("Worker") == Some((2, 0, 0)));

    assert!(history.at() - lost < SECOND / 2, "after {:?}", history.at() - lost);
}
