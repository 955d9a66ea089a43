//! A job behind its parsing.

use std::collections::BTreeMap;

use super::{annotations::Wishes, replica::Replica, run_policy::CleanPodPolicy};
use crate::{
    api::mpijob::{JobStatus, SchedulingPolicy},
    names::Names,
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

/// A job that cannot be wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct ValidJob {
    /// All names that belong to it.
    pub names: Names,
    /// `metadata.uid`.
    pub uid: Uid,
    /// `metadata.resourceVersion`.
    pub version: Version,
    /// `metadata.generation`.
    pub generation: i64,
    /// Ranks on each host.
    pub slots: u32,
    /// `spec.mpiImplementation`; whether a plugin serves it is not decided here.
    pub implementation: String,
    /// The launcher is a rank host too.
    pub launcher_runs_ranks: bool,
    /// Where the key pair is mounted.
    pub ssh_mount_path: String,
    /// When the launcher Job is created.
    pub launcher_creation: LauncherCreation,
    /// Runs `mpirun`.
    pub launcher: Replica,
    /// Absent: the launcher runs alone.
    pub worker: Option<Replica>,
    /// What is removed at the end.
    pub clean_pod_policy: CleanPodPolicy,
    /// Copied to the launcher Job.
    pub ttl_seconds_after_finished: Option<u32>,
    /// Copied to the launcher Job.
    pub active_deadline_seconds: Option<u64>,
    /// Copied to the launcher Job.
    pub backoff_limit: Option<u32>,
    /// For gang scheduling.
    pub scheduling_policy: SchedulingPolicy,
    /// `spec.runPolicy.suspend`.
    pub suspended: bool,
    /// What the annotations say.
    pub wishes: Wishes,
    /// All annotations (Volcano reads its queue there).
    pub annotations: BTreeMap<String, String>,
    /// As stored now.
    pub status: JobStatus,
}

impl ValidJob {
    /// The same job under the cluster domain that its pin names.
    #[must_use]
    pub fn under_domain(mut self, cluster_domain: Option<&str>) -> Self {
        self.names = Names::new(self.names.job(), self.names.namespace(), cluster_domain);
        self
    }

    /// Number of workers that should exist while the job runs.
    pub fn workers(&self) -> u32 {
        self.worker.as_ref().map_or(0, |worker| worker.replicas)
    }

    /// The replica index label of worker `index`: the launcher takes 0 if it runs ranks.
    pub fn replica_index(&self, index: u32) -> u32 {
        index + u32::from(self.launcher_runs_ranks)
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
