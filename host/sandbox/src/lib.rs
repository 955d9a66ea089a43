//! Runs plugins: WebAssembly components that import nothing and are bounded in time, memory and output.
//!
//! In goes a plugin's bytes and a [`JobView`](coxswain_model::view::JobView), out comes a
//! [`Plan`](coxswain_model::plan::Plan) or a [`Fault`] in words. Every call has a store and an instance of its own
//! (about 20 µs), so nothing that a plugin does outlives the call. Nothing here knows Kubernetes.
//!
//! ```text
//! bytes ─▶ Sandbox::load ─ inspect ─ compile ─ describe ─▶ Plugin ─▶ Link ┐
//!                                                                         ├─▶ Chain::render ─▶ Plan
//!                                                          JobView ───────┘
//! ```
//!
//! Calls block for up to two seconds: call them where blocking is fine.
#![deny(unsafe_code)]

mod bindings;
mod call;
mod chain;
mod compiler;
mod convert;
mod engine;
mod fault;
mod inspect;
mod load;
mod plugin;

pub use call::{Call, Function, Observer};
pub use chain::{Chain, ChainFault, Link};
pub use compiler::{Child, Compiler, compile};
pub use fault::{Break, Fault, Refused};
pub use load::Sandbox;
pub use plugin::Plugin;
