//! `PodGroup` of scheduler-plugins.

use coxswain_model::{observed::ObservedPodGroup, step::Kind};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

use super::pod_group::{self, Spec};
use crate::{
    index::Index,
    key::JobKey,
    kind::{Facts, Watched, Written},
    metadata::slim,
    named::Named,
    table::Table,
};

/// `PodGroup` of scheduler-plugins.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct DecodedCoschedulingPodGroup {
    #[serde(deserialize_with = "slim")]
    metadata: ObjectMeta,
    spec: Spec,
}

impl Watched for DecodedCoschedulingPodGroup {
    const FACTS: Facts = Facts {
        kind: "PodGroup",
        api_version: "scheduling.x-k8s.io/v1alpha1",
        plural: "podgroups",
        metadata_only: false,
    };

    type Row = Named<ObservedPodGroup>;

    fn selector() -> Option<String> {
        None
    }

    fn row(self) -> Option<(JobKey, Self::Row)> {
        pod_group::row(&self.metadata, self.spec, Kind::SchedulerPluginsPodGroup)
    }

    fn rows(index: &Index) -> &Table<Self::Row> {
        &index.groups
    }

    fn table(index: &mut Index) -> &mut Table<Self::Row> {
        &mut index.groups
    }
}

impl Written for DecodedCoschedulingPodGroup {
    const ANSWERED_BY_METADATA: bool = false;

    /// The MPI Operator gives them none.
    fn labels(_: &str) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}
