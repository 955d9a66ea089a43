//! What the `PodGroup`s of gang schedulers have in common.

use std::collections::BTreeMap;

use coxswain_model::{
    api::{annotations, resource},
    observed::{ObservedObject, ObservedPodGroup},
    step::Kind,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    key::JobKey,
    metadata::{annotation, clipped, keys, object},
    named::{HoldsObject, Named},
};

/// As far as it is read.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Spec {
    min_resources: Option<BTreeMap<String, Value>>,
}

/// `PodGroups` are not found by label: the MPI Operator gives them none, and the cluster's others are not ours
/// to filter. Their controller names the job.
pub(super) fn row(meta: &ObjectMeta, spec: Spec, kind: Kind) -> Option<(JobKey, Named<ObservedPodGroup>)> {
    let owner = meta.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))?;
    if owner.kind != resource::KIND || owner.api_version != resource::API_VERSION {
        return None;
    }
    let job = JobKey::new(meta.namespace.as_deref()?, &owner.name);
    let resources = spec.min_resources.unwrap_or_default();
    let observed = ObservedPodGroup {
        kind,
        object: object(meta),
        content: annotation(meta, annotations::ANNOTATION_CONTENT).map(|text| clipped(text).into()),
        resources: keys(resources.keys()),
    };
    Some((job, Named::new(meta, observed)))
}

impl HoldsObject for ObservedPodGroup {
    fn object(&self) -> &ObservedObject {
        &self.object
    }

    fn object_mut(&mut self) -> &mut ObservedObject {
        &mut self.object
    }
}
