//! `MPIJob`, whole: the one kind of which everything is kept, packed.

use coxswain_model::api::{MpiJob, mpijob, resource};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use serde::Deserialize;

use crate::{
    index::Index,
    job_row::JobRow,
    key::JobKey,
    kind::{Facts, Watched},
    metadata::slim,
    table::Table,
    wake::Cause,
};

/// `MPIJob`, whole.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct DecodedMpiJob {
    #[serde(deserialize_with = "slim")]
    metadata: ObjectMeta,
    spec: mpijob::MpiJobSpec,
    status: Option<mpijob::JobStatus>,
}

impl Watched for DecodedMpiJob {
    const FACTS: Facts = Facts {
        kind: resource::KIND,
        api_version: resource::API_VERSION,
        plural: "mpijobs",
        metadata_only: false,
    };

    type Row = JobRow;

    const HOLDS_TEMPLATES: bool = true;

    fn selector() -> Option<String> {
        None
    }

    fn row(self) -> Option<(JobKey, JobRow)> {
        let Self { metadata: meta, spec, status } = self;
        let metadata = mpijob::Metadata {
            name: meta.name?,
            namespace: meta.namespace?,
            uid: meta.uid.unwrap_or_default(),
            resource_version: meta.resource_version.unwrap_or_default(),
            generation: meta.generation.unwrap_or_default(),
            deletion_timestamp: meta.deletion_timestamp.map(|Time(time)| time),
            labels: meta.labels.unwrap_or_default(),
            annotations: meta.annotations.unwrap_or_default(),
        };
        let key = JobKey::new(&metadata.namespace, &metadata.name);
        Some((key, JobRow::new(&MpiJob { metadata, spec, status })))
    }

    fn rows(index: &Index) -> &Table<Self::Row> {
        &index.jobs
    }

    fn table(index: &mut Index) -> &mut Table<Self::Row> {
        &mut index.jobs
    }

    /// A status is mostly our own, on its way back: it may overtake the answer to the write.
    fn cause(old: Option<&JobRow>, new: &JobRow) -> Cause {
        if old.is_some_and(|old| old.asks_the_same(new)) { Cause::Child } else { Cause::Job }
    }
}
