//! Answers to our own writes, folded into the index at once (see [`super::table`]).

use bytes::Bytes;
use coxswain_model::observed::Uid;
use tokio::time::Instant;

use crate::{index::Shared, key::JobKey, kind::Watched, metadata::AnyObject};

/// The answer to a POST, PUT or PATCH of an object of this kind. One that cannot be read is left to the watch.
pub fn wrote<K: Watched>(index: &Shared, body: &Bytes) {
    match serde_json::from_slice::<K>(body).map(Watched::row) {
        Ok(Some((job, row))) => K::table(&mut index.write()).wrote(&job, row, Instant::now()),
        Ok(None) => {}
        Err(error) => tracing::debug!(kind = K::FACTS.kind, %error, "reading the answer to a write"),
    }
}

/// The answer to a DELETE; without one the API server told, of this write or of another, that there is no such object. True
/// if it went at once: the watch will tell of its end, which is known by then and wakes nobody.
pub fn deleted<K: Watched>(index: &Shared, job: &JobKey, uid: &Uid, body: Option<&Bytes>) -> bool {
    let object = body.map(AnyObject::read).filter(|object| object.kind != "Status");
    let mut index = index.write();
    let table = K::table(&mut index);
    match &object {
        Some(object) => table.deleting(job, uid, object.version()),
        None => table.gone(job, uid),
    }
    object.is_none()
}
