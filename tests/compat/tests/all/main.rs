//! What the unit tests of the MPI Operator 0.8.2 pin, case by case under its cases' names, and whether the tests that
//! `docs/coverage.md` names exist.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod coverage;
mod defaults;
mod hosts;
mod jobs;
mod validation;
