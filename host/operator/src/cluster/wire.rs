//! What we decode of each watched kind, and how it becomes a row of the index. Everything else in the objects
//! is skipped by serde and never held: a decoded `Pod` is 54 KiB, its row 0.2 KiB.

use std::{borrow::Cow, collections::BTreeMap};

use coxswain_model::{
    api::{MpiJob, wire},
    pin,
    seen::{
        ConfigSeen, LauncherEnd, LauncherSeen, ObjectSeen, PodFailure, PodGroupSeen, PodPhase, PodSeen, Role,
        SecretSeen, ServiceSeen, SliceSeen, Uid, Version,
    },
    step::Kind,
};
use jiff::Timestamp;
use k8s_openapi::{
    NamespaceResourceScope,
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time},
};
use kube::Resource;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{
    index::{JobRow, Named},
    key::JobKey,
};

/// Most bytes that are kept of an annotation that holds a digest, and of a uid: no real one has as many, and tenants can
/// write texts of any length there, on as many objects as they like.
const LONGEST: usize = 128;
/// Most keys that are kept of a map that we correct; what is beyond them, later passes correct. And the longest one: a
/// domain, a slash and a name.
const KEYS: usize = 64;
const LONGEST_KEY: usize = 317;

/// An object of a watched kind as decoded.
pub trait Wire: Resource<DynamicType = ()> {
    /// What is kept of it.
    type Row;

    /// It is decoded with its pod templates, so that it can take many times the memory of its JSON.
    const HOLDS_TEMPLATES: bool = false;

    /// To which job it belongs and what is kept of it; nothing if it is none of ours.
    fn row(self) -> Option<(JobKey, Self::Row)>;
}

macro_rules! wire_kind {
    ($type:ty, $group:literal, $version:literal, $kind:literal, $plural:literal, metadata only: $metadata:literal) => {
        impl Resource for $type {
            type DynamicType = ();
            type Scope = NamespaceResourceScope;

            fn kind((): &()) -> Cow<'_, str> {
                $kind.into()
            }
            fn group((): &()) -> Cow<'_, str> {
                $group.into()
            }
            fn version((): &()) -> Cow<'_, str> {
                $version.into()
            }
            fn plural((): &()) -> Cow<'_, str> {
                $plural.into()
            }
            fn metadata_api() -> bool {
                $metadata
            }
            fn meta(&self) -> &ObjectMeta {
                &self.metadata
            }
            fn meta_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }
        }
    };
}

/// Metadata without `managedFields`, which are half of a pod's bytes and, decoded, most of its memory.
pub(super) fn slim<'de, D: Deserializer<'de>>(from: D) -> Result<ObjectMeta, D::Error> {
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct Slim {
        name: Option<String>,
        namespace: Option<String>,
        uid: Option<String>,
        resource_version: Option<String>,
        generation: Option<i64>,
        creation_timestamp: Option<Time>,
        deletion_timestamp: Option<Time>,
        labels: Option<BTreeMap<String, String>>,
        annotations: Option<BTreeMap<String, String>>,
        owner_references: Option<Vec<OwnerReference>>,
    }
    let meta = Slim::deserialize(from)?;
    Ok(ObjectMeta {
        name: meta.name,
        namespace: meta.namespace,
        uid: meta.uid,
        resource_version: meta.resource_version,
        generation: meta.generation,
        creation_timestamp: meta.creation_timestamp,
        deletion_timestamp: meta.deletion_timestamp,
        labels: meta.labels,
        annotations: meta.annotations,
        owner_references: meta.owner_references,
        ..ObjectMeta::default()
    })
}

/// `MPIJob`, whole.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct JobWire {
    #[serde(deserialize_with = "slim")]
    metadata: ObjectMeta,
    spec: coxswain_model::api::mpijob::MpiJobSpec,
    status: Option<coxswain_model::api::mpijob::JobStatus>,
}
wire_kind!(JobWire, "kubeflow.org", "v2beta1", "MPIJob", "mpijobs", metadata only: false);

