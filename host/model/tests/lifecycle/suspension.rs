//! Jobs that are suspended and resumed, and launchers that wait for ready workers.

use std::time::Duration;

use coxswain_model::{
    api::annotations,
    desired::Gang,
    gate::Gate,
    step::{Kind, ObjectName, Step},
};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::{
    cluster::{Cluster, POD, launcher, pod_name, running},
    sample::{annotate, clean, raw, scale, suspend},
};

#[test]
fn a_suspended_job_has_no_pods_and_runs_when_resumed() {
    let mut held = raw(2);
    suspend(&mut held, true);
    let mut cluster = Cluster::new(held);
    cluster.settle();
    assert_eq!(
        cluster.conditions(),
        ["Created=True MPIJobCreated", "Suspended=True MPIJobSuspended", "Running=False MPIJobSuspended"]
    );
    assert_eq!(cluster.objects[&launcher()]["spec"]["suspend"], true);
    assert_eq!(cluster.workers(), [0_u32; 0]);
    assert_eq!(cluster.raw.status.as_ref().unwrap().start_time, None);

    cluster.advance(Duration::from_mins(5));
    suspend(&mut cluster.raw, false);
    let resumed = cluster.pass();
    assert!(matches!(resumed.steps.as_slice(), [Step::Resume { .. }, Step::CreateWorkers { .. }]));
    cluster.settle();
    cluster.launch(POD);
    cluster.ready();
    cluster.settle();
    cluster.run_launcher(POD);
    cluster.settle();
    assert_eq!(
        cluster.conditions(),
        ["Created=True MPIJobCreated", "Suspended=False MPIJobResumed", "Running=True MPIJobRunning"]
    );
    assert_eq!(cluster.raw.status.as_ref().unwrap().start_time, Some(cluster.now));
    assert_eq!(
        cluster.told(),
        ["MPIJobCreated", "MPIJobSuspended", "PluginsPinned", "MPIJobResumed", "MPIJobRunning"]
    );
}

#[test]
fn suspending_a_running_job_stops_the_launcher_and_removes_its_workers() {
    let mut cluster = running(raw(2));
    suspend(&mut cluster.raw, true);
    let pass = cluster.pass();
    assert!(matches!(
        pass.steps.as_slice(),
        [Step::Patch { patch, .. }, Step::Delete { .. }, Step::Delete { .. }] if patch["spec"]["suspend"] == true
    ));
    assert_eq!(cluster.counters("Launcher"), Some((1, 0, 0)));
    assert_eq!(cluster.counters("Worker"), Some((0, 0, 0)), "at once, though they still terminate");
    cluster.stop_launcher();
    cluster.reap();
    cluster.settle();
    assert_eq!(cluster.counters("Launcher"), Some((0, 0, 0)));

    cluster.advance(Duration::from_hours(1));
    suspend(&mut cluster.raw, false);
    cluster.settle();
    let status = cluster.raw.status.as_ref().unwrap();
    assert_eq!(status.start_time, Some(cluster.now), "the clock starts anew");
    let resumed = status.conditions.last().unwrap();
    assert_eq!((resumed.kind.as_str(), resumed.last_transition_time), ("Suspended", Some(cluster.now)));
    cluster.launch("pi-launcher-b");
    cluster.settle();
    assert!(matches!(cluster.gate(), Gate::Closed { .. }), "the workers are new, the launcher waits again");
    cluster.ready();
    cluster.settle();
    cluster.run_launcher("pi-launcher-b");
    cluster.settle();
    assert_eq!(cluster.conditions().last().unwrap(), "Running=True MPIJobRunning");
}

#[test]
fn a_suspended_job_holds_no_devices_under_any_policy() {
    let group = ObjectName { kind: Kind::VolcanoPodGroup, name: "pi".to_owned() };
    for (policy, left) in [(None, &[][..]), (Some("None"), &[]), (Some("Running"), &[1]), (Some("All"), &[])]
    {
        let mut job = raw(3);
        if let Some(policy) = policy {
            clean(&mut job, policy);
        }
        let mut cluster = Cluster::new(job);
        cluster.gang = Gang::Volcano;
        cluster.settle();
        cluster.launch(POD);
        cluster.ready();
        cluster.worker(1, &json!({"phase": "Failed", "ready": false}));
        cluster.worker(2, &json!({"phase": "Pending", "ready": false}));
        cluster.settle();
        assert!(cluster.objects.contains_key(&group));

        suspend(&mut cluster.raw, true);
        cluster.settle();
        cluster.stop_launcher();
        cluster.reap();
        cluster.settle();
        assert_eq!(cluster.workers(), left, "{policy:?}");
        assert!(!cluster.objects.contains_key(&group), "{policy:?}");
        assert_eq!(cluster.counters("Worker"), Some((0, 0, 0)));
    }
}

/// Kueue lets it run somewhere else.
#[test]
fn a_job_that_was_suspended_is_resumed_with_new_pods_of_its_new_template() {
    let mut cluster = running(raw(2));
    suspend(&mut cluster.raw, true);
    cluster.settle();
    cluster.stop_launcher();
    cluster.reap();
    let specs = cluster.raw.spec.mpi_replica_specs.as_mut().unwrap();
    let worker = specs.get_mut("Worker").unwrap().as_mut().unwrap();
    worker.template["spec"]["nodeSelector"] = json!({"pool": "other"});
    suspend(&mut cluster.raw, false);
    cluster.settle();

    for index in 0..2 {
        let pod = &cluster.objects[&pod_name(&format!("pi-worker-{index}"))];
        assert_eq!(pod["spec"]["nodeSelector"], json!({"pool": "other"}));
        assert_eq!(cluster.created[&pod_name(&format!("pi-worker-{index}"))], 2);
    }
}

