//! Jobs that are suspended and resumed, and launchers that wait for ready workers.

use coxswain_simulator::plan::{Ending, Held, Settings};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::{
    history::{History, LAUNCHER, MINUTE, SECOND, annotated, job, timestamp, worker},
    written::Written,
};

fn suspended(workers: u32) -> History {
    let history = History::of(job(workers, &json!({"runPolicy": {"suspend": true}})));
    history.rest();
    history
}

#[test]
fn a_suspended_job_has_no_pods_and_runs_when_resumed() {
    let history = suspended(2);
    assert_eq!(
        history.conditions(),
        ["Created=True MPIJobCreated", "Suspended=True MPIJobSuspended", "Running=False MPIJobSuspended"]
    );
    assert_eq!(history.object("Job", LAUNCHER)["spec"]["suspend"], true);
    assert_eq!(history.pods("pi-").len(), 0);
    assert_eq!(history.status()["startTime"], Value::Null);

    history.pass(5 * MINUTE);
    let writes = history.by_operator().len();
    history.suspend(false);
    let resumed = history.at();
    history.until_running();
    history.pass(SECOND);
    let order: Vec<String> = history.by_operator()[writes..].iter().map(Written::brief).collect();
    let at = |what: &str| order.iter().position(|one| one == what).unwrap();
    assert!(at("Job pi-launcher") < at("Pod pi-worker-0").min(at("Pod pi-worker-1")), "{order:?}");
    assert_eq!(
        history.conditions(),
        ["Created=True MPIJobCreated", "Suspended=False MPIJobResumed", "Running=True MPIJobRunning"]
    );
    assert_eq!(history.status()["startTime"], timestamp(resumed));
    assert_eq!(
        history.told(),
        ["MPIJobCreated", "MPIJobSuspended", "PluginsPinned", "MPIJobResumed", "MPIJobRunning"]
    );
}

#[test]
fn suspending_a_running_job_stops_the_launcher_and_removes_its_workers() {
    let history = History::running(job(2, &json!({})));
    history.pass(MINUTE);
    history.hold(Held::Stop, "pi-worker");
    history.suspend(true);
    history.until("it is told", |history| {
        history.conditions().contains(&"Suspended=True MPIJobSuspended".to_owned())
    });
    assert_eq!(history.object("Job", LAUNCHER)["spec"]["suspend"], true);
    assert_eq!(history.deletions(), ["Pod pi-worker-0", "Pod pi-worker-1"]);
    assert_eq!(history.counters("Worker"), Some((0, 0, 0)), "at once, though they still terminate");
    assert_eq!(history.pods("pi-worker").len(), 2);
    history.release(Held::Stop, "pi-worker");
    history.rest();
    assert_eq!(history.counters("Launcher").unwrap().0, 0, "it runs no more");
    assert_eq!(history.pods("pi-").len(), 0);

    history.pass(2 * MINUTE);
    history.align();
    history.hold(Held::Start, "pi-worker");
    history.suspend(false);
    let resumed = timestamp(history.at());
    history.pass(10 * SECOND);
    assert_eq!(history.status()["startTime"], resumed, "the clock starts anew");
    assert_eq!(history.condition("Suspended")["status"], "False");
    assert_eq!(history.condition("Suspended")["lastTransitionTime"], resumed);
    assert!(history.is_gated(), "the workers are new, the launcher waits again");
    history.release(Held::Start, "pi-worker");
    history.until_running();
    assert_eq!(history.created("Job", LAUNCHER), 1);
}

#[test]
fn a_suspended_job_holds_no_devices_under_any_policy() {
    for (policy, left) in [(None, &[][..]), (Some("None"), &[]), (Some("Running"), &[1]), (Some("All"), &[])]
    {
        let history = History::with(Settings { gang: "volcano".to_owned(), ..Settings::default() });
        history.hold(Held::Start, &worker(2));
        history.create(job(3, &json!({"runPolicy": {"cleanPodPolicy": policy}})));
        history.pass(20 * SECOND);
        history.fail_worker(1);
        history.rest();
        assert!(history.has("PodGroup", "pi"));

        history.suspend(true);
        history.rest();
        assert_eq!(history.workers(), left, "{policy:?}");
        assert!(!history.has("PodGroup", "pi"), "{policy:?}");
        assert_eq!(history.counters("Worker"), Some((0, 0, 0)));
    }
}

/// Kueue lets it run somewhere else.
#[test]
fn a_job_that_was_suspended_is_resumed_with_new_pods_of_its_new_template() {
    let history = History::running(job(2, &json!({})));
    history.suspend(true);
    history.rest();
    let template = json!({"spec": {"nodeSelector": {"pool": "other"}}});
    history.change(json!({"spec": {
        "mpiReplicaSpecs": {"Worker": {"template": template}},
        "runPolicy": {"suspend": false},
    }}));
    history.until_running();

    for index in 0..2 {
        assert_eq!(history.object("Pod", &worker(index))["spec"]["nodeSelector"], json!({"pool": "other"}));
        assert_eq!(history.created("Pod", &worker(index)), 2);
    }
}

/// A job whose launcher Job is to be made once its workers are Ready.
fn late(workers: u32) -> Value {
    job(workers, &json!({"launcherCreationPolicy": "WaitForWorkersReady"}))
}

