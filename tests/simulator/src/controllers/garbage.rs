//! The garbage collector: what all owners of are gone goes, and a foreground deletion waits for what blocks it.

use std::time::Duration;

use serde_json::Value;

use super::{
    Actor, Key,
    inside::{Inside, is_ending, is_held_by},
};
use crate::server::{
    ask::Propagation,
    kind::{KINDS, Kind},
    store::{Change, Object, text},
};

const FOREGROUND: &str = "foregroundDeletion";

/// See the module.
pub struct Garbage {
    /// How late it is, at least and at most.
    pub delay: (Duration, Duration),
}

impl Actor for Garbage {
    fn name(&self) -> &'static str {
        "garbage-collector"
    }

    fn delay(&self) -> (Duration, Duration) {
        self.delay
    }

    fn wakes(&self, inside: &Inside, change: &Change) -> Vec<Key> {
        let object = change.object();
        let mut keys = Vec::new();
        if change.before.is_none() && owners(object).next().is_some() {
            keys.push(Key::of(change.kind, object));
        }
        if change.after.is_none() {
            keys.extend(dependents(inside, object).iter().map(|(kind, dependent)| Key::of(kind, dependent)));
            // Their deletion may have been waited for.
            keys.extend(owners(object).filter_map(|owner| owner_key(object, owner)));
        } else if is_held_by(object, FOREGROUND) {
            keys.push(Key::of(change.kind, object));
        }
        keys
    }

    fn look(&self, inside: &Inside, key: &Key) -> Option<Duration> {
        let kind = KINDS.into_iter().find(|kind| kind.resource() == key.resource)?;
        let object = inside.get(kind, &key.namespace, &key.name)?;
        if is_ending(&object) {
            if is_held_by(&object, FOREGROUND) {
                return delete_dependents(inside, kind, &object);
            }
            return None;
        }
        let namespace = text(&object, "namespace");
        let mut owners = owners(&object).peekable();
        let has_none = owners.peek().is_none();
        let is_there = |owner: &Value| inside.exists(namespace, owner["uid"].as_str().unwrap_or_default());
        if !has_none && !owners.any(is_there) {
            let _ = inside.delete(kind, &object, Propagation::Background, None);
        }
        None
    }
}

/// What blocks goes first; the object, when nothing blocks any more.
fn delete_dependents(inside: &Inside, kind: &'static Kind, object: &Object) -> Option<Duration> {
    let uid = text(object, "uid");
    let mut blocked = false;
    for (kind, dependent) in dependents(inside, object) {
        blocked |= owners(&dependent).any(|owner| owner["uid"] == uid && owner["blockOwnerDeletion"] == true);
        if !is_ending(&dependent) {
            let has_more = !dependents(inside, &dependent).is_empty();
            let how = if has_more { Propagation::Foreground } else { Propagation::Background };
            let _ = inside.delete(kind, &dependent, how, None);
        }
    }
    if !blocked {
        inside.let_go(kind, object, FOREGROUND);
    }
    blocked.then_some(Duration::from_secs(1))
}

fn owners(object: &Value) -> impl Iterator<Item = &Value> {
    object["metadata"]["ownerReferences"].as_array().into_iter().flatten()
}

fn owner_key(object: &Object, owner: &Value) -> Option<Key> {
    let kind = Kind::of(owner["apiVersion"].as_str()?, owner["kind"].as_str()?)?;
    let (namespace, name) = (text(object, "namespace").to_owned(), owner["name"].as_str()?.to_owned());
    Some(Key { resource: kind.resource(), namespace, name })
}

fn dependents(inside: &Inside, owner: &Object) -> Vec<(&'static Kind, Object)> {
    let (namespace, uid) = (text(owner, "namespace"), text(owner, "uid"));
    let of = |kind: &'static Kind| {
        let all = inside.all(kind, namespace);
        let is_one = move |object: &Object| owners(object).any(|owner| owner["uid"] == uid);
        all.into_iter().filter(is_one).map(move |object| (kind, object))
    };
    KINDS.into_iter().filter(|kind| kind.is_namespaced).flat_map(of).collect()
}
