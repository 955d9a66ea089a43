//! What is known of a kind of object, as types; each kind's own facts stand in a file of [`crate::kinds`].

use coxswain_model::api::labels;
use serde::de::DeserializeOwned;

use crate::{
    index::Index,
    key::JobKey,
    limiter::Flow,
    table::{Row, Table},
    wake::Cause,
};

/// What is the same for all objects of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// `kind`; also what metrics and log call it.
    pub kind: &'static str,
    /// `apiVersion`.
    pub api_version: &'static str,
    /// In paths.
    pub plural: &'static str,
    /// Lists and watches ask for metadata alone: nothing else of it enters the process.
    pub metadata_only: bool,
}

impl Facts {
    /// The path of all objects in a namespace, or in all of them.
    pub fn collection(&self, namespace: Option<&str>) -> String {
        let Self { api_version, plural, .. } = self;
        let root = if api_version.contains('/') { "apis" } else { "api" };
        match namespace {
            Some(namespace) => format!("/{root}/{api_version}/namespaces/{namespace}/{plural}"),
            None => format!("/{root}/{api_version}/{plural}"),
        }
    }
}

/// A kind that is watched: an object as decoded. Everything else in the objects is skipped by serde and never held: a
/// decoded `Pod` is 54 KiB, its row 0.2 KiB.
pub trait Watched: DeserializeOwned + Send + 'static {
    /// See there.
    const FACTS: Facts;

    /// It is decoded with its pod templates, so that it can take many times the memory of its JSON.
    const HOLDS_TEMPLATES: bool = false;

    /// What is kept of it.
    type Row: Row + Send + Sync + 'static;

    /// The labels by which its watch finds what is ours; nothing where all are looked at.
    fn selector() -> Option<String> {
        Some(labels::LABEL_JOB.to_owned())
    }

    /// To which job it belongs and what is kept of it; nothing if it is none of ours.
    fn row(self) -> Option<(JobKey, Self::Row)>;

    /// Where its rows are, to look at.
    fn rows(index: &Index) -> &Table<Self::Row>;

    /// Where its rows are, to change.
    fn table(index: &mut Index) -> &mut Table<Self::Row>;

    /// How the change from the first row of a job to the second is answered.
    fn cause(_: Option<&Self::Row>, _: &Self::Row) -> Cause {
        Cause::Child
    }
}

/// A kind of which the operator writes objects.
pub trait Written: Watched {
    /// Metadata alone is what its writes are answered with: 0.5 KiB in place of 5 for a pod, and no value of a Secret.
    const ANSWERED_BY_METADATA: bool;

    /// It holds a template of the user's. The CRD lets unknown fields of pods pass, as newer Kubernetes versions may know
    /// them, and by default the API server drops them without a word to the user; so it is told to refuse them.
    const HOLDS_USERS_TEMPLATE: bool = false;

    /// With which requests its writes share.
    const FLOW: Flow = Flow::Objects;

    /// The labels by which its watch finds the object `name` of this job, where it goes by labels.
    fn labels(job: &str, _name: &str) -> Vec<(&'static str, String)> {
        vec![(labels::LABEL_JOB, job.to_owned())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_core_group_and_the_others_have_roots_of_their_own() {
        let facts = |api_version| Facts { kind: "X", api_version, plural: "xs", metadata_only: false };

        assert_eq!(facts("v1").collection(Some("team-a")), "/api/v1/namespaces/team-a/xs");
        assert_eq!(facts("batch/v1").collection(None), "/apis/batch/v1/xs");
    }
}
