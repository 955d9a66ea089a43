//! Compiling in a process of its own: how it may end, in words. The real one is held in the operator's tests, which
//! have a program.

use coxswain_sandbox::{Child, Compiler, Refused, Sandbox};
use pretty_assertions::assert_eq;

use crate::given::{BOUND, bytes};

/// Why a compiler that is this script does not compile.
fn refused(script: &str) -> String {
    let child = Child { program: "/bin/sh".into(), words: vec!["-c".to_owned(), script.to_owned()] };
    match Sandbox::with(Compiler::Child(child), None).unwrap().load("openmpi", &bytes("openmpi"), BOUND) {
        Err(Refused::NotCompiled(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_compilers_own_words_are_told() {
    assert_eq!(refused("cat > /dev/null; echo 'no such type' >&2; exit 1"), "no such type");
    assert_eq!(refused("cat > /dev/null; exit 3"), "the compiler ended with exit status: 3");
}

#[test]
fn one_that_does_not_read_to_the_end_is_no_broken_pipe() {
    assert_eq!(refused("echo 'out of breath' >&2; exit 1"), "out of breath");
}

#[test]
fn a_killed_compiler_is_told_from_one_that_used_up_its_time() {
    assert!(
        refused("kill -KILL $$")
            .starts_with("the compiler was killed, as by a node or a pod without memory left")
    );
    assert_eq!(refused("kill -XCPU $$"), "the compiler used up its 60 seconds");
}

#[test]
fn what_is_no_machine_code_is_not_run() {
    let text = refused("cat > /dev/null; echo hello");
    assert!(!text.is_empty() && !text.contains("the compiler ended"), "{text}");
}

#[test]
fn a_compiler_that_is_not_there_is_named() {
    let child = Child { program: "/no/such/program".into(), words: vec![] };
    let sandbox = Sandbox::with(Compiler::Child(child), None).unwrap();

    let refused = sandbox.load("openmpi", &bytes("openmpi"), BOUND).expect_err("was loaded");

    assert!(
        refused.to_string().starts_with("it does not compile: the compiler could not be started: "),
        "{refused}"
    );
}
