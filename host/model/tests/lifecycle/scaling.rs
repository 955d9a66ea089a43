//! Workers that are added, removed, lost or evicted, and the group that they are scheduled in.

use coxswain_model::{
    api::annotations,
    desired::Gang,
    phase::{self, Phase},
    status::Count,
    step::{Kind, ObjectName, Step},
};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::{
    cluster::{Cluster, POD, launcher, pod_name, running},
    sample::{annotate, clean, raw, scale, valid},
};

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
    annotate(&mut elastic, annotations::ANNOTATION_START_MIN_WORKERS, "2");
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
