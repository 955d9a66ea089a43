//! Objects of others in the way, refusals, and jobs that the MPI Operator started.

use coxswain_simulator::plan::{Deed, Denial};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::{
    history::{History, LAUNCHER, MINUTE, SECOND, annotated, job, worker},
    written::Written,
};

#[test]
fn a_recreated_job_waits_for_the_old_objects_to_go_and_touches_none() {
    let history = History::running(job(2, &json!({})));
    history.pass(MINUTE);
    let before = history.by_operator().len();
    history.make_again(job(2, &json!({})));
    // The garbage collector has not been here yet.
    history.pass(SECOND / 2);
    let meanwhile: Vec<String> = history.by_operator()[before..].iter().map(Written::brief).collect();
    assert_eq!(meanwhile, ["MPIJob pi"], "its status");
    assert_eq!(history.counters("Launcher"), None);
    assert_eq!(history.counters("Worker"), Some((0, 0, 0)));

    history.until_workers(&[0, 1]);
    history.until_running();

    assert_eq!(
        history.conditions(),
        ["Created=True MPIJobCreated", "Running=True MPIJobRunning"],
        "a healthy job has no more"
    );
    assert_eq!(history.deletions(), [""; 0]);
    assert_eq!(history.created("Job", LAUNCHER), 2);
}

/// As one of a job's objects that somebody else made first.
fn labelled() -> Value {
    json!({"name": "pi-ssh", "labels": {"coxswain.dev/job": "pi"}})
}

