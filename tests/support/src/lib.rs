//! What the tests of several crates share, and nothing that ships.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "for tests, which may fail"
)]

pub mod api_server;
