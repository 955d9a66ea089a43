//! Rows that are found by the name of their object.

use std::cmp::Ordering;

use coxswain_model::seen::{ObjectSeen, Uid, Version};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::table::Row;

/// Something with a name of its own and an [`ObjectSeen`] in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Named<T> {
    /// `metadata.name`.
    pub name: Box<str>,
    /// What is kept.
    pub seen: T,
}

impl<T> Named<T> {
    /// Takes the name from the metadata.
    pub fn new(meta: &ObjectMeta, seen: T) -> Self {
        Self { name: meta.name.as_deref().unwrap_or_default().into(), seen }
    }
}

/// What holds an [`ObjectSeen`].
pub trait HoldsObject: Clone + PartialEq {
    /// To look at.
    fn object(&self) -> &ObjectSeen;
    /// To change.
    fn object_mut(&mut self) -> &mut ObjectSeen;
    /// What it was last counts also when it is gone.
    const REMEMBERED: bool = false;
}

impl<T: HoldsObject> Row for Named<T> {
    fn uid(&self) -> &Uid {
        &self.seen.object().uid
    }

    fn version(&self) -> Version {
        self.seen.object().version
    }

    fn set_version(&mut self, version: Version) {
        self.seen.object_mut().version = version;
    }

    fn set_deleting(&mut self) {
        self.seen.object_mut().deleting = true;
    }

    fn order(&self, other: &Self) -> Ordering {
        self.name.cmp(&other.name)
    }

    fn is_same(&self, other: &Self) -> bool {
        let mut same_version = other.clone();
        same_version.set_version(self.version());
        *self == same_version
    }

    fn is_remembered(&self) -> bool {
        T::REMEMBERED
    }
}
