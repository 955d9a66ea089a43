//! One role's pods.

use serde_json::Value;

use crate::json::at;

/// `restartPolicy` of a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "Kubernetes' own names")]
pub enum RestartPolicy {
    Never,
    OnFailure,
}

impl RestartPolicy {
    /// As it stands in a pod's spec.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Never => "Never",
            Self::OnFailure => "OnFailure",
        }
    }
}

/// One role's pods.
#[derive(Clone, Debug, PartialEq)]
pub struct Replica {
    pub(super) replicas: u32,
    pub(super) template: Value,
    pub(super) restart_policy: RestartPolicy,
}

impl Replica {
    /// 1 for the launcher, at least 1 for workers.
    pub fn replicas(&self) -> u32 {
        self.replicas
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
