//! What the user said himself.

use coxswain_plugin_kit::types::{Group, Job};

/// A variable in the user's containers.
pub enum Said<'a> {
    /// Not there.
    Nothing,
    /// With a value.
    Value(&'a str),
    /// Filled in by the kubelet.
    Reference,
}

/// A variable of the main containers; those that execute ranks go before the launcher.
pub fn said<'a>(job: &'a Job, name: &str) -> Said<'a> {
    let ranks = job.groups.iter().filter(|group| group.runs_ranks);
    let others = job.groups.iter().filter(|group| !group.runs_ranks);
    ranks
        .chain(others)
        .map(|group| said_in(group, name))
        .find(|said| !matches!(said, Said::Nothing))
        .unwrap_or(Said::Nothing)
}

/// A variable of one group's main container; the last of a name counts.
pub fn said_in<'a>(group: &'a Group, name: &str) -> Said<'a> {
    match group.container.env.iter().rev().find(|env| env.name == name).map(|env| env.value.as_deref()) {
        None => Said::Nothing,
        Some(Some(value)) => Said::Value(value),
        Some(None) => Said::Reference,
    }
}
