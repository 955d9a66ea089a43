//! Which job is looked at when, and what a look does: the queue, the reconcile, leadership's terms, endpoints. Wires the
//! other crates together; knows nothing of command lines.
#![forbid(unsafe_code)]

pub mod metrics;
pub mod options;
mod progress;
pub mod queue;
pub mod reconcile;
mod retries;
pub mod run;
mod serve;
