//! Whole lives of jobs.

use std::time::Duration;

use coxswain_model::{
    api::wire,
    desired::Gang,
    gate::Gate,
    phase::{self, Phase},
    status::Count,
    step::{FailureReason, Kind, ObjectName, Step},
};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::{
    cluster::{Cluster, launcher, pod_name},
    sample::{annotate, clean, raw, scale, suspend, valid},
};

const POD: &str = "pi-launcher-a";

/// A job whose launcher and workers run.
fn running(raw: coxswain_model::api::MpiJob) -> Cluster {
    let mut cluster = Cluster::new(raw);
    cluster.settle();
    cluster.launch(POD);
    cluster.ready();
    cluster.settle();
    cluster.run_launcher(POD);
    cluster.settle();
    cluster
}

#[test]
fn a_job_is_created_waits_for_its_workers_runs_and_succeeds() {
    let mut cluster = Cluster::new(raw(2));
    cluster.settle();
    assert_eq!(cluster.conditions(), ["Created=True MPIJobCreated"]);
    assert_eq!(cluster.counters("Launcher"), Some((0, 0, 0)));
    assert_eq!(cluster.counters("Worker"), Some((0, 0, 0)));

    cluster.launch(POD);
    cluster.settle();
    assert!(matches!(cluster.gate(), Gate::Closed { .. }));
    cluster.ready();
    cluster.settle();
    assert_eq!(cluster.counters("Worker"), Some((2, 0, 0)));
    cluster.run_launcher(POD);
    cluster.settle();
    assert_eq!(cluster.conditions(), ["Created=True MPIJobCreated", "Running=True MPIJobRunning"]);
    assert_eq!(cluster.counters("Launcher"), Some((1, 0, 0)));

    cluster.advance(Duration::from_mins(1));
    cluster.patch(&pod_name(POD), &json!({"status": {"phase": "Succeeded"}}));
    let ended = cluster.now;
    cluster.end("Complete", "", "");
    cluster.settle();
    assert_eq!(
        cluster.conditions(),
        ["Created=True MPIJobCreated", "Running=False MPIJobRunning", "Succeeded=True MPIJobSucceeded"]
    );
    assert_eq!(cluster.counters("Launcher"), Some((0, 1, 0)));
    assert_eq!(cluster.counters("Worker"), Some((0, 0, 0)));
    assert_eq!(cluster.workers(), [0, 1], "cleanPodPolicy None keeps the workers");
    assert_eq!(cluster.raw.status.as_ref().unwrap().completion_time, Some(ended));
    assert_eq!(cluster.told(), ["MPIJobCreated", "PluginsPinned", "MPIJobRunning", "MPIJobSucceeded"]);
    assert_eq!(cluster.counts, [Count::Created, Count::Succeeded]);
}

#[test]
fn workers_are_removed_after_the_status_says_how_the_job_ended() {
    let mut policy_all = raw(2);
    clean(&mut policy_all, "All");
    let mut cluster = running(policy_all);
    cluster.end("Complete", "", "");

    let end = cluster.pass();
    assert!(end.steps.is_empty() && end.tale.status.is_some());
    let after = cluster.pass();
    let names: Vec<_> = after.steps.iter().map(|s| matches!(s, Step::Delete { version: None, .. })).collect();
    assert_eq!(names, [true, true]);
    cluster.settle();
    cluster.reap();
    cluster.settle();
    assert_eq!(cluster.workers(), [0_u32; 0]);
    assert!(cluster.objects.contains_key(&launcher()), "the launcher Job stays");
}

