//! Jobs on a small cluster in memory: single decisions as tables, whole lives, and properties of all of them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that fails is to stop"
)]

mod cluster;
mod gates;
mod gone;
mod lives;
mod lost;
mod observe;
mod properties;
mod refusals;
mod sample;
mod scaling;
mod statuses;
mod steps;
mod suspension;
