//! The chain of plugins that renders a job for life.
//!
//! Written on the job's ConfigMap before its first worker exists, and again on the launcher Job. Scaling,
//! resuming and a new operator all render by the pin, whatever the cluster's plugins have become meanwhile.

mod chain;
mod state;

pub use self::{
    chain::{ADOPTED, MOST, Pin, PinnedPlugin, kept},
    state::PinState,
};
pub use crate::digest::{Digest, InvalidDigest};
