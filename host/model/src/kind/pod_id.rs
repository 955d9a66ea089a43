//! Which pod of a job.

use super::role::RoleId;

/// One of the pods that the operator makes itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PodId {
    /// Its group's role.
    pub role: RoleId,
    /// Its place in the group.
    pub index: u32,
}
