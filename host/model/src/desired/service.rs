//! Headless Service: gives every pod of the job a name.

use serde_json::{Value, json};

use super::owned;
use crate::{api::labels, job::ValidJob};

/// The Service. It publishes addresses that are not ready, always: Hydra's proxies resolve the launcher while it
/// is not, and workers behind a readiness probe are looked up before they pass it. (The MPI Operator 0.8.2 does
/// so only where the launcher runs ranks.)
pub fn manifest(job: &ValidJob) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": owned::metadata(job, job.names().job()),
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": true,
            "selector": {
                labels::LABEL_OPERATOR_NAME: labels::OPERATOR_NAME,
                labels::LABEL_JOB_NAME: job.names().job(),
            },
        },
    })
}