#[test]
fn a_launcher_that_waits_for_ready_workers_is_created_late_also_after_a_suspension() {
    let history = History::begin();
    let mut job = late(2);
    job["spec"]["runPolicy"] = json!({"suspend": true});
    history.create(job);
    history.rest();
    assert!(!history.has("Job", LAUNCHER), "not while there are no workers");

    history.hold(Held::Readiness, "pi-worker");
    history.suspend(false);
    history.rest();
    assert_eq!(history.counters("Launcher"), None);
    assert_eq!(history.counters("Worker"), Some((2, 0, 0)));
    assert!(!history.has("Job", LAUNCHER), "running is not ready");
    history.release(Held::Readiness, "pi-worker");
    history.until("the launcher Job is there", |history| history.has("Job", LAUNCHER));
    history.until_running();

    history.suspend(true);
    history.rest();
    history.hold(Held::Start, "pi-worker");
    history.suspend(false);
    history.rest();
    assert_eq!(history.object("Job", LAUNCHER)["spec"]["suspend"], true, "resumed only with its workers");
    history.release(Held::Start, "pi-worker");
    history.until("it is resumed", |history| history.object("Job", LAUNCHER)["spec"]["suspend"] == false);
    history.until_running();
    assert_eq!(history.created("Job", LAUNCHER), 1);
}

#[test]
fn a_launcher_that_waits_for_ready_workers_is_created_before_dns_knows_them() {
    let history = History::begin();
    history.hold(Held::Publication, "pi-worker");
    history.hold(Held::Start, &worker(1));
    history.create(late(2));
    history.rest();
    assert!(!history.has("Job", LAUNCHER), "one of them is not ready");

    history.release(Held::Start, &worker(1));
    history.rest();
    assert!(history.has("Job", LAUNCHER), "ready is all that the policy asks for");
    assert_eq!(history.counters("Launcher"), Some((0, 0, 0)));
    assert!(history.is_gated(), "its pod waits for DNS");
    history.release(Held::Publication, "pi-worker");
    history.until_running();
}

#[test]
fn a_launcher_that_waits_for_workers_is_created_when_one_of_them_has_ended_and_the_job_ends() {
    for (code, minimum) in [(1, None), (0, None), (1, Some("1"))] {
        let mut job = late(3);
        job["spec"]["runPolicy"] = json!({"backoffLimit": 0});
        if let Some(minimum) = minimum {
            job = annotated(job, &[("start-min-workers", minimum)]);
        }
        let history = History::begin();
        history.hold(Held::Start, &worker(1));
        history.hold(Held::Readiness, &worker(0));
        history.hold(Held::Readiness, &worker(2));
        history.create(job);
        history.pass(20 * SECOND);
        assert!(!history.has("Job", LAUNCHER));

        history.end_pod(&worker(2), Ending { code, ..Ending::default() });
        history.until("the launcher Job is there", |history| history.has("Job", LAUNCHER));
        history.until("its pod is let go", History::is_let_go);
        history.pass(SECOND);
        assert_eq!(history.times("StartGateOpened"), 1, "{code}");
        // It does not reach the worker that is gone, or was told to end.
        history.pass(10 * SECOND);
        history.end_launcher(1);
        history.rest();
        assert!(history.last_condition().starts_with("Failed=True"), "{:?}", history.conditions());
    }
}

/// It is gone soon, and another one takes its place.
#[test]
fn a_launcher_does_not_come_earlier_for_workers_that_are_being_deleted_or_beyond_the_jobs_size() {
    let history = History::begin();
    history.hold(Held::Start, &worker(0));
    history.hold(Held::Readiness, "pi-worker");
    history.create(late(3));
    history.pass(20 * SECOND);
    history.hold(Held::Stop, "pi-worker");
    history.does(coxswain_simulator::plan::Deed::DeletePod { name: worker(1) });
    history.scale(2);
    history.until_workers(&[0]);

    history.fail_worker(1);
    history.fail_worker(2);
    history.rest();

    assert!(!history.has("Job", LAUNCHER));
}

#[test]
fn a_job_that_was_suspended_under_the_mpi_operator_gets_a_launcher_of_its_pin() {
    let history = suspended(2);
    history.breaks("S6");
    history.operator_is_away(10 * SECOND);
    for (kind, name) in [("Job", LAUNCHER), ("ConfigMap", "pi-config")] {
        history.alter(kind, name, json!({"metadata": {"annotations": null}}));
    }
    history.suspend(false);
    history.pass(5 * SECOND);
    let told = history.told().len();
    history.until_running();
    history.pass(SECOND);

    assert_eq!(history.told()[told..], ["MPIJobResumed", "PluginsPinned", "MPIJobRunning"]);
    assert_eq!(history.created("Job", LAUNCHER), 2);
    assert_eq!(history.deleted()[0].brief(), "Job pi-launcher");
    let pin = |kind, name| history.object(kind, name)["metadata"]["annotations"]["coxswain.dev/pin"].clone();
    assert!(pin("Job", LAUNCHER).is_string());
    assert_eq!(pin("Job", LAUNCHER), pin("ConfigMap", "pi-config"));
}
