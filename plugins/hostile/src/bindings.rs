//! What the host calls, generated from `wit/plugin.wit`: a launcher and a tuner in one component.
#![allow(
    unsafe_code,
    reason = "generated; reads arguments from and writes results to the component's memory"
)]
#![allow(clippy::pedantic, reason = "generated")]

wit_bindgen::generate!({
    inline: "
        package coxswain:hostile;
        world both {
            include coxswain:plugin/launcher-plugin@0.1.0;
            include coxswain:plugin/tuner-plugin@0.1.0;
        }
    ",
    path: "../../wit",
    world: "coxswain:hostile/both",
    with: { "coxswain:plugin/types@0.1.0": coxswain_plugin_kit::types },
});

export!(Plugin with_types_in self);

use super::Hostile as Plugin;
