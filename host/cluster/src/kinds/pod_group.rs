//! What the `PodGroup`s of gang schedulers have in common.

use std::{collections::BTreeMap, marker::PhantomData};

use coxswain_model::{
    api::{annotations, resource},
    observed::{InitiallyScheduled, ObservedNativeGang, ObservedObject, ObservedPodGroup},
    step::Kind,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Deserializer, de::IgnoredAny};
use serde_json::Value;

use crate::{
    index::Index,
    key::JobKey,
    kind::{Facts, Watched, Written},
    metadata::{annotation, clipped, keys, object, slim},
    named::{HoldsObject, Named},
    table::Table,
};

/// What differs between gang schedulers' `PodGroup`s.
pub trait GangScheduler: Send + 'static {
    /// Group and version of its `PodGroup`.
    const API_VERSION: &'static str;
    /// What steps call it.
    const KIND: Kind;
}

/// A `PodGroup` of one gang scheduler, as far as it is read.
#[derive(Clone, Debug, Deserialize)]
#[serde(bound = "")]
pub struct DecodedPodGroup<S> {
    #[serde(default, deserialize_with = "slim")]
    metadata: ObjectMeta,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Status,
    #[serde(skip)]
    scheduler: PhantomData<S>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    min_resources: Option<BTreeMap<String, Value>>,
    scheduling_policy: SchedulingPolicy,
    scheduling_constraints: Option<IgnoredAny>,
    resource_claims: Vec<IgnoredAny>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct SchedulingPolicy {
    gang: GangPolicy,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct GangPolicy {
    min_count: u32,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
    #[serde(deserialize_with = "lenient")]
    conditions: Vec<Condition>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Condition {
    r#type: String,
    status: String,
    reason: String,
    message: String,
}

/// Other schedulers' groups have conditions of other forms, which nobody here reads.
fn lenient<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Condition>, D::Error> {
    let all = Option::<Value>::deserialize(deserializer)?;
    Ok(all.and_then(|all| serde_json::from_value(all).ok()).unwrap_or_default())
}

/// The scheduler's words are kept as far as a condition takes them.
const MOST_MESSAGE: usize = 512;

fn native(spec: &Spec, status: &Status) -> ObservedNativeGang {
    let scheduled =
        status.conditions.iter().find(|condition| condition.r#type == "PodGroupInitiallyScheduled");
    let message = |text: &str| text.get(..text.floor_char_boundary(MOST_MESSAGE)).unwrap_or_default().into();
    ObservedNativeGang {
        min_count: spec.scheduling_policy.gang.min_count,
        has_topology: spec.scheduling_constraints.is_some(),
        claims: spec.resource_claims.len(),
        scheduled: scheduled.map(|condition| InitiallyScheduled {
            holds: condition.status == "True",
            reason: clipped(&condition.reason).into(),
            message: message(&condition.message),
        }),
    }
}

impl<S: GangScheduler> Watched for DecodedPodGroup<S> {
    const FACTS: Facts =
        Facts { kind: "PodGroup", api_version: S::API_VERSION, plural: "podgroups", metadata_only: false };

    type Row = Named<ObservedPodGroup>;

    /// `PodGroups` are not found by label: the MPI Operator gives them none, and the cluster's others are not ours to
    /// filter. Their controller names the job.
    fn selector() -> Option<String> {
        None
    }

    fn row(self) -> Option<(JobKey, Self::Row)> {
        let Self { metadata, spec, status, .. } = self;
        let owner =
            metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))?;
        if owner.kind != resource::KIND || owner.api_version != resource::API_VERSION {
            return None;
        }
        let job = JobKey::new(metadata.namespace.as_deref()?, &owner.name);
        let native = (S::KIND == Kind::NativePodGroup).then(|| Box::new(native(&spec, &status)));
        let resources = spec.min_resources.unwrap_or_default();
        let observed = ObservedPodGroup {
            kind: S::KIND,
            name: metadata.name.as_deref().unwrap_or_default().into(),
            object: object(&metadata),
            content: annotation(&metadata, annotations::ANNOTATION_CONTENT).map(|text| clipped(text).into()),
            resources: keys(resources.keys()),
            native,
        };
        Some((job, Named::new(&metadata, observed)))
    }

    fn rows(index: &Index) -> &Table<Self::Row> {
        &index.groups
    }

    fn table(index: &mut Index) -> &mut Table<Self::Row> {
        &mut index.groups
    }
}

impl<S: GangScheduler> Written for DecodedPodGroup<S> {
    const ANSWERED_BY_METADATA: bool = false;

    /// The MPI Operator gives them none.
    fn labels(_: &str, _: &str) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

impl HoldsObject for ObservedPodGroup {
    fn object(&self) -> &ObservedObject {
        &self.object
    }

    fn object_mut(&mut self) -> &mut ObservedObject {
        &mut self.object
    }
}
