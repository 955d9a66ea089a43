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
    observed::{Uid, Version},
    phase,
};
use flate2::{Compression, read::DeflateDecoder, write::DeflateEncoder};
use serde::{Serialize, de::DeserializeOwned};

use crate::table::Row;

/// A job, as compressed JSON: decoded, the environment of its templates takes thirty times the room. Reconciles decode it.
/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct JobRow {
    uid: Uid,
    version: Version,
    /// Whole, but for version and status.
    asked: Arc<[u8]>,
    status: Option<Arc<[u8]>>,
    ended: bool,
    decoded: usize,
}

/// A map takes a node of eleven keys and values.
const MAP: usize = 640;
/// Any other value: itself, its key, its text.
const VALUE: usize = 100;

/// Bytes that JSON of so many bytes, maps and other values takes decoded.
pub fn decoded(bytes: usize, maps: usize, values: usize) -> usize {
    bytes + maps * MAP + values * VALUE
}

impl JobRow {
    /// Packs a job.
    pub fn new(job: &MpiJob) -> Self {
        let MpiJob { metadata, spec, status } = job;
        let uid = Uid::from(metadata.uid.as_str());
        let version = Version::from(metadata.resource_version.as_str());
        let metadata = Metadata { resource_version: String::new(), ..metadata.clone() };
        let (asked, status_text) = (text(&Asked { metadata, spec }), status.as_ref().map(text));
        let ended = status.as_ref().is_some_and(phase::is_finished);
        let decoded = size(&asked) + status_text.as_deref().map_or(0, size);
        let status = status_text.as_deref().map(packed);
        Self { uid, version, asked: packed(&asked), status, ended, decoded }
    }

    /// Bytes that it takes decoded, about.
    pub fn decoded(&self) -> usize {
        self.decoded
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

fn text(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

/// What it takes decoded, at most: braces and commas in texts count, too.
fn size(json: &[u8]) -> usize {
    let count = |byte| json.iter().fold(0, |count, one| count + usize::from(*one == byte));
    decoded(json.len(), count(b'{'), count(b','))
}

/// Maps are ordered and the compressor is deterministic, so equal values give equal bytes.
fn packed(text: &[u8]) -> Arc<[u8]> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    // It cannot fail: what it writes goes to memory.
    let written = encoder.write_all(text);
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
