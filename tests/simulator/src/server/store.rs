//! What exists, as JSON, and what happened lately. One counter of versions for everything.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::Arc,
};

use serde_json::Value;

use super::kind::Kind;

/// An object as it was at one version. Never changed.
pub type Object = Arc<Value>;

/// One write.
#[derive(Clone, Debug)]
pub struct Change {
    /// Of what.
    pub kind: &'static Kind,
    /// The version that it has made.
    pub version: u64,
    /// What was there.
    pub before: Option<Object>,
    /// What is there now.
    pub after: Option<Object>,
}

impl Change {
    /// What it is about: as it is now, or as it was.
    pub fn object(&self) -> &Object {
        self.after.as_ref().or(self.before.as_ref()).expect("a change of something")
    }
}

/// See the module.
pub struct Store {
    version: u64,
    shelves: HashMap<&'static str, Shelf>,
    /// Changes of each kind that are kept for watches.
    pub history: usize,
    fresh: Vec<Change>,
    uids: u64,
}

#[derive(Default)]
struct Shelf {
    /// By `namespace/name`, in the order in which lists show them.
    objects: BTreeMap<String, Object>,
    changes: VecDeque<Change>,
    /// Changes up to this version are forgotten.
    forgotten: u64,
}

/// Kinds of a group: two have one plural.
fn shelf_name(kind: &'static Kind) -> &'static str {
    if kind.group == "scheduling.x-k8s.io" { "podgroups.scheduling.x-k8s.io" } else { kind.plural }
}

impl Store {
    /// Nothing exists. `history` changes of each kind are kept.
    pub fn new(history: usize) -> Self {
        Self { version: 100, shelves: HashMap::new(), history, fresh: Vec::new(), uids: 0 }
    }

    /// The newest version.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The object of this name.
    pub fn get(&self, kind: &'static Kind, namespace: &str, name: &str) -> Option<&Object> {
        self.shelves.get(shelf_name(kind))?.objects.get(&key(namespace, name))
    }

    /// Everything of a kind, or of it in one namespace.
    pub fn list(&self, kind: &'static Kind, namespace: Option<&str>) -> impl Iterator<Item = &Object> {
        let prefix = namespace.map(|namespace| format!("{namespace}/")).unwrap_or_default();
        let objects = self.shelves.get(shelf_name(kind)).map(|place| &place.objects);
        objects
            .into_iter()
            .flat_map(move |objects| objects.range(prefix.clone()..))
            .take_while({
                let prefix = namespace.map(|namespace| format!("{namespace}/")).unwrap_or_default();
                move |(key, _)| key.starts_with(&prefix)
            })
            .map(|(_, object)| object)
    }

    /// Puts an object in its place, with the next version. What was there is replaced.
    pub fn put(&mut self, kind: &'static Kind, mut object: Value) -> Object {
        self.version += 1;
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        let object = Arc::new(object);
        let key = key(text(&object, "namespace"), text(&object, "name"));
        let place = self.shelves.entry(shelf_name(kind)).or_default();
        let before = place.objects.insert(key, Arc::clone(&object));
        self.note(Change { kind, version: self.version, before, after: Some(Arc::clone(&object)) });
        object
    }

    /// Removes an object. What is returned has the version of its removal.
    pub fn remove(&mut self, kind: &'static Kind, namespace: &str, name: &str) -> Option<Value> {
        let place = self.shelves.get_mut(shelf_name(kind))?;
        let before = place.objects.remove(&key(namespace, name))?;
        self.version += 1;
        let last = self.at_version(&before, self.version);
        self.note(Change { kind, version: self.version, before: Some(before), after: None });
        Some(last)
    }

    /// The object as if it had been written at this version.
    pub fn at_version(&self, object: &Object, version: u64) -> Value {
        let mut object = Value::clone(object);
        object["metadata"]["resourceVersion"] = version.to_string().into();
        object
    }

    fn note(&mut self, change: Change) {
        let place = self.shelves.entry(shelf_name(change.kind)).or_default();
        place.changes.push_back(change.clone());
        while place.changes.len() > self.history {
            place.forgotten = place.changes.pop_front().map_or(place.forgotten, |change| change.version);
        }
        self.fresh.push(change);
    }

    /// Changes since the last call.
    pub fn take_fresh(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.fresh)
    }

    /// What happened to a kind after this version; the oldest version that can be asked for if that is forgotten.
    pub fn since(&self, kind: &'static Kind, version: u64) -> Result<Vec<Change>, u64> {
        let Some(place) = self.shelves.get(shelf_name(kind)) else { return Ok(Vec::new()) };
        if version < place.forgotten {
            return Err(place.forgotten);
        }
        Ok(place.changes.iter().filter(|change| change.version > version).cloned().collect())
    }

    /// Forgets what happened, as a server that is started anew.
    pub fn forget(&mut self) {
        for place in self.shelves.values_mut() {
            place.changes.clear();
            place.forgotten = self.version;
        }
    }

    /// A number that no object had before.
    pub fn next_uid(&mut self) -> u64 {
        self.uids += 1;
        self.uids
    }
}

fn key(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

/// A text of an object's metadata; empty if there is none.
pub fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}
