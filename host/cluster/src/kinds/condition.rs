//! Conditions in the status of objects.

use jiff::Timestamp;
use serde::Deserialize;

/// As far as it is read.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Condition {
    #[serde(rename = "type")]
    pub kind: String,
    pub status: String,
    pub reason: String,
    pub message: String,
    #[serde(rename = "lastTransitionTime")]
    pub last_transition_time: Option<Timestamp>,
}
