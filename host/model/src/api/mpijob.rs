//! `MPIJob` as the API server hands it over. Pod templates stay raw JSON, so that fields of any Kubernetes
//! version survive. Everything may be absent here; [`crate::job::ValidJob`] is the type that cannot be wrong.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A job. Unknown fields are ignored: the CRD prunes them anyway.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MpiJob {
    /// What of `metadata` matters to us.
    pub metadata: Metadata,
    /// What the user wants.
    pub spec: MpiJobSpec,
    /// What became of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<JobStatus>,
}

/// The part of `metadata` that decisions rest on.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    /// Unique in its namespace.
    pub name: String,
    /// Empty in files that leave it to the client.
    pub namespace: String,
    /// Stable for the life of the job.
    pub uid: String,
    /// Of the whole object, opaque but increasing.
    pub resource_version: String,
    /// Of the spec.
    pub generation: i64,
    /// Set when the job is being deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_timestamp: Option<jiff::Timestamp>,
    /// As the user wrote them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// As the user wrote them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// `spec`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the fields of the published API, described in the CRD")]
pub struct MpiJobSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slots_per_worker: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_launcher_as_worker: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_policy: Option<RunPolicy>,
    /// Keyed `Launcher` and `Worker`; other keys have no meaning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mpi_replica_specs: Option<BTreeMap<String, Option<ReplicaSpec>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssh_auth_mount_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub launcher_creation_policy: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mpi_implementation: Option<String>,
}

/// `spec.runPolicy`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the fields of the published API, described in the CRD")]
pub struct RunPolicy {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clean_pod_policy: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_seconds_after_finished: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_deadline_seconds: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff_limit: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling_policy: Option<SchedulingPolicy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub managed_by: Option<String>,
}

/// `spec.runPolicy.schedulingPolicy`, used under gang scheduling.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the fields of the published API, described in the CRD")]
pub struct SchedulingPolicy {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_available: Option<i32>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub queue: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_resources: Option<BTreeMap<String, Value>>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub priority_class: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule_timeout_seconds: Option<i32>,
}

/// `spec.mpiReplicaSpecs[…]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the fields of the published API, described in the CRD")]
pub struct ReplicaSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// A `PodTemplateSpec`, untouched.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub template: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart_policy: Option<String>,
}

/// `status`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the fields of the published API, described in the CRD")]
pub struct JobStatus {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub replica_statuses: BTreeMap<String, ReplicaStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_time: Option<jiff::Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_time: Option<jiff::Timestamp>,
}

/// One entry of `status.conditions`, a map by `type`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the fields of the published API, described in the CRD")]
pub struct Condition {
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_update_time: Option<jiff::Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<jiff::Timestamp>,
}

/// Counters of one role, zero when absent; an entry without any is written `{}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the fields of the published API, described in the CRD")]
pub struct ReplicaStatus {
    #[serde(skip_serializing_if = "is_zero")]
    pub active: i32,
    #[serde(skip_serializing_if = "is_zero")]
    pub succeeded: i32,
    #[serde(skip_serializing_if = "is_zero")]
    pub failed: i32,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
fn is_zero(n: &i32) -> bool {
    *n == 0
}
