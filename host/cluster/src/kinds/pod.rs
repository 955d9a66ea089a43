//! `Pod`: workers and launchers' pods.

use coxswain_model::{
    api::{labels, scheduling},
    kind::{MPI_JOB, RunBy},
    names::PodName,
    observed::{ObservedPod, PodFailure, PodPhase, Uid, Version},
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use serde::Deserialize;
use std::cmp::Ordering;

use super::condition::Condition;
use crate::{
    index::Index,
    key::JobKey,
    kind::{Facts, Watched, Written},
    limiter::Flow,
    metadata::{controller, labelled, slim, uid, version},
    table::{Row, Table},
};

/// `Pod`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct DecodedPod {
    #[serde(deserialize_with = "slim")]
    metadata: ObjectMeta,
    spec: Spec,
    status: Status,
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
    phase: String,
    reason: String,
    message: String,
    conditions: Option<Vec<Condition>>,
    #[serde(rename = "containerStatuses")]
    containers: Option<Vec<ContainerStatus>>,
}

impl Status {
    /// When a pod that has ended did so. A pod that was evicted or whose node is gone may not say so of its containers.
    fn finished(&self) -> Option<Timestamp> {
        let containers = self.containers.iter().flatten();
        let ended = containers.filter_map(|one| one.state.terminated.as_ref()?.finished_at).max();
        let is_ready = |condition: &&Condition| condition.kind == "Ready";
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
        let job = labelled(&meta, labels::LABEL_JOB_NAME)?;
        let name = meta.name.as_deref()?;
        let role = meta.labels.as_ref()?.get(labels::LABEL_JOB_ROLE)?.as_str();
        let role = MPI_JOB.named(role)?;
        let (index, name) = match role.id.run_by() {
            RunBy::Job => (0, name.into()),
            RunBy::Pods => (PodName::index(name, &job.name, role.name)?, Box::default()),
        };
        let role = role.id;
        let gates = spec.scheduling_gates.unwrap_or_default();
        let phase = match status.phase.as_str() {
            "Running" => PodPhase::Running,
            "Succeeded" => PodPhase::Succeeded,
            "Failed" => PodPhase::Failed,
            "Unknown" => PodPhase::Unknown,
            _ => PodPhase::Pending,
        };
        let finished = status.finished();
        let attempt = status.started().filter(|_| role.is_driver()).map(Box::new);
        let failure = (phase == PodPhase::Failed)
            .then(|| Box::new(PodFailure { reason: status.reason, message: status.message, finished }));
        let is_ready = |condition: &Condition| condition.kind == "Ready" && condition.status == "True";
        let row = ObservedPod {
            role,
            index,
            name,
            uid: uid(&meta),
            version: version(&meta),
            controller: controller(&meta),
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
