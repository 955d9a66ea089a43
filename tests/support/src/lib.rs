//! What the tests of several crates share, and nothing that ships.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    clippy::panic,
    reason = "for tests, which may fail"
)]

#[cfg(feature = "api-server")]
pub mod api_server;
pub mod audit;
pub mod components;
pub mod job;
