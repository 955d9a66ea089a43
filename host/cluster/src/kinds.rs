//! Every kind of object that the operator watches or writes, a file each: where it is, how its watch finds what is ours,
//! what is decoded of an object and what is kept of it, and what its writes are answered with.
//!
//! A new one is a file here, its line in [`written`] and in [`watched`], a table in [`crate::index`], and its half in
//! `coxswain_model`.

mod condition;
mod config_map;
mod coscheduling_pod_group;
mod endpoint_slice;
mod job;
mod mpi_job;
mod native_pod_group;
mod pod;
mod pod_group;
mod secret;
mod service;
mod volcano_pod_group;

use bytes::Bytes;
use coxswain_model::{desired::Gang, observed::Uid, step::Kind};
use tokio::time::Instant;

pub use self::{
    config_map::DecodedConfigMap, coscheduling_pod_group::DecodedCoschedulingPodGroup,
    endpoint_slice::DecodedEndpointSlice, job::DecodedJob, mpi_job::DecodedMpiJob,
    native_pod_group::DecodedNativePodGroup, pod::DecodedPod, secret::DecodedSecret, service::DecodedService,
    volcano_pod_group::DecodedVolcanoPodGroup,
};
use crate::{
    fold,
    index::{Index, Shared},
    key::JobKey,
    kind::{Facts, Watched, Written},
    limiter::Flow,
};

/// What the writes of a kind need, for a kind that is known only when the operator runs.
#[derive(Clone, Copy)]
pub struct WrittenKind {
    /// Path and names.
    pub facts: Facts,
    /// See [`Written::ANSWERED_BY_METADATA`].
    pub answered_by_metadata: bool,
    /// See [`Written::HOLDS_USERS_TEMPLATE`].
    pub holds_users_template: bool,
    /// See [`Written::FLOW`].
    pub flow: Flow,
    /// See [`Written::labels`].
    pub labels: fn(&str, &str) -> Vec<(&'static str, String)>,
    /// Folds the answer to a POST, PUT or PATCH in.
    pub wrote: fn(&Shared, &Bytes),
    /// Folds the answer to a DELETE in; see [`fold::deleted`].
    pub deleted: fn(&Shared, &JobKey, &Uid, Option<&Bytes>) -> bool,
}

impl WrittenKind {
    const fn of<K: Written>() -> Self {
        Self {
            facts: K::FACTS,
            answered_by_metadata: K::ANSWERED_BY_METADATA,
            holds_users_template: K::HOLDS_USERS_TEMPLATE,
            flow: K::FLOW,
            labels: K::labels,
            wrote: fold::wrote::<K>,
            deleted: fold::deleted::<K>,
        }
    }
}

/// What the writes of this kind need.
pub fn written(kind: Kind) -> WrittenKind {
    match kind {
        Kind::Service => WrittenKind::of::<DecodedService>(),
        Kind::ConfigMap => WrittenKind::of::<DecodedConfigMap>(),
        Kind::Secret => WrittenKind::of::<DecodedSecret>(),
        Kind::Pod => WrittenKind::of::<DecodedPod>(),
        Kind::Job => WrittenKind::of::<DecodedJob>(),
        Kind::VolcanoPodGroup => WrittenKind::of::<DecodedVolcanoPodGroup>(),
        Kind::SchedulerPluginsPodGroup => WrittenKind::of::<DecodedCoschedulingPodGroup>(),
        Kind::NativePodGroup => WrittenKind::of::<DecodedNativePodGroup>(),
    }
}

/// Something that is done for each kind.
pub trait Visit {
    /// Done for this one.
    fn visit<K: Watched>(&mut self);
}

/// Visits the kinds that are watched. Of the gang schedulers' groups only those of the cluster's: the others' kind need not
/// exist.
pub fn watched(gang: &Gang, visitor: &mut impl Visit) {
    visitor.visit::<DecodedMpiJob>();
    visitor.visit::<DecodedPod>();
    visitor.visit::<DecodedService>();
    visitor.visit::<DecodedEndpointSlice>();
    visitor.visit::<DecodedConfigMap>();
    visitor.visit::<DecodedSecret>();
    visitor.visit::<DecodedJob>();
    match gang {
        Gang::Off => {}
        Gang::Volcano => visitor.visit::<DecodedVolcanoPodGroup>(),
        Gang::Native | Gang::NativeByJob => visitor.visit::<DecodedNativePodGroup>(),
        Gang::SchedulerPlugins(_) => visitor.visit::<DecodedCoschedulingPodGroup>(),
    }
}

/// Drops what the watches have not confirmed in time. Returns the jobs that have to look again.
pub fn expire(index: &mut Index, gang: &Gang, now: Instant) -> Vec<JobKey> {
    struct Expire<'a>(&'a mut Index, Instant, Vec<JobKey>);
    impl Visit for Expire<'_> {
        fn visit<K: Watched>(&mut self) {
            let Self(index, now, jobs) = self;
            jobs.append(&mut K::table(index).expire(*now));
        }
    }
    index.forget_ended();
    let mut expire = Expire(index, now, Vec::new());
    watched(gang, &mut expire);
    expire.2
}

/// How many objects of each kind are kept.
pub fn counts(index: &Index, gang: &Gang) -> Vec<(&'static str, usize)> {
    struct Count<'a>(&'a Index, Vec<(&'static str, usize)>);
    impl Visit for Count<'_> {
        fn visit<K: Watched>(&mut self) {
            let Self(index, counts) = self;
            counts.push((K::FACTS.kind, K::rows(index).count()));
        }
    }
    let mut count = Count(index, Vec::new());
    watched(gang, &mut count);
    count.1
}

#[cfg(test)]
mod tests;