#[test]
fn a_foreign_object_is_reported_once_and_nothing_is_created_beside_it() {
    let history = History::begin();
    history.make("Secret", json!({"metadata": labelled()}));
    history.create(job(2, &json!({})));
    history.pass(9 * SECOND);
    assert_eq!(history.conditions(), ["Created=True MPIJobCreated"], "it may be that of an earlier job");
    history.pass(2 * MINUTE);
    assert_eq!(history.creations(), [""; 0]);
    assert_eq!(history.times("ErrResourceExists"), 1);
    assert_eq!(
        history.warnings(),
        [r#"Resource "pi-ssh" of Kind "Secret" already exists and is not managed by MPIJob"#]
    );
    assert_eq!(history.last_condition(), "Accepted=False ErrResourceExists");

    history.remove("Secret", "pi-ssh");
    history.until("it is accepted", |history| history.conditions()[0] == "Accepted=True Accepted");
    assert_eq!(history.conditions(), ["Accepted=True Accepted", "Created=True MPIJobCreated"]);
    assert_eq!(history.workers(), [0, 1]);
    history.until_running();
}

/// The operator's watches show only what carries its labels.
#[test]
fn a_foreign_object_that_no_watch_shows_is_reported_too() {
    let history = History::begin();
    history.make("Secret", json!({"metadata": {"name": "pi-ssh"}}));
    history.create(job(2, &json!({})));
    history.pass(2 * MINUTE);
    assert_eq!(history.last_condition(), "Accepted=False ErrResourceExists");
    assert_eq!(history.times("ErrResourceExists"), 1);
    assert_eq!(history.pods("pi-").len(), 0);

    history.remove("Secret", "pi-ssh");
    let removed = history.at();
    history.until_running();

    assert!(history.made("Secret", "pi-ssh") - removed < 31 * SECOND, "it is looked at again after 30 s");
}

#[test]
fn the_state_of_a_job_that_runs_is_back_once_its_refusal_has_passed() {
    let history = History::running(job(2, &json!({})));
    history.forbid("Pod", &worker(2), "exceeded quota: pods");
    history.scale(3);
    history.until("it is refused", |history| history.last_condition() == "Accepted=False Forbidden");
    history.rest();

    history.admit("Pod", &worker(2));
    history.until_workers(&[0, 1, 2]);
    history.pass(10 * SECOND);
    assert_eq!(
        history.conditions(),
        ["Created=True MPIJobCreated", "Accepted=True Accepted", "Running=True MPIJobRunning"]
    );
    assert_eq!(history.told().last().unwrap(), "Accepted");

    history.pass(MINUTE);
    history.end_launcher(0);
    history.rest();
    assert_eq!(history.last_condition(), "Succeeded=True MPIJobSucceeded");
}

#[test]
fn a_refused_pod_is_told_once_and_taken_back_when_it_comes_into_being() {
    let history = History::begin();
    history.forbid("Pod", &worker(1), "exceeded quota: pods");
    history.create(annotated(job(3, &json!({})), &[("start-gate-timeout", "1h")]));
    history.until("it is refused", |history| history.last_condition() == "Accepted=False Forbidden");
    history.rest();
    let told = history.status_writes().len();
    history.pass(10 * MINUTE);
    assert_eq!(history.status_writes().len(), told);
    assert_eq!((history.times("Forbidden"), history.times("MPIJobFailed")), (1, 1));
    assert_eq!(
        history.warnings(),
        [
            "the API server refuses Pod pi-worker-1: exceeded quota: pods",
            "worker pod created failed: exceeded quota: pods"
        ]
    );
    assert_eq!(history.workers(), [0, 2], "one refusal keeps no other worker from being created");

    history.admit("Pod", &worker(1));
    history.until_workers(&[0, 1, 2]);
    history.pass(SECOND);
    assert_eq!(history.conditions()[..2], ["Accepted=True Accepted", "Created=True MPIJobCreated"]);
}

#[test]
fn a_template_that_the_api_server_refuses_is_told_in_its_words() {
    let history = History::begin();
    let (kind, name) = ("Job".to_owned(), LAUNCHER.to_owned());
    let message = "spec.template.spec.containers: Required value".to_owned();
    history.does(Deed::Refuse(Denial { kind, name, is_invalid: true, message }));
    history.create(job(1, &json!({})));
    history.rest();

    assert_eq!(history.last_condition(), "Accepted=False PodTemplateRefused");
    assert_eq!(
        history.warnings(),
        [
            "the API server refuses Job pi-launcher: spec.template.spec.containers: Required value",
            "launcher pod created failed: spec.template.spec.containers: Required value"
        ]
    );
}

/// Takes the traces of the operator off a job, as the MPI Operator would have made it.
fn made_by_the_mpi_operator(history: &History) {
    history.breaks("S6");
    history.operator_is_away(10 * SECOND);
    for (kind, name) in [("Job", LAUNCHER), ("ConfigMap", "pi-config")] {
        history.alter(kind, name, json!({"metadata": {"annotations": null}}));
    }
    history.pass(20 * SECOND);
}

#[test]
fn a_job_that_runs_under_the_mpi_operator_is_kept_up_and_gets_no_pin() {
    let history = History::running(job(2, &json!({})));
    made_by_the_mpi_operator(&history);
    let launcher = |history: &History| {
        let job = history.object("Job", LAUNCHER);
        (job["spec"].clone(), job["metadata"]["annotations"].clone(), job["metadata"]["uid"].clone())
    };
    let before = launcher(&history);
    history.scale(3);
    history.lose_worker(0);
    history.until_workers(&[0, 1, 2]);
    history.rest();
    assert_eq!(launcher(&history), before);
    assert_eq!(
        history.object("ConfigMap", "pi-config")["metadata"]["annotations"]["coxswain.dev/pin"],
        "adopted"
    );
    assert_eq!(history.times("PluginsPinned"), 1, "no other time");
    assert_eq!(history.last_condition(), "Running=True MPIJobRunning");

    // Once it is suspended nothing of it runs: it is Coxswain's from then on.
    history.suspend(true);
    history.rest();
    history.suspend(false);
    history.until_running();
    assert_eq!(history.times("PluginsPinned"), 2);
    let pin = history.object("ConfigMap", "pi-config")["metadata"]["annotations"]["coxswain.dev/pin"].clone();
    assert_ne!(pin, "adopted");
    assert_eq!(launcher(&history).1["coxswain.dev/pin"], pin);
}

#[test]
fn a_job_that_runs_under_the_mpi_operator_ends_as_any_other() {
    let history = History::running(job(2, &json!({})));
    made_by_the_mpi_operator(&history);
    history.pass(MINUTE);

    history.end_launcher(0);
    history.rest();
    assert_eq!(history.last_condition(), "Succeeded=True MPIJobSucceeded");
}
