//! What authors of plugins would otherwise write again.
//!
//! In goes a [`types::Job`] as the host sends it, out come pieces of a [`types::Plan`]. Nothing here holds state, and
//! the crate needs no standard library, so that a plugin stays a few ten kilobytes.
//!
//! | Module | For |
//! |---|---|
//! | [`groups`] | who starts the run, who executes ranks, how many |
//! | [`launcher`] | a whole launcher plugin but for what its implementation does in its own way |
//! | [`hostfile`] | host lists in the dialects of the launchers |
//! | [`discover`] | `discover_hosts.sh` |
//! | [`env`] | variables, the user's value first or ours |
//! | [`settings`] | declared settings: checks with words that help, and lookup |
//! | [`shell`] | splitting and quoting words |
//! | [`decimal`] | numbers as text |
//! | [`plan`] | files, notes, violations |
//! | `runtime` | what stands for the standard library in a component |
//!
//! A plugin generates its own exports and takes the types from here:
//!
//! ```text
//! mod bindings {
//!     wit_bindgen::generate!({
//!         path: "../../wit",
//!         world: "launcher-plugin",
//!         with: { "coxswain:plugin/types@0.1.0": coxswain_plugin_kit::types },
//!     });
//! }
//! ```
#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod bindings;
pub mod decimal;
pub mod discover;
pub mod env;
pub mod groups;
pub mod hostfile;
pub mod launcher;
pub mod plan;
#[cfg(target_arch = "wasm32")]
pub mod runtime;
#[cfg(test)]
mod sample;
pub mod settings;
pub mod shell;

pub use bindings::coxswain::plugin::types;

/// Makes a component without the standard library whole: an allocator, and an end for panics. See the module `runtime`.
#[macro_export]
macro_rules! without_std {
    () => {
        #[cfg(target_arch = "wasm32")]
        #[global_allocator]
        static ARENA: $crate::runtime::Arena = $crate::runtime::Arena::new();

        #[cfg(target_arch = "wasm32")]
        #[panic_handler]
        fn panicked(_: &core::panic::PanicInfo<'_>) -> ! {
            $crate::runtime::end()
        }
    };
}
