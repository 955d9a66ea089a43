//! What the host calls, generated from `wit/plugin.wit`; the vocabulary is the kit's.
#![allow(
    unsafe_code,
    reason = "generated; reads arguments from and writes results to the component's memory"
)]
#![allow(clippy::pedantic, reason = "generated")]

wit_bindgen::generate!({
    path: "../../wit",
    world: "tuner-plugin",
    with: { "coxswain:plugin/types@0.1.0": coxswain_plugin_kit::types },
});

export!(Plugin with_types_in self);

use super::NcclRdma as Plugin;
