//! `ConfigMap`, metadata alone: both of each job.

use coxswain_model::{
    api::{annotations, labels, resource},
    observed::{ObservedConfig, ObservedObject, Uid},
    pin,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

use crate::{
    index::Index,
    key::JobKey,
    kind::{Facts, Watched, Written},
    metadata::{annotation, clipped, labelled, object, slim},
    named::{HoldsObject, Named},
    table::Table,
};

/// `ConfigMap`, metadata alone.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct DecodedConfigMap {
    #[serde(deserialize_with = "slim")]
    metadata: ObjectMeta,
}

impl Watched for DecodedConfigMap {
    const FACTS: Facts =
        Facts { kind: "ConfigMap", api_version: "v1", plural: "configmaps", metadata_only: true };

    type Row = Named<ObservedConfig>;

    fn row(self) -> Option<(JobKey, Self::Row)> {
        let job = labelled(&self.metadata, labels::LABEL_JOB)?;
        let mut object = object(&self.metadata);
        if object.controller.is_none() {
            let owners = self.metadata.owner_references.iter().flatten();
            object.controller = owners
                .filter(|owner| owner.kind == resource::KIND && owner.api_version == resource::API_VERSION)
                .map(|owner| Uid::from(clipped(&owner.uid)))
                .next();
        }
        let observed = ObservedConfig {
            object,
            content: annotation(&self.metadata, annotations::ANNOTATION_CONTENT)
                .map(|text| clipped(text).into()),
            pin: annotation(&self.metadata, annotations::ANNOTATION_PIN).map(pin::kept),
        };
        Some((job, Named::new(&self.metadata, observed)))
    }

    fn rows(index: &Index) -> &Table<Self::Row> {
        &index.configs
    }

    fn table(index: &mut Index) -> &mut Table<Self::Row> {
        &mut index.configs
    }
}

impl Written for DecodedConfigMap {
    const ANSWERED_BY_METADATA: bool = true;
}

impl HoldsObject for ObservedConfig {
    fn object(&self) -> &ObservedObject {
        &self.object
    }

    fn object_mut(&mut self) -> &mut ObservedObject {
        &mut self.object
    }
}
