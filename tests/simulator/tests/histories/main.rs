//! Histories of jobs: the real operator over the simulated cluster, in virtual time. Each test says what happens to a job and to
//! its pods, and then what its user sees: status, events, which objects were made and deleted how often, and when.
//!
//! Whatever happens, no rule of `invariants` may be broken meanwhile: a [`history::History`] that ends looks.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::unchecked_time_subtraction,
    clippy::needless_pass_by_value,
    reason = "a test that fails is to stop"
)]

mod gates;
mod gone;
mod history;
mod lives;
mod lost;
mod progress;
mod refusals;
mod scaling;
mod statuses;
mod steps;
mod suspension;
mod written;
