//! Open watches: what each is told of a change.

use serde_json::{Value, json};

use super::{
    ask::{Ask, Verb, Watching},
    kind::Kind,
    path::Target,
    selector::Selector,
    state::metadata,
    status,
    store::{Change, Store},
};

/// What one watch wants to be told.
#[derive(Clone, Debug)]
pub struct Interest {
    kind: &'static Kind,
    namespace: Option<String>,
    selector: Selector,
    metadata_only: bool,
    /// Tells of versions at which nothing happened.
    pub bookmarks: bool,
}

impl Interest {
    /// What a request for a watch asks for, from which version on, and for how long.
    pub fn of(ask: &Ask) -> Option<(Self, &Watching)> {
        let Ask { target: Target { kind, namespace, .. }, verb: Verb::Watch(watching), metadata_only } = ask
        else {
            return None;
        };
        let interest = Self {
            kind,
            namespace: namespace.clone(),
            selector: watching.selector.clone(),
            metadata_only: *metadata_only,
            bookmarks: watching.bookmarks,
        };
        Some((interest, watching))
    }

    /// The kind.
    pub fn kind(&self) -> &'static Kind {
        self.kind
    }

    /// What happened since this version, or the one event that says that this is forgotten.
    pub fn since(&self, store: &Store, version: u64) -> Vec<Value> {
        if version > store.version() {
            return vec![error(&status::version_ahead(version, store.version()))];
        }
        match store.since(self.kind, version) {
            Ok(changes) => changes.iter().filter_map(|change| self.event(store, change)).collect(),
            Err(oldest) => vec![error(&status::watch_expired(version, oldest))],
        }
    }

    /// What it is told of a change. An object that stops to match is gone for it, and is shown as it was.
    pub fn event(&self, store: &Store, change: &Change) -> Option<Value> {
        if change.kind != self.kind {
            return None;
        }
        let matches = |object: &Value| {
            let namespace = object["metadata"]["namespace"].as_str();
            self.namespace.as_deref().is_none_or(|wanted| namespace == Some(wanted))
                && self.selector.matches(object)
        };
        let before = change.before.as_ref().filter(|object| matches(object));
        let after = change.after.as_ref().filter(|object| matches(object));
        let (event, object) = match (before, after) {
            (None, Some(after)) => ("ADDED", Value::clone(after)),
            (Some(_), Some(after)) => ("MODIFIED", Value::clone(after)),
            (Some(before), None) => ("DELETED", store.at_version(before, change.version)),
            (None, None) => return None,
        };
        let object = if self.metadata_only { metadata(&object) } else { object };
        Some(json!({"type": event, "object": object}))
    }

    /// Nothing happened up to this version.
    pub fn bookmark(&self, version: u64) -> Value {
        let (kind, api_version) = if self.metadata_only {
            ("PartialObjectMetadata", "meta.k8s.io/v1".to_owned())
        } else {
            (self.kind.kind, self.kind.api_version())
        };
        let metadata = json!({"resourceVersion": version.to_string(), "creationTimestamp": null});
        json!({"type": "BOOKMARK", "object": {"kind": kind, "apiVersion": api_version, "metadata": metadata}})
    }
}

/// The watch ends with a refusal.
pub fn error(refusal: &status::Refusal) -> Value {
    json!({"type": "ERROR", "object": status::body(refusal)})
}
