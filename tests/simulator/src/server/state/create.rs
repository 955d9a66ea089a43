//! New objects.

use serde_json::{Value, json};

use super::{Answer, State, whole};
use crate::server::{
    kind::{Kind, NAMESPACE},
    rules,
    status::{self, Refusal},
    store::text,
};

impl State {
    /// POST.
    pub(super) fn create(&mut self, kind: &'static Kind, namespace: &str, object: Value) -> Answer {
        let prefix = text(&object, "generateName").to_owned();
        let name = match text(&object, "name") {
            "" if prefix.is_empty() => panic!("{} without a name: {object}", kind.kind),
            "" => format!("{prefix}{}", self.suffix()),
            name => name.to_owned(),
        };
        self.admit(kind, namespace, &name)?;
        if let Some(found) = self.store.get(kind, namespace, &name) {
            let is_ending = !found["metadata"]["deletionTimestamp"].is_null();
            return Err(status::already_exists(kind, &name, is_ending));
        }
        let mut object = whole(kind, object);
        self.identify(kind, namespace, &name, &mut object);
        rules::complete(kind, &mut object);
        let stored = self.store.put(kind, object);
        Ok((201, Value::clone(&stored)))
    }

    /// Whether there may be one more.
    pub(super) fn admit(&self, kind: &'static Kind, namespace: &str, name: &str) -> Result<(), Refusal> {
        if !kind.is_namespaced {
            return Ok(());
        }
        let Some(found) = self.store.get(&NAMESPACE, "", namespace) else {
            return Err(status::not_found(&NAMESPACE, namespace));
        };
        if !found["metadata"]["deletionTimestamp"].is_null() {
            return Err(status::namespace_ends(kind, name, namespace));
        }
        if let Some(refusal) = self.denials.get(&(kind.kind, name.to_owned())) {
            return Err(refusal.clone());
        }
        let quota = self.quotas.get(&(namespace.to_owned(), kind.plural)).copied();
        let used = self.store.list(kind, Some(namespace)).count() as u64;
        match quota.filter(|quota| used >= *quota) {
            Some(quota) => Err(status::over_quota(kind, name, "simulated", quota)),
            None => Ok(()),
        }
    }

    /// What the server says of an object, and nobody else.
    pub(super) fn identify(&mut self, kind: &'static Kind, namespace: &str, name: &str, object: &mut Value) {
        let (uid, time) = (self.uid(), self.time());
        let fields = object["metadata"].as_object_mut().expect("metadata");
        for field in [
            "resourceVersion",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "generation",
            "managedFields",
        ] {
            let given = fields.remove(field);
            assert!(given.is_none() || field != "resourceVersion", "a new object has no version: {name}");
        }
        fields.insert("name".to_owned(), name.into());
        if kind.is_namespaced {
            fields.insert("namespace".to_owned(), namespace.into());
        }
        fields.insert("uid".to_owned(), uid.into());
        fields.insert("creationTimestamp".to_owned(), time);
        if kind.counts_generations {
            fields.insert("generation".to_owned(), json!(1));
        }
    }
}
