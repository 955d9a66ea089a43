//! Rows that are found by the name of their object.

use std::cmp::Ordering;

use coxswain_model::observed::{ObservedObject, Uid, Version};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::table::Row;

/// Something with a name of its own and an [`ObservedObject`] in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Named<T> {
    /// `metadata.name`.
    pub name: Box<str>,
    /// What is kept.
    pub observed: T,
}

impl<T> Named<T> {
    /// Takes the name from the metadata.
    pub fn new(meta: &ObjectMeta, observed: T) -> Self {
        Self { name: meta.name.as_deref().unwrap_or_default().into(), observed }
    }
}

/// What holds an [`ObservedObject`].
pub trait HoldsObject: Clone + PartialEq {
    /// To look at.
    fn object(&self) -> &ObservedObject;
    /// To change.
    fn object_mut(&mut self) -> &mut ObservedObject;
    /// What it was last counts also when it is gone.
    const REMEMBERED: bool = false;
}

impl<T: HoldsObject> Row for Named<T> {
    fn uid(&self) -> &Uid {
        &self.observed.object().uid
    }

    fn version(&self) -> Version {
        self.observed.object().version
    }

    fn set_version(&mut self, version: Version) {
        self.observed.object_mut().version = version;
    }

    fn set_deleting(&mut self) {
        self.observed.object_mut().deleting = true;
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
