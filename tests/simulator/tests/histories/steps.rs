//! What is made, in which order, and what is kept as it should be.

use coxswain_simulator::plan::Held;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::{
    history::{History, LAUNCHER, MINUTE, SECOND, job, worker},
    written::Written,
};

#[test]
fn everything_is_created_once_pods_last() {
    let history = History::running(job(5, &json!({})));
    let creations = history.creations();

    let mut first = creations[..3].to_vec();
    first.sort();
    assert_eq!(first, ["ConfigMap pi-config", "Secret pi-ssh", "Service pi"]);
    let mut last = creations[3..].to_vec();
    last.sort();
    assert_eq!(
        last,
        [
            "Job pi-launcher",
            "Pod pi-worker-0",
            "Pod pi-worker-1",
            "Pod pi-worker-2",
            "Pod pi-worker-3",
            "Pod pi-worker-4",
        ]
    );
    // What the others refer to is there before the first pod is.
    let at = |what: &str| history.by_operator().iter().find(|one| one.brief() == what).unwrap().at;
    let made = first.iter().map(|what| at(what)).max().unwrap();
    assert!(last.iter().all(|what| at(what) > made));
}

#[test]
fn a_job_without_workers_gets_a_launcher_under_either_creation_policy() {
    for policy in ["AtStartup", "WaitForWorkersReady"] {
        let history = History::running(job(0, &json!({"launcherCreationPolicy": policy})));
        assert_eq!(history.creations().last().unwrap(), "Job pi-launcher");
        assert_eq!(history.creations().len(), 4);
    }
}

#[test]
fn foreign_pods_beyond_the_jobs_size_disturb_nobody() {
    let history = History::begin();
    let labels = json!({
        "training.kubeflow.org/operator-name": "mpi-operator",
        "training.kubeflow.org/job-name": "pi",
        "training.kubeflow.org/job-role": "worker",
    });
    let pod =
        json!({"metadata": {"name": worker(2), "labels": labels}, "spec": {"containers": [{"name": "a"}]}});
    history.make("Pod", pod);
    history.create(job(2, &json!({})));
    history.until_running();
    history.rest();

    assert_eq!(history.creations().len(), 6);
    assert_eq!(history.deletions(), [""; 0], "not ours to scale down");
    assert!(history.has("Pod", &worker(2)));

    history.suspend(true);
    history.rest();
    assert_eq!(history.workers(), [2], "nor to stop");
}

#[test]
fn a_suspended_job_gets_everything_but_pods() {
    let history = History::of(job(2, &json!({"runPolicy": {"suspend": true}})));
    history.rest();

    let mut creations = history.creations();
    assert_eq!(creations.pop().unwrap(), "Job pi-launcher");
    creations.sort();
    assert_eq!(creations, ["ConfigMap pi-config", "Secret pi-ssh", "Service pi"]);
    assert_eq!(history.object("Job", LAUNCHER)["spec"]["suspend"], true);
}

#[test]
fn a_changed_service_gets_back_only_what_is_ours() {
    let history = History::running(job(1, &json!({})));
    let before = history.object("Service", "pi")["spec"].clone();
    let writes = history.by_operator().len();
    let theirs = json!({"spec": {"selector": {"role": "worker"}, "publishNotReadyAddresses": false, "x": 1}});
    history.alter("Service", "pi", theirs);
    history.rest();

    let after = history.object("Service", "pi")["spec"].clone();
    assert_eq!(after["selector"], before["selector"]);
    assert_eq!(after["publishNotReadyAddresses"], before["publishNotReadyAddresses"]);
    assert_eq!(after["x"], 1);
    let written: Vec<String> = history.by_operator()[writes..].iter().map(Written::brief).collect();
    assert_eq!(written, ["Service pi"]);
}

#[test]
fn the_config_map_follows_the_spec_and_gets_its_annotations_back() {
    let history = History::running(job(1, &json!({})));
    let config = |history: &History| history.object("ConfigMap", "pi-config");
    history.scale(2);
    history.rest();
    let hostfile = "pi-worker-0.pi.team-a.svc slots=1\npi-worker-1.pi.team-a.svc slots=1\n";
    assert_eq!(config(&history)["data"]["hostfile"], hostfile);
    let pin = config(&history)["metadata"]["annotations"]["coxswain.dev/pin"].clone();
    assert!(pin.is_string());

    history.alter("ConfigMap", "pi-config", json!({"metadata": {"annotations": {"coxswain.dev/pin": null}}}));
    history.rest();
    assert_eq!(
        config(&history)["metadata"]["annotations"]["coxswain.dev/pin"],
        pin,
        "the launcher Job still has it"
    );
}

#[test]
fn an_object_that_is_being_deleted_is_waited_for_and_pods_wait_with_it() {
    let history = History::begin();
    let metadata = json!({
        "name": "pi-config",
        "labels": {"coxswain.dev/job": "pi"},
        "finalizers": ["example.com/slow"],
    });
    history.make("ConfigMap", json!({"metadata": metadata}));
    history.remove("ConfigMap", "pi-config");
    history.create(job(2, &json!({})));
    history.rest();
    let mut creations = history.creations();
    creations.sort();
    assert_eq!(creations, ["Secret pi-ssh", "Service pi"]);
    assert_eq!(history.times("ErrResourceExists"), 0);

    history.alter("ConfigMap", "pi-config", json!({"metadata": {"finalizers": null}}));
    history.until_running();
    assert_eq!(history.creations()[2], "ConfigMap pi-config");
    assert_eq!(history.creations().len(), 6);
}

#[test]
fn a_finished_job_is_not_touched_again_whatever_its_spec_says() {
    let history = History::running(job(2, &json!({})));
    history.end_launcher(0);
    history.rest();
    let (status, writes) = (history.status(), history.by_operator().len());
    history.remove("Job", LAUNCHER);
    history.scale(5);
    history.suspend(true);
    history.pass(5 * MINUTE);

    assert_eq!(history.by_operator().len(), writes, "also after the launcher Job's TTL");
    assert_eq!(history.status(), status);
    assert_eq!(history.workers(), [0, 1]);
}

/// An operator that comes back knows nothing and finds nothing to do.
#[test]
fn what_is_as_it_should_be_is_not_written_again_after_a_restart() {
    let history = History::waiting(job(3, &json!({})));
    history.hold(Held::Start, &worker(0));
    history.release(Held::Start, "pi-worker");
    history.rest();
    let writes = history.by_operator().len();
    history.operator_is_away(10 * SECOND);
    history.pass(30 * SECOND);

    assert_eq!(history.by_operator().len(), writes);
    assert_eq!(history.created("Secret", "pi-ssh"), 1);
    let pins: Vec<Value> =
        history.pods("pi-worker").iter().map(|pod| pod["metadata"]["uid"].clone()).collect();
    assert_eq!(pins.len(), 3);
}
