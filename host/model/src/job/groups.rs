//! The groups of one job.

use super::group::Group;
use crate::kind::{JobKind, RoleId, RunBy};

/// A job's groups: the driver, and the others that its user asks for, in the order of its kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Groups {
    pub(super) kind: &'static JobKind,
    pub(super) driver: Group,
    pub(super) others: Vec<Group>,
}

impl Groups {
    /// The group that decides how the job ends.
    pub fn driver(&self) -> &Group {
        &self.driver
    }

    /// All groups, the driver first.
    pub fn all(&self) -> impl Iterator<Item = &Group> {
        std::iter::once(&self.driver).chain(&self.others)
    }

    /// Those whose pods the operator makes itself.
    pub fn run_by_pods(&self) -> impl Iterator<Item = &Group> {
        self.all().filter(|group| group.role.id.run_by() == RunBy::Pods)
    }

    /// How many of those pods there should be while the job runs.
    pub fn pods(&self) -> u32 {
        self.run_by_pods().fold(0, |sum, group| sum.saturating_add(group.replicas))
    }

    /// How many hosts execute ranks.
    pub fn rank_hosts(&self) -> u32 {
        self.all().filter(|group| group.runs_ranks).fold(0, |sum, group| sum.saturating_add(group.replicas))
    }

    /// The group of that role.
    pub fn of(&self, role: RoleId) -> Option<&Group> {
        self.all().find(|group| group.role.id == role)
    }
}
