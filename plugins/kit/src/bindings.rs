//! The contract's vocabulary as Rust types, generated from `wit/plugin.wit`. No functions: those belong to the plugin
//! that exports them.
#![allow(missing_docs, reason = "generated; the contract carries the docs")]
#![allow(
    unsafe_code,
    reason = "generated; the component model's custom section is linked in by an unsafe attribute"
)]
#![allow(clippy::pedantic, reason = "generated")]

wit_bindgen::generate!({
    inline: "
        package coxswain:kit;
        world vocabulary { import coxswain:plugin/types@0.1.0; }
    ",
    path: "../../wit",
    world: "coxswain:kit/vocabulary",
    additional_derives: [PartialEq, Eq],
    generate_unused_types: true,
    generate_all,
});
