//! Workers that are added, removed, lost or evicted, and the group that they are scheduled in.

use coxswain_simulator::plan::{Held, Settings};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::history::{History, LAUNCHER, MINUTE, SECOND, annotated, job, worker};

#[test]
fn scale_down_removes_highest_indexes_and_scale_up_fills_the_gaps() {
    let history = History::running(job(4, &json!({})));
    history.hold(Held::Stop, &worker(2));
    history.hold(Held::Stop, &worker(3));
    history.scale(2);
    history.until_workers(&[0, 1]);
    history.pass(SECOND);
    assert_eq!(history.deletions(), ["Pod pi-worker-2", "Pod pi-worker-3"]);
    let hostfile = history.object("ConfigMap", "pi-config")["data"]["hostfile"].clone();
    assert_eq!(hostfile, "pi-worker-0.pi.team-a.svc slots=1\npi-worker-1.pi.team-a.svc slots=1\n");

    history.scale(4);
    history.pass(10 * SECOND);
    assert_eq!(history.workers(), [0, 1], "terminating pods still hold their names");
    history.release(Held::Stop, &worker(2));
    history.release(Held::Stop, &worker(3));
    history.until_workers(&[0, 1, 2, 3]);
    history.rest();

    assert_eq!(history.deletions().len(), 2);
    let made = [0, 1, 2, 3].map(|index| history.created("Pod", &worker(index)));
    assert_eq!(made, [1, 1, 2, 2]);
    // Service, ConfigMap, Secret and launcher Job.
    assert_eq!(history.creations().len(), 4 + 4 + 2);
}

#[test]
fn scale_down_keeps_the_last_worker_when_the_launcher_runs_ranks() {
    let history = History::running(job(3, &json!({"runLauncherAsWorker": true})));
    history.scale(2);
    history.rest();

    assert_eq!(history.workers(), [0, 1]);
    assert_eq!(history.deletions(), ["Pod pi-worker-2"]);
}

#[test]
fn a_deleted_worker_comes_back_and_a_failed_one_stays_as_it_is() {
    let history = History::running(job(2, &json!({})));
    history.fail_worker(0);
    history.lose_worker(1);
    history.hold(Held::Start, &worker(1));
    history.rest();

    assert_eq!(history.workers(), [0, 1]);
    assert_eq!(history.created("Pod", &worker(0)), 1);
    assert_eq!(history.created("Pod", &worker(1)), 2);
    assert_eq!(history.counters("Worker"), Some((0, 0, 1)));
    assert_eq!(history.conditions()[1], "Running=True MPIJobRunning", "as in the MPI Operator");
}

#[test]
fn an_eviction_ends_the_job_stops_the_launcher_and_cleans_up() {
    let history = History::running(job(3, &json!({"runPolicy": {"cleanPodPolicy": "All"}})));
    history.pass(MINUTE);
    history.evict_worker(1);
    let evicted = history.at();
    history.until("the launcher is stopped", |history| {
        history.object("Job", LAUNCHER)["spec"]["suspend"] == true
    });
    assert!(history.at() - evicted < SECOND, "at once");
    history.until("it is told", |history| history.last_condition() == "Failed=True MPIJobEvicted");
    assert_eq!(history.counters("Worker"), Some((2, 0, 1)));
    let completed = history.status()["completionTime"].clone();
    assert!(completed.is_string());
    history.rest();

    assert_eq!(history.workers(), [0_u32; 0]);
    assert_eq!(history.status()["completionTime"], completed);
    assert_eq!(history.last_condition(), "Failed=True MPIJobEvicted");
    assert_eq!(history.times("MPIJobEvicted"), 1);
    assert_eq!(history.warnings(), ["1/3 workers are evicted"]);
    assert!(history.launcher_pod().is_none());
}

#[test]
fn a_surplus_worker_that_is_evicted_ends_no_job() {
    let history = History::running(job(3, &json!({})));
    history.hold(Held::Stop, &worker(2));
    history.scale(2);
    history.evict_worker(2);
    history.rest();

    assert_eq!(history.last_condition(), "Running=True MPIJobRunning");
    assert_eq!(history.workers(), [0, 1]);
}

#[test]
fn an_elastic_job_survives_evictions_down_to_its_minimum() {
    let history = History::running(annotated(job(3, &json!({})), &[("start-min-workers", "2")]));
    history.evict_worker(1);
    history.rest();
    assert_eq!(history.last_condition(), "Running=True MPIJobRunning");

    history.evict_worker(2);
    history.rest();
    assert_eq!(history.last_condition(), "Failed=True MPIJobEvicted");
    assert_eq!(history.warnings(), ["2/3 workers are evicted"]);
}

#[test]
fn a_job_that_the_mpi_operator_left_half_dead_is_ended() {
    let history = History::running(job(2, &json!({})));
    let mut conditions = history.status()["conditions"].clone();
    conditions[1]["status"] = json!("False");
    let mut failed = conditions[0].clone();
    (failed["type"], failed["reason"]) = (json!("Failed"), json!("MPIJobEvicted"));
    conditions.as_array_mut().unwrap().push(failed);
    history.tell("MPIJob", "pi", json!({"conditions": conditions}));
    history.rest();

    assert_eq!(history.object("Job", LAUNCHER)["spec"]["suspend"], true);
    assert!(history.status()["completionTime"].is_string());
    assert!(history.launcher_pod().is_none());
}

/// Of which scheduler, and under which kind's path.
fn gang(scheduler: &str) -> History {
    let policy =
        json!({"schedulingPolicy": {"minResources": {"cpu": "8", "memory": "1Gi"}}, "cleanPodPolicy": "All"});
    let history = History::with(Settings { gang: scheduler.to_owned(), ..Settings::default() });
    history.create(job(2, &json!({"runPolicy": policy})));
    history
}

#[test]
fn the_pod_group_comes_before_the_workers_follows_the_spec_and_goes_with_them() {
    let history = gang("volcano");
    history.until_running();
    let group = |history: &History| history.object("PodGroup", "pi")["spec"].clone();
    assert_eq!(group(&history)["minMember"], 3);
    assert!(
        history.made("PodGroup", "pi")
            < history.by_operator().iter().find(|one| one.name() == worker(0)).unwrap().at
    );

    let policy = json!({"minAvailable": 2, "minResources": {"cpu": null}});
    history.change(json!({"spec": {"runPolicy": {"schedulingPolicy": policy}}}));
    history.rest();
    assert_eq!(group(&history)["minMember"], 2);
    assert_eq!(group(&history)["minResources"], json!({"memory": "1Gi"}));

    history.end_launcher(0);
    history.rest();
    assert_eq!(group(&history), Value::Null);
    assert_eq!(history.workers(), [0_u32; 0]);
}
