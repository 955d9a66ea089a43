//! What a plugin gets to see of a job: the contract's `job` record in types of our own.
//!
//! [`crate::job::ValidJob`] builds it; the sandbox converts it to the contract's version that a plugin speaks.
//! It is a function of the spec alone, so that a plan can be made before any pod exists.

mod of_job;

/// A gang of pods that start together and find each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobView {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.uid`.
    pub id: String,
    /// `spec.mpiImplementation`.
    pub flavor: String,
    /// Version of that implementation. Reserved: nothing says it yet.
    pub flavor_version: Option<String>,
    /// The driver (launcher) first.
    pub groups: Vec<GroupView>,
    /// Suffix of cluster names, without a leading dot.
    pub cluster_domain: Option<String>,
    /// Directory where files of [`crate::plan::Place::Job`] are mounted.
    pub files_dir: String,
    /// How ranks reach each other.
    pub ssh: Option<SshView>,
    /// The number of members may change while the job runs.
    pub elastic: bool,
    /// The driver starts only after the members are ready.
    pub gated: bool,
    /// The plugin renders the driver's whole command.
    pub renders_command: bool,
    /// Sorted by key, keys unique. Filled in by the chain for each plugin.
    pub settings: Vec<Setting>,
    /// Facts that a later contract may name. Sorted by key.
    pub facts: Vec<Setting>,
}

/// Pods that are alike up to their index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupView {
    /// `launcher` or `worker`.
    pub name: String,
    /// Starts the run.
    pub driver: bool,
    /// Executes ranks.
    pub runs_ranks: bool,
    /// Every member in index order.
    pub hosts: Vec<HostEntry>,
    /// The template asks for the node's network.
    pub host_network: bool,
    /// `runAsUser` of the main container or of the pod.
    pub run_as_user: Option<i64>,
    /// The main container as the user wrote it.
    pub container: ContainerView,
    /// Device claims of the pods.
    pub claims: Vec<ClaimView>,
    /// Annotations of the template that a plugin reads; the chain narrows them by `reads_annotations`.
    pub annotations: Vec<Setting>,
    /// Facts that a later contract may name. Sorted by key.
    pub facts: Vec<Setting>,
}

/// One line of a host list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostEntry {
    /// Name that every pod of the job can resolve.
    pub name: String,
    /// First label of that name, the pod's hostname.
    pub short_name: String,
    /// The replica index label.
    pub index: u32,
    /// Ranks on this host.
    pub slots: u32,
}

/// The part of a container that plugins may look at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContainerView {
    /// As written.
    pub image: String,
    /// As written; empty means the image's default.
    pub command: Vec<String>,
    /// As written.
    pub args: Vec<String>,
    /// All variables; the chain narrows them by `reads_env`. The value is absent for references.
    pub env: Vec<(String, Option<String>)>,
    /// Limit, else request.
    pub cpu_millis: u64,
    /// Limit, else request.
    pub memory_bytes: u64,
    /// Extended resources.
    pub devices: Vec<(String, u64)>,
}

/// A claim on devices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimView {
    /// Name in the pod's `resourceClaims`.
    pub name: String,
    /// Where it is described, by [`crate::claims::Source::key`]; not shown to plugins.
    pub source: String,
    /// Device class of each request.
    pub classes: Vec<String>,
    /// Interface name that the claim's driver is told to give the device; of several devices, several names with
    /// commas between them.
    pub network_interface: Option<String>,
}

/// How ranks reach each other by ssh.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SshView {
    /// Where the key pair is mounted.
    pub mount_path: String,
    /// Port of the daemon if it is not 22.
    pub port: Option<u16>,
    /// File with the host keys that ssh may accept; absent where the image decides.
    pub known_hosts: Option<String>,
}

/// A key and its value.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Setting {
    /// Unique in its list.
    pub key: String,
    /// Text.
    pub value: String,
}

/// One pod as the host sees it now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Name of its group.
    pub group: String,
    /// Its line of the host list.
    pub host: HostEntry,
    /// What it is doing.
    pub state: MemberState,
    /// Node labels from coarse to fine. Reserved: nodes are not watched, so it is empty.
    pub topology: Vec<String>,
}

/// What a pod is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum MemberState {
    Pending,
    Running,
    Ready,
    Terminating,
    Finished,
}
