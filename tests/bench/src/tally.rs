//! Requests counted by verb, kind and answer.

use std::{collections::BTreeMap, fmt};

use serde::{Serialize, Serializer};

use crate::audit::Request;

/// See the module. Watches and reads are in it too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally(BTreeMap<(String, String, u16), usize>);

impl Tally {
    /// Of these.
    pub fn of<'a>(requests: impl Iterator<Item = &'a Request>) -> Self {
        let mut counts = BTreeMap::new();
        for request in requests {
            *counts.entry((request.verb.to_string(), request.kind.to_string(), request.code)).or_default() +=
                1;
        }
        Self(counts)
    }

    /// Writes of objects and statuses.
    pub fn writes(&self) -> usize {
        self.count(|verb, kind, _| is_write(verb) && kind != "events" && kind != "leases")
    }

    /// Writes of events.
    pub fn events(&self) -> usize {
        self.count(|verb, kind, _| is_write(verb) && kind == "events")
    }

    /// Answers that a picture of the cluster that is up to date would have spared: not found, and conflicts.
    pub fn misses(&self) -> usize {
        self.count(|_, _, code| code == 404 || code == 409)
    }

    /// Writes beyond what jobs need that have each lost a worker: the pod, its line in the hosts script when it is
    /// gone and when it runs again, the status with one worker fewer and with all again.
    pub fn beyond_lost_workers(&self, lost: usize) -> usize {
        let count = |wanted: &str| self.count(|verb, kind, _| is_write(verb) && kind == wanted);
        let beyond = |kind: &str, needed: usize| count(kind).saturating_sub(needed);
        let others = self.count(|verb, kind, _| {
            is_write(verb) && !matches!(kind, "pods" | "configmaps" | "mpijobs/status")
        });
        others + beyond("pods", lost) + beyond("configmaps", 2 * lost) + beyond("mpijobs/status", 2 * lost)
    }

    /// How many there are that `counts` says yes to; it is given verb, kind and HTTP status.
    pub fn count(&self, counts: impl Fn(&str, &str, u16) -> bool) -> usize {
        self.0
            .iter()
            .filter(|((verb, kind, code), _)| counts(verb, kind, *code))
            .map(|(_, count)| count)
            .sum()
    }
}

fn is_write(verb: &str) -> bool {
    !matches!(verb, "get" | "list" | "watch")
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, ((verb, kind, code), count)) in self.0.iter().enumerate() {
            let comma = if position == 0 { "" } else { ", " };
            let code = if *code < 300 { String::new() } else { format!(" ({code})") };
            write!(f, "{comma}{count} {verb} {kind}{code}")?;
        }
        Ok(())
    }
}

impl Serialize for Tally {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(
            self.0.iter().map(|((verb, kind, code), count)| (format!("{verb} {kind} {code}"), count)),
        )
    }
}
