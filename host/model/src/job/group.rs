//! One group of pods: those of one role.

use serde_json::Value;

use crate::{
    json::at,
    kind::{RestartPolicy, Role, RoleId},
};

/// Pods that are alike up to their index.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    pub(super) role: &'static Role,
    pub(super) replicas: u32,
    pub(super) template: Value,
    pub(super) restart_policy: RestartPolicy,
    pub(super) runs_ranks: bool,
}

impl Group {
    /// Which role of the job's kind.
    pub fn id(&self) -> RoleId {
        self.role.id
    }

    /// What the kind says of that role.
    pub fn role(&self) -> &'static Role {
        self.role
    }

    /// As many as the role allows.
    pub fn replicas(&self) -> u32 {
        self.replicas
    }

    /// Its pods execute ranks.
    pub fn runs_ranks(&self) -> bool {
        self.runs_ranks
    }

    /// `PodTemplateSpec` with at least one container, otherwise as the user wrote it.
    pub fn template(&self) -> &Value {
        &self.template
    }

    /// Replaces the template's.
    pub fn restart_policy(&self) -> RestartPolicy {
        self.restart_policy
    }

    /// `template.spec`.
    pub fn pod_spec(&self) -> &Value {
        at(&self.template, "/spec")
    }

    /// The main container: the first one.
    pub fn container(&self) -> &Value {
        at(&self.template, "/spec/containers/0")
    }

    /// The template asks for the node's network.
    pub fn host_network(&self) -> bool {
        at(self.pod_spec(), "/hostNetwork") == &Value::Bool(true)
    }
}
