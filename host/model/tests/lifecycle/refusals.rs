//! Objects of others in the way, refusals, and jobs that the MPI Operator started.

use std::time::Duration;

use coxswain_model::{
    api::annotations,
    step::{FailureReason, Kind, ObjectName},
};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::{
    cluster::{Cluster, launcher, pod_name, running},
    sample::{raw, scale, suspend},
};

#[test]
fn a_recreated_job_waits_for_the_old_objects_to_go_and_touches_none() {
    let mut cluster = running(raw(2));
    cluster.recreate("job-2");
    cluster.pass();
    cluster.advance(Duration::from_secs(1));
    let pass = cluster.pass();
    assert!(pass.steps.is_empty());
    assert_eq!(pass.update.wake, Some(Duration::from_secs(1)));
    assert_eq!(cluster.counters("Launcher"), None);
    assert_eq!(cluster.counters("Worker"), Some((0, 0, 0)));

    cluster.collect("job-1");
    cluster.settle();
    assert_eq!(cluster.workers(), [0, 1]);
    assert_eq!(cluster.conditions(), ["Created=True MPIJobCreated"], "a healthy job has no more");
    assert!(cluster.deleted.is_empty());
}

#[test]
fn a_foreign_object_is_reported_once_and_nothing_is_created_beside_it() {
    let mut cluster = Cluster::new(raw(2));
    let name = ObjectName { kind: Kind::Secret, name: "pi-ssh".to_owned() };
    cluster.put(name.clone(), json!({}));
    cluster.settle();
    cluster.advance(Duration::from_secs(10));
    cluster.settle();
    cluster.advance(Duration::from_mins(1));
    cluster.settle();
    assert!(cluster.created.is_empty());
    let reported: Vec<_> = cluster.events.iter().filter(|e| e.reason == "ErrResourceExists").collect();
    assert_eq!(reported.len(), 1);
    assert_eq!(
        reported[0].message,
        r#"Resource "pi-ssh" of Kind "Secret" already exists and is not managed by MPIJob"#
    );
    assert_eq!(cluster.conditions().last().unwrap(), "Accepted=False ErrResourceExists");

    cluster.objects.remove(&name);
    cluster.settle();
    assert_eq!(cluster.conditions(), ["Accepted=True Accepted", "Created=True MPIJobCreated"]);
    assert_eq!(cluster.workers(), [0, 1]);
}

#[test]
fn the_state_of_a_job_that_runs_is_back_once_its_refusal_has_passed() {
    let mut cluster = running(raw(2));
    let pod = pod_name("pi-worker-2");
    cluster.refuses.insert(pod.clone(), (FailureReason::Forbidden, "exceeded quota: pods".to_owned()));
    scale(&mut cluster.raw, 3);
    cluster.pass();
    assert_eq!(cluster.conditions().last().unwrap(), "Accepted=False Forbidden");

    cluster.refuses.clear();
    cluster.settle();
    assert_eq!(
        cluster.conditions(),
        ["Created=True MPIJobCreated", "Accepted=True Accepted", "Running=True MPIJobRunning"]
    );
    assert_eq!(cluster.told().last().unwrap(), &"Accepted");
    cluster.end("Complete", "", "");
    cluster.settle();
    assert_eq!(cluster.conditions().last().unwrap(), "Succeeded=True MPIJobSucceeded");
}

#[test]
fn a_refused_pod_is_told_once_and_taken_back_when_it_comes_into_being() {
    let mut cluster = Cluster::new(raw(3));
    let pod = pod_name("pi-worker-1");
    cluster.refuses.insert(pod.clone(), (FailureReason::Forbidden, "exceeded quota: pods".to_owned()));
    cluster.pass();
    for _ in 0..3 {
        let pass = cluster.pass();
        assert!(pass.update.status.is_none() && pass.update.events.is_empty());
    }
    let told: Vec<_> = cluster.events.iter().filter(|e| e.warning).map(|e| e.message.as_str()).collect();
    assert_eq!(
        told,
        [
            "the API server refuses Pod pi-worker-1: exceeded quota: pods",
            "worker pod created failed: exceeded quota: pods"
        ]
    );
    assert_eq!(cluster.workers(), [0, 2], "one refusal keeps no other worker from being created");

    cluster.refuses.clear();
    cluster.settle();
    assert_eq!(cluster.conditions(), ["Accepted=True Accepted", "Created=True MPIJobCreated"]);
}

#[test]
fn a_job_that_runs_under_the_mpi_operator_is_kept_up_and_gets_no_pin() {
    let mut cluster = running(raw(2));
    let config = ObjectName { kind: Kind::ConfigMap, name: "pi-config".to_owned() };
    for name in [launcher(), config.clone()] {
        cluster.patch(&name, &json!({"metadata": {"annotations": null}}));
    }
    cluster.events.clear();
    let before = cluster.objects[&launcher()].clone();
    scale(&mut cluster.raw, 3);
    cluster.objects.remove(&pod_name("pi-worker-0"));
    cluster.settle();
    assert_eq!(cluster.workers(), [0, 1, 2]);
    assert_eq!(cluster.objects[&launcher()], before);
    assert_eq!(cluster.objects[&config]["metadata"]["annotations"][annotations::ANNOTATION_PIN], "adopted");
    assert!(!cluster.told().contains(&"PluginsPinned"));

    // Once it is suspended nothing of it runs: it is Coxswain's from then on.
    suspend(&mut cluster.raw, true);
    cluster.settle();
    cluster.stop_launcher();
    cluster.reap();
    suspend(&mut cluster.raw, false);
    cluster.settle();
    assert!(cluster.told().contains(&"PluginsPinned"));
}

#[test]
fn a_job_that_runs_under_the_mpi_operator_ends_as_any_other() {
    let mut cluster = running(raw(2));
    for name in [launcher(), ObjectName { kind: Kind::ConfigMap, name: "pi-config".to_owned() }] {
        cluster.patch(&name, &json!({"metadata": {"annotations": null}}));
    }
    cluster.settle();

    cluster.end("Complete", "", "");
    cluster.settle();
    assert_eq!(cluster.conditions().last().unwrap(), "Succeeded=True MPIJobSucceeded");
}
