//! Events on their way, and the objects that they are about.

use coxswain_model::{
    api::{MpiJob, resource},
    status::Event,
};

/// Events that may wait: a few for each of a hundred jobs that start at once; more are dropped and counted.
pub const QUEUE: usize = 1024;

/// The object that an event is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// `apiVersion`.
    pub api_version: &'static str,
    /// `kind`.
    pub kind: &'static str,
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.resourceVersion`, if known.
    pub version: String,
}

impl Subject {
    /// A job.
    pub fn job(job: &MpiJob) -> Self {
        Self {
            api_version: resource::API_VERSION,
            kind: resource::KIND,
            namespace: job.metadata.namespace.clone(),
            name: job.metadata.name.clone(),
            uid: job.metadata.uid.clone(),
            version: job.metadata.resource_version.clone(),
        }
    }

    /// On whose behalf its events are written.
    pub fn holder(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

/// An event on its way.
pub struct PendingEvent {
    pub subject: Subject,
    pub event: Event,
    pub component: &'static str,
    /// It is written in this term or never: whoever leads next reports what it observes itself.
    pub term: Option<u64>,
}
