//! `Job` of the launcher.

use coxswain_model::{
    api::{annotations, labels},
    observed::{LauncherEnd, ObservedLauncher, ObservedObject},
    pin,
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

use super::condition::Condition;
use crate::{
    index::Index,
    key::JobKey,
    kind::{Facts, Watched, Written},
    metadata::{annotation, labelled, object, slim},
    named::{HoldsObject, Named},
    table::Table,
};

/// `Job` of the launcher.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct DecodedJob {
    #[serde(deserialize_with = "slim")]
    metadata: ObjectMeta,
    spec: Spec,
    status: Status,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Spec {
    suspend: Option<bool>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    start_time: Option<Timestamp>,
    completion_time: Option<Timestamp>,
    failed: i32,
    conditions: Option<Vec<Condition>>,
}

impl Watched for DecodedJob {
    const FACTS: Facts = Facts { kind: "Job", api_version: "batch/v1", plural: "jobs", metadata_only: false };

    type Row = Named<ObservedLauncher>;

    fn row(self) -> Option<(JobKey, Self::Row)> {
        let job = labelled(&self.metadata, labels::LABEL_JOB)?;
        let status = self.status;
        let ended = |condition: &&Condition| {
            matches!(condition.kind.as_str(), "Complete" | "Failed") && condition.status == "True"
        };
        let end = status.conditions.iter().flatten().find(ended).map(|condition| LauncherEnd {
            complete: condition.kind == "Complete",
            reason: condition.reason.clone(),
            message: condition.message.clone(),
            time: status.completion_time,
        });
        let observed = ObservedLauncher {
            object: object(&self.metadata),
            pin: annotation(&self.metadata, annotations::ANNOTATION_PIN).map(pin::kept),
            suspended: self.spec.suspend.unwrap_or(false),
            started: status.start_time.is_some(),
            failed: status.failed,
            end,
        };
        Some((job, Named::new(&self.metadata, observed)))
    }

    fn rows(index: &Index) -> &Table<Self::Row> {
        &index.launchers
    }

    fn table(index: &mut Index) -> &mut Table<Self::Row> {
        &mut index.launchers
    }
}

impl Written for DecodedJob {
    const ANSWERED_BY_METADATA: bool = false;
    const HOLDS_USERS_TEMPLATE: bool = true;
}

impl HoldsObject for ObservedLauncher {
    const REMEMBERED: bool = true;

    fn object(&self) -> &ObservedObject {
        &self.object
    }

    fn object_mut(&mut self) -> &mut ObservedObject {
        &mut self.object
    }
}