#[test]
fn a_launcher_that_waits_for_ready_workers_is_created_late_also_after_a_suspension() {
    let mut late = raw(2);
    late.spec.launcher_creation_policy = Some("WaitForWorkersReady".to_owned());
    suspend(&mut late, true);
    let mut cluster = Cluster::new(late);
    cluster.settle();
    assert!(!cluster.objects.contains_key(&launcher()), "not while there are no workers");

    suspend(&mut cluster.raw, false);
    cluster.settle();
    assert_eq!(cluster.counters("Launcher"), None);
    for index in 0..2 {
        cluster.worker(index, &json!({"phase": "Running", "ready": false}));
    }
    cluster.settle();
    assert!(!cluster.objects.contains_key(&launcher()), "running is not ready");
    cluster.ready();
    cluster.settle();
    assert!(cluster.objects.contains_key(&launcher()));
    assert_eq!(cluster.counters("Launcher"), Some((0, 0, 0)));

    suspend(&mut cluster.raw, true);
    cluster.settle();
    cluster.reap();
    suspend(&mut cluster.raw, false);
    cluster.settle();
    assert_eq!(cluster.objects[&launcher()]["spec"]["suspend"], true, "resumed only with its workers");
    cluster.ready();
    cluster.settle();
    assert_eq!(cluster.objects[&launcher()]["spec"]["suspend"], false);
}

/// A job whose launcher Job is to be made once its workers are Ready.
fn late(workers: u32) -> Cluster {
    let mut late = raw(workers);
    late.spec.launcher_creation_policy = Some("WaitForWorkersReady".to_owned());
    let mut cluster = Cluster::new(late);
    cluster.settle();
    cluster
}

#[test]
fn a_launcher_that_waits_for_ready_workers_is_created_before_dns_knows_them() {
    let mut cluster = late(2);
    cluster.unpublished.extend([pod_name("pi-worker-0"), pod_name("pi-worker-1")]);
    cluster.worker(0, &json!({"phase": "Running", "ready": true}));
    cluster.settle();
    assert!(!cluster.objects.contains_key(&launcher()), "one of them is not ready");

    cluster.ready();
    cluster.settle();
    assert!(cluster.objects.contains_key(&launcher()), "ready is all that the policy asks for");
    cluster.launch(POD);
    cluster.settle();
    assert!(matches!(cluster.gate(), Gate::Closed { .. }), "its pod waits for DNS");
    cluster.unpublished.clear();
    cluster.settle();
    cluster.run_launcher(POD);
}

#[test]
fn a_launcher_that_waits_for_workers_is_created_when_one_of_them_has_ended_and_the_job_ends() {
    for (phase, minimum) in [("Failed", None), ("Succeeded", None), ("Failed", Some("1"))] {
        let mut cluster = late(3);
        if let Some(minimum) = minimum {
            annotate(&mut cluster.raw, annotations::ANNOTATION_START_MIN_WORKERS, minimum);
        }
        cluster.worker(0, &json!({"phase": "Running", "ready": false}));
        cluster.worker(2, &json!({"phase": phase, "ready": false}));
        cluster.settle();
        assert!(cluster.objects.contains_key(&launcher()), "{phase}");

        cluster.launch(POD);
        cluster.settle();
        cluster.run_launcher(POD);
        let told = cluster.told();
        assert_eq!(told.iter().filter(|reason| **reason == "StartGateOpened").count(), 1);
        cluster.end("Failed", "BackoffLimitExceeded", "too often");
        cluster.settle();
        assert!(cluster.conditions().last().unwrap().starts_with("Failed=True"));
    }
}

/// It is gone soon, and another one takes its place.
#[test]
fn a_launcher_does_not_come_earlier_for_workers_that_are_being_deleted_or_beyond_the_jobs_size() {
    let mut cluster = late(3);
    scale(&mut cluster.raw, 2);
    cluster.worker(2, &json!({"phase": "Failed"}));
    cluster.worker(1, &json!({"phase": "Failed"}));
    cluster.patch(&pod_name("pi-worker-1"), &json!({"metadata": {"deletionTimestamp": cluster.now}}));
    cluster.settle();

    assert!(!cluster.objects.contains_key(&launcher()));
}

#[test]
fn a_job_that_was_suspended_under_the_mpi_operator_gets_a_launcher_of_its_pin() {
    let mut cluster = Cluster::new(raw(2));
    suspend(&mut cluster.raw, true);
    cluster.settle();
    for name in [launcher(), ObjectName { kind: Kind::ConfigMap, name: "pi-config".to_owned() }] {
        cluster.patch(&name, &json!({"metadata": {"annotations": null}}));
    }
    cluster.events.clear();
    suspend(&mut cluster.raw, false);
    let pass = cluster.pass();
    assert!(pass.steps.iter().any(|s| matches!(s, Step::Delete { object, .. } if *object == launcher())));
    cluster.settle();

    assert_eq!(cluster.told(), ["MPIJobResumed", "PluginsPinned"]);
    assert_eq!(cluster.created[&launcher()], 2);
    cluster.launch(POD);
    cluster.ready();
    cluster.settle();
    cluster.run_launcher(POD);
}
