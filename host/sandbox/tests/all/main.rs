//! Real components in the real sandbox. They are built by `make plugins`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail, and so may what it is made of"
)]

mod chain;
mod compiling;
mod examples;
mod given;
mod golden;
mod hostile;
mod hydra;
mod loading;
mod nccl_rdma;
mod observing;
mod openmpi;
