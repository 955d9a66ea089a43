//! The cluster from inside: what controllers read and write, without a way in between.

use serde_json::{Value, json};

use crate::{
    network::Network,
    server::{
        ask::{Ask, Options, Propagation, Verb},
        kind::{JOB, KINDS, Kind, POD},
        patch::Patch,
        path::Target,
        state::Answer,
        store::{Object, text},
    },
};

/// For one actor.
#[derive(Clone)]
pub struct Inside {
    /// Around it.
    pub network: Network,
    who: &'static str,
}

impl Inside {
    /// For the actor of this name.
    pub fn new(network: Network, who: &'static str) -> Self {
        Self { network, who }
    }

    /// The object as it is.
    pub fn get(&self, kind: &'static Kind, namespace: &str, name: &str) -> Option<Object> {
        self.network.server.get(kind, namespace, name)
    }

    /// All of a kind in a namespace.
    pub fn all(&self, kind: &'static Kind, namespace: &str) -> Vec<Object> {
        self.network.server.all(kind, Some(namespace))
    }

    /// Whether there is an object of this uid in the namespace.
    pub fn exists(&self, namespace: &str, uid: &str) -> bool {
        KINDS
            .into_iter()
            .any(|kind| self.all(kind, namespace).iter().any(|object| text(object, "uid") == uid))
    }

    /// The server's time as objects have it.
    pub fn time(&self) -> Value {
        self.network.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into()
    }

    /// POST.
    pub fn create(&self, kind: &'static Kind, namespace: &str, object: Value) -> Answer {
        self.ask(kind, namespace, None, false, Verb::Create(object))
    }

    /// A merge patch.
    pub fn patch(&self, kind: &'static Kind, object: &Value, change: Value) -> Answer {
        self.ask(
            kind,
            text(object, "namespace"),
            Some(text(object, "name")),
            false,
            Verb::Patch(Patch::Merge(change)),
        )
    }

    /// A merge patch of the status.
    pub fn patch_status(&self, kind: &'static Kind, object: &Value, status: &Value) -> Answer {
        let change = Verb::Patch(Patch::Merge(json!({ "status": status })));
        self.ask(kind, text(object, "namespace"), Some(text(object, "name")), true, change)
    }

    /// DELETE of this very object.
    pub fn delete(
        &self,
        kind: &'static Kind,
        object: &Value,
        propagation: Propagation,
        grace: Option<i64>,
    ) -> Answer {
        let uid = Some(text(object, "uid").to_owned());
        let options = Options { uid, version: None, propagation, grace };
        self.ask(kind, text(object, "namespace"), Some(text(object, "name")), false, Verb::Delete(options))
    }

    /// Takes a finalizer off.
    pub fn let_go(&self, kind: &'static Kind, object: &Value, finalizer: &str) {
        let rest: Vec<&Value> = object["metadata"]["finalizers"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|other| *other != finalizer)
            .collect();
        let rest = if rest.is_empty() { Value::Null } else { json!(rest) };
        let _ = self.patch(kind, object, json!({"metadata": {"finalizers": rest}}));
    }

    fn ask(
        &self,
        kind: &'static Kind,
        namespace: &str,
        name: Option<&str>,
        is_status: bool,
        verb: Verb,
    ) -> Answer {
        let namespace = Some(namespace.to_owned()).filter(|_| kind.is_namespaced);
        let target = Target { kind, namespace, name: name.map(str::to_owned), is_status };
        let ask = Ask { target, verb, metadata_only: false };
        self.network.server.carry_out(self.who, self.network.now(), &ask, None)
    }
}

/// The uid of the Job that made the pod.
pub fn job_of(pod: &Value) -> Option<(&str, &str)> {
    let owners = pod["metadata"]["ownerReferences"].as_array()?;
    let owner = owners.iter().find(|owner| owner["kind"] == JOB.kind && owner["controller"] == true)?;
    Some((owner["name"].as_str()?, owner["uid"].as_str()?))
}

/// It is on its way out.
pub fn is_ending(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// It has this finalizer.
pub fn is_held_by(object: &Value, finalizer: &str) -> bool {
    object["metadata"]["finalizers"].as_array().is_some_and(|all| all.iter().any(|other| other == finalizer))
}

/// `status.phase` of a pod.
pub fn phase(pod: &Value) -> &str {
    pod["status"]["phase"].as_str().unwrap_or_default()
}

/// A pod that runs no more.
pub fn has_ended(pod: &Value) -> bool {
    debug_assert_eq!(pod["kind"], POD.kind);
    matches!(phase(pod), "Succeeded" | "Failed")
}
