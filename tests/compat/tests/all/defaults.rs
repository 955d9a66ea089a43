//! Defaults. A job is read, never written back, so what is compared is the job as parsed.

use coxswain_model::{
    job::{CleanPodPolicy, LauncherCreation},
    kind::{self, RestartPolicy},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::jobs::{job, valid};

/// Slots, clean-up, time to live, deadline, back-off, mount path, implementation, creation policy.
type Defaults =
    (u32, CleanPodPolicy, Option<u32>, Option<u64>, Option<u32>, String, String, LauncherCreation);

fn defaults(spec: &Value) -> Defaults {
    let job = valid(&job("foo", "bar", 0, spec), None);
    (
        job.slots(),
        job.clean_pod_policy(),
        job.ttl_seconds_after_finished(),
        job.active_deadline_seconds(),
        job.backoff_limit(),
        job.ssh_mount_path().to_owned(),
        job.implementation().to_owned(),
        job.launcher_creation(),
    )
}

fn overridden(implementation: &str) -> Value {
    json!({
        "slotsPerWorker": 10,
        "runPolicy": {
            "cleanPodPolicy": "Running",
            "ttlSecondsAfterFinished": 2,
            "activeDeadlineSeconds": 3,
            "backoffLimit": 4,
        },
        "sshAuthMountPath": "/home/mpiuser/.ssh",
        "mpiImplementation": implementation,
        "launcherCreationPolicy": "AtStartup",
    })
}

#[test]
fn base_defaults() {
    let (root, openmpi) = ("/root/.ssh".to_owned(), "OpenMPI".to_owned());
    let expected = (1, CleanPodPolicy::None, None, None, None, root, openmpi, LauncherCreation::AtStartup);
    assert_eq!(defaults(&json!({})), expected);
}

#[test]
fn base_defaults_overridden() {
    for implementation in ["Intel", "MPICH"] {
        let path = "/home/mpiuser/.ssh".to_owned();
        let limits = (Some(2), Some(3), Some(4));
        let expected = (
            10,
            CleanPodPolicy::Running,
            limits.0,
            limits.1,
            limits.2,
            path,
            implementation.to_owned(),
            LauncherCreation::AtStartup,
        );
        assert_eq!(defaults(&overridden(implementation)), expected, "{implementation}");
    }
}

#[test]
fn launcher_defaults() {
    let job = valid(&job("foo", "bar", 0, &json!({})), None);
    assert_eq!((job.driver().replicas(), job.driver().restart_policy()), (1, RestartPolicy::OnFailure));
}

/// A worker block without `replicas` has none, which is refused.
#[test]
fn worker_defaults() {
    let one = valid(&job("foo", "bar", 1, &json!({})), None);
    assert_eq!(one.groups().of(kind::WORKER).unwrap().restart_policy(), RestartPolicy::Never);

    let mut none = job("foo", "bar", 1, &json!({}));
    none["spec"]["mpiReplicaSpecs"]["Worker"].as_object_mut().unwrap().remove("replicas");
    let said = format!("{:?}", crate::jobs::parse(&none, None));
    assert!(said.contains("must be greater than or equal to 1"), "{said}");
}
