//! Everything that the watches told, folded into rows by job: what `observe` answers from, in time proportional
//! to the objects of the one job.

use std::{
    cmp::Ordering,
    io::{Read, Write},
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use coxswain_model::{
    api::{
        MpiJob,
        mpijob::{Metadata, MpiJobSpec},
        wire,
    },
    desired::pod_group::Priorities,
    job::ValidJob,
    names, phase,
    seen::{
        ConfigSeen, LauncherSeen, ObjectSeen, PodGroupSeen, PodSeen, SecretSeen, Seen, ServiceSeen,
        SliceSeen, Uid, Version,
    },
};
use flate2::{Compression, read::DeflateDecoder, write::DeflateEncoder};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Serialize, de::DeserializeOwned};
use tokio::time::Instant;

use super::{
    aside::Aside,
    departures::Departures,
    gone::GoneLaunchers,
    key::JobKey,
    table::{Gone, Row, Table},
};

/// The tables of all kinds.
#[derive(Debug, Default)]
pub struct Index {
    /// Whole objects, packed.
    pub jobs: Table<JobRow>,
    /// Workers and launchers' pods.
    pub pods: Table<PodSeen>,
    /// Headless Services.
    pub services: Table<Named<ServiceSeen>>,
    /// The Services' `EndpointSlice`s.
    pub slices: Table<Named<SliceSeen>>,
    /// Both ConfigMaps of each job.
    pub configs: Table<Named<ConfigSeen>>,
    /// Key pairs.
    pub secrets: Table<Named<SecretSeen>>,
    /// Launcher Jobs.
    pub launchers: Table<Named<LauncherSeen>>,
    /// Gang scheduling's groups.
    pub groups: Table<Named<PodGroupSeen>>,
    /// Values of the cluster's priority classes; watched under gang scheduling alone.
    pub priorities: Priorities,
    /// Objects that could not be decoded.
    pub aside: Aside,
    /// When launchers left.
    pub departures: Departures,
    /// Launcher Jobs that are gone.
    pub gone: GoneLaunchers,
}

impl Index {
    /// The job, packed. Nothing for one that is set aside.
    pub(super) fn job(&self, key: &JobKey) -> Option<&JobRow> {
        self.jobs.of(key).first().filter(|_| !self.aside.holds(wire::KIND, key))
    }

    /// Everything that exists of a job.
    pub fn seen(&self, key: &JobKey, job: &ValidJob) -> Seen {
        let names = &job.names;
        let mut pods = self.pods.of(key).to_vec();
        pods.sort_by_key(|pod| (pod.role, pod.index, pod.created));
        let (last, launcher_gone) = self.gone.of(key, &job.uid);
        Seen {
            service: named(self.services.of(key), names.job()),
            config: named(self.configs.of(key), &names.config()),
            files: named(self.configs.of(key), &names.files()),
            secret: named(self.secrets.of(key), &names.secret()),
            launcher: named(self.launchers.of(key), &names.launcher()).or(last),
            launcher_gone,
            pod_group: named(self.groups.of(key), names.job()),
            pods,
            published: self.slices.of(key).iter().flat_map(|slice| slice.seen.pods.iter().cloned()).collect(),
            asked: self.departures.last(key),
        }
    }

    /// Takes note of launchers that have left, as the watch has told before `now`, and of launcher Jobs that are gone.
    pub fn note_left(&mut self, now: Timestamp) {
        for Gone { job, row, is_final } in self.launchers.remembered() {
            if names::is_launcher(&row.name, &job.name) {
                self.gone.left(job, row.seen, is_final);
            }
        }
        for job in self.pods.left() {
            self.departures.left(job, now);
        }
    }

    /// Drops what the watches have not confirmed in time. Returns the jobs that have to look again.
    pub fn expire(&mut self, now: Instant) -> Vec<JobKey> {
        let Self { jobs, pods, services, configs, secrets, launchers, groups, gone, .. } = self;
        gone.retain(|key, owner| {
            let job = jobs.of(key).first().filter(|job| job.uid() == owner && !job.has_ended());
            job.is_some() && launchers.of(key).is_empty()
        });
        let mut keys = jobs.expire(now);
        keys.append(&mut pods.expire(now));
        keys.append(&mut services.expire(now));
        keys.append(&mut configs.expire(now));
        keys.append(&mut secrets.expire(now));
        keys.append(&mut launchers.expire(now));
        keys.append(&mut groups.expire(now));
        keys
    }
}

fn named<T: Clone>(rows: &[Named<T>], name: &str) -> Option<T> {
    rows.iter().find(|row| *row.name == *name).map(|row| row.seen.clone())
}

