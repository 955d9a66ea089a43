//! The host's side of the contract, one module per version of it, generated from `wit/plugin.wit`.

/// Version 0.1.
///
/// The worlds of the contract are for guests. The host looks for interfaces one by one, so that a component may export
/// more than it knows.
#[allow(missing_docs, reason = "generated")]
#[allow(clippy::pedantic, reason = "generated")]
pub mod v0_1 {
    wasmtime::component::bindgen!({
        inline: "
            package coxswain:host;
            world describes { export coxswain:plugin/about@0.1.0; }
            world launches { export coxswain:plugin/launcher@0.1.0; }
            world tunes { export coxswain:plugin/tuner@0.1.0; }
        ",
        path: "../../wit",
        world: "coxswain:host/describes",
    });

    /// `launcher`.
    pub mod launches {
        wasmtime::component::bindgen!({
            inline: "
                package coxswain:host;
                world launches { export coxswain:plugin/launcher@0.1.0; }
            ",
            path: "../../wit",
            world: "coxswain:host/launches",
            with: { "coxswain:plugin/types@0.1.0": super::coxswain::plugin::types },
        });
    }

    /// `tuner`.
    pub mod tunes {
        wasmtime::component::bindgen!({
            inline: "
                package coxswain:host;
                world tunes { export coxswain:plugin/tuner@0.1.0; }
            ",
            path: "../../wit",
            world: "coxswain:host/tunes",
            with: { "coxswain:plugin/types@0.1.0": super::coxswain::plugin::types },
        });
    }
}
