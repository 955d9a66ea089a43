//! `MPIJob`s as they are kept.

use std::{
    cmp::Ordering,
    io::{Read, Write},
    sync::Arc,
};

use coxswain_model::{
    api::{
        MpiJob,
        mpijob::{Metadata, MpiJobSpec},
    },
    phase,
    seen::{Uid, Version},
};
use flate2::{Compression, read::DeflateDecoder, write::DeflateEncoder};
use serde::{Serialize, de::DeserializeOwned};

use crate::table::Row;

/// A job, as compressed JSON: decoded, the environment of its templates takes thirty times the room. Passes decode it.
/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct JobRow {
    uid: Uid,
    version: Version,
    /// Whole, but for version and status.
    asked: Arc<[u8]>,
    status: Option<Arc<[u8]>>,
    ended: bool,
}

impl JobRow {
    /// Packs a job.
    pub fn new(job: &MpiJob) -> Self {
        let MpiJob { metadata, spec, status } = job;
        let uid = Uid::from(metadata.uid.as_str());
        let version = Version::from(metadata.resource_version.as_str());
        let metadata = Metadata { resource_version: String::new(), ..metadata.clone() };
        let asked = packed(&Asked { metadata, spec });
        let ended = status.as_ref().is_some_and(phase::is_finished);
        Self { uid, version, asked, status: status.as_ref().map(packed), ended }
    }

    /// Its status says that it has succeeded or failed.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// The job. Nothing that was packed cannot be unpacked.
    pub fn job(&self) -> Option<MpiJob> {
        let mut job: MpiJob = unpacked(&self.asked)?;
        job.metadata.resource_version = self.version.0.to_string();
        job.status = self.status.as_deref().and_then(unpacked);
        Some(job)
    }

    /// Nothing that the user (or Kueue) writes differs: only the status, or nothing at all.
    pub fn asks_the_same(&self, other: &Self) -> bool {
        self.asked == other.asked
    }
}

#[derive(Serialize)]
struct Asked<'a> {
    metadata: Metadata,
    spec: &'a MpiJobSpec,
}

/// Maps are ordered and the compressor is deterministic, so equal values give equal bytes.
fn packed(value: &impl Serialize) -> Arc<[u8]> {
    let text = serde_json::to_vec(value).unwrap_or_default();
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    // It cannot fail: what it writes goes to memory.
    let written = encoder.write_all(&text);
    written.and_then(|()| encoder.finish()).unwrap_or_default().into()
}

fn unpacked<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let mut text = Vec::new();
    DeflateDecoder::new(bytes).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

impl Row for JobRow {
    fn uid(&self) -> &Uid {
        &self.uid
    }

    fn version(&self) -> Version {
        self.version
    }

    fn set_version(&mut self, version: Version) {
        self.version = version;
    }

    fn set_deleting(&mut self) {}

    fn order(&self, _: &Self) -> Ordering {
        Ordering::Equal
    }

    fn is_same(&self, other: &Self) -> bool {
        self.asks_the_same(other) && self.status == other.status
    }
}
