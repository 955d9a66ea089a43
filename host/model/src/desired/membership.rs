//! What makes the pods of one job members of its gang.

use super::{gang::Gang, native_gang::NativeGang};

/// The scheduler that the operator was told of, and this job's gang.
#[derive(Clone, Copy, Debug)]
pub struct Membership<'a> {
    /// Which scheduler places it.
    pub gang: &'a Gang,
    /// Its gang under Kubernetes' own scheduler, if it has one.
    pub native: Option<&'a NativeGang>,
}
