//! Reasons that begin with the name of a kind.

/// Reasons of conditions and events of jobs of one kind.
#[derive(Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the reason of what its name says")]
pub struct Reasons {
    pub created: &'static str,
    pub running: &'static str,
    pub suspended: &'static str,
    pub resumed: &'static str,
    pub succeeded: &'static str,
    pub failed: &'static str,
    pub evicted: &'static str,
}
