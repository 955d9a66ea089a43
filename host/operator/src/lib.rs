//! The part of Coxswain that acts: watches, writes, leads, serves. What it does is decided in `coxswain-model`.
//!
//! A library so that the simulator and the benches can put another cluster behind [`cluster::Cluster`]; the
//! binary is `main.rs`.
#![forbid(unsafe_code)]

pub mod cluster;
#[cfg(test)]
mod documentation;
pub mod error;
pub mod flags;
pub mod keys;
pub mod log;
pub mod metrics;
pub mod plugins;
pub mod progress;
pub mod queue;
pub mod reconcile;
pub mod retries;
pub mod run;
pub mod serve;
pub mod tool;
