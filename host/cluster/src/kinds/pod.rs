//! `Pod`: workers and launchers' pods.

use coxswain_model::{
    api::{labels, scheduling},
    kind::{MPI_JOB, RunBy},
    names::PodName,
    observed::{ObservedPod, PodFailure, PodPhase, Uid, Version},
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::{Deserialize, de::IgnoredAny};
use std::cmp::Ordering;

use crate::{
    index::Index,
    key::JobKey,
    kind::{Facts, Watched, Written},
    limiter::Flow,
    metadata::clipped,
    table::{Row, Table},
};

/// `Pod`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct DecodedPod {
    metadata: PodMeta,
    spec: Spec,
    status: Status,
}

/// Of the metadata what makes the row, and nothing that would be built to be dropped: pods are most of what is watched.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PodMeta {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    creation_timestamp: Option<Time>,
    deletion_timestamp: Option<IgnoredAny>,
    labels: Option<Labels>,
    owner_references: Option<Vec<Owner>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Labels {
    #[serde(rename = "training.kubeflow.org/job-name")]
    job: Option<String>,
    #[serde(rename = "training.kubeflow.org/job-role")]
    role: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Owner {
    uid: String,
    controller: Option<bool>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    scheduling_gates: Option<Vec<Gate>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Gate {
    name: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
    phase: Phase,
    reason: String,
    message: String,
    conditions: Option<Vec<Condition>>,
    #[serde(rename = "containerStatuses")]
    containers: Option<Vec<ContainerStatus>>,
}

/// A phase that a later Kubernetes may add is none that has ended.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
enum Phase {
    Running,
    Succeeded,
    Failed,
    Unknown,
    #[default]
    #[serde(other)]
    Pending,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Condition {
    #[serde(rename = "type")]
    kind: ConditionKind,
    status: ConditionStatus,
    #[serde(rename = "lastTransitionTime")]
    last_transition_time: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
enum ConditionKind {
    Ready,
    #[default]
    #[serde(other)]
    Other,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
enum ConditionStatus {
    True,
    #[default]
    #[serde(other)]
    Other,
}

impl Status {
    /// When a pod that has ended did so. A pod that was evicted or whose node is gone may not say so of its containers.
    fn finished(&self) -> Option<Timestamp> {
        let containers = self.containers.iter().flatten();
        let ended = containers.filter_map(|one| one.state.terminated.as_ref()?.finished_at).max();
        let is_ready = |condition: &&Condition| condition.kind == ConditionKind::Ready;
        ended.or_else(|| self.conditions.iter().flatten().find(is_ready)?.last_transition_time)
    }

    /// When the last of its containers started, restarts included.
    fn started(&self) -> Option<Timestamp> {
        let started = |one: &ContainerStatus| {
            let ContainerState { running, terminated } = &one.state;
            running.as_ref().or(terminated.as_ref())?.started_at
        };
        self.containers.iter().flatten().filter_map(started).max()
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct ContainerStatus {
    state: ContainerState,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct ContainerState {
    running: Option<Span>,
    terminated: Option<Span>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Span {
    started_at: Option<Timestamp>,
    finished_at: Option<Timestamp>,
}

impl Watched for DecodedPod {
    const FACTS: Facts = Facts { kind: "Pod", api_version: "v1", plural: "pods", metadata_only: false };

    type Row = ObservedPod;

    /// In the MPI Operator's words.
    fn selector() -> Option<String> {
        Some(format!("{}={}", labels::LABEL_OPERATOR_NAME, labels::OPERATOR_NAME))
    }

    fn row(self) -> Option<(JobKey, ObservedPod)> {
        let Self { metadata: meta, spec, status } = self;
        let label = meta.labels.unwrap_or_default();
        let job = JobKey::new(&meta.namespace?, &label.job?);
        let name = meta.name.as_deref()?;
        let role = MPI_JOB.named(&label.role?)?;
        let (index, name) = match role.id.run_by() {
            RunBy::Job => (0, name.into()),
            RunBy::Pods => (PodName::index(name, &job.name, role.name)?, Box::default()),
        };
        let role = role.id;
        let gates = spec.scheduling_gates.unwrap_or_default();
        let phase = match status.phase {
            Phase::Running => PodPhase::Running,
            Phase::Succeeded => PodPhase::Succeeded,
            Phase::Failed => PodPhase::Failed,
            Phase::Unknown => PodPhase::Unknown,
            Phase::Pending => PodPhase::Pending,
        };
        let finished = status.finished();
        let attempt = status.started().filter(|_| role.is_driver()).map(Box::new);
        let failure = (phase == PodPhase::Failed)
            .then(|| Box::new(PodFailure { reason: status.reason, message: status.message, finished }));
        let is_ready = |condition: &Condition| {
            (condition.kind, condition.status) == (ConditionKind::Ready, ConditionStatus::True)
        };
        let owner = meta.owner_references.iter().flatten().find(|owner| owner.controller == Some(true));

        let row = ObservedPod {
            role,
            index,
            name,
            uid: Uid::from(meta.uid.as_deref().unwrap_or_default()),
            version: Version::from(meta.resource_version.as_deref().unwrap_or_default()),
            controller: owner.map(|owner| Uid::from(clipped(&owner.uid))),
            created: meta.creation_timestamp.map_or(Timestamp::UNIX_EPOCH, |Time(time)| time),
            phase,
            ready: status.conditions.iter().flatten().any(is_ready),
            deleting: meta.deletion_timestamp.is_some(),
            gate: gates.iter().position(|gate| gate.name == scheduling::GATE_WORKERS),
            attempt,
            failure,
        };
        Some((job, row))
    }

    fn rows(index: &Index) -> &Table<Self::Row> {
        &index.pods
    }

    fn table(index: &mut Index) -> &mut Table<Self::Row> {
        &mut index.pods
    }
}

impl Written for DecodedPod {
    const ANSWERED_BY_METADATA: bool = true;
    const HOLDS_USERS_TEMPLATE: bool = true;
    const FLOW: Flow = Flow::Pods;

    /// A worker's, whose name says its role: no other pod is made here.
    fn labels(job: &str, name: &str) -> Vec<(&'static str, String)> {
        let role = MPI_JOB.run_by_pods().find(|role| PodName::index(name, job, role.name).is_some());
        let role = role.map(|role| (labels::LABEL_JOB_ROLE, role.name.to_owned()));
        let of_job = [
            (labels::LABEL_OPERATOR_NAME, labels::OPERATOR_NAME.to_owned()),
            (labels::LABEL_JOB_NAME, job.to_owned()),
        ];
        of_job.into_iter().chain(role).collect()
    }
}

impl Row for ObservedPod {
    fn uid(&self) -> &Uid {
        &self.uid
    }

    fn version(&self) -> Version {
        self.version
    }

    fn set_version(&mut self, version: Version) {
        self.version = version;
    }

    fn set_deleting(&mut self) {
        self.deleting = true;
    }

    fn order(&self, other: &Self) -> Ordering {
        (self.role, self.index, &self.name).cmp(&(other.role, other.index, &other.name))
    }

    fn is_same(&self, other: &Self) -> bool {
        let Self {
            role,
            index,
            name,
            uid,
            version: _,
            controller,
            created,
            phase,
            ready,
            deleting,
            gate,
            attempt,
            failure,
        } = self;
        (*role, *index, *created, *phase) == (other.role, other.index, other.created, other.phase)
            && (*ready, *deleting, *gate) == (other.ready, other.deleting, other.gate)
            && (name, uid, controller) == (&other.name, &other.uid, &other.controller)
            && (attempt, failure) == (&other.attempt, &other.failure)
    }

    fn asks_dns(&self) -> bool {
        ObservedPod::asks_dns(self)
    }
}
