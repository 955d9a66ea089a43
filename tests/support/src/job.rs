//! `MPIJob`s as users write them.

use serde_json::{Value, json};

/// An `MPIJob` that is being written: a launcher and workers of one container each, and whatever a test sets.
#[derive(Clone, Debug)]
pub struct Job(Value);

impl Job {
    /// A job with a launcher and that many workers; none means no `Worker` block at all.
    pub fn new(name: &str, workers: u32) -> Self {
        let template = |name: &str| json!({"spec": {"containers": [{"name": name, "image": "pi"}]}});
        let mut specs = json!({"Launcher": {"replicas": 1, "template": template("launcher")}});
        if workers > 0 {
            specs["Worker"] = json!({"replicas": workers, "template": template("worker")});
        }
        Self(json!({
            "apiVersion": "kubeflow.org/v2beta1",
            "kind": "MPIJob",
            "metadata": {"name": name, "annotations": {}},
            "spec": {"runPolicy": {}, "mpiReplicaSpecs": specs},
        }))
    }

    /// As the API server stores it: in a namespace, with a uid.
    #[must_use]
    pub fn stored(self, namespace: &str, uid: &str) -> Self {
        self.set("/metadata/namespace", namespace)
            .set("/metadata/uid", uid)
            .set("/metadata/resourceVersion", "1")
            .set("/metadata/generation", 1)
    }

    /// `spec.mpiReplicaSpecs.Worker.replicas`.
    #[must_use]
    pub fn workers(self, count: u32) -> Self {
        self.set("/spec/mpiReplicaSpecs/Worker/replicas", count)
    }

    /// A field of the launcher's first container.
    #[must_use]
    pub fn launcher_container(self, field: &str, value: impl Into<Value>) -> Self {
        self.set(&format!("/spec/mpiReplicaSpecs/Launcher/template/spec/containers/0/{field}"), value)
    }

    /// A field of the workers' first container.
    #[must_use]
    pub fn worker_container(self, field: &str, value: impl Into<Value>) -> Self {
        self.set(&format!("/spec/mpiReplicaSpecs/Worker/template/spec/containers/0/{field}"), value)
    }

    /// A field of the first containers of both.
    #[must_use]
    pub fn containers(self, field: &str, value: impl Into<Value>) -> Self {
        let value = value.into();
        self.launcher_container(field, value.clone()).worker_container(field, value)
    }

    /// A field of `spec.runPolicy`.
    #[must_use]
    pub fn run_policy(self, field: &str, value: impl Into<Value>) -> Self {
        self.set(&format!("/spec/runPolicy/{field}"), value)
    }

    /// An annotation of the job.
    #[must_use]
    pub fn annotate(self, key: &str, value: &str) -> Self {
        // A slash in a key is written `~1` in a pointer.
        self.set(&format!("/metadata/annotations/{}", key.replace('/', "~1")), value)
    }

    /// Sets the value at a JSON pointer; its parent must exist, or nothing is set.
    #[must_use]
    pub fn set(mut self, pointer: &str, value: impl Into<Value>) -> Self {
        let Some((parent, key)) = pointer.rsplit_once('/') else { return self };
        match self.0.pointer_mut(parent) {
            Some(Value::Object(fields)) => drop(fields.insert(key.replace("~1", "/"), value.into())),
            Some(Value::Array(_)) => {
                if let Some(place) = self.0.pointer_mut(pointer) {
                    *place = value.into();
                }
            }
            _ => {}
        }
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.0.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()
    }

    /// As it is sent.
    pub fn manifest(&self) -> &Value {
        &self.0
    }

    /// As any type that is read from it.
    pub fn read<T: serde::de::DeserializeOwned>(&self) -> T {
        serde_json::from_value(self.0.clone()).unwrap()
    }
}

impl From<Value> for Job {
    fn from(manifest: Value) -> Self {
        Self(manifest)
    }
}
