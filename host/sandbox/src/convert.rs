//! The contract's types to those of the model and back, for version 0.1.
//!
//! What goes in is narrowed to what the plugin declares to read. What comes out is bounded in number here, as later
//! code walks over it; whether a plan may do what it wants is decided elsewhere.

mod input;
mod output;

pub use input::{Input, members, settings, so_far};
pub use output::{descriptor, files, plan, violations};
