//! The wire: `MPIJob` v2beta1 as users write it, and the constants that other software depends on.

pub mod annotations;
pub mod mpijob;
pub mod wire;

pub use mpijob::MpiJob;
