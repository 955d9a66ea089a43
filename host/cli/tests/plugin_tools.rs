//! `coxswain plugin …` as a person calls it, on the components that `make plugins` builds.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod plugin_tools {
    mod check;
    mod diff;
    mod explain;
    mod given;
    mod new;
    mod pack;
}
