//! Objects as they come over the wire, and where in them the tests look.

use std::collections::BTreeMap;

use k8s_openapi::api::{apps, batch, coordination, core};
use kube::{
    Resource,
    api::{ApiResource, DynamicObject, GroupVersionKind},
};
use serde_json::Value;

/// Any object. Fields beside `metadata` are in `data`.
pub type Object = DynamicObject;
/// By name.
pub type Objects = BTreeMap<String, Object>;

/// What the tests look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "Kubernetes' own names")]
pub enum Kind {
    ConfigMap,
    Deployment,
    Event,
    Job,
    Lease,
    MpiJob,
    Namespace,
    Pod,
    ResourceClaimTemplate,
    Secret,
    Service,
}

impl Kind {
    /// For `kube::Api`.
    pub fn resource(self) -> ApiResource {
        match self {
            Self::ConfigMap => of::<core::v1::ConfigMap>(),
            Self::Deployment => of::<apps::v1::Deployment>(),
            Self::Event => of::<core::v1::Event>(),
            Self::Job => of::<batch::v1::Job>(),
            Self::Lease => of::<coordination::v1::Lease>(),
            Self::MpiJob => {
                ApiResource::from_gvk(&GroupVersionKind::gvk("kubeflow.org", "v2beta1", "MPIJob"))
            }
            Self::Namespace => of::<core::v1::Namespace>(),
            Self::Pod => of::<core::v1::Pod>(),
            Self::ResourceClaimTemplate => ApiResource::from_gvk(&GroupVersionKind::gvk(
                "resource.k8s.io",
                "v1",
                "ResourceClaimTemplate",
            )),
            Self::Secret => of::<core::v1::Secret>(),
            Self::Service => of::<core::v1::Service>(),
        }
    }
}

fn of<K: Resource<DynamicType = ()>>() -> ApiResource {
    ApiResource::erase::<K>(&())
}

/// The text at a JSON pointer, empty if there is none.
pub fn text<'a>(object: &'a Object, pointer: &str) -> &'a str {
    object.data.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The number at a JSON pointer, 0 if there is none.
pub fn number(object: &Object, pointer: &str) -> i64 {
    object.data.pointer(pointer).and_then(Value::as_i64).unwrap_or_default()
}

/// The list at a JSON pointer, empty if there is none.
pub fn list<'a>(object: &'a Object, pointer: &str) -> &'a [Value] {
    object.data.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The text under a key of a value, empty if there is none.
pub fn field<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The condition of that type, if the object has it.
pub fn condition<'a>(object: &'a Object, kind: &str) -> Option<&'a Value> {
    list(object, "/status/conditions").iter().find(|condition| field(condition, "type") == kind)
}

/// Whether it has the condition and with that status.
pub fn has(object: &Object, kind: &str, status: &str) -> bool {
    condition(object, kind).is_some_and(|condition| field(condition, "status") == status)
}

/// Names of the scheduling gates of a pod, in order.
pub fn gates(pod: &Object) -> Vec<&str> {
    list(pod, "/spec/schedulingGates").iter().map(|gate| field(gate, "name")).collect()
}

/// The value of a variable of a pod's first container.
pub fn variable<'a>(pod: &'a Object, name: &str) -> Option<&'a str> {
    let found = list(pod, "/spec/containers/0/env").iter().find(|variable| field(variable, "name") == name);
    found.map(|variable| field(variable, "value"))
}

/// Those with a label of that value.
pub fn labelled<'a>(objects: &'a Objects, label: &str, value: &str) -> Vec<&'a Object> {
    let is = |object: &&Object| {
        object.metadata.labels.as_ref().and_then(|labels| labels.get(label)).is_some_and(|v| v == value)
    };
    objects.values().filter(is).collect()
}

/// Those that run, by their phase, and are not being deleted.
pub fn running(pod: &Object) -> bool {
    text(pod, "/status/phase") == "Running" && pod.metadata.deletion_timestamp.is_none()
}
