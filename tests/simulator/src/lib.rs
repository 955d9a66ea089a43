//! The operator over an API server in memory, in virtual time, on one thread, reproducibly.
//!
//! ```text
//! operator ─ kube::Client ─▶ network ─▶ agenda ─▶ server ─▶ store
//!                              ▲                    │
//!                              └── watch events ────┴─▶ controllers, users, observers
//! ```
//!
//! [`server`] answers requests as a Kubernetes API server does, as far as the operator and the simulated controllers ask:
//! whatever it does not know ends the process, because a server that guesses proves nothing. [`agenda`] is where everything
//! that happens waits for its moment. README.md says what there is, what there is not, and how to replay a run.
#![forbid(unsafe_code)]
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "nothing of it is shipped, and whatever it does not expect has to end it"
)]

pub mod agenda;
pub mod aging;
pub mod caches;
pub mod components;
pub mod conformance;
pub mod controllers;
pub mod dice;
pub mod drawn;
pub mod expected;
pub mod faults;
pub mod fleet;
pub mod holds;
pub mod invariants;
pub mod life;
pub mod modes;
pub mod network;
pub mod plan;
pub mod server;
pub mod tampering;
pub mod trace;
pub mod users;
pub mod workloads;
