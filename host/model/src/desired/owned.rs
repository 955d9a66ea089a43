//! What every object of a job carries: its name, its labels and the owner that takes it along when deleted.

use serde_json::{Value, json};

use super::overlay::{self, Fields};
use crate::{api::labels, job::ValidJob};

/// Metadata of an object beside the pods: labels of the MPI Operator and ours, controlled by the job.
pub(super) fn metadata(job: &ValidJob, name: &str) -> Fields {
    let mut metadata = bare(job, name);
    overlay::set(
        &mut metadata,
        "labels",
        json!({labels::LABEL_APP: job.names().job(), labels::LABEL_JOB: job.names().job()}),
    );
    metadata
}

/// Metadata without labels, controlled by the job.
pub(super) fn bare(job: &ValidJob, name: &str) -> Fields {
    let mut metadata = Fields::new();
    overlay::set(&mut metadata, "name", name);
    overlay::set(&mut metadata, "namespace", job.names().namespace());
    overlay::set(&mut metadata, "ownerReferences", json!([controller(job)]));
    metadata
}

/// The owner reference of everything that the operator watches over.
pub(super) fn controller(job: &ValidJob) -> Value {
    let mut reference = overlay::fields(owner(job));
    overlay::set(&mut reference, "controller", true);
    overlay::set(&mut reference, "blockOwnerDeletion", true);
    Value::from(reference)
}

/// An owner reference that only takes the object along.
pub(super) fn owner(job: &ValidJob) -> Value {
    json!({
        "apiVersion": job.kind().api_version,
        "kind": job.kind().name,
        "name": job.names().job(),
        "uid": job.uid().to_string(),
    })
}

/// Sets an annotation.
pub(super) fn annotate(metadata: &mut Fields, key: &str, value: &str) {
    overlay::edit(metadata, "annotations", |annotations| overlay::set(annotations, key, value));
}

/// Sets a label.
pub(super) fn label(metadata: &mut Fields, key: &str, value: &str) {
    overlay::edit(metadata, "labels", |labels| overlay::set(labels, key, value));
}
