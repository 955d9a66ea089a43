//! `Secret`, metadata alone: the values never enter the process.

use coxswain_model::{
    api::{annotations, labels},
    observed::{ObservedObject, ObservedSecret},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

use crate::{
    index::Index,
    key::JobKey,
    kind::{Facts, Watched, Written},
    metadata::{annotation, labelled, object, slim},
    named::{HoldsObject, Named},
    table::Table,
};

/// `Secret`, metadata alone: the values never enter the process.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct DecodedSecret {
    #[serde(deserialize_with = "slim")]
    metadata: ObjectMeta,
}

impl Watched for DecodedSecret {
    const FACTS: Facts = Facts { kind: "Secret", api_version: "v1", plural: "secrets", metadata_only: true };

    type Row = Named<ObservedSecret>;

    fn row(self) -> Option<(JobKey, Self::Row)> {
        let job = labelled(&self.metadata, labels::LABEL_JOB)?;
        let observed = ObservedSecret {
            object: object(&self.metadata),
            has_known_hosts: annotation(&self.metadata, annotations::ANNOTATION_SSH_HOST_KEYS).is_some(),
        };
        Some((job, Named::new(&self.metadata, observed)))
    }

    fn rows(index: &Index) -> &Table<Self::Row> {
        &index.secrets
    }

    fn table(index: &mut Index) -> &mut Table<Self::Row> {
        &mut index.secrets
    }
}

impl Written for DecodedSecret {
    const ANSWERED_BY_METADATA: bool = true;
}

impl HoldsObject for ObservedSecret {
    fn object(&self) -> &ObservedObject {
        &self.object
    }

    fn object_mut(&mut self) -> &mut ObservedObject {
        &mut self.object
    }
}
