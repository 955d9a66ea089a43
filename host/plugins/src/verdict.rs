//! What becomes of a request.

use coxswain_model::pin::Digest;

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It served before: nothing to report.
    Unchanged,
    /// New jobs get it. What to say beside that.
    Serves(String),
    /// What served before serves in its place, as the administrator asked.
    RolledBack(Digest),
    /// It waits for an administrator's word.
    Held(String),
    /// It does not serve.
    Refused(Refusal),
}

/// Why a request does not serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// For the author, or for whoever wrote the ConfigMap.
    pub why: String,
    /// The bytes are at fault: they stay refused.
    pub bytes: bool,
}

impl Refusal {
    /// The bytes are at fault.
    pub fn of_bytes(why: String) -> Self {
        Self { why, bytes: true }
    }

    /// Something beside the bytes is at fault, or this moment.
    pub fn of_request(why: String) -> Self {
        Self { why, bytes: false }
    }
}
