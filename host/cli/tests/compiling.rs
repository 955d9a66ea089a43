//! Plugins compiled by a process of their own, as in the operator: `coxswain compile-plugin`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests may fail")]

use std::{env, fs, path::PathBuf};

use coxswain_sandbox::{Child, Compiler, Plugin, Refused, Sandbox};

const BOUND: usize = 1 << 20;

fn child() -> Compiler {
    Compiler::Child(Child {
        program: env!("CARGO_BIN_EXE_coxswain").into(),
        words: vec![coxswain_plugins::COMPILE.to_owned()],
    })
}

fn shipped(name: &str) -> Vec<u8> {
    let target = env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target")), PathBuf::from);
    fs::read(target.join("plugins").join(name).with_extension("wasm")).expect("run `make plugins`")
}

fn load(compiler: Compiler, name: &str, bytes: &[u8]) -> Result<Plugin, Refused> {
    Sandbox::with(compiler, None).unwrap().load(name, bytes, BOUND)
}

#[test]
fn a_plugin_compiled_by_a_child_runs_here() {
    for name in ["openmpi", "nccl-rdma"] {
        let there = load(child(), name, &shipped(name)).unwrap();
        let here = load(Compiler::Here, name, &shipped(name)).unwrap();

        // Loading has asked it to describe itself: its code ran.
        assert_eq!(there.descriptor(), here.descriptor());
        assert_eq!(there.digest(), here.digest());
    }
}

#[test]
fn what_does_not_compile_is_refused_in_the_same_words() {
    // A function that promises a number and returns none.
    let component = wat::parse_str("(component (core module (func (export \"f\") (result i32))))").unwrap();

    let there = load(child(), "broken", &component).unwrap_err();
    let here = load(Compiler::Here, "broken", &component).unwrap_err();

    assert!(matches!(there, Refused::NotCompiled(_)), "{there}");
    assert_eq!(there, here);
}
