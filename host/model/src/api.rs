//! The API: `MPIJob` v2beta1 as users write it, and the constants that other software depends on.

pub mod annotations;
pub mod capabilities;
pub mod events;
pub mod job_annotations;
pub mod labels;
pub mod mpijob;
pub mod resource;
pub mod scheduling;
pub mod volumes;

pub use mpijob::MpiJob;
