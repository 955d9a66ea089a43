//! What is read of every object's metadata.

use std::collections::BTreeMap;

use bytes::Bytes;
use coxswain_model::observed::{ObservedObject, Uid, Version};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use serde::{Deserialize, Deserializer};

use crate::key::JobKey;

/// Most bytes that are kept of an annotation that holds a digest, and of a uid: no real one has as many, and tenants can
/// write texts of any length there, on as many objects as they like.
const LONGEST: usize = 128;
/// Most keys that are kept of a map that we correct; what is beyond them, later reconciles correct. And the longest one: a
/// domain, a slash and a name.
const KEYS: usize = 64;
const LONGEST_KEY: usize = 317;

/// Any object, by its metadata.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct AnyObject {
    /// `Status` is what a DELETE answers once the object is gone.
    pub kind: String,
    /// Of the object.
    #[serde(deserialize_with = "slim")]
    pub metadata: ObjectMeta,
}

impl AnyObject {
    /// Reads the answer to a write.
    pub fn read(body: &Bytes) -> Self {
        serde_json::from_slice(body).unwrap_or_default()
    }

    /// `metadata.resourceVersion`.
    pub fn version(&self) -> Version {
        Version::from(self.metadata.resource_version.as_deref().unwrap_or_default())
    }
}

/// Metadata without `managedFields`, which are half of a pod's bytes and, decoded, most of its memory.
pub fn slim<'de, D: Deserializer<'de>>(from: D) -> Result<ObjectMeta, D::Error> {
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct Slim {
        name: Option<String>,
        namespace: Option<String>,
        uid: Option<String>,
        resource_version: Option<String>,
        generation: Option<i64>,
        creation_timestamp: Option<Time>,
        deletion_timestamp: Option<Time>,
        labels: Option<BTreeMap<String, String>>,
        annotations: Option<BTreeMap<String, String>>,
        owner_references: Option<Vec<OwnerReference>>,
    }
    let meta = Slim::deserialize(from)?;
    Ok(ObjectMeta {
        name: meta.name,
        namespace: meta.namespace,
        uid: meta.uid,
        resource_version: meta.resource_version,
        generation: meta.generation,
        creation_timestamp: meta.creation_timestamp,
        deletion_timestamp: meta.deletion_timestamp,
        labels: meta.labels,
        annotations: meta.annotations,
        owner_references: meta.owner_references,
        ..ObjectMeta::default()
    })
}

/// The job that the label names, in the object's namespace.
pub fn labelled(meta: &ObjectMeta, label: &str) -> Option<JobKey> {
    Some(JobKey::new(meta.namespace.as_deref()?, meta.labels.as_ref()?.get(label)?))
}

/// An annotation, if there is one of that key.
pub fn annotation<'a>(meta: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    meta.annotations.as_ref()?.get(key).map(String::as_str)
}

/// `uid`.
pub fn uid(meta: &ObjectMeta) -> Uid {
    Uid::from(meta.uid.as_deref().unwrap_or_default())
}

/// `resourceVersion`.
pub fn version(meta: &ObjectMeta) -> Version {
    Version::from(meta.resource_version.as_deref().unwrap_or_default())
}

/// The uid of the owner that is the controller.
pub fn controller(meta: &ObjectMeta) -> Option<Uid> {
    let owner = meta.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))?;
    Some(Uid::from(clipped(&owner.uid)))
}

/// Of a map that we correct.
pub fn keys<'a>(all: impl Iterator<Item = &'a String>) -> Vec<Box<str>> {
    all.filter(|key| key.len() <= LONGEST_KEY).take(KEYS).map(|key| key.as_str().into()).collect()
}

/// The beginning of a text that tenants can make of any length.
pub fn clipped(text: &str) -> &str {
    text.get(..text.floor_char_boundary(LONGEST)).unwrap_or_default()
}

/// What is kept of every object.
pub fn object(meta: &ObjectMeta) -> ObservedObject {
    ObservedObject {
        uid: uid(meta),
        version: version(meta),
        controller: controller(meta),
        deleting: meta.deletion_timestamp.is_some(),
    }
}