/// The index behind its lock, which is never held while waiting for anything.
#[derive(Clone, Debug, Default)]
pub struct Shared(Arc<RwLock<Index>>);

impl Shared {
    /// For looking.
    pub fn read(&self) -> RwLockReadGuard<'_, Index> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The job as the API server has it, our own last write included. Nothing for one that is set aside: what is known
    /// of it is out of date. The lock is held for the packed bytes alone: unpacking takes as long as the job is large,
    /// and a writer that waits holds up every reader.
    pub fn job(&self, key: &JobKey) -> Option<Arc<MpiJob>> {
        let row = self.read().job(key).cloned();
        row.and_then(|row| row.job()).map(Arc::new)
    }

    /// Bytes that the job takes decoded, about; 0 if there is none.
    pub fn decoded(&self, key: &JobKey) -> usize {
        self.read().job(key).map_or(0, |row| row.decoded)
    }

    /// For folding.
    pub fn write(&self) -> RwLockWriteGuard<'_, Index> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

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
    decoded: usize,
}

/// A map takes a node of eleven keys and values.
const MAP: usize = 640;
/// Any other value: itself, its key, its text.
const VALUE: usize = 100;

/// Bytes that JSON of so many bytes, maps and other values takes decoded.
pub(super) fn decoded(bytes: usize, maps: usize, values: usize) -> usize {
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
    let count = |byte| json.iter().filter(|one| **one == byte).count();
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

impl Row for PodSeen {
    fn uid(&self) -> &Uid {
        &self.uid
    }

    fn version(&self) -> Version {
        self.version
    }

    fn set_version(&mut self, version: Version) {
        self.version = version;
    }

    fn set_deleting(&mut self) {
        self.deleting = true;
    }

    fn order(&self, other: &Self) -> Ordering {
        (self.role, self.index, &self.name).cmp(&(other.role, other.index, &other.name))
    }

    fn is_same(&self, other: &Self) -> bool {
        let Self {
            role,
            index,
            name,
            uid,
            version: _,
            controller,
            created,
            phase,
            ready,
            deleting,
            gate,
            attempt,
            failure,
        } = self;
        (*role, *index, *created, *phase) == (other.role, other.index, other.created, other.phase)
            && (*ready, *deleting, *gate) == (other.ready, other.deleting, other.gate)
            && (name, uid, controller) == (&other.name, &other.uid, &other.controller)
            && (attempt, failure) == (&other.attempt, &other.failure)
    }

    fn asks_dns(&self) -> bool {
        PodSeen::asks_dns(self)
    }
}

/// Something with a name of its own and an [`ObjectSeen`] in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Named<T> {
    /// `metadata.name`.
    pub name: Box<str>,
    /// What is kept.
    pub seen: T,
}

impl<T> Named<T> {
    /// Takes the name from the metadata.
    pub fn new(meta: &ObjectMeta, seen: T) -> Self {
        Self { name: meta.name.as_deref().unwrap_or_default().into(), seen }
    }
}

/// What holds an [`ObjectSeen`].
pub trait HoldsObject: Clone + PartialEq {
    /// To look at.
    fn object(&self) -> &ObjectSeen;
    /// To change.
    fn object_mut(&mut self) -> &mut ObjectSeen;
    /// What it was last counts also when it is gone.
    const REMEMBERED: bool = false;
}

macro_rules! holds_object {
    ($($type:ty $(, $remembered:ident = $value:literal)?);*) => {$(
        impl HoldsObject for $type {
            $(const $remembered: bool = $value;)?
            fn object(&self) -> &ObjectSeen {
                &self.object
            }
            fn object_mut(&mut self) -> &mut ObjectSeen {
                &mut self.object
            }
        }
    )*};
}
holds_object!(ServiceSeen; SliceSeen; ConfigSeen; SecretSeen; LauncherSeen, REMEMBERED = true; PodGroupSeen);

impl<T: HoldsObject> Row for Named<T> {
    fn uid(&self) -> &Uid {
        &self.seen.object().uid
    }

    fn version(&self) -> Version {
        self.seen.object().version
    }

    fn set_version(&mut self, version: Version) {
        self.seen.object_mut().version = version;
    }

    fn set_deleting(&mut self) {
        self.seen.object_mut().deleting = true;
    }

    fn order(&self, other: &Self) -> Ordering {
        self.name.cmp(&other.name)
    }

    fn is_same(&self, other: &Self) -> bool {
        let mut same_version = other.clone();
        same_version.set_version(self.version());
        *self == same_version
    }

    fn is_remembered(&self) -> bool {
        T::REMEMBERED
    }
}

#[cfg(test)]
mod tests;
