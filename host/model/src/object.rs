//! What an object of the API is: its kind, its name, its identity.

mod uid;

use std::fmt;

pub use self::uid::Uid;

/// Kinds that we write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "Kubernetes' own names")]
pub enum Kind {
    Service,
    ConfigMap,
    Secret,
    Pod,
    /// `batch/v1`.
    Job,
    /// `scheduling.volcano.sh/v1beta1`.
    VolcanoPodGroup,
    /// `scheduling.x-k8s.io/v1alpha1`.
    SchedulerPluginsPodGroup,
    /// `scheduling.k8s.io/v1beta1`.
    NativePodGroup,
}

/// An object in the job's namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectName {
    /// What it is.
    pub kind: Kind,
    /// `metadata.name`.
    pub name: String,
}

/// `resourceVersion`: compared as a number, which Kubernetes allows since 1.35 and etcd always kept true.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version(pub u64);

impl From<&str> for Version {
    /// A text that is no number counts as the oldest version.
    fn from(text: &str) -> Self {
        Self(text.parse().unwrap_or(0))
    }
}

impl Kind {
    /// `kind` of its manifests.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Service => "Service",
            Self::ConfigMap => "ConfigMap",
            Self::Secret => "Secret",
            Self::Pod => "Pod",
            Self::Job => "Job",
            Self::VolcanoPodGroup | Self::SchedulerPluginsPodGroup | Self::NativePodGroup => "PodGroup",
        }
    }
}

impl fmt::Display for ObjectName {
    /// `Pod pi-worker-0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.as_str(), self.name)
    }
}
