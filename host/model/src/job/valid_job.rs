//! A job behind its parsing.

use std::collections::BTreeMap;

use super::{
    group::Group,
    groups::Groups,
    options::{JobOptions, LostWorker},
    run_policy::CleanPodPolicy,
};
use crate::{
    api::mpijob::{JobStatus, SchedulingPolicy},
    kind::{JobKind, PodId},
    names::{Names, PodName},
    object::{Uid, Version},
};

/// When the launcher Job is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LauncherCreation {
    /// With the workers.
    AtStartup,
    /// Once all workers are Ready. Any value but `AtStartup` means this, as in the MPI Operator.
    WaitForWorkersReady,
}

/// A job that cannot be wrong: only its parsing makes one, and nothing changes it but a pin.
#[derive(Clone, Debug, PartialEq)]
pub struct ValidJob {
    pub(super) names: Names,
    pub(super) uid: Uid,
    pub(super) version: Version,
    pub(super) generation: i64,
    pub(super) slots: u32,
    pub(super) implementation: String,
    pub(super) ssh_mount_path: String,
    pub(super) launcher_creation: LauncherCreation,
    pub(super) groups: Groups,
    pub(super) clean_pod_policy: CleanPodPolicy,
    pub(super) ttl_seconds_after_finished: Option<u32>,
    pub(super) active_deadline_seconds: Option<u64>,
    pub(super) backoff_limit: Option<u32>,
    pub(super) scheduling_policy: SchedulingPolicy,
    pub(super) suspended: bool,
    pub(super) options: JobOptions,
    pub(super) annotations: BTreeMap<String, String>,
    pub(super) status: JobStatus,
}

impl ValidJob {
    /// What kind of job it is.
    pub fn kind(&self) -> &'static JobKind {
        self.groups.kind
    }

    /// All names that belong to it.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// `metadata.uid`.
    pub fn uid(&self) -> &Uid {
        &self.uid
    }

    /// `metadata.resourceVersion`.
    pub fn version(&self) -> Version {
        self.version
    }

    /// `metadata.generation`.
    pub fn generation(&self) -> i64 {
        self.generation
    }

    /// Ranks on each host.
    pub fn slots(&self) -> u32 {
        self.slots
    }

    /// `spec.mpiImplementation`; whether a plugin serves it is not decided here.
    pub fn implementation(&self) -> &str {
        &self.implementation
    }

    /// Where the key pair is mounted.
    pub fn ssh_mount_path(&self) -> &str {
        &self.ssh_mount_path
    }

    /// When the launcher Job is created.
    pub fn launcher_creation(&self) -> LauncherCreation {
        self.launcher_creation
    }

    /// Its pods, by role.
    pub fn groups(&self) -> &Groups {
        &self.groups
    }

    /// The group that starts the run and decides how it ends: the launcher.
    pub fn driver(&self) -> &Group {
        self.groups.driver()
    }

    /// What is removed at the end.
    pub fn clean_pod_policy(&self) -> CleanPodPolicy {
        self.clean_pod_policy
    }

    /// Copied to the launcher Job.
    pub fn ttl_seconds_after_finished(&self) -> Option<u32> {
        self.ttl_seconds_after_finished
    }

    /// Copied to the launcher Job.
    pub fn active_deadline_seconds(&self) -> Option<u64> {
        self.active_deadline_seconds
    }

    /// Copied to the launcher Job.
    pub fn backoff_limit(&self) -> Option<u32> {
        self.backoff_limit
    }

    /// For gang scheduling.
    pub fn scheduling_policy(&self) -> &SchedulingPolicy {
        &self.scheduling_policy
    }

    /// `spec.runPolicy.suspend`.
    pub fn is_suspended(&self) -> bool {
        self.suspended
    }

    /// What the annotations say.
    pub fn options(&self) -> &JobOptions {
        &self.options
    }

    /// All annotations (Volcano reads its queue there).
    pub fn annotations(&self) -> &BTreeMap<String, String> {
        &self.annotations
    }

    /// As stored now.
    pub fn status(&self) -> &JobStatus {
        &self.status
    }

    /// The same job under the cluster domain that its pin names.
    #[must_use]
    pub fn under_domain(mut self, cluster_domain: Option<&str>) -> Self {
        self.names = Names::new(self.names.job(), self.names.namespace(), cluster_domain);
        self
    }

    /// The same job as if its annotations named this launcher plugin, or none.
    #[must_use]
    pub fn with_plugin(mut self, name: Option<&str>) -> Self {
        self.options.plugin = name.map(str::to_owned);
        self
    }

    /// The same job as if its annotations named this tuner, too.
    #[must_use]
    pub fn with_tuner(mut self, name: &str) -> Self {
        if !self.options.tuners.iter().any(|tuner| tuner == name) {
            self.options.tuners.push(name.to_owned());
        }
        self
    }

    /// The same job as if its user wrote the whole command.
    #[must_use]
    pub fn without_rendered_command(mut self) -> Self {
        self.options.renders_command = false;
        self
    }

    /// The same job where the cluster says what a lost worker means, unless its annotations do.
    #[must_use]
    pub fn with_lost_worker_default(mut self, policy: LostWorker) -> Self {
        self.options.lost_worker.get_or_insert(policy);
        self
    }

    /// Number of workers that should exist while the job runs: pods that the operator makes itself, of all groups.
    pub fn workers(&self) -> u32 {
        self.groups.pods()
    }

    /// That pod is one of them.
    pub fn wants(&self, pod: PodId) -> bool {
        self.groups.of(pod.role).is_some_and(|group| pod.index < group.replicas())
    }

    /// Name of that pod, and of its host.
    pub fn pod_name(&self, pod: PodId) -> PodName {
        self.names.pod(self.kind().role(pod.role).name, pod.index)
    }

    /// The replica index label of worker `index`: the launcher takes 0 if it runs ranks.
    pub fn replica_index(&self, index: u32) -> u32 {
        index + u32::from(self.driver().runs_ranks())
    }

    /// Path of a file beside the key pair.
    pub fn ssh_file(&self, name: &str) -> String {
        format!("{}/{name}", self.ssh_mount_path.trim_end_matches('/'))
    }

    /// `team-a/pi`, for people.
    pub fn key(&self) -> String {
        format!("{}/{}", self.names.namespace(), self.names.job())
    }
}