/// `Pod`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct PodWire {
    #[serde(deserialize_with = "slim")]
    metadata: ObjectMeta,
    spec: PodWireSpec,
    status: PodWireStatus,
}
wire_kind!(PodWire, "", "v1", "Pod", "pods", metadata only: false);

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PodWireSpec {
    scheduling_gates: Option<Vec<Gate>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Gate {
    name: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct PodWireStatus {
    phase: String,
    reason: String,
    message: String,
    conditions: Option<Vec<Condition>>,
    #[serde(rename = "containerStatuses")]
    containers: Option<Vec<ContainerStatus>>,
}

impl PodWireStatus {
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

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    reason: String,
    message: String,
    #[serde(rename = "lastTransitionTime")]
    last_transition_time: Option<Timestamp>,
}

/// `Service`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ServiceWire {
    #[serde(deserialize_with = "slim")]
    metadata: ObjectMeta,
    spec: ServiceWireSpec,
}
wire_kind!(ServiceWire, "", "v1", "Service", "services", metadata only: false);

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ServiceWireSpec {
    selector: Option<BTreeMap<String, String>>,
    publish_not_ready_addresses: bool,
}

/// `EndpointSlice` of a Service. It has the Service's labels.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct SliceWire {
    #[serde(deserialize_with = "slim")]
    metadata: ObjectMeta,
    endpoints: Option<Vec<Endpoint>>,
}
wire_kind!(
    SliceWire, "discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", metadata only: false
);

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Endpoint {
    addresses: Vec<String>,
    conditions: EndpointConditions,
    hostname: Option<String>,
    target_ref: Option<Target>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct EndpointConditions {
    ready: Option<bool>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Target {
    uid: String,
}

/// `ConfigMap`, metadata alone.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ConfigWire {
    #[serde(deserialize_with = "slim")]
    metadata: ObjectMeta,
}
wire_kind!(ConfigWire, "", "v1", "ConfigMap", "configmaps", metadata only: true);

/// `Secret`, metadata alone: the values never enter the process.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct SecretWire {
    #[serde(deserialize_with = "slim")]
    metadata: ObjectMeta,
}
wire_kind!(SecretWire, "", "v1", "Secret", "secrets", metadata only: true);

/// `Job` of the launcher.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct LauncherWire {
    #[serde(deserialize_with = "slim")]
    metadata: ObjectMeta,
    spec: LauncherWireSpec,
    status: LauncherWireStatus,
}
wire_kind!(LauncherWire, "batch", "v1", "Job", "jobs", metadata only: false);

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct LauncherWireSpec {
    suspend: Option<bool>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct LauncherWireStatus {
    start_time: Option<Timestamp>,
    completion_time: Option<Timestamp>,
    failed: i32,
    conditions: Option<Vec<Condition>>,
}

/// `PodGroup` of Volcano.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct VolcanoGroupWire {
    #[serde(deserialize_with = "slim")]
    metadata: ObjectMeta,
    spec: GroupWireSpec,
}
wire_kind!(
    VolcanoGroupWire, "scheduling.volcano.sh", "v1beta1", "PodGroup", "podgroups", metadata only: false
);

/// `PodGroup` of scheduler-plugins.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct CoschedulingGroupWire {
    #[serde(deserialize_with = "slim")]
    metadata: ObjectMeta,
    spec: GroupWireSpec,
}
wire_kind!(
    CoschedulingGroupWire, "scheduling.x-k8s.io", "v1alpha1", "PodGroup", "podgroups", metadata only: false
);

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct GroupWireSpec {
    min_resources: Option<BTreeMap<String, Value>>,
}

impl Wire for JobWire {
    type Row = JobRow;

    const HOLDS_TEMPLATES: bool = true;

    fn row(self) -> Option<(JobKey, JobRow)> {
        let Self { metadata: meta, spec, status } = self;
        let metadata = coxswain_model::api::mpijob::Metadata {
            name: meta.name?,
            namespace: meta.namespace?,
            uid: meta.uid.unwrap_or_default(),
            resource_version: meta.resource_version.unwrap_or_default(),
            generation: meta.generation.unwrap_or_default(),
            deletion_timestamp: meta.deletion_timestamp.map(|Time(time)| time),
            labels: meta.labels.unwrap_or_default(),
            annotations: meta.annotations.unwrap_or_default(),
        };
        let key = JobKey::new(&metadata.namespace, &metadata.name);
        Some((key, JobRow::new(&MpiJob { metadata, spec, status })))
    }
}

impl Wire for PodWire {
    type Row = PodSeen;

