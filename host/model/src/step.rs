//! What to do, as data. [`crate::diff`] decides the steps, one interpreter in the operator carries them out.

use std::sync::Arc;

use serde_json::Value;

pub use crate::object::{Kind, ObjectName};
use crate::{
    desired::WorkerTemplate,
    object::{Uid, Version},
};

/// One write. Steps of a lower [`Wave`] are done before those of a higher one begin; within a wave all run in
/// parallel. After a failure only those of later waves go on that need nothing of it ([`Step::needs_earlier_waves`]).
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// POST of a whole object.
    Create {
        /// What and under which name.
        object: ObjectName,
        /// The manifest.
        manifest: Value,
        /// When.
        wave: Wave,
    },
    /// POST of the Secret, into which the interpreter puts a new key pair
    /// ([`crate::desired::secret::with_keys`]). Making the pair costs time, so it is made only here.
    CreateSecret {
        /// Its name.
        object: ObjectName,
        /// The manifest without `data`.
        manifest: Value,
    },
    /// POST of many worker pods from one template.
    CreateWorkers {
        /// Makes the manifest of one.
        template: Arc<WorkerTemplate>,
        /// Which ones, ascending.
        indexes: Vec<u32>,
    },
    /// JSON merge patch, refused by the API server if the object has changed since it was observed.
    Patch {
        /// What.
        object: ObjectName,
        /// Put into the patch as `metadata.uid` and `metadata.resourceVersion`.
        uid: Uid,
        /// See `uid`.
        version: Version,
        /// Only our fields.
        patch: Value,
        /// `status` writes the subresource.
        subresource: Option<&'static str>,
        /// When.
        wave: Wave,
    },
    /// Lets a suspended launcher Job run: the interpreter reads it, clears `status.startTime` if set (Kubernetes
    /// forbids changes of the template otherwise), and writes back [`crate::desired::launcher::resumed`].
    Resume {
        /// The Job.
        object: ObjectName,
        /// Only this very Job.
        uid: Uid,
        /// The launcher Job as it would be created now.
        launcher: Value,
    },
    /// Removes our scheduling gate from a launcher pod: a JSON patch that tests version and gate.
    OpenGate {
        /// Launcher pod.
        pod: String,
        /// Its version when the decision was made.
        version: Version,
        /// Where the gate stands in `spec.schedulingGates`.
        position: usize,
    },
    /// DELETE with the uid as a precondition, propagation in the background. Not found is success.
    Delete {
        /// What.
        object: ObjectName,
        /// Only this very object.
        uid: Uid,
        /// Also a precondition where the decision rests on the object's state.
        version: Option<Version>,
    },
}

/// The order of writes within one reconcile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Wave {
    /// Service, ConfigMaps, Secret, `PodGroup`: pods refer to them, and the pin must be written before the first
    /// worker exists.
    Dependencies,
    /// The launcher Job resumed or suspended: on resume before workers are created, as clients rely on.
    LauncherUpdate,
    /// Worker pods created and deleted, the launcher Job created, the gate opened.
    Pods,
}

impl Step {
    /// When it is carried out.
    pub fn wave(&self) -> Wave {
        match self {
            Self::Create { wave, .. } | Self::Patch { wave, .. } => *wave,
            Self::CreateSecret { .. } => Wave::Dependencies,
            Self::Resume { .. } => Wave::LauncherUpdate,
            Self::CreateWorkers { .. } | Self::OpenGate { .. } | Self::Delete { .. } => Wave::Pods,
        }
    }

    /// It makes or starts pods, which mount, or read, or come after what earlier waves write. What stops or takes away
    /// goes on whatever became of those.
    pub fn needs_earlier_waves(&self) -> bool {
        match self {
            Self::Create { .. }
            | Self::CreateSecret { .. }
            | Self::CreateWorkers { .. }
            | Self::Resume { .. }
            | Self::OpenGate { .. } => true,
            Self::Patch { wave, .. } => *wave == Wave::Dependencies,
            Self::Delete { .. } => false,
        }
    }
}

/// What came of one reconcile's steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Objects created, workers among them.
    pub created: usize,
    /// Objects deleted.
    pub deleted: usize,
    /// Writes that did not succeed, at most a few of each kind.
    pub failures: Vec<StepFailure>,
}

/// A write that did not succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepFailure {
    /// What was to be written.
    pub object: ObjectName,
    /// Why not.
    pub reason: FailureReason,
    /// The API server's words.
    pub message: String,
}

/// Why a write did not succeed; decides about the retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureReason {
    /// The object has changed since it was observed, or one of that name exists: look again at once.
    Conflict,
    /// An object of that name exists and belongs to someone else.
    Foreign,
    /// The API server refuses the object as such (422, 400): the user's template is wrong.
    Invalid,
    /// 403: quota, admission, RBAC.
    Forbidden,
    /// 429, 5xx, time-out, connection: try again with backoff.
    Unavailable,
}
