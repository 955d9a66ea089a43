//! `Pod`: workers and launchers' pods.

use coxswain_model::{
    api::{labels, scheduling},
    kind::{MPI_JOB, Role, RunBy},
    names::{self, PodName},
    observed::{ObservedPod, PodBlocker, PodFailure, PodPhase, Uid, Version},
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
    kind: OwnerKind,
    name: String,
    uid: String,
    controller: Option<bool>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
enum OwnerKind {
    /// Of a launcher's pod.
    Job,
    /// Of a worker.
    #[serde(rename = "MPIJob")]
    MpiJob,
    #[default]
    #[serde(other)]
    Other,
}

impl Owner {
    /// The job that it is, or belongs to.
    fn job(&self) -> Option<&str> {
        match self.kind {
            OwnerKind::MpiJob => Some(&self.name),
            OwnerKind::Job => names::job_of_launcher(&self.name),
            OwnerKind::Other => None,
        }
    }
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
    #[serde(rename = "initContainerStatuses")]
    init_containers: Option<Vec<ContainerStatus>>,
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
    reason: Option<String>,
    message: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
enum ConditionKind {
    Ready,
    PodScheduled,
    DisruptionTarget,
    #[default]
    #[serde(other)]
    Other,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
enum ConditionStatus {
    True,
    False,
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

    /// Why it is not Ready: it is taken away, finds no place, or a container waits for more than its turn.
    fn blocker(&self) -> Option<PodBlocker> {
        let condition = |kind, status| {
            let found =
                self.conditions.iter().flatten().find(|one| (one.kind, one.status) == (kind, status))?;
            Some((found.reason.as_deref()?, found.message.as_deref()))
        };
        let containers = || self.init_containers.iter().chain(&self.containers).flatten();
        let waiting = |one: &'_ ContainerStatus| {
            let waiting = one.state.waiting.as_ref()?;
            let reason = waiting.reason.clone().filter(|reason| !STARTING.contains(&reason.as_str()))?;
            Some((reason, waiting.message.clone()))
        };
        let (reason, message) = condition(ConditionKind::DisruptionTarget, ConditionStatus::True)
            .or_else(|| condition(ConditionKind::PodScheduled, ConditionStatus::False))
            .map(|(reason, message)| (reason.to_owned(), message.map(str::to_owned)))
            .or_else(|| containers().find_map(waiting))?;
        let kept = |text: &str| text.get(..text.floor_char_boundary(MOST_MESSAGE)).unwrap_or_default().into();
        Some(PodBlocker { reason: clipped(&reason).into(), message: kept(&message.unwrap_or_default()) })
    }

    /// When the last of its containers started, restarts included.
    fn started(&self) -> Option<Timestamp> {
        let started = |one: &ContainerStatus| {
            let ContainerState { running, terminated, .. } = &one.state;
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
    waiting: Option<Waiting>,
    running: Option<Span>,
    terminated: Option<Span>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Waiting {
    reason: Option<String>,
    message: Option<String>,
}

/// What every container waits for before it starts.
const STARTING: [&str; 2] = ["ContainerCreating", "PodInitializing"];
/// The scheduler's words list every node's reason; what is most frequent comes first.
const MOST_MESSAGE: usize = 256;

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
        let owner = meta.owner_references.iter().flatten().find(|owner| owner.controller == Some(true));
        // The labels are its tenant's to change; whose it is they do not change.
        let job = JobKey::new(&meta.namespace?, owner.and_then(Owner::job).or(label.job.as_deref())?);
        let name = meta.name.as_deref()?;
        let role = match owner.map(|owner| owner.kind) {
            Some(OwnerKind::Job) => MPI_JOB.driver(),
            Some(OwnerKind::MpiJob) => {
                let by_name = |role: &&Role| PodName::index(name, &job.name, role.name).is_some();
                MPI_JOB.run_by_pods().find(by_name).or_else(|| MPI_JOB.named(label.role.as_deref()?))?
            }
            Some(OwnerKind::Other) | None => MPI_JOB.named(&label.role?)?,
        };
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
        let blocker = status.blocker();
        let attempt = status.started().filter(|_| role.is_driver()).map(Box::new);
        let failure = (phase == PodPhase::Failed)
            .then(|| Box::new(PodFailure { reason: status.reason, message: status.message, finished }));
        let is_ready = |condition: &Condition| {
            (condition.kind, condition.status) == (ConditionKind::Ready, ConditionStatus::True)
        };
        let ready = status.conditions.iter().flatten().any(is_ready);
        let blocker = blocker.filter(|_| {
            !matches!(phase, PodPhase::Succeeded | PodPhase::Failed)
                && (!ready || meta.deletion_timestamp.is_some())
        });
        let row = ObservedPod {
            role,
            index,
            name,
            uid: Uid::from(meta.uid.as_deref().unwrap_or_default()),
            version: Version::from(meta.resource_version.as_deref().unwrap_or_default()),
            controller: owner.map(|owner| Uid::from(clipped(&owner.uid))),
            created: meta.creation_timestamp.map_or(Timestamp::UNIX_EPOCH, |Time(time)| time),
            phase,
            ready,
            deleting: meta.deletion_timestamp.is_some(),
            gate: gates.iter().position(|gate| gate.name == scheduling::GATE_WORKERS),
            attempt,
            failure,
            blocker: blocker.map(Box::new),
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
            blocker,
        } = self;
        (*role, *index, *created, *phase) == (other.role, other.index, other.created, other.phase)
            && (*ready, *deleting, *gate) == (other.ready, other.deleting, other.gate)
            && (name, uid, controller) == (&other.name, &other.uid, &other.controller)
            && (attempt, failure, blocker) == (&other.attempt, &other.failure, &other.blocker)
    }

    fn asks_dns(&self) -> bool {
        ObservedPod::asks_dns(self)
    }
}
