//! Defaults and rules of the MPI Operator 0.8.2, in its order and words.

use serde_json::{Value, json};

use super::*;
use crate::{
    api::{annotations, resource},
    kind::{self, RestartPolicy},
    object::{Uid, Version},
};

/// A job whose every field is right, with one worker.
fn raw() -> Value {
    let template = json!({"spec": {"containers": [{"name": "main"}]}});
    json!({
        "metadata": {"name": "foo", "namespace": "team-a", "uid": "u1", "resourceVersion": "12"},
        "spec": {
            "slotsPerWorker": 2,
            "runPolicy": {"cleanPodPolicy": "Running"},
            "sshAuthMountPath": "/home/mpiuser/.ssh",
            "mpiImplementation": "Intel",
            "mpiReplicaSpecs": {
                "Launcher": {"replicas": 1, "restartPolicy": "Never", "template": template},
                "Worker": {"replicas": 3, "restartPolicy": "OnFailure", "template": template},
            },
        },
    })
}

/// `raw` with the value at a JSON pointer replaced, or removed if null.
fn with(changes: &[(&str, Value)]) -> Value {
    let mut job = raw();
    for (pointer, value) in changes {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let parent = job.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        if value.is_null() {
            parent.remove(key);
        } else {
            parent.insert(key.to_owned(), value.clone());
        }
    }
    job
}

fn parse(raw: Value) -> Verdict {
    ValidJob::parse(&serde_json::from_value(raw).unwrap(), None)
}

fn valid(raw: Value) -> ValidJob {
    match parse(raw) {
        Verdict::Valid(job) => *job,
        other => panic!("{other:?}"),
    }
}

fn errors(changes: &[(&str, Value)]) -> Vec<String> {
    match parse(with(changes)) {
        Verdict::Invalid(errors) => errors.iter().map(ToString::to_string).collect(),
        other => panic!("{other:?}"),
    }
}

const LAUNCHER: &str = "/spec/mpiReplicaSpecs/Launcher";
const WORKER: &str = "/spec/mpiReplicaSpecs/Worker";

#[test]
fn what_the_user_wrote_is_kept() {
    let job = valid(raw());

    assert_eq!((job.slots, job.implementation.as_str()), (2, "Intel"));
    assert_eq!(job.clean_pod_policy, CleanPodPolicy::Running);
    assert_eq!(job.ssh_mount_path, "/home/mpiuser/.ssh");
    assert_eq!(job.driver().restart_policy, RestartPolicy::Never);
    assert_eq!(job.groups.of(kind::WORKER).unwrap().restart_policy, RestartPolicy::OnFailure);
    assert_eq!((job.workers(), job.version, job.uid.clone()), (3, Version(12), Uid::from("u1")));
    assert_eq!(job.key(), "team-a/foo");
}

#[test]
fn what_the_user_left_out_has_the_defaults_of_the_mpi_operator() {
    let template = json!({"spec": {"containers": [{"name": "main"}]}});
    let job = valid(json!({
        "metadata": {"name": "foo", "namespace": "team-a"},
        "spec": {"mpiReplicaSpecs": {
            "Launcher": {"template": template},
            "Worker": {"replicas": 1, "template": template},
        }},
    }));

    assert_eq!((job.slots, job.implementation.as_str()), (1, "OpenMPI"));
    assert_eq!(job.ssh_mount_path, "/root/.ssh");
    assert_eq!(job.clean_pod_policy, CleanPodPolicy::None);
    assert_eq!(job.launcher_creation, LauncherCreation::AtStartup);
    assert_eq!((job.driver().replicas, job.driver().restart_policy), (1, RestartPolicy::OnFailure));
    assert_eq!(job.groups.of(kind::WORKER).unwrap().restart_policy, RestartPolicy::Never);
    assert!(!job.suspended && !job.driver().runs_ranks);
    assert_eq!(
        (job.ttl_seconds_after_finished, job.active_deadline_seconds, job.backoff_limit),
        (None, None, None)
    );
}

#[test]
fn every_implementation_name_is_left_to_the_plugins() {
    for name in ["OpenMPI", "Intel", "MPICH", "MVAPICH"] {
        assert_eq!(valid(with(&[("/spec/mpiImplementation", json!(name))])).implementation, name);
    }
}

#[test]
fn workers_are_optional_and_other_replica_keys_have_no_meaning() {
    assert_eq!(valid(with(&[(WORKER, Value::Null)])).workers(), 0);
    let chief = ("/spec/mpiReplicaSpecs/Chief", json!({"replicas": -4}));
    assert_eq!(valid(with(&[chief])).workers(), 3);
}

#[test]
fn any_creation_policy_but_at_startup_waits_for_the_workers() {
    for (policy, expected) in [
        ("AtStartup", LauncherCreation::AtStartup),
        ("WaitForWorkersReady", LauncherCreation::WaitForWorkersReady),
        ("atStartup", LauncherCreation::WaitForWorkersReady),
    ] {
        let job = valid(with(&[("/spec/launcherCreationPolicy", json!(policy))]));
        assert_eq!(job.launcher_creation, expected, "{policy}");
    }
}

#[test]
fn a_job_without_launcher_says_so() {
    assert_eq!(
        errors(&[("/spec/mpiReplicaSpecs", Value::Null)]),
        ["spec.mpiReplicaSpecs: Required value: must have replica specs"]
    );
    assert_eq!(
        errors(&[(LAUNCHER, Value::Null), (WORKER, Value::Null)]),
        ["spec.mpiReplicaSpecs[Launcher]: Required value: must have Launcher replica spec"]
    );
}

