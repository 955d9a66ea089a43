//! What was read of a cluster to say the status of its plugins.

use std::collections::BTreeMap;

use coxswain_model::pin::{Digest, Pin};
use coxswain_plugins::{source::PluginRequest, store::StoredStatus};
use serde::Serialize;

/// What a component says of itself.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs, reason = "the contract's own words")]
pub struct About {
    pub version: String,
    pub summary: String,
    pub kinds: Vec<&'static str>,
    pub serves: Vec<String>,
}

/// A ConfigMap that asks for a plugin.
#[derive(Debug)]
pub struct Asked {
    /// The label's value.
    pub plugin: String,
    /// Name of the ConfigMap.
    pub config_map: String,
    /// What it says, or why it cannot be read.
    pub request: Result<PluginRequest, String>,
}

/// A job that has not ended.
#[derive(Debug)]
pub struct LiveJob {
    /// `namespace/name`.
    pub key: String,
    /// What renders it, if anything does yet.
    pub pin: Option<Pin>,
    /// What the condition says, where a plugin broke on it.
    pub fault: Option<String>,
}

/// Everything that was read.
#[derive(Debug, Default)]
pub struct Gathered {
    /// What became of each plugin.
    pub statuses: BTreeMap<String, StoredStatus>,
    /// Every plugin's ConfigMap.
    pub asked: Vec<Asked>,
    /// What components say of themselves.
    pub about: BTreeMap<Digest, About>,
    /// Absent: the jobs could not be listed.
    pub jobs: Option<Vec<LiveJob>>,
}
