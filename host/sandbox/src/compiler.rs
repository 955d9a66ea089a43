//! Bytes to machine code: here, or in a process that ends with it.
//!
//! The compiler keeps 8 MB for its next component and pages in as much of the program's text; both stay for as long as
//! the process. A child takes them along. It also has limits of its own, so that a component on which the compiler runs
//! away costs that component, not the process that serves jobs.

use std::{
    io::{Read, Write},
    os::unix::process::ExitStatusExt,
    path::PathBuf,
    process::{Command, ExitStatus, Stdio},
};

use anyhow::{Context, Result};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use wasmtime::{Engine, component::Component};

use crate::{engine, fault::Refused};

/// Seconds of computing that a child may use. The shipped plugins take 0.1 to 0.2; one of 4 MiB, the largest, would
/// take 13 at their rate.
const SECONDS: u64 = 60;

/// Between the limit at which the kernel says why it ends a child and the one at which it kills without a word.
const GRACE: u64 = 1;

/// Address space of a child. The shipped plugins have it compute in 27 MB.
const ADDRESS_SPACE: u64 = 2 << 30;

/// Where components are compiled.
#[derive(Clone, Debug)]
pub enum Compiler {
    /// In this process: for tools and tests, which end soon.
    Here,
    /// In a process for each component.
    Child(Child),
}

/// A program that calls [`compile`] when it is started with these words.
#[derive(Clone, Debug)]
pub struct Child {
    /// The program: the caller's own, as machine code is for one version of the engine.
    pub program: PathBuf,
    /// Its arguments.
    pub words: Vec<String>,
}

/// What a child does: reads a component, writes its machine code. Limits this whole process.
///
/// # Errors
///
/// The component does not compile, or a pipe is closed.
pub fn compile(from: &mut impl Read, to: &mut impl Write) -> Result<()> {
    for (resource, most, grace) in
        [(Resource::Cpu, SECONDS, GRACE), (Resource::As, ADDRESS_SPACE, 0), (Resource::Core, 0, 0)]
    {
        // Whoever started the operator may have set a lower one.
        let most = most.saturating_add(grace);
        let maximum = getrlimit(resource).maximum.map_or(most, |maximum| maximum.min(most));
        let limit = Rlimit { current: Some(maximum.saturating_sub(grace)), maximum: Some(maximum) };
        setrlimit(resource, limit).context("limiting the compiler")?;
    }
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes).context("reading the component")?;
    let code = engine::without_clock()?.precompile_component(&bytes)?;
    to.write_all(&code).context("writing the machine code")
}

impl Compiler {
    /// The component of `bytes`, for `engine`.
    pub(crate) fn component(&self, engine: &Engine, bytes: &[u8]) -> Result<Component, Refused> {
        let component = match self {
            Self::Here => Component::new(engine, bytes),
            Self::Child(child) => loaded(engine, &child.compile(bytes)?),
        };
        component.map_err(|error| Refused::NotCompiled(format!("{error:#}")))
    }
}

impl Child {
    fn compile(&self, bytes: &[u8]) -> Result<Vec<u8>, Refused> {
        let started = Command::new(&self.program)
            .args(&self.words)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = started.map_err(|error| lost(&format!("could not be started: {error}")))?;
        // It reads all before it writes. If it ends before that, its exit code says more than a broken pipe.
        let fed = child.stdin.take().map(|mut pipe| pipe.write_all(bytes));
        let output = child.wait_with_output().map_err(|error| lost(&format!("was lost: {error}")))?;
        if output.status.success() && matches!(fed, Some(Ok(()))) {
            return Ok(output.stdout);
        }
        let words = String::from_utf8_lossy(&output.stderr);
        Err(ending(output.status, words.trim()))
    }
}

/// Signals by their numbers, which are those of Linux on every platform that wasmtime compiles for.
fn ending(status: ExitStatus, words: &str) -> Refused {
    match status.signal() {
        None if !words.is_empty() => Refused::NotCompiled(words.to_owned()),
        None => Refused::NotCompiled(format!("the compiler ended with {status}")),
        Some(9) => lost("was killed, as where a pod or a node has no memory left"),
        Some(24) => Refused::NotCompiled(format!("the compiler used up its {SECONDS} seconds")),
        Some(_) => Refused::NotCompiled(format!("the compiler ended with {status}: {words}")),
    }
}

fn lost(how: &str) -> Refused {
    Refused::CompilerLost(format!(
        "the plugin was not compiled, as the compiler {how}; any change of its ConfigMap has it tried again"
    ))
}

#[allow(unsafe_code, reason = "wasmtime runs what it is given here; see below")]
fn loaded(engine: &Engine, code: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: what is deserialized is trusted to be machine code that this engine's compiler wrote. It comes from a
    // child with this program's own text through a pipe that nobody else holds, ended without an error, and was never
    // stored. A component that could make the compiler write something else could do so in this process too.
    unsafe { Component::deserialize(engine, code) }
}