#[test]
fn mistakes_are_listed_in_the_order_of_the_mpi_operator() {
    let listed = errors(&[
        ("/metadata/name", json!("this-name-is-waaaaaaaay-too-long-for-a-worker-hostname")),
        ("/spec/slotsPerWorker", json!(-1)),
        (
            "/spec/runPolicy",
            json!({
                "cleanPodPolicy": "unknown",
                "ttlSecondsAfterFinished": -1,
                "activeDeadlineSeconds": -2,
                "backoffLimit": -3,
            }),
        ),
        (
            LAUNCHER,
            json!({"replicas": 2, "restartPolicy": "Always", "template": {"spec": {"containers": []}}}),
        ),
        (WORKER, json!({"replicas": 1000, "restartPolicy": "ExitCode"})),
    ]);

    assert_eq!(
        listed,
        [
            "metadata.name: Invalid value: \"this-name-is-waaaaaaaay-too-long-for-a-worker-hostname\": will not able \
             to create pod and service with invalid DNS label \
             \"this-name-is-waaaaaaaay-too-long-for-a-worker-hostname-worker-999\": must be no more than 63 \
             characters",
            "spec.mpiReplicaSpecs[Launcher].restartPolicy: Unsupported value: \"Always\": supported values: \
             \"Never\", \"OnFailure\"",
            "spec.mpiReplicaSpecs[Launcher].template.spec.containers: Required value: must define at least one \
             container",
            "spec.mpiReplicaSpecs[Launcher].replicas: Invalid value: 2: must be 1",
            "spec.mpiReplicaSpecs[Worker].restartPolicy: Unsupported value: \"ExitCode\": supported values: \
             \"Never\", \"OnFailure\"",
            "spec.mpiReplicaSpecs[Worker].template.spec.containers: Required value: must define at least one \
             container",
            "spec.slotsPerWorker: Invalid value: -1: must be greater than or equal to 0",
            "spec.runPolicy.cleanPodPolicy: Unsupported value: \"unknown\": supported values: \"All\", \"None\", \
             \"Running\"",
            "spec.runPolicy.ttlSecondsAfterFinished: Invalid value: -1: must be greater than or equal to 0",
            "spec.runPolicy.activeDeadlineSeconds: Invalid value: -2: must be greater than or equal to 0",
            "spec.runPolicy.backoffLimit: Invalid value: -3: must be greater than or equal to 0",
        ]
    );
}

#[test]
fn a_worker_block_needs_a_positive_count() {
    let wrong = "must be greater than or equal to 1";
    for (replicas, shown) in [(json!(0), 0), (json!(-3), -3), (Value::Null, 0)] {
        assert_eq!(
            errors(&[(&format!("{WORKER}/replicas"), replicas)]),
            [format!("spec.mpiReplicaSpecs[Worker].replicas: Invalid value: {shown}: {wrong}")]
        );
    }
}

#[test]
fn a_name_counts_with_the_longest_worker_name_that_it_makes() {
    let name = "a".repeat(54);
    valid(with(&[("/metadata/name", json!(name)), (&format!("{WORKER}/replicas"), json!(10))]));
    let listed = errors(&[("/metadata/name", json!(name)), (&format!("{WORKER}/replicas"), json!(11))]);
    assert!(listed[0].contains("-worker-10\": must be no more than 63 characters"), "{listed:?}");

    let dotted = errors(&[("/metadata/name", json!("1-foo"))]);
    assert!(dotted[0].contains("a DNS-1035 label must consist of lower case"), "{dotted:?}");
}

#[test]
fn limits_are_copied_and_zero_is_allowed() {
    let policy = json!({"ttlSecondsAfterFinished": 0, "activeDeadlineSeconds": 0, "backoffLimit": 0});
    let job = valid(with(&[("/spec/runPolicy", policy), ("/spec/slotsPerWorker", json!(0))]));

    assert_eq!(job.slots, 0);
    assert_eq!(
        (job.ttl_seconds_after_finished, job.active_deadline_seconds, job.backoff_limit),
        (Some(0), Some(0), Some(0))
    );
}

#[test]
fn jobs_of_other_controllers_and_jobs_on_their_way_out_are_not_even_validated() {
    let broken = ("/spec/mpiReplicaSpecs", Value::Null);
    let managed = ("/spec/runPolicy/managedBy", json!(resource::MANAGED_BY_MULTIKUEUE));
    let leaving = ("/metadata/deletionTimestamp", json!("2026-11-21T12:00:00Z"));
    for why in [managed, leaving] {
        assert!(matches!(parse(with(&[broken.clone(), why])), Verdict::NotOurs));
    }
    let ours = ("/spec/runPolicy/managedBy", json!(resource::MANAGED_BY_US));
    valid(with(&[ours]));
}

#[test]
fn unreadable_annotations_come_last() {
    let annotations = json!({annotations::ANNOTATION_START_GATE: "maybe"});
    let listed = errors(&[("/spec/slotsPerWorker", json!(-1)), ("/metadata/annotations", annotations)]);

    assert_eq!(listed.len(), 2);
    assert!(
        listed[1].starts_with("metadata.annotations[coxswain.dev/start-gate]: Unsupported value: \"maybe\"")
    );
}

#[test]
fn a_launcher_that_runs_ranks_takes_the_first_index() {
    let job = valid(with(&[("/spec/runLauncherAsWorker", json!(true))]));
    assert_eq!((job.replica_index(0), job.replica_index(12)), (1, 13));
    assert_eq!(valid(raw()).replica_index(12), 12);
}

#[test]
fn a_pinned_job_keeps_its_cluster_domain() {
    let job = valid(raw()).under_domain(Some("k8s.example"));
    assert_eq!(job.names.fqdn(&job.names.pod("worker", 0)), "foo-worker-0.foo.team-a.svc.k8s.example");
}
