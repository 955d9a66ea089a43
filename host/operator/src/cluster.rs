//! The port between deciding and the cluster: look, write, tell. [`live::Live`] is the real one; a simulator
//! implements the same trait.

pub mod apply;
pub mod aside;
pub mod claims;
pub mod departures;
pub mod events;
#[cfg(test)]
pub(crate) mod fake;
pub mod fold;
pub mod gone;
pub mod index;
pub mod key;
pub mod last_seen;
pub mod lease;
pub mod live;
pub mod pace;
pub mod rate;
pub mod rest;
pub mod table;
pub mod watch;
pub mod wire;

use std::{future::Future, sync::Arc};

use coxswain_model::{
    api::MpiJob,
    desired::pod_group::Priorities,
    job::ValidJob,
    seen::Seen,
    status::Tale,
    step::{Done, Step},
};

use self::{claims::Claims, key::JobKey};
use crate::{error::Failed, queue::Cause};

/// Tells the queue that a job is to be looked at.
pub type Wake = Arc<dyn Fn(&JobKey, Cause) + Send + Sync>;

/// What a pass needs of a cluster.
pub trait Cluster: Send + Sync {
    /// The job as last seen or written. Out of memory.
    fn job(&self, key: &JobKey) -> Option<Arc<MpiJob>>;

    /// Before the first look at a job that another operator began: makes what that one created visible to the
    /// watches. Also where the launcher Job of a job that may have run is not seen: makes sure that it is gone. Does
    /// nothing, without a request, for any other job.
    fn adopt(&self, job: &ValidJob) -> impl Future<Output = Result<(), Failed>> + Send;

    /// What the objects behind the job's device claims say: one request for each of them, none for a job without.
    fn claims(&self, job: &ValidJob) -> impl Future<Output = Result<Claims, Failed>> + Send;

    /// What exists of it, our own writes included. Out of memory; no request.
    fn observe(&self, job: &ValidJob) -> Seen;

    /// Values of the priority classes by name, under gang scheduling. Out of memory.
    fn priorities(&self) -> Priorities;

    /// Carries the steps out, wave by wave. Never fails as a whole: what did not succeed stands in `Done`.
    fn apply(&self, job: &ValidJob, steps: Vec<Step>) -> impl Future<Output = Done> + Send;

    /// Writes the status if the tale has a new one (one patch, against the version of `job`), then hands over
    /// the events and counts the counts. `job` is the one that the tale was made from.
    fn record(&self, job: &MpiJob, tale: &Tale) -> impl Future<Output = Result<(), Failed>> + Send;
}
