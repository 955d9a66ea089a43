//! How the watches tell the queue that a job is to be looked at.

use std::sync::Arc;

use crate::key::JobKey;

/// Tells the queue that a job is to be looked at.
pub type Wake = Arc<dyn Fn(&JobKey, Cause) + Send + Sync>;

/// Why a job is to be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The `MPIJob` is new or changed.
    Job,
    /// One of its objects changed.
    Child,
    /// Something else says so: a reconcile that ran out of time, a plugin that came.
    Other,
}
