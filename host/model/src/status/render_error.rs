//! What keeps a job from being carried out, in words that tell its user what to change.

use crate::{
    api::annotations::{ANNOTATION_PIN, ANNOTATION_SETTING_SUFFIX, ANNOTATION_SSH_HOST_KEYS},
    job::ValidJob,
    pin::{self, Pin},
    plan::Violation,
};

/// Why a job could not be rendered. Becomes the condition `Accepted=False`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RenderError {
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

impl RenderError {
    /// A plugin finds mistakes of the user's. It names a setting by its key alone, as it does not know who set it.
    pub fn refused_by(plugin: &str, job: &ValidJob, violations: Vec<Violation>) -> Self {
        let of_job = job.options().settings.get(plugin);
        let named = |Violation { path, text }| {
            let path = if is_field(&path) {
                path
            } else if of_job.is_some_and(|settings| settings.contains_key(&path)) {
                format!("metadata.annotations[{plugin}{ANNOTATION_SETTING_SUFFIX}/{path}]")
            } else {
                format!("setting {path} of plugin {plugin}")
            };
            Violation { path, text }
        };
        Self::PlanRefused(violations.into_iter().map(named).collect())
    }

    /// A pin that would be longer than any that is honoured.
    pub fn too_long(pin: &Pin) -> Option<Self> {
        let bytes = pin.to_annotation().len();
        let text = format!(
            "what the job is rendered by (plugins, their settings, what its device claims say) takes {bytes} bytes, {} at \
             most: shorten the settings, or put them into a file of the image",
            pin::MOST
        );
        let path = format!("metadata.annotations[{ANNOTATION_PIN}]");
        (bytes > pin::MOST).then(|| Self::PlanRefused(vec![Violation { path, text }]))
    }

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

/// A path into the job, where a setting has a key.
fn is_field(path: &str) -> bool {
    path.starts_with("spec.") || path.starts_with("metadata.")
}

fn listed(names: &[String], empty: &str) -> String {
    if names.is_empty() { empty.to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use coxswain_test_support::job::Job;

    use super::*;
    use crate::{
        pin::{Digest, PinnedPlugin},
        testing::parsed,
    };

    #[test]
    fn a_wrong_setting_is_named_as_whoever_set_it_wrote_it() {
        let job = parsed(&Job::new("pi", 0).annotate("openmpi.coxswain.dev/tree-spawn", "yes"));
        let wrong = |path: &str| Violation { path: path.into(), text: "is wrong".into() };
        let found = ["tree-spawn", "ssh-args", "spec.slotsPerWorker"].map(wrong);

        let render_error = RenderError::refused_by("openmpi", &job, found.to_vec());

        assert_eq!(
            render_error.message(),
            "metadata.annotations[openmpi.coxswain.dev/tree-spawn]: is wrong; setting ssh-args of plugin openmpi: is \
             wrong; spec.slotsPerWorker: is wrong"
        );
    }

    #[test]
    fn a_pin_that_nobody_would_honour_is_not_made() {
        let pin = |settings: usize| {
            let settings = [("ssh-args".to_owned(), "x".repeat(settings))].into();
            let launcher = PinnedPlugin { name: "openmpi".into(), digest: Digest::of(b""), settings };
            Pin { launcher, tuners: Vec::new(), cluster_domain: None, claims: [].into() }
        };

        assert_eq!(RenderError::too_long(&pin(pin::MOST / 2)), None);
        let refused = RenderError::too_long(&pin(pin::MOST)).unwrap();
        assert_eq!(refused.reason(), "PlanRefused");
        assert!(refused.message().starts_with("metadata.annotations[coxswain.dev/pin]: "), "{refused:?}");
    }
}
