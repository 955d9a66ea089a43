//! What the cluster holds of one job: a snapshot out of the watches' compact index. No full objects.

use std::{collections::HashSet, sync::Arc};

use jiff::Timestamp;

pub use crate::object::{Uid, Version};
use crate::{
    job::{Group, ValidJob},
    kind::{PodId, RoleId, RunBy},
    object::Kind,
};

/// Everything of one job that exists.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObservedState {
    /// Headless Service.
    pub service: Option<ObservedService>,
    /// ConfigMap with hostfile and script.
    pub config: Option<ObservedConfig>,
    /// ConfigMap with the files for every pod.
    pub files: Option<ObservedConfig>,
    /// Secret with the key pair; its values are never read.
    pub secret: Option<ObservedSecret>,
    /// Launcher Job. One that has ended and is gone stands here until the job's status says how it ended.
    pub launcher: Option<ObservedLauncher>,
    /// What became of it where there is none.
    pub launcher_gone: LauncherGone,
    /// Gang scheduling's group.
    pub pod_group: Option<ObservedPodGroup>,
    /// Worker and launcher pods: workers by group and index, then launcher pods by creation.
    pub pods: Vec<ObservedPod>,
    /// Pods whose host name the Service's `EndpointSlice`s hold: DNS answers from these.
    pub published: HashSet<Uid>,
    /// When a launcher pod of a job of this name left, this one or an earlier one: until then it may have asked DNS.
    /// Unknown once [`crate::gate::DNS_CACHE`] has passed, and of what left before the operator's process listed pods.
    pub asked: Option<Timestamp>,
}

/// What every object has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedObject {
    /// For preconditions.
    pub uid: Uid,
    /// For preconditions.
    pub version: Version,
    /// uid of the controller owner, if any; for the ConfigMap of files, which has none, of the owner of kind
    /// `MPIJob`.
    pub controller: Option<Uid>,
    /// Being deleted.
    pub deleting: bool,
}

/// A Service, with what we own of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedService {
    /// Identity.
    pub object: ObservedObject,
    /// The selector is the one we write.
    pub selects_job: bool,
    /// Keys of the selector that we do not write.
    pub extra_selectors: Vec<Box<str>>,
    /// `publishNotReadyAddresses`.
    pub publishes_not_ready: bool,
}

/// An `EndpointSlice` of the Service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedSlice {
    /// Identity.
    pub object: ObservedObject,
    /// Pods that it gives out by a host name of their own.
    pub pods: Box<[Uid]>,
}

/// The Secret, by its metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedSecret {
    /// Identity.
    pub object: ObservedObject,
    /// It was made with a `known_hosts` line, as annotation [`crate::api::annotations::ANNOTATION_SSH_HOST_KEYS`] tells.
    pub has_known_hosts: bool,
}

/// A ConfigMap, by the digest of its content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedConfig {
    /// Identity.
    pub object: ObservedObject,
    /// Annotation [`crate::api::annotations::ANNOTATION_CONTENT`].
    pub content: Option<Box<str>>,
    /// Annotation [`crate::api::annotations::ANNOTATION_PIN`].
    pub pin: Option<Arc<str>>,
}

/// The launcher Job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObservedLauncher {
    /// Identity.
    pub object: ObservedObject,
    /// Annotation [`crate::api::annotations::ANNOTATION_PIN`].
    pub pin: Option<Arc<str>>,
    /// `spec.suspend`.
    pub suspended: bool,
    /// `status.startTime` is set.
    pub started: bool,
    /// `status.failed`.
    pub failed: i32,
    /// A Complete or Failed condition that is True.
    pub end: Option<LauncherEnd>,
}

/// What became of a launcher Job that is not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LauncherGone {
    /// Nobody has looked whether there is one that the watches do not show.
    #[default]
    Unknown,
    /// The watch showed that it was deleted before it had ended.
    Deleted,
    /// The API server has none, and nobody saw how it ended.
    Unobserved,
}

/// How the launcher Job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LauncherEnd {
    /// Complete, or else Failed.
    pub complete: bool,
    /// Of the Failed condition.
    pub reason: String,
    /// Of the Failed condition.
    pub message: String,
    /// `status.completionTime` of a complete Job.
    pub time: Option<Timestamp>,
}

/// A `PodGroup`, by the digest of the spec that we wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedPodGroup {
    /// Which scheduler's.
    pub kind: Kind,
    /// `metadata.name`; that of a native gang changes with each start.
    pub name: Box<str>,
    /// Identity.
    pub object: ObservedObject,
    /// Annotation [`crate::api::annotations::ANNOTATION_CONTENT`].
    pub content: Option<Box<str>>,
    /// Keys of `spec.minResources`, so that a patch can take away those that are no longer wanted.
    pub resources: Vec<Box<str>>,
    /// What Kubernetes' own scheduler made of it; nothing for another scheduler's.
    pub native: Option<Box<ObservedNativeGang>>,
}

/// What is kept of a `PodGroup` of Kubernetes' own scheduler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedNativeGang {
    /// `spec.schedulingPolicy.gang.minCount`.
    pub min_count: u32,
    /// `spec.schedulingConstraints` was kept by the API server.
    pub has_topology: bool,
    /// So many of `spec.resourceClaims` were.
    pub claims: usize,
    /// Condition `PodGroupInitiallyScheduled`.
    pub scheduled: Option<InitiallyScheduled>,
}

