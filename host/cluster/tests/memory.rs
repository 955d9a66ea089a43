//! What the index costs: alone in its process and with the operator's heap, so that what the process holds is what the
//! index holds in the operator.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that prints what it measures")]

use coxswain_cluster::{index::Index, key::JobKey, kind::Watched as _, kinds::DecodedPod};
use serde_json::json;

#[global_allocator]
static HEAP: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Jobs and workers of each, in the proportion of a cluster full of middle-sized jobs.
const JOBS: u32 = 200;
const WORKERS: u32 = 500;

/// 0.2 KiB is the aim; one and a half times that is what the growth of vectors and the allocator may add.
const MOST: f64 = 307.0;

/// A pod as the API server sends it, with the fields that make up most of its 5 KB.
fn pod(job: u32, worker: u32) -> serde_json::Value {
    let serial = job * WORKERS + worker;
    json!({
        "metadata": {
            "name": format!("job-{job}-worker-{worker}"),
            "namespace": "team-a",
            "uid": format!("{serial:08x}-0000-4000-8000-00000000{serial:04x}"),
            "resourceVersion": (1000 + serial).to_string(),
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {
                "training.kubeflow.org/job-name": format!("job-{job}"),
                "training.kubeflow.org/job-role": "worker",
                "training.kubeflow.org/operator-name": "mpi-operator",
            },
            "ownerReferences": [{"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "controller": true,
                "name": format!("job-{job}"), "uid": format!("{job:08x}-1111-4000-8000-000000000000")}],
            "managedFields": [{"manager": "m", "operation": "Update", "fieldsV1": {"f:metadata": {"f:labels": {}}}}],
        },
        "spec": {"containers": [{"name": "main", "image": "registry.example/team/image:1",
            "env": [{"name": "A", "value": "b".repeat(500)}]}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    })
}

fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kib: f64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    kib * 1024.0
}

fn fill(index: &mut Index, job: u32) {
    let key = JobKey::new("team-a", &format!("job-{job}"));
    for worker in 0..WORKERS {
        let pod: DecodedPod = serde_json::from_value(pod(job, worker)).unwrap();
        index.pods.shown(&key, pod.row().unwrap().1);
    }
}

#[test]
fn a_pod_costs_about_a_fifth_of_a_kibibyte() {
    let mut index = Index::default();
    fill(&mut index, 0); // what decoding needs once is no cost of a pod
    let before = resident();

    (1..=JOBS).for_each(|job| fill(&mut index, job));

    let each = (resident() - before) / f64::from(JOBS * WORKERS);
    println!("{each:.0} bytes a pod at {} pods", index.pods.count());
    assert!(each < MOST, "{each:.0} bytes a pod");
}