    fn row(self) -> Option<(JobKey, PodSeen)> {
        let Self { metadata: meta, spec, status } = self;
        let job = labelled(&meta, wire::LABEL_JOB_NAME)?;
        let name = meta.name.as_deref()?;
        let role = meta.labels.as_ref()?.get(wire::LABEL_JOB_ROLE)?.as_str();
        let (role, index, name) = match role {
            wire::ROLE_LAUNCHER => (Role::Launcher, 0, name.into()),
            wire::ROLE_WORKER => (Role::Worker, worker_index(&job.name, name)?, Box::default()),
            _ => return None,
        };
        let gates = spec.scheduling_gates.unwrap_or_default();
        let phase = match status.phase.as_str() {
            "Running" => PodPhase::Running,
            "Succeeded" => PodPhase::Succeeded,
            "Failed" => PodPhase::Failed,
            "Unknown" => PodPhase::Unknown,
            _ => PodPhase::Pending,
        };
        let finished = status.finished();
        let attempt = status.started().filter(|_| role == Role::Launcher).map(Box::new);
        let failure = (phase == PodPhase::Failed)
            .then(|| Box::new(PodFailure { reason: status.reason, message: status.message, finished }));
        let is_ready = |condition: &Condition| condition.kind == "Ready" && condition.status == "True";
        let row = PodSeen {
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
            gate: gates.iter().position(|gate| gate.name == wire::GATE_WORKERS),
            attempt,
            failure,
        };
        Some((job, row))
    }
}

impl Wire for ServiceWire {
    type Row = Named<ServiceSeen>;

    fn row(self) -> Option<(JobKey, Self::Row)> {
        let job = labelled(&self.metadata, wire::LABEL_JOB)?;
        let selector = self.spec.selector.unwrap_or_default();
        let ours = [(wire::LABEL_OPERATOR_NAME, wire::OPERATOR_NAME), (wire::LABEL_JOB_NAME, &*job.name)];
        let extra = selector.keys().filter(|key| ours.iter().all(|(our, _)| our != key));
        let seen = ServiceSeen {
            object: object(&self.metadata),
            selects_job: ours.iter().all(|(key, value)| selector.get(*key).is_some_and(|v| v == value))
                && selector.len() == ours.len(),
            extra_selectors: keys(extra),
            publishes_not_ready: self.spec.publish_not_ready_addresses,
        };
        Some((job, Named::new(&self.metadata, seen)))
    }
}

impl Wire for SliceWire {
    type Row = Named<SliceSeen>;

    fn row(self) -> Option<(JobKey, Self::Row)> {
        let job = labelled(&self.metadata, wire::LABEL_JOB)?;
        // As CoreDNS reads them: an endpoint without a word on readiness is ready.
        let is_published = |endpoint: &Endpoint| {
            endpoint.conditions.ready != Some(false)
                && !endpoint.addresses.is_empty()
                && endpoint.hostname.as_deref().is_some_and(|name| !name.is_empty())
        };
        let endpoints = self.endpoints.into_iter().flatten().filter(is_published);
        let pods = endpoints.filter_map(|endpoint| Some(Uid::from(clipped(&endpoint.target_ref?.uid))));
        let seen = SliceSeen { object: object(&self.metadata), pods: pods.collect() };
        Some((job, Named::new(&self.metadata, seen)))
    }
}

impl Wire for ConfigWire {
    type Row = Named<ConfigSeen>;

    fn row(self) -> Option<(JobKey, Self::Row)> {
        let job = labelled(&self.metadata, wire::LABEL_JOB)?;
        let mut object = object(&self.metadata);
        if object.controller.is_none() {
            let owners = self.metadata.owner_references.iter().flatten();
            object.controller = owners
                .filter(|owner| owner.kind == wire::KIND && owner.api_version == wire::API_VERSION)
                .map(|owner| Uid::from(clipped(&owner.uid)))
                .next();
        }
        let seen = ConfigSeen {
            object,
            content: annotation(&self.metadata, wire::ANNOTATION_CONTENT).map(|text| clipped(text).into()),
            pin: annotation(&self.metadata, wire::ANNOTATION_PIN).map(pin::kept),
        };
        Some((job, Named::new(&self.metadata, seen)))
    }
}

impl Wire for SecretWire {
    type Row = Named<SecretSeen>;

