//! A kind with two roles whose pods the operator makes itself, for tests: what holds of one group must hold of each.

use super::{JobKind, LAUNCHER, Reasons, Replicas, RestartPolicy, Role, RoleId, RunBy, WORKER};

/// The third role.
pub const SERVER: RoleId = RoleId::new(2, RunBy::Pods);

/// Launcher, workers and servers.
pub static THREE_ROLES: JobKind = JobKind {
    name: "ServedJob",
    api_version: "example.com/v1",
    replica_specs: "spec.mpiReplicaSpecs",
    reasons: Reasons {
        created: "ServedJobCreated",
        running: "ServedJobRunning",
        suspended: "ServedJobSuspended",
        resumed: "ServedJobResumed",
        succeeded: "ServedJobSucceeded",
        failed: "ServedJobFailed",
        evicted: "ServedJobEvicted",
    },
    driver: Role {
        id: LAUNCHER,
        key: "Launcher",
        name: "launcher",
        replicas: Replicas::Exactly(1),
        default_replicas: 1,
        default_restart: RestartPolicy::OnFailure,
    },
    others: &[
        Role {
            id: WORKER,
            key: "Worker",
            name: "worker",
            replicas: Replicas::AtLeast(1),
            default_replicas: 1,
            default_restart: RestartPolicy::Never,
        },
        Role {
            id: SERVER,
            key: "Server",
            name: "server",
            replicas: Replicas::AtLeast(1),
            default_replicas: 1,
            default_restart: RestartPolicy::OnFailure,
        },
    ],
};
