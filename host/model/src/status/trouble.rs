//! What keeps a job from being carried out, in words that tell its user what to change.

use crate::{api::wire::ANNOTATION_SSH_HOST_KEYS, plan::Violation};

/// Why a job could not be rendered. Becomes the condition `Accepted=False`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// No plugin serves `spec.mpiImplementation`.
    UnsupportedImplementation {
        /// What the job wants.
        wanted: String,
        /// What the cluster's plugins serve.
        served: Vec<String>,
    },
    /// An annotation names a plugin that is not loaded.
    UnknownPlugin {
        /// The annotation.
        annotation: String,
        /// The plugin that it names.
        wanted: String,
        /// Plugins that are loaded.
        known: Vec<String>,
    },
    /// A plugin refused the job, or the policy refused the plan, or an object would be too large.
    PlanRefused(Vec<Violation>),
    /// The job asks ssh to check host keys, but its Secret was made before it did.
    KnownHostsMissing {
        /// The Secret.
        secret: String,
    },
    /// A plugin broke down: the fault is the plugin's, not the user's.
    PluginFailed {
        /// `openmpi@0123456789ab`.
        plugin: String,
        /// What happened.
        fault: String,
    },
    /// The administrator keeps a plugin to other namespaces.
    PluginNotAllowed {
        /// The plugin.
        plugin: String,
        /// The job's namespace.
        namespace: String,
    },
    /// What renders the job is not known any more; its objects stay as they are.
    PinLost {
        /// What was found in place of the pin.
        why: String,
    },
}

impl Trouble {
    /// Reason of the condition and of the event.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::UnsupportedImplementation { .. } | Self::UnknownPlugin { .. } => {
                "UnsupportedImplementation"
            }
            Self::PlanRefused(_) => "PlanRefused",
            Self::KnownHostsMissing { .. } => "KnownHostsMissing",
            Self::PluginFailed { .. } => "PluginFailed",
            Self::PluginNotAllowed { .. } => "PluginNotAllowed",
            Self::PinLost { .. } => "PinLost",
        }
    }

    /// For the user; not yet shortened.
    pub fn message(&self) -> String {
        match self {
            Self::UnsupportedImplementation { wanted, served } => {
                let served = listed(served, "none");
                format!(
                    "spec.mpiImplementation: no plugin serves {wanted:?}: use one of the served implementations \
                     ({served}) or have a plugin for it loaded"
                )
            }
            Self::UnknownPlugin { annotation, wanted, known } => {
                let known = listed(known, "none");
                format!(
                    "metadata.annotations[{annotation}]: no plugin {wanted:?} is loaded: name one of the loaded \
                     plugins ({known}) or remove the annotation"
                )
            }
            Self::PlanRefused(violations) => {
                let one = |v: &Violation| format!("{}: {}", v.path, v.text);
                violations.iter().map(one).collect::<Vec<_>>().join("; ")
            }
            Self::KnownHostsMissing { secret } => format!(
                "metadata.annotations[{ANNOTATION_SSH_HOST_KEYS}]: Secret {secret} has no known hosts, as it was made \
                 before the annotation: remove the annotation, or delete the job and create it with the annotation"
            ),
            Self::PluginFailed { plugin, fault } => format!(
                "plugin {plugin} failed: {fault}: nothing of the job was changed; tell the cluster's administrator"
            ),
            Self::PluginNotAllowed { plugin, namespace } => format!(
                "plugin {plugin} is not for namespace {namespace}: the cluster's administrator lists the namespaces \
                 that may use it in its ConfigMap (data.namespaces); what exists of the job is left as it is"
            ),
            Self::PinLost { why } => format!(
                "{why}: what exists of the job is left as it is; it is not rendered anew, so that running ranks \
                 keep their configuration: delete the job and create it again to have it rendered by the plugins \
                 of today"
            ),
        }
    }
}

fn listed(names: &[String], empty: &str) -> String {
    if names.is_empty() { empty.to_owned() } else { names.join(", ") }
}