#[test]
fn policy_running_keeps_the_workers_that_have_ended() {
    let mut policy = raw(3);
    clean(&mut policy, "Running");
    let mut cluster = running(policy);
    cluster.worker(1, &json!({"phase": "Failed"}));
    cluster.end("Failed", "", "");
    cluster.settle();

    assert_eq!(cluster.workers(), [1]);
}

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
            annotate(&mut cluster.raw, wire::ANNOTATION_START_MIN_WORKERS, minimum);
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
fn scale_down_removes_highest_indexes_first_and_scale_up_fills_the_gaps() {
    let mut cluster = running(raw(4));
    scale(&mut cluster.raw, 2);
    let pass = cluster.pass();
    let deleted: Vec<_> = pass
        .steps
        .iter()
        .filter_map(|step| match step {
            Step::Delete { object, .. } => Some(object.name.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(deleted, ["pi-worker-3", "pi-worker-2"]);
    assert!(pass.steps.iter().any(|s| matches!(s, Step::Patch { object, .. } if object.name == "pi-config")));

    scale(&mut cluster.raw, 4);
    cluster.settle();
    assert_eq!(cluster.workers(), [0, 1], "terminating pods still hold their names");
    cluster.reap();
    cluster.settle();
    assert_eq!(cluster.workers(), [0, 1, 2, 3]);
    assert_eq!(cluster.deleted.len(), 2);
    assert_eq!(cluster.created.values().sum::<usize>(), 4 + 4 + 2);
}

#[test]
fn scale_down_keeps_the_last_worker_when_the_launcher_runs_ranks() {
    let mut ranks = raw(3);
    ranks.spec.run_launcher_as_worker = Some(true);
    let mut cluster = running(ranks);
    scale(&mut cluster.raw, 2);
    cluster.settle();

    assert_eq!(cluster.workers(), [0, 1]);
    assert_eq!(cluster.deleted.len(), 1);
}

#[test]
fn a_deleted_worker_comes_back_and_a_failed_one_stays_as_it_is() {
    let mut cluster = running(raw(2));
    cluster.worker(0, &json!({"phase": "Failed", "reason": "Error"}));
    cluster.objects.remove(&pod_name("pi-worker-1"));
    cluster.settle();

    assert_eq!(cluster.workers(), [0, 1]);
    assert_eq!(cluster.created[&pod_name("pi-worker-0")], 1);
    assert_eq!(cluster.created[&pod_name("pi-worker-1")], 2);
    assert_eq!(cluster.counters("Worker"), Some((0, 0, 1)));
    assert_eq!(cluster.conditions()[1], "Running=True MPIJobRunning", "as in the MPI Operator");
}

#[test]
fn an_eviction_ends_the_job_stops_the_launcher_and_cleans_up() {
    let mut policy = raw(3);
    clean(&mut policy, "All");
    let mut cluster = running(policy);
    cluster.worker(1, &json!({"phase": "Failed", "reason": "Evicted"}));
    cluster.pass();
    assert_eq!(cluster.objects[&launcher()]["spec"]["suspend"], true, "at once");
    assert_eq!(cluster.counters("Worker"), Some((2, 0, 1)));
    cluster.settle();

    assert_eq!(cluster.workers(), [0_u32; 0]);
    assert_eq!(cluster.raw.status.as_ref().unwrap().completion_time, Some(cluster.now));
    assert_eq!(cluster.conditions().last().unwrap(), "Failed=True MPIJobEvicted");
    let evicted: Vec<_> = cluster.events.iter().filter(|e| e.reason == "MPIJobEvicted").collect();
    assert_eq!(evicted.len(), 1);
    assert_eq!(evicted[0].message, "1/3 workers are evicted");
    assert_eq!(cluster.counts, [Count::Created, Count::Failed]);
}

#[test]
fn a_surplus_worker_that_is_evicted_ends_no_job() {
    let mut cluster = running(raw(3));
    scale(&mut cluster.raw, 2);
    cluster.worker(2, &json!({"phase": "Failed", "reason": "Evicted"}));
    cluster.settle();

    assert_eq!(cluster.conditions().last().unwrap(), "Running=True MPIJobRunning");
    assert_eq!(cluster.workers(), [0, 1]);
}

#[test]
fn an_elastic_job_survives_evictions_down_to_its_minimum() {
    let mut elastic = raw(3);
    annotate(&mut elastic, wire::ANNOTATION_START_MIN_WORKERS, "2");
    let mut cluster = running(elastic);
    cluster.worker(1, &json!({"phase": "Failed", "reason": "Evicted"}));
    cluster.settle();
    assert_eq!(phase::of(&valid(&cluster.raw), &cluster.seen()), Phase::Active);

    cluster.worker(2, &json!({"phase": "Failed", "reason": "Evicted"}));
    cluster.settle();
    assert_eq!(phase::of(&valid(&cluster.raw), &cluster.seen()), Phase::Finished);
}

#[test]
fn a_job_that_the_mpi_operator_left_half_dead_is_ended() {
    let mut cluster = running(raw(2));
    let status = cluster.raw.status.as_mut().unwrap();
    let mut failed = status.conditions[0].clone();
    (failed.kind, failed.reason) = ("Failed".to_owned(), "MPIJobEvicted".to_owned());
    status.conditions.push(failed);
    cluster.settle();

    assert_eq!(cluster.objects[&launcher()]["spec"]["suspend"], true);
    assert!(cluster.raw.status.as_ref().unwrap().completion_time.is_some());
}

#[test]
fn a_failed_launcher_pod_is_no_failed_job_but_a_failed_launcher_job_is() {
    let mut cluster = running(raw(1));
    cluster.patch(&pod_name(POD), &json!({"status": {"phase": "Failed", "ready": false}}));
    cluster.patch(&launcher(), &json!({"status": {"failed": 1}}));
    cluster.settle();
    assert_eq!(cluster.counters("Launcher"), Some((0, 0, 1)));
    assert_eq!(cluster.conditions().last().unwrap(), "Running=True MPIJobRunning");

    cluster.launch("pi-launcher-b");
    cluster.settle();
    cluster.run_launcher("pi-launcher-b");
    cluster.end("Failed", "", "");
    cluster.settle();
    assert_eq!(cluster.conditions().last().unwrap(), "Failed=True MPIJobFailed");
    let last = cluster.events.last().unwrap();
    assert_eq!((last.warning, last.message.as_str()), (true, "MPIJob team-a/pi has failed"));
}

#[test]
fn a_retry_of_the_launcher_is_not_held_back_by_workers_that_are_gone() {
    let mut cluster = running(raw(2));
    cluster.worker(0, &json!({"phase": "Pending", "ready": false}));
    cluster.patch(&launcher(), &json!({"status": {"failed": 1}}));
    cluster.launch("pi-launcher-b");
    cluster.settle();

    cluster.run_launcher("pi-launcher-b");
}

#[test]
fn a_recreated_job_waits_for_the_old_objects_to_go_and_touches_none() {
    let mut cluster = running(raw(2));
    cluster.recreate("job-2");
    cluster.pass();
    cluster.advance(Duration::from_secs(1));
    let pass = cluster.pass();
    assert!(pass.steps.is_empty());
    assert_eq!(pass.tale.wake, Some(Duration::from_secs(1)));
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
        assert!(pass.tale.status.is_none() && pass.tale.events.is_empty());
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
fn the_pod_group_comes_before_the_workers_follows_the_spec_and_goes_with_them() {
    let mut gang = raw(2);
    clean(&mut gang, "All");
    let policy = gang.spec.run_policy.as_mut().unwrap();
    let policy = policy.scheduling_policy.get_or_insert_default();
    policy.min_resources = Some([("cpu".to_owned(), json!("8")), ("memory".to_owned(), json!("1Gi"))].into());
    let mut cluster = Cluster::new(gang);
    cluster.gang = Gang::Volcano;
    cluster.settle();
    let group = ObjectName { kind: Kind::VolcanoPodGroup, name: "pi".to_owned() };
    assert_eq!(cluster.objects[&group]["spec"]["minMember"], 3);

    let policy = cluster.raw.spec.run_policy.as_mut().unwrap();
    let policy = policy.scheduling_policy.get_or_insert_default();
    policy.min_resources.as_mut().unwrap().remove("cpu");
    policy.min_available = Some(2);
    cluster.settle();
    assert_eq!(cluster.objects[&group]["spec"]["minMember"], 2);
    assert_eq!(cluster.objects[&group]["spec"]["minResources"], json!({"memory": "1Gi"}));

    cluster.launch(POD);
    cluster.end("Complete", "", "");
    cluster.settle();
    assert!(!cluster.objects.contains_key(&group));
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
    assert_eq!(cluster.objects[&config]["metadata"]["annotations"][wire::ANNOTATION_PIN], "adopted");
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
