//! Requests by how urgent they are.

pub const MOST: usize = 256;

/// Kinds of requests in the order in which they go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flow {
    /// Services, ConfigMaps, Secrets, `PodGroups`, Jobs, statuses: few, and others wait for them.
    Objects,
    /// Pods: many.
    Pods,
    /// Events: nobody waits for them, and no more than a few go at once.
    Events,
}

/// How many there are.
pub const FLOWS: usize = 3;

impl Flow {
    /// In metrics.
    pub fn label(self) -> &'static str {
        match self {
            Self::Objects => "objects",
            Self::Pods => "pods",
            Self::Events => "events",
        }
    }
}