    fn row(self) -> Option<(JobKey, Self::Row)> {
        let job = labelled(&self.metadata, wire::LABEL_JOB)?;
        let seen = SecretSeen {
            object: object(&self.metadata),
            has_known_hosts: annotation(&self.metadata, wire::ANNOTATION_SSH_HOST_KEYS).is_some(),
        };
        Some((job, Named::new(&self.metadata, seen)))
    }
}

impl Wire for LauncherWire {
    type Row = Named<LauncherSeen>;

    fn row(self) -> Option<(JobKey, Self::Row)> {
        let job = labelled(&self.metadata, wire::LABEL_JOB)?;
        let status = self.status;
        let ended = |condition: &&Condition| {
            matches!(condition.kind.as_str(), "Complete" | "Failed") && condition.status == "True"
        };
        let end = status.conditions.iter().flatten().find(ended).map(|condition| LauncherEnd {
            complete: condition.kind == "Complete",
            reason: condition.reason.clone(),
            message: condition.message.clone(),
            time: status.completion_time,
        });
        let seen = LauncherSeen {
            object: object(&self.metadata),
            pin: annotation(&self.metadata, wire::ANNOTATION_PIN).map(pin::kept),
            suspended: self.spec.suspend.unwrap_or(false),
            started: status.start_time.is_some(),
            failed: status.failed,
            end,
        };
        Some((job, Named::new(&self.metadata, seen)))
    }
}

impl Wire for VolcanoGroupWire {
    type Row = Named<PodGroupSeen>;

    fn row(self) -> Option<(JobKey, Self::Row)> {
        group(&self.metadata, self.spec, Kind::VolcanoPodGroup)
    }
}

impl Wire for CoschedulingGroupWire {
    type Row = Named<PodGroupSeen>;

    fn row(self) -> Option<(JobKey, Self::Row)> {
        group(&self.metadata, self.spec, Kind::SchedulerPluginsPodGroup)
    }
}

/// `PodGroups` are not found by label: the MPI Operator gives them none, and the cluster's others are not ours
/// to filter. Their controller names the job.
fn group(meta: &ObjectMeta, spec: GroupWireSpec, kind: Kind) -> Option<(JobKey, Named<PodGroupSeen>)> {
    let owner = meta.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))?;
    if owner.kind != wire::KIND || owner.api_version != wire::API_VERSION {
        return None;
    }
    let job = JobKey::new(meta.namespace.as_deref()?, &owner.name);
    let resources = spec.min_resources.unwrap_or_default();
    let seen = PodGroupSeen {
        kind,
        object: object(meta),
        content: annotation(meta, wire::ANNOTATION_CONTENT).map(|text| clipped(text).into()),
        resources: keys(resources.keys()),
    };
    Some((job, Named::new(meta, seen)))
}

/// The job that the label names, in the object's namespace.
fn labelled(meta: &ObjectMeta, label: &str) -> Option<JobKey> {
    Some(JobKey::new(meta.namespace.as_deref()?, meta.labels.as_ref()?.get(label)?))
}

fn annotation<'a>(meta: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    meta.annotations.as_ref()?.get(key).map(String::as_str)
}

fn uid(meta: &ObjectMeta) -> Uid {
    Uid::from(meta.uid.as_deref().unwrap_or_default())
}

fn version(meta: &ObjectMeta) -> Version {
    Version::from(meta.resource_version.as_deref().unwrap_or_default())
}

fn controller(meta: &ObjectMeta) -> Option<Uid> {
    let owner = meta.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))?;
    Some(Uid::from(clipped(&owner.uid)))
}

fn keys<'a>(all: impl Iterator<Item = &'a String>) -> Vec<Box<str>> {
    all.filter(|key| key.len() <= LONGEST_KEY).take(KEYS).map(|key| key.as_str().into()).collect()
}

fn clipped(text: &str) -> &str {
    text.get(..text.floor_char_boundary(LONGEST)).unwrap_or_default()
}

fn object(meta: &ObjectMeta) -> ObjectSeen {
    ObjectSeen {
        uid: uid(meta),
        version: version(meta),
        controller: controller(meta),
        deleting: meta.deletion_timestamp.is_some(),
    }
}

/// 3 of `pi-worker-3`; nothing if that is not how the worker of that index is called.
fn worker_index(job: &str, name: &str) -> Option<u32> {
    let digits = name.strip_prefix(job)?.strip_prefix("-worker-")?;
    let index: u32 = digits.parse().ok()?;
    (index.to_string() == digits).then_some(index)
}

#[cfg(test)]
mod tests;