/// Whether a gang was placed. Once it holds it holds for ever, whatever becomes of the pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitiallyScheduled {
    /// All members that it takes had a place.
    pub holds: bool,
    /// `Scheduled`, `Unschedulable`, `SchedulerError`.
    pub reason: Box<str>,
    /// The scheduler's words.
    pub message: Box<str>,
}

/// `status.phase`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "Kubernetes' own names")]
pub enum PodPhase {
    #[default]
    Pending,
    Running,
    Succeeded,
    Failed,
    Unknown,
}

/// One pod, about 0.2 KiB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedPod {
    /// Which role of its job's kind.
    pub role: RoleId,
    /// Which pod of its group, from its name; 0 for launchers.
    pub index: u32,
    /// Name of a launcher pod (the Job controller made it up); empty for workers, whose names follow from the two above.
    pub name: Box<str>,
    /// For preconditions.
    pub uid: Uid,
    /// For preconditions.
    pub version: Version,
    /// Controller owner: the `MPIJob` of a worker, the Job of a launcher pod.
    pub controller: Option<Uid>,
    /// `metadata.creationTimestamp`.
    pub created: Timestamp,
    /// What it is doing.
    pub phase: PodPhase,
    /// Condition Ready is True.
    pub ready: bool,
    /// Being deleted.
    pub deleting: bool,
    /// Position of our scheduling gate in `spec.schedulingGates`, while it is there.
    pub gate: Option<usize>,
    /// When the containers of a launcher pod last started: restarted in place, it keeps its pod.
    pub attempt: Option<Box<Timestamp>>,
    /// `status.reason` and `status.message` of a failed pod.
    pub failure: Option<Box<PodFailure>>,
    /// What keeps a pod that has not ended from being Ready, as far as Kubernetes says so.
    pub blocker: Option<Box<PodBlocker>>,
}

/// Why a pod is not Ready, in Kubernetes' words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodBlocker {
    /// `Unschedulable`, `PreemptionByScheduler`, `ImagePullBackOff`, `CrashLoopBackOff` and the like.
    pub reason: Box<str>,
    /// The beginning of what is said about it.
    pub message: Box<str>,
}

/// Why a pod failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodFailure {
    /// Such as `Evicted`; often empty.
    pub reason: String,
    /// Often empty.
    pub message: String,
    /// When the last of its containers ended, or, where none says so, when it stopped being Ready.
    pub finished: Option<Timestamp>,
}

impl ObservedState {
    /// Worker pods, of whatever group and owner.
    pub fn workers(&self) -> impl Iterator<Item = &ObservedPod> {
        self.pods.iter().filter(|pod| pod.role.run_by() == RunBy::Pods)
    }

    /// Worker pods that belong to this very job, also those beyond its replicas.
    pub fn workers_of<'a>(&'a self, job: &'a ValidJob) -> impl Iterator<Item = &'a ObservedPod> {
        self.workers().filter(|pod| pod.controller.as_ref() == Some(job.uid()))
    }

    /// Those of them that it still wants.
    pub fn wanted_workers_of<'a>(&'a self, job: &'a ValidJob) -> impl Iterator<Item = &'a ObservedPod> {
        job.groups().run_by_pods().flat_map(|group| self.group_of(job, group))
    }

    /// Pods of one group, of whatever owner and index.
    pub fn group(&self, group: &Group) -> impl Iterator<Item = &ObservedPod> + use<'_> {
        let role = group.id();
        self.pods.iter().filter(move |pod| pod.role == role)
    }

    /// Pods of one group that belong to this very job and that it still wants.
    pub fn group_of<'a>(
        &'a self,
        job: &'a ValidJob,
        group: &'a Group,
    ) -> impl Iterator<Item = &'a ObservedPod> {
        let owned = |pod: &&ObservedPod| pod.controller.as_ref() == Some(job.uid());
        self.group(group).filter(|pod| pod.index < group.replicas()).filter(owned)
    }

    /// The launcher Job if it belongs to this very job.
    pub fn launcher_of(&self, job: &ValidJob) -> Option<&ObservedLauncher> {
        self.launcher.as_ref().filter(|launcher| launcher.object.is_controlled_by(job.uid()))
    }

    /// Launcher pods that the launcher Job controls.
    pub fn launcher_pods(&self) -> impl Iterator<Item = &ObservedPod> {
        let job = self.launcher.as_ref().map(|launcher| &launcher.object.uid);
        self.pods.iter().filter(move |pod| {
            pod.role.run_by() == RunBy::Job && job.is_some_and(|uid| pod.controller.as_ref() == Some(uid))
        })
    }
}

impl ObservedObject {
    /// Its controller is the owner with this uid.
    pub fn is_controlled_by(&self, owner: &Uid) -> bool {
        self.controller.as_ref() == Some(owner)
    }
}

impl ObservedPod {
    /// Which pod of its job, if it is none of a launcher.
    pub fn id(&self) -> PodId {
        PodId { role: self.role, index: self.index }
    }

    /// It may ask DNS for its job's hosts: a launcher that has started, or may at any moment.
    pub fn asks_dns(&self) -> bool {
        self.role.is_driver() && self.gate.is_none() && !self.is_terminal()
    }

    /// Phase Succeeded or Failed: it will not run again.
    pub fn is_terminal(&self) -> bool {
        matches!(self.phase, PodPhase::Succeeded | PodPhase::Failed)
    }
}
