//! Compiling in a process of its own: how it may end, in words. The real one is held in the operator's tests, which
//! have a program.

use std::{env, hint, io, process};

use coxswain_sandbox::{Child, Compiler, Refused, Sandbox, compile};
use pretty_assertions::assert_eq;

use crate::given::{BOUND, bytes};

/// What a compiler that is this script leads to.
fn refused(script: &str) -> Refused {
    let child = Child { program: "/bin/sh".into(), words: vec!["-c".to_owned(), script.to_owned()] };
    let sandbox = Sandbox::with(Compiler::Child(child), None).unwrap();
    sandbox.load("openmpi", &bytes("openmpi"), BOUND).expect_err("was loaded")
}

fn not_compiled(text: &str) -> Refused {
    Refused::NotCompiled(text.to_owned())
}

#[test]
fn the_compilers_own_words_are_told() {
    let words = refused("cat > /dev/null; echo 'no such type' >&2; exit 1");
    assert_eq!(words, not_compiled("no such type"));
    assert_eq!(words.to_string(), "it does not compile: no such type");
    let silence = refused("cat > /dev/null; exit 3");
    assert_eq!(silence, not_compiled("the compiler ended with exit status: 3"));
}

#[test]
fn one_that_does_not_read_to_the_end_is_no_broken_pipe() {
    assert_eq!(refused("echo 'out of breath' >&2; exit 1"), not_compiled("out of breath"));
}

#[test]
fn a_killed_compiler_says_nothing_of_the_component() {
    let killed = refused("kill -KILL $$");
    assert!(matches!(killed, Refused::CompilerLost(_)), "{killed:?}");
    assert!(killed.to_string().contains("the compiler was killed, as where a pod"), "{killed}");
}

/// Computes until it is stopped.
struct Endless;

impl io::Read for Endless {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        loop {
            hint::black_box(());
        }
    }
}

/// The child of the test below, in this program: only when it is asked for by name.
#[test]
#[ignore = "computes without an end"]
fn child_that_computes_without_an_end() {
    compile(&mut Endless, &mut io::sink()).unwrap();
    process::exit(0);
}

/// The kernel itself ends it. A lower limit from outside saves the minute that a child really has.
#[test]
fn what_the_compiler_computes_on_without_an_end_does_not_compile() {
    let words =
        ["-c", r#"ulimit -t 2 && exec "$0" --exact --ignored compiling::child_that_computes_without_an_end"#];
    let this = env::current_exe().unwrap().into_os_string().into_string().unwrap();
    let words = words.map(str::to_owned).into_iter().chain([this]).collect();
    let sandbox = Sandbox::with(Compiler::Child(Child { program: "/bin/sh".into(), words }), None).unwrap();

    let refused = sandbox.load("openmpi", &bytes("openmpi"), BOUND).expect_err("was loaded");

    assert_eq!(refused, not_compiled("the compiler used up its 60 seconds"));
}

#[test]
fn what_is_no_machine_code_is_not_run() {
    let text = refused("cat > /dev/null; echo hello").to_string();
    assert!(text.starts_with("it does not compile: ") && !text.contains("the compiler ended"), "{text}");
}

#[test]
fn a_compiler_that_is_not_there_says_nothing_of_the_component() {
    let child = Child { program: "/no/such/program".into(), words: vec![] };
    let sandbox = Sandbox::with(Compiler::Child(child), None).unwrap();

    let refused = sandbox.load("openmpi", &bytes("openmpi"), BOUND).expect_err("was loaded");

    assert!(matches!(refused, Refused::CompilerLost(_)), "{refused:?}");
    assert!(refused.to_string().contains("the compiler could not be started: "), "{refused}");
}
