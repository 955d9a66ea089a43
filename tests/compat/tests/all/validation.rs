//! Validation: which fields are refused, in which order, and with which kind of mistake.
//!
//! The tables hold what the MPI Operator reports of the same job. Mistakes that its defaults make impossible
//! (`slotsPerWorker`, `cleanPodPolicy` and `sshAuthMountPath` left out) are not reported by either operator in a
//! cluster; an unknown implementation and an unknown manager are other parts' business here (`docs/differences.md`).

use coxswain_model::job::Verdict;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::jobs::parse;

const CONTAINERS: &str = "must define at least one container";

fn replica(replicas: i64, restart_policy: &str) -> Value {
    json!({"replicas": replicas, "restartPolicy": restart_policy, "template": {"spec": {"containers": [{}]}}})
}

fn with(name: &str, spec: &Value) -> Value {
    json!({"metadata": {"name": name, "namespace": "bar"}, "spec": spec})
}

fn good(implementation: &str, replicas: &Value) -> Value {
    json!({
        "slotsPerWorker": 2,
        "runPolicy": {"cleanPodPolicy": "Running"},
        "sshAuthMountPath": "/home/mpiuser/.ssh",
        "mpiImplementation": implementation,
        "mpiReplicaSpecs": replicas,
    })
}

fn mistakes(raw: &Value) -> Vec<String> {
    match parse(raw, None) {
        Verdict::Valid(_) => Vec::new(),
        Verdict::Invalid(errors) => errors.iter().map(ToString::to_string).collect(),
        Verdict::NotOurs => panic!("{raw} is not ours"),
    }
}

/// Each mistake's path and kind, as `path: Kind value`.
fn paths(raw: &Value) -> Vec<String> {
    let kind = |mistake: String| {
        let (path, rest) = mistake.split_once(": ").unwrap();
        format!("{path}: {}", rest.split(" value").next().unwrap())
    };
    mistakes(raw).into_iter().map(kind).collect()
}

#[test]
fn valid() {
    for implementation in ["Intel", "MPICH"] {
        let alone = json!({"Launcher": replica(1, "Never")});
        assert_eq!(mistakes(&with("foo", &good(implementation, &alone))), [""; 0]);
        let both = json!({"Launcher": replica(1, "OnFailure"), "Worker": replica(3, "Never")});
        assert_eq!(mistakes(&with("foo", &good(implementation, &both))), [""; 0]);
    }
}

#[test]
fn empty_job() {
    assert_eq!(paths(&with("", &json!({}))), ["metadata.name: Invalid", "spec.mpiReplicaSpecs: Required"]);
}

#[test]
fn invalid_fields() {
    let spec = json!({
        "slotsPerWorker": 2,
        "runPolicy": {
            "cleanPodPolicy": "unknown",
            "ttlSecondsAfterFinished": -1,
            "activeDeadlineSeconds": -1,
            "backoffLimit": -1,
        },
        "mpiReplicaSpecs": {"Launcher": replica(1, "Never"), "Worker": replica(1000, "Never")},
    });
    assert_eq!(
        paths(&with("this-name-is-waaaaaaaay-too-long-for-a-worker-hostname", &spec)),
        [
            "metadata.name: Invalid",
            "spec.runPolicy.cleanPodPolicy: Unsupported",
            "spec.runPolicy.ttlSecondsAfterFinished: Invalid",
            "spec.runPolicy.activeDeadlineSeconds: Invalid",
            "spec.runPolicy.backoffLimit: Invalid",
        ]
    );
}

#[test]
fn managed_externally() {
    for manager in ["kueue.x-k8s.io/multikueue", "invalid.com/controller"] {
        let mut job = with("foo", &good("Intel", &json!({"Launcher": replica(1, "Never")})));
        job["spec"]["runPolicy"]["managedBy"] = json!(manager);
        assert!(matches!(parse(&job, None), Verdict::NotOurs), "{manager}");
    }
}

#[test]
fn empty_replica_specs() {
    assert_eq!(
        mistakes(&with("foo", &good("OpenMPI", &json!({})))),
        ["spec.mpiReplicaSpecs[Launcher]: Required value: must have Launcher replica spec"]
    );
}

/// `replicas` and `restartPolicy` have defaults by then.
#[test]
fn missing_replica_spec_fields() {
    let launcher = "spec.mpiReplicaSpecs[Launcher].template.spec.containers";
    let worker = "spec.mpiReplicaSpecs[Worker].template.spec.containers";
    assert_eq!(
        mistakes(&with("foo", &good("OpenMPI", &json!({"Launcher": {}, "Worker": {}})))),
        [
            format!("{launcher}: Required value: {CONTAINERS}"),
            format!("{worker}: Required value: {CONTAINERS}"),
            "spec.mpiReplicaSpecs[Worker].replicas: Invalid value: 0: must be greater than or equal to 1"
                .to_owned(),
        ]
    );
}

#[test]
fn invalid_replica_fields() {
    let replicas = json!({"Launcher": replica(2, "Always"), "Worker": replica(0, "Invalid")});
    let policies = "supported values: \"Never\", \"OnFailure\"";
    assert_eq!(
        mistakes(&with("foo", &good("OpenMPI", &replicas))),
        [
            format!(
                "spec.mpiReplicaSpecs[Launcher].restartPolicy: Unsupported value: \"Always\": {policies}"
            ),
            "spec.mpiReplicaSpecs[Launcher].replicas: Invalid value: 2: must be 1".to_owned(),
            format!("spec.mpiReplicaSpecs[Worker].restartPolicy: Unsupported value: \"Invalid\": {policies}"),
            "spec.mpiReplicaSpecs[Worker].replicas: Invalid value: 0: must be greater than or equal to 1"
                .to_owned(),
        ]
    );
}

#[test]
fn invalid_mpijob_name() {
    let job = with("1-foo", &good("Intel", &json!({"Launcher": replica(1, "Never")})));
    assert_eq!(paths(&job), ["metadata.name: Invalid"]);
}
