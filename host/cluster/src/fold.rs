//! Answers to our own writes, folded into the index at once (see [`super::table`]).

use bytes::Bytes;
use coxswain_model::{seen::Version, step::Kind};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, de::DeserializeOwned};
use tokio::time::Instant;

use crate::{
    index::{Index, Shared},
    key::JobKey,
    table::{Row, Table},
    wire::{
        ConfigWire, CoschedulingGroupWire, JobWire, LauncherWire, PodWire, SecretWire, ServiceWire,
        VolcanoGroupWire, Wire, slim,
    },
};

/// Any object, by its metadata.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct AnyObject {
    /// `Status` is what a DELETE answers once the object is gone.
    pub kind: String,
    /// Of the object.
    #[serde(deserialize_with = "slim")]
    pub metadata: ObjectMeta,
}

impl AnyObject {
    /// Reads the answer to a write.
    pub fn read(body: &Bytes) -> Self {
        serde_json::from_slice(body).unwrap_or_default()
    }

    /// `metadata.resourceVersion`.
    pub fn version(&self) -> Version {
        Version::from(self.metadata.resource_version.as_deref().unwrap_or_default())
    }
}

/// The answer to a POST, PUT or PATCH of an object of this kind. One that cannot be read is left to the watch.
pub fn wrote(index: &Shared, kind: Kind, body: &Bytes) {
    match kind {
        Kind::Service => put::<ServiceWire>(index, body, |index| &mut index.services),
        Kind::ConfigMap => put::<ConfigWire>(index, body, |index| &mut index.configs),
        Kind::Secret => put::<SecretWire>(index, body, |index| &mut index.secrets),
        Kind::Pod => put::<PodWire>(index, body, |index| &mut index.pods),
        Kind::Job => put::<LauncherWire>(index, body, |index| &mut index.launchers),
        Kind::VolcanoPodGroup => put::<VolcanoGroupWire>(index, body, |index| &mut index.groups),
        Kind::SchedulerPluginsPodGroup => {
            put::<CoschedulingGroupWire>(index, body, |index| &mut index.groups);
        }
    }
}

/// The answer to a PATCH of the `MPIJob` or its status.
pub fn wrote_job(index: &Shared, body: &Bytes) {
    put::<JobWire>(index, body, |index| &mut index.jobs);
}

fn put<W>(index: &Shared, body: &Bytes, table: fn(&mut Index) -> &mut Table<W::Row>)
where
    W: Wire + DeserializeOwned,
    W::Row: Row,
{
    match serde_json::from_slice::<W>(body).map(Wire::row) {
        Ok(Some((job, row))) => table(&mut index.write()).wrote(&job, row, Instant::now()),
        Ok(None) => {}
        Err(error) => tracing::debug!(kind = %W::kind(&()), %error, "reading the answer to a write"),
    }
}

/// The answer to a write that told that there is no object of this uid, which we took to exist.
pub fn gone(index: &Shared, kind: Kind, job: &JobKey, uid: &coxswain_model::seen::Uid) {
    deleted(index, kind, job, uid, None);
}

/// The same of the `MPIJob` itself.
pub fn job_gone(index: &Shared, job: &JobKey, uid: &coxswain_model::seen::Uid) {
    index.write().jobs.gone(job, uid);
}

/// The answer to a DELETE; without one the API server told that there is no such object. True if it went at once: the
/// watch will tell of its end, which is known by then and wakes nobody.
pub fn deleted(
    index: &Shared,
    kind: Kind,
    job: &JobKey,
    uid: &coxswain_model::seen::Uid,
    body: Option<&Bytes>,
) -> bool {
    let object = body.map(AnyObject::read).filter(|object| object.kind != "Status");
    let mut index = index.write();
    macro_rules! fold {
        ($table:expr) => {
            match &object {
                Some(object) => $table.deleting(job, uid, object.version()),
                None => $table.gone(job, uid),
            }
        };
    }
    match kind {
        Kind::Service => fold!(index.services),
        Kind::ConfigMap => fold!(index.configs),
        Kind::Secret => fold!(index.secrets),
        Kind::Pod => fold!(index.pods),
        Kind::Job => fold!(index.launchers),
        Kind::VolcanoPodGroup | Kind::SchedulerPluginsPodGroup => fold!(index.groups),
    }
    object.is_none()
}
