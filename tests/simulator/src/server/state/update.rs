//! Changes of objects: PUT, and the patches, which are a PUT of what they make of the object.

use serde_json::{Value, json};

use super::{Answer, State, whole};
use crate::server::{
    kind::{Kind, POD},
    patch::{self, Patch},
    rules,
    status::{self, Refusal},
    store::{Object, text},
};

/// What a request about an object cannot change.
const KEPT: [&str; 6] = [
    "name",
    "namespace",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
];

impl State {
    /// PUT.
    pub(super) fn update(
        &mut self,
        kind: &'static Kind,
        namespace: &str,
        name: &str,
        new: Value,
        is_status: bool,
    ) -> Answer {
        let Some(old) = self.store.get(kind, namespace, name).cloned() else {
            return match text(&new, "uid") {
                _ if !kind.is_made_by_update => Err(status::not_found(kind, name)),
                "" => panic!("a PUT that makes a {} is not known", kind.kind),
                uid => Err(status::other_uid(kind, namespace, name, uid, "")),
            };
        };
        // A PUT takes the uid as a precondition; a patch would be told that it cannot be changed.
        let (asked, is) = (text(&new, "uid"), text(&old, "uid"));
        if !asked.is_empty() && asked != is {
            return Err(status::other_uid(kind, namespace, name, asked, is));
        }
        self.replace(kind, &old, new, is_status).map(|object| (200, object))
    }

    /// PATCH.
    pub(super) fn patch(
        &mut self,
        kind: &'static Kind,
        namespace: &str,
        name: &str,
        patch: &Patch,
        is_status: bool,
    ) -> Answer {
        let old = self.store.get(kind, namespace, name).cloned();
        let Some(old) = old else {
            return match patch {
                Patch::Apply { object, manager } => {
                    let created = self.create(kind, namespace, object.clone())?;
                    self.remember(&created.1, object, manager);
                    Ok(created)
                }
                _ => Err(status::not_found(kind, name)),
            };
        };
        let before = match patch {
            Patch::Apply { manager, .. } => {
                self.applied.get(&(manager.clone(), text(&old, "uid").to_owned()))
            }
            _ => None,
        };
        let new = patch::applied(patch, &old, before)?;
        let written = self.replace(kind, &old, new, is_status)?;
        if let Patch::Apply { object, manager } = patch {
            self.remember(&written, object, manager);
        }
        Ok((200, written))
    }

    fn remember(&mut self, written: &Value, applied: &Value, manager: &str) {
        self.applied.insert((manager.to_owned(), text(written, "uid").to_owned()), applied.clone());
    }

    /// Puts the new one in the old one's place, if it may be.
    pub(super) fn replace(
        &mut self,
        kind: &'static Kind,
        old: &Object,
        new: Value,
        is_status: bool,
    ) -> Result<Value, Refusal> {
        let mut new = whole(kind, new);
        check_identity(kind, old, &new, is_status)?;
        let parts = if is_status { ["spec", "data"] } else { ["status", ""] };
        for part in parts.iter().filter(|part| is_status || (kind.has_status && !part.is_empty())) {
            keep(&mut new, old, part);
        }
        if is_status && kind.is_custom {
            new["metadata"] = old["metadata"].clone();
        }
        for field in KEPT.iter().chain(&["uid", "resourceVersion"]) {
            keep(&mut new["metadata"], &old["metadata"], field);
        }
        if let Some(metadata) = new["metadata"].as_object_mut() {
            metadata.remove("managedFields");
        }
        rules::tidy(kind, &mut new);
        rules::check(kind, old, &new)?;
        if new == **old {
            return Ok(new);
        }
        if kind.counts_generations && !is_status && asks_else(kind, old, &new) {
            new["metadata"]["generation"] = (old["metadata"]["generation"].as_i64().unwrap_or(0) + 1).into();
        }
        if ends(&new) {
            // Nothing is written first: what watches tell is the object as it was before.
            self.store.remove(kind, text(old, "namespace"), text(old, "name"));
            return Ok(new);
        }
        Ok(Value::clone(&self.store.put(kind, new)))
    }
}

impl State {
    /// A pod gets its node.
    pub fn bind(&mut self, pod: &Object, node: &str) {
        let Some(old) = self.store.get(&POD, text(pod, "namespace"), text(pod, "name")) else { return };
        let mut new = Value::clone(old);
        new["spec"]["nodeName"] = node.into();
        let time = self.time();
        new["status"]["conditions"] =
            json!([{"type": "PodScheduled", "status": "True", "lastTransitionTime": time}]);
        self.store.put(&POD, new);
    }
}

/// It waits for nothing but its finalizers, and has none.
fn ends(object: &Value) -> bool {
    let meta = &object["metadata"];
    !meta["deletionTimestamp"].is_null()
        && meta["deletionGracePeriodSeconds"].as_i64().unwrap_or(0) == 0
        && meta["finalizers"].as_array().is_none_or(Vec::is_empty)
}

/// Version and uid are those of the object as it is, as far as they are given.
fn check_identity(kind: &'static Kind, old: &Value, new: &Value, is_status: bool) -> Result<(), Refusal> {
    let name = text(old, "name");
    let asked = text(new, "resourceVersion");
    if asked.is_empty() {
        if !kind.takes_any_version {
            return Err(status::version_missing(kind, name));
        }
    } else if asked != text(old, "resourceVersion") {
        return Err(status::modified(kind, name));
    }
    let asked = text(new, "uid");
    // The status of a CRD's kind is written without a look at the uid that is given: only the version is a precondition.
    let is_looked_at = !(kind.is_custom && is_status);
    if is_looked_at && !asked.is_empty() && asked != text(old, "uid") {
        let problem = format!("Invalid value: \"{asked}\": field is immutable");
        let mut refusal = status::invalid(kind, name, "metadata.uid", "FieldValueInvalid", &problem);
        if let Some(causes) = refusal.details["causes"].as_array_mut().filter(|_| kind == &POD) {
            // Pods are looked at twice.
            causes.extend(causes.first().cloned());
        }
        return Err(refusal);
    }
    Ok(())
}

fn keep(new: &mut Value, old: &Value, field: &str) {
    let Some(fields) = new.as_object_mut() else { return };
    match old.get(field) {
        Some(value) => {
            fields.insert(field.to_owned(), value.clone());
        }
        None => {
            fields.remove(field);
        }
    }
}

/// Anything but metadata and status differs.
fn asks_else(kind: &Kind, old: &Value, new: &Value) -> bool {
    if !kind.is_custom {
        return old["spec"] != new["spec"] || old["endpoints"] != new["endpoints"];
    }
    let rest = |object: &Value| {
        let mut object = object.clone();
        let fields = object.as_object_mut().expect("an object");
        fields.remove("metadata");
        fields.remove("status");
        object
    };
    rest(old) != rest(new)
}
