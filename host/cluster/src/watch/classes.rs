//! The values of priority classes, by name.

use std::collections::BTreeMap;

use coxswain_model::observed::{Uid, Version};
use serde::Deserialize;

use super::{check::Picture, cut::Cut, follow::Folds};
use crate::{index::Shared, kind::Facts};

/// Of the whole cluster.
pub const PRIORITY_CLASS: Facts = Facts {
    kind: "PriorityClass",
    api_version: "scheduling.k8s.io/v1",
    plural: "priorityclasses",
    metadata_only: false,
};

/// Few, and what one of them was before matters to nobody: they are not compared with the API server.
pub struct Classes {
    index: Shared,
    listed: BTreeMap<String, i32>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Class {
    metadata: Name,
    value: i32,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Name {
    name: String,
}

impl Classes {
    /// Kept in this index.
    pub fn new(index: Shared) -> Self {
        Self { index, listed: BTreeMap::new() }
    }
}

/// Nothing but what has a name: the API server knows no other.
fn read(object: &Cut) -> Option<(String, i32)> {
    let class: Class = serde_json::from_slice(&object.json).ok()?;
    Some((class.metadata.name, class.value)).filter(|(name, _)| !name.is_empty())
}

impl Folds for Classes {
    const IS_CHECKED: bool = false;

    fn listing(&mut self) {
        self.listed.clear();
    }

    fn listed(&mut self, object: &Cut) {
        self.listed.extend(read(object));
    }

    fn listed_all(&mut self, _: Version) {
        self.index.write().priorities = std::mem::take(&mut self.listed);
    }

    fn shown(&mut self, object: &Cut) {
        self.index.write().priorities.extend(read(object));
    }

    fn ended(&mut self, object: &Cut) {
        if let Some((name, _)) = read(object) {
            self.index.write().priorities.remove(&name);
        }
    }

    fn known(_: &Cut) -> Option<(Uid, Version)> {
        None
    }

    fn checking(&mut self, _: bool) {}

    fn check(&mut self, _: &Picture) -> bool {
        false
    }
}
