//! Plugin crates to core modules, by cargo.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::workspace::{self, PROFILE, TARGET, Workspace};

/// What to do where the compiler has no standard library for the target.
const NO_TARGET: &str = "the compiler has no standard library for wasm32-unknown-unknown. Either
  rustup target add wasm32-unknown-unknown
or, where rustup cannot fetch it, with Debian's packages
  apt-get install rustc-web cargo-web rust-web-src lld-19
  export RUSTC=/usr/bin/rustc CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld-19 COXSWAIN_CARGO=/usr/bin/cargo
  export COXSWAIN_WASM_ENV=RUSTC_BOOTSTRAP=1 COXSWAIN_WASM_FLAGS=-Zbuild-std=std,panic_abort";

/// Compiles the core modules of `packages`.
pub fn modules(workspace: &Workspace, packages: &[&str]) -> Result<()> {
    if packages.is_empty() {
        return Ok(());
    }
    let mut command = build(workspace, &workspace.root)?;
    command.args(["--locked", "--profile", PROFILE]);
    command.args(packages.iter().flat_map(|package| ["--package", package]));
    command.current_dir(&workspace.root);
    command.env("CARGO_TARGET_DIR", &workspace.target);

    let status = command.status().with_context(|| format!("starting {command:?}"))?;
    if !status.success() {
        bail!("compiling the plugins failed ({status})");
    }
    Ok(())
}

/// Compiles the crate in `folder`, which is not of the workspace, and says where its core module is.
pub fn module(workspace: &Workspace, folder: &Path) -> Result<PathBuf> {
    let mut command = build(workspace, folder)?;
    command.args(["--release", "--message-format=json-render-diagnostics"]).current_dir(folder);
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("starting {command:?}"))?;
    if !output.status.success() {
        bail!("compiling {} failed ({})", folder.display(), output.status);
    }
    let messages = String::from_utf8(output.stdout).context("reading cargo's messages")?;
    let mut built = messages.lines().filter_map(|line| artifact(&serde_json::from_str(line).ok()?));
    built.next_back().with_context(|| {
        format!(
            "{} makes no plugin: its Cargo.toml needs crate-type = [\"cdylib\"] in [lib]",
            folder.display()
        )
    })
}

/// The file of a `cdylib`, where a message of cargo's tells of one.
fn artifact(message: &Value) -> Option<PathBuf> {
    let kinds = message.pointer("/target/crate_types")?.as_array()?;
    let file = message.pointer("/filenames/0")?.as_str()?;
    kinds.iter().any(|kind| kind == "cdylib").then(|| file.into())
}

/// `cargo build` for the plugins' target, of what lies in `folder`.
fn build(workspace: &Workspace, folder: &Path) -> Result<Command> {
    let flags = env::var("COXSWAIN_WASM_FLAGS").unwrap_or_default();
    if !flags.contains("build-std") && !has_target()? {
        bail!("{NO_TARGET}");
    }
    let mut command = workspace::cargo();
    command.args(["build", "--target", TARGET]);
    command.args(flags.split_whitespace());
    // KEY=VALUE words such as RUSTC_BOOTSTRAP=1, for this command alone: build scripts of other crates look at it too.
    let environment = env::var("COXSWAIN_WASM_ENV").unwrap_or_default();
    command.envs(environment.split_whitespace().filter_map(|word| word.split_once('=')));
    command.env("CARGO_ENCODED_RUSTFLAGS", rustflags(workspace, folder)?);
    // Set by the cargo that runs this program; they are not for another package's build.
    command.env_remove("RUSTFLAGS").env_remove("CARGO_MANIFEST_DIR");
    Ok(command)
}

/// Paths of this machine become the same everywhere: they reach the bytes through messages of panics.
fn rustflags(workspace: &Workspace, folder: &Path) -> Result<OsString> {
    let home = cargo_home().context("neither CARGO_HOME nor HOME is set")?;
    let mut flags = OsString::new();
    // Where several match, the last one counts, so the general one comes first.
    for (from, to) in [
        (&home, "/cargo"),
        (&sysroot()?, "/rust"),
        (&folder.to_owned(), "/plugin"),
        (&workspace.root, "/coxswain"),
        (&workspace.target, "/target"),
    ] {
        if !flags.is_empty() {
            flags.push("\u{1f}");
        }
        flags.push("--remap-path-prefix=");
        flags.push(from);
        flags.push("=");
        flags.push(to);
    }
    Ok(flags)
}

fn cargo_home() -> Option<PathBuf> {
    let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo"));
    env::var_os("CARGO_HOME").map(PathBuf::from).or_else(home)
}

fn sysroot() -> Result<PathBuf> {
    print("sysroot", &[])
}

/// Whether the compiler brings the target's standard library.
fn has_target() -> Result<bool> {
    Ok(print("target-libdir", &["--target", TARGET])?.is_dir())
}

fn print(what: &str, more: &[&str]) -> Result<PathBuf> {
    let mut command = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    command.args(["--print", what]).args(more);
    let output = command.output().with_context(|| format!("starting {command:?}"))?;
    let text =
        String::from_utf8(output.stdout).with_context(|| format!("reading the answer of {command:?}"))?;
    Ok(text.trim().into())
}
