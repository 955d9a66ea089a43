//! What a plugin answers, in types of our own: independent of the contract's version, so that the rest of the
//! program does not change when the contract does.

use crate::api::labels;

/// Everything that a chain of plugins wants for one job, not yet checked (see [`crate::policy`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// In the order of the chain; a later edit of the same thing wins.
    pub edits: Vec<Edit>,
    /// Whole files; a later one of the same name and place wins.
    pub files: Vec<File>,
    /// Shown to the user as events.
    pub notes: Vec<Note>,
}

/// One change to the pods of one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The plugin that asked.
    pub by: String,
    /// Group name; absent for the driver and all groups that run ranks.
    pub group: Option<String>,
    /// What to change.
    pub change: Change,
}

/// What an edit changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A variable of the main container.
    Env(EnvEdit),
    /// The whole command of the driver, for jobs that ask for it.
    LaunchCommand(Vec<String>),
    /// Words before the user's command.
    PrefixCommand(Vec<String>),
    /// A declared container port.
    Port(Port),
    /// Something that only the host can do.
    Capability(CapabilityRequest),
}

/// A variable to set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvEdit {
    /// Name of the variable.
    pub name: String,
    /// Its value.
    pub value: EnvValue,
    /// True: replaces the user's value. False: the user's value stays.
    pub force: bool,
}

/// Where a variable's value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnvValue {
    /// As written.
    Literal(String),
    /// Taken from the pod by the kubelet.
    Field(PodField),
}

/// Fields of a pod that a variable can carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum PodField {
    Name,
    Namespace,
    Ip,
    NodeName,
    HostIp,
    ReplicaIndex,
}

impl PodField {
    /// As the kubelet reads it (`fieldRef.fieldPath`).
    pub fn path(self) -> String {
        match self {
            Self::Name => "metadata.name".to_owned(),
            Self::Namespace => "metadata.namespace".to_owned(),
            Self::Ip => "status.podIP".to_owned(),
            Self::NodeName => "spec.nodeName".to_owned(),
            Self::HostIp => "status.hostIP".to_owned(),
            Self::ReplicaIndex => format!("metadata.labels['{}']", labels::LABEL_REPLICA_INDEX),
        }
    }
}

/// A container port, informational.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// IANA service name.
    pub name: String,
    /// 1024 to 65535.
    pub number: u16,
}

/// A request for a capability; an unknown kind becomes a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapabilityRequest {
    /// `shared-memory`, `lock-memory`, `wait-for-members`, …
    pub kind: String,
    /// Meaning by kind.
    pub parameter: Option<String>,
}

/// A file that a plugin renders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The plugin that wrote it.
    pub by: String,
    /// Key in the ConfigMap.
    pub name: String,
    /// Where it ends up.
    pub place: Place,
    /// Mode 0555 in place of 0444.
    pub executable: bool,
    /// Text.
    pub content: String,
}

/// Where a file ends up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Beside the host list, in the driver's pod.
    Job,
    /// In every pod that starts or runs ranks, at a place that the host knows by this name.
    Everywhere(String),
}

/// A remark for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The plugin that remarks.
    pub by: String,
    /// True: event type Warning. False: Normal.
    pub warning: bool,
    /// One line, at most 1 KiB.
    pub text: String,
}

/// Why a plugin produced nothing. Final for this input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The user can fix it.
    Invalid(Vec<Violation>),
    /// The plugin cannot serve this job.
    Unsupported(String),
}

/// A mistake in the job's spec and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Field path such as `spec.slotsPerWorker`.
    pub path: String,
    /// What is wrong and what would be right.
    pub text: String,
}

/// What a plugin says of itself. A claim, not a right: [`crate::policy`] grants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Descriptor {
    /// DNS label, equal to the name it is loaded as.
    pub name: String,
    /// Semantic version of the plugin itself.
    pub version: String,
    /// One line for people.
    pub summary: String,
    /// Values of `mpiImplementation` that it serves.
    pub serves: Vec<String>,
    /// Settings that it understands.
    pub settings: Vec<SettingKind>,
    /// Prefixes of variables that it reads from the user's container.
    pub reads_env: Vec<String>,
    /// Prefixes of variables that it may set.
    pub writes_env: Vec<String>,
    /// Prefixes of pod annotations that it reads.
    pub reads_annotations: Vec<String>,
}

/// A setting that a plugin declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingKind {
    /// Its key.
    pub key: String,
    /// Used where nobody sets it.
    pub default: Option<String>,
    /// One line for people.
    pub summary: String,
}
