//! What the `PodGroup`s of gang schedulers have in common.

use std::{collections::BTreeMap, marker::PhantomData};

use coxswain_model::{
    api::{annotations, resource},
    observed::{ObservedObject, ObservedPodGroup},
    step::Kind,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    index::Index,
    key::JobKey,
    kind::{Facts, Watched, Written},
    metadata::{annotation, clipped, keys, object, slim},
    named::{HoldsObject, Named},
    table::Table,
};

/// What differs between gang schedulers' `PodGroup`s.
pub trait GangScheduler: Send + 'static {
    /// Group and version of its `PodGroup`.
    const API_VERSION: &'static str;
    /// What steps call it.
    const KIND: Kind;
}

/// A `PodGroup` of one gang scheduler, as far as it is read.
#[derive(Clone, Debug, Deserialize)]
#[serde(bound = "")]
pub struct DecodedPodGroup<S> {
    #[serde(default, deserialize_with = "slim")]
    metadata: ObjectMeta,
    #[serde(default)]
    spec: Spec,
    #[serde(skip)]
    scheduler: PhantomData<S>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    min_resources: Option<BTreeMap<String, Value>>,
}

impl<S: GangScheduler> Watched for DecodedPodGroup<S> {
    const FACTS: Facts =
        Facts { kind: "PodGroup", api_version: S::API_VERSION, plural: "podgroups", metadata_only: false };

    type Row = Named<ObservedPodGroup>;

    /// `PodGroups` are not found by label: the MPI Operator gives them none, and the cluster's others are not ours to
    /// filter. Their controller names the job.
    fn selector() -> Option<String> {
        None
    }

    fn row(self) -> Option<(JobKey, Self::Row)> {
        let Self { metadata, spec, .. } = self;
        let owner =
            metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))?;
        if owner.kind != resource::KIND || owner.api_version != resource::API_VERSION {
            return None;
        }
        let job = JobKey::new(metadata.namespace.as_deref()?, &owner.name);
        let resources = spec.min_resources.unwrap_or_default();
        let observed = ObservedPodGroup {
            kind: S::KIND,
            object: object(&metadata),
            content: annotation(&metadata, annotations::ANNOTATION_CONTENT).map(|text| clipped(text).into()),
            resources: keys(resources.keys()),
        };
        Some((job, Named::new(&metadata, observed)))
    }

    fn rows(index: &Index) -> &Table<Self::Row> {
        &index.groups
    }

    fn table(index: &mut Index) -> &mut Table<Self::Row> {
        &mut index.groups
    }
}

impl<S: GangScheduler> Written for DecodedPodGroup<S> {
    const ANSWERED_BY_METADATA: bool = false;

    /// The MPI Operator gives them none.
    fn labels(_: &str, _: &str) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

impl HoldsObject for ObservedPodGroup {
    fn object(&self) -> &ObservedObject {
        &self.object
    }

    fn object_mut(&mut self) -> &mut ObservedObject {
        &mut self.object
    }
}
