//! Namespaces that are deleted: their content goes first.

use std::time::Duration;

use super::{
    Actor, Key,
    inside::{Inside, is_ending},
};
use crate::server::{
    ask::Propagation,
    kind::{KINDS, NAMESPACE},
    store::Change,
};

/// See the module.
pub struct Namespaces;

impl Actor for Namespaces {
    fn name(&self) -> &'static str {
        "namespace-controller"
    }

    fn delay(&self) -> (Duration, Duration) {
        (Duration::from_millis(50), Duration::from_secs(5))
    }

    fn wakes(&self, _: &Inside, change: &Change) -> Vec<Key> {
        let is_ending =
            change.kind == &NAMESPACE && change.after.as_ref().is_some_and(|object| is_ending(object));
        is_ending.then(|| Key::of(&NAMESPACE, change.object())).into_iter().collect()
    }

    fn look(&self, inside: &Inside, key: &Key) -> Option<Duration> {
        let namespace = inside.get(&NAMESPACE, "", &key.name)?;
        let mut is_empty = true;
        for kind in KINDS.into_iter().filter(|kind| kind.is_namespaced) {
            for object in inside.all(kind, &key.name) {
                is_empty = false;
                if !is_ending(&object) {
                    let _ = inside.delete(kind, &object, Propagation::Background, None);
                }
            }
        }
        if is_empty {
            inside.network.server.finish_namespace(inside.network.now(), &namespace);
            return None;
        }
        Some(Duration::from_secs(2))
    }
}
