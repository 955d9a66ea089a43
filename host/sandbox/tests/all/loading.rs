//! What is loaded, and in which words the rest is refused.

use coxswain_model::pin::Digest;
use coxswain_sandbox::{Break, Plugin, Refused};
use pretty_assertions::assert_eq;

use crate::{
    given::{BOUND, bytes, job, merged, plugin, sandbox},
    observing::observed,
};

fn load(name: &str, bytes: &[u8]) -> Result<Plugin, Refused> {
    sandbox().load(name, bytes, BOUND)
}

fn refused(bytes: &[u8]) -> Refused {
    load("openmpi", bytes).expect_err("was loaded")
}

fn component(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap()
}

/// Exports functions under the right names, of the wrong types, from a core module with `more` in it.
fn about(version: &str, more: &str) -> Vec<u8> {
    component(&format!(
        r#"(component
             (core module $m (func (export "f")) {more})
             (core instance $i (instantiate $m))
             (func $f (canon lift (core func $i "f")))
             (instance $about (export "describe" (func $f)) (export "check-settings" (func $f)))
             (export "coxswain:plugin/about@{version}" (instance $about)))"#
    ))
}

/// The component with some of its text replaced by text of the same length.
fn patched(name: &str, from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = bytes(name);
    let places: Vec<usize> =
        (0..bytes.len() - from.len()).filter(|&at| bytes[at..].starts_with(from.as_bytes())).collect();
    assert!(!places.is_empty(), "{name} does not contain {from}");
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    }
    bytes
}

#[test]
fn every_shipped_plugin_loads_and_says_who_it_is() {
    for (name, flavor) in [("openmpi", "OpenMPI"), ("intel-mpi", "Intel"), ("mpich", "MPICH")] {
        let plugin = plugin(name);

        assert_eq!(plugin.name(), name);
        assert_eq!(plugin.digest(), &Digest::of(&bytes(name)));
        assert_eq!(plugin.descriptor().serves, [flavor]);
        assert!(plugin.is_launcher() && !plugin.is_tuner());
    }
}

#[test]
fn the_shipped_tuner_loads_and_tunes_every_implementation() {
    let plugin = plugin("nccl-rdma");

    assert!(plugin.is_tuner() && !plugin.is_launcher());
    assert_eq!(plugin.descriptor().serves, [""; 0]);
}

#[test]
fn one_component_may_be_launcher_and_tuner() {
    assert!(plugin("hostile").is_launcher() && plugin("hostile").is_tuner());
}

#[test]
fn size_is_bounded_before_anything_else() {
    let bytes = vec![0; 10];

    let refused = sandbox().load("openmpi", &bytes, 9).expect_err("was loaded");

    assert_eq!(refused.to_string(), "it has 10 bytes, at most 9 are allowed");
    assert_eq!(refused.reason(), "TooLarge");
}

#[test]
fn bytes_that_are_no_component_are_refused_in_words() {
    assert!(refused(b"").to_string().starts_with("it is not WebAssembly"));
    assert!(refused(b"#!/bin/sh\n").to_string().starts_with("it is not WebAssembly"));
    assert!(refused(&component("(module)")).to_string().starts_with("it is a core module, not a component"));
    let whole = bytes("openmpi");
    assert!(matches!(refused(&whole[..whole.len() / 2]), Refused::Malformed(_)));
}

/// Bytes of a good component with a few changed, dropped, repeated or moved; always the same for one seed.
fn mutated(whole: &[u8], seed: u64) -> Vec<u8> {
    let mut state = seed;
    // SplitMix64: any sequence will do, as long as it is the same next time.
    let mut below = |bound: usize| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % u64::try_from(bound.max(1)).unwrap()).unwrap()
    };
    let mut bytes = whole.to_vec();
    for _ in 0..=below(4) {
        let (at, length) = (below(bytes.len()), below(16));
        let end = (at + length).min(bytes.len());
        match below(5) {
            0 => bytes[at] ^= 1 << below(8),
            1 => bytes[at] = u8::try_from(below(256)).unwrap(),
            2 => drop(bytes.drain(at..end)),
            3 => {
                let piece = bytes[at..end].to_vec();
                let to = below(bytes.len());
                bytes.splice(to..to, piece);
            }
            _ => bytes[at..end].fill(0xff),
        }
    }
    if below(8) == 0 {
        bytes.truncate(below(bytes.len()));
    }
    bytes
}

