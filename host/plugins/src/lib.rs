//! Which plugins serve: from a ConfigMap through admission to a job's chain.
#![forbid(unsafe_code)]

pub mod access;
mod bundled;
mod copies;
mod garbage_collection;
mod jobs;
mod load;
pub mod metrics;
mod pauses;
mod pipeline;
pub mod probes;
mod registry;
mod requests;
mod reviews;
mod serving;
pub mod settings;
mod shadow;
mod shadow_renders;
pub mod signature;
pub mod source;
mod status_cache;
pub mod store;
mod takeover;
pub mod trial;
mod trust;
pub mod vectors;
mod verdict;

pub use self::{
    access::Access,
    jobs::LiveJobs,
    load::{Load, Loader},
    requests::{Answer, Followed, KIND, follow},
    reviews::Reviews,
    serving::{COMPILE, InCluster, NoPlan, Plugins, Rules},
    trust::{Signatures, Trust},
};
