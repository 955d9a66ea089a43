//! `Service`: the headless one of each job.

use std::collections::BTreeMap;

use coxswain_model::{
    api::labels,
    observed::{ObservedObject, ObservedService},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

use crate::{
    index::Index,
    key::JobKey,
    kind::{Facts, Watched, Written},
    metadata::{keys, labelled, object, slim},
    named::{HoldsObject, Named},
    table::Table,
};

/// `Service`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct DecodedService {
    #[serde(deserialize_with = "slim")]
    metadata: ObjectMeta,
    spec: Spec,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    selector: Option<BTreeMap<String, String>>,
    publish_not_ready_addresses: bool,
}

impl Watched for DecodedService {
    const FACTS: Facts =
        Facts { kind: "Service", api_version: "v1", plural: "services", metadata_only: false };

    type Row = Named<ObservedService>;

    fn row(self) -> Option<(JobKey, Self::Row)> {
        let job = labelled(&self.metadata, labels::LABEL_JOB)?;
        let selector = self.spec.selector.unwrap_or_default();
        let ours =
            [(labels::LABEL_OPERATOR_NAME, labels::OPERATOR_NAME), (labels::LABEL_JOB_NAME, &*job.name)];
        let extra = selector.keys().filter(|key| ours.iter().all(|(our, _)| our != key));
        let observed = ObservedService {
            object: object(&self.metadata),
            selects_job: ours.iter().all(|(key, value)| selector.get(*key).is_some_and(|v| v == value))
                && selector.len() == ours.len(),
            extra_selectors: keys(extra),
            publishes_not_ready: self.spec.publish_not_ready_addresses,
        };
        Some((job, Named::new(&self.metadata, observed)))
    }

    fn rows(index: &Index) -> &Table<Self::Row> {
        &index.services
    }

    fn table(index: &mut Index) -> &mut Table<Self::Row> {
        &mut index.services
    }
}

impl Written for DecodedService {
    const ANSWERED_BY_METADATA: bool = false;
}

impl HoldsObject for ObservedService {
    fn object(&self) -> &ObservedObject {
        &self.object
    }

    fn object_mut(&mut self) -> &mut ObservedObject {
        &mut self.object
    }
}