#[test]
fn thousands_of_mutations_never_end_the_process_and_are_told_in_words() {
    let (whole, job) = (bytes("c-mpi"), job("CMPI", 2, 2));
    let mut refusals = 0;
    for seed in 0..2_000 {
        // Some change only a text, or what the plugin does: those still load, and are held to their budget.
        match load("c-mpi", &mutated(&whole, seed)) {
            Ok(plugin) => drop(plugin.render(&job)),
            Err(refused) => {
                let words = refused.to_string();
                assert!(!words.is_empty() && words.len() < 4_096, "seed {seed}: {words}");
                refusals += 1;
            }
        }
    }
    assert!(refusals > 1_000, "only {refusals} were refused: do they mutate anything?");
}

#[test]
fn a_function_import_is_refused_by_name() {
    let wasi = component(r#"(component (import "wasi:io/poll@0.2.6" (instance (export "poll" (func)))))"#);
    let bare = component(r#"(component (import "now" (func (result u64))))"#);
    let resource = component(r#"(component (import "a:b/c" (instance (export "r" (type (sub resource))))))"#);

    assert!(
        refused(&wasi).to_string().starts_with("it imports wasi:io/poll@0.2.6, and a plugin imports nothing")
    );
    assert_eq!(refused(&bare), Refused::Impure("now".into()));
    assert!(matches!(refused(&resource), Refused::Impure(_) | Refused::WrongWorld(_)));
}

#[test]
fn another_world_is_refused_in_words() {
    let nothing = component("(component)");
    assert!(refused(&nothing).to_string().ends_with("it is no plugin"));
    assert_eq!(
        refused(&about("0.2.0", "")).to_string(),
        "it exports coxswain:plugin/about in version 0.2.0, this operator speaks 0.1.x"
    );
    assert!(refused(&about("0.1.7", "")).to_string().starts_with("its interfaces are not those of"));
}

#[test]
fn a_start_function_has_the_budget_of_a_call() {
    let endless = about("0.1.0", "(func $s (loop (br 0))) (start $s)");
    let greedy = about("0.1.0", "(memory 2000)");

    assert!(matches!(refused(&endless), Refused::Broke(Break::OutOfFuel { .. })));
    assert_eq!(refused(&greedy), Refused::Broke(Break::OutOfMemory));
}

#[test]
fn too_many_functions_and_too_large_ones_are_refused_before_compiling() {
    let many = format!("(component (core module {}))", "(func)".repeat(20_001));
    let large = format!("(component (core module (func {})))", "(drop (i32.const 1))".repeat(100_000));

    assert!(refused(&component(&many)).to_string().contains("more than 20000 functions"));
    assert!(refused(&component(&large)).to_string().contains("at most 262144 are allowed"));
}

#[test]
fn a_name_that_is_not_its_own_is_refused() {
    let refused = load("mpich", &bytes("openmpi")).expect_err("was loaded");

    assert_eq!(
        refused.to_string(),
        "its description is wrong: it calls itself \"openmpi\" and is loaded as \"mpich\""
    );
}

#[test]
fn contradictions_in_a_description_are_all_named() {
    let prefix = refused(&patched("openmpi", "OMPI_MCA_PRTE_MCA_", "OMPI_MCA_PRTE MCA_"));
    let version = refused(&patched("openmpi", "openmpi0.1.0Open", "openmpi0.1.xOpen"));
    let default = refused(&patched("openmpi", "-o ConnectionAttempts=10", "-o ConnectionAttempts\n10"));

    assert_eq!(
        prefix.to_string(),
        "its description is wrong: writes-env has an entry \"PRTE MCA_\" that cannot be one"
    );
    assert_eq!(
        version.to_string(),
        "its description is wrong: its version \"0.1.x\" is not of the form 1.2.3"
    );
    assert!(default.to_string().contains("it refuses its own default of \"ssh-args\""), "{default}");
}

#[test]
fn the_same_bytes_have_the_same_identity_and_cost() {
    let ((one, of_one), (two, of_two)) = (observed("openmpi"), observed("openmpi"));
    let mut job = job("OpenMPI", 100, 8);
    job.settings = merged(&one, &[]);

    let plans = [&one, &two].map(|plugin| plugin.render(&job).unwrap());

    assert_eq!(one.digest(), two.digest());
    assert_eq!(one.descriptor(), two.descriptor());
    assert_eq!(plans[0], plans[1]);
    let (of_one, of_two) = (of_one.lock().unwrap(), of_two.lock().unwrap());
    assert_eq!(*of_one, *of_two);
    let (_, fuel, ..) = of_one.last().unwrap();
    assert!(*fuel > 10_000, "rendering cost {fuel} instructions: is it counted?");
}
