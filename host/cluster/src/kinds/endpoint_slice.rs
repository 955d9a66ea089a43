//! `EndpointSlice` of a job's Service, which it has its labels from. Nothing of it is written.

use coxswain_model::{
    api::labels,
    observed::{ObservedObject, ObservedSlice, Uid},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

use crate::{
    index::Index,
    key::JobKey,
    kind::{Facts, Watched},
    metadata::{clipped, labelled, object, slim},
    named::{HoldsObject, Named},
    table::Table,
};

/// `EndpointSlice` of a Service. It has the Service's labels.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct DecodedEndpointSlice {
    #[serde(deserialize_with = "slim")]
    metadata: ObjectMeta,
    endpoints: Option<Vec<Endpoint>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Endpoint {
    addresses: Vec<String>,
    conditions: EndpointConditions,
    hostname: Option<String>,
    target_ref: Option<Target>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct EndpointConditions {
    ready: Option<bool>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Target {
    uid: String,
}

impl Watched for DecodedEndpointSlice {
    const FACTS: Facts = Facts {
        kind: "EndpointSlice",
        api_version: "discovery.k8s.io/v1",
        plural: "endpointslices",
        metadata_only: false,
    };

    type Row = Named<ObservedSlice>;

    fn row(self) -> Option<(JobKey, Self::Row)> {
        let job = labelled(&self.metadata, labels::LABEL_JOB)?;
        // As CoreDNS reads them: an endpoint without a word on readiness is ready.
        let is_published = |endpoint: &Endpoint| {
            endpoint.conditions.ready != Some(false)
                && !endpoint.addresses.is_empty()
                && endpoint.hostname.as_deref().is_some_and(|name| !name.is_empty())
        };
        let endpoints = self.endpoints.into_iter().flatten().filter(is_published);
        let pods = endpoints.filter_map(|endpoint| Some(Uid::from(clipped(&endpoint.target_ref?.uid))));
        let observed = ObservedSlice { object: object(&self.metadata), pods: pods.collect() };
        Some((job, Named::new(&self.metadata, observed)))
    }

    fn rows(index: &Index) -> &Table<Self::Row> {
        &index.slices
    }

    fn table(index: &mut Index) -> &mut Table<Self::Row> {
        &mut index.slices
    }
}

impl HoldsObject for ObservedSlice {
    fn object(&self) -> &ObservedObject {
        &self.object
    }

    fn object_mut(&mut self) -> &mut ObservedObject {
        &mut self.object
    }
}
