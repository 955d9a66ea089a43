//! What should exist for an `MPIJob`, decided by functions from values to values.
//!
//! One reconcile of a job goes through this crate from top to bottom:
//!
//! ```text
//! api::MpiJob ─▶ job::ValidJob ─┬─▶ view::JobView ─▶ (sandbox) ─▶ plan::Plan ─▶ policy::Granted ─┐
//!                               │                                                                ▼
//! watches ─▶ ObservedState ─────┴──────────────────────────────────────────▶ desired::Desired ─▶ diff ─▶ step::Step…
//!                     │                                                                                      │
//!                     └─────────▶ status::next(job, observed, done, now) ◀──────────── (operator applies) ◀──┘
//! ```
//!
//! Nothing in here waits, reads a clock, draws a random number or knows a client. No file needs, through others, a file
//! that needs it: `make lint` names the lines of a circle.
#![forbid(unsafe_code)]

pub mod api;
pub mod claims;
pub mod condition;
pub mod desired;
pub mod diff;
pub mod digest;
pub mod explain;
pub mod gate;
pub mod job;
mod json;
pub mod kind;
pub mod names;
pub mod object;
pub mod observed;
pub mod phase;
pub mod pin;
mod places;
pub mod plan;
pub mod policy;
pub mod progress;
mod quantity;
#[cfg(test)]
mod several_groups;
pub mod status;
pub mod step;
#[cfg(test)]
mod testing;
pub mod view;
