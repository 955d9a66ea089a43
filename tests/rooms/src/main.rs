//! Lint: the crates under `host/` depend on each other in one direction only, and the files inside each form no circle.
//!
//! Run in the root of a checkout. What it finds goes to stdout, with the lines that make it; then it fails.
#![forbid(unsafe_code)]

mod arrows;
mod attributes;
mod circles;
mod crates;
mod mentions;
mod source;
mod tree;

use std::{
    env,
    io::{self, Write as _},
    path::Path,
    process::{Command, ExitCode},
};

use anyhow::{Context as _, Result, ensure};

/// Crates under `host/` whose files may form no circle.
const WITHOUT_CIRCLES: &[&str] = &["model", "sandbox", "cluster", "plugins", "operator", "cli"];

fn main() -> Result<ExitCode> {
    let root = env::current_dir().context("asking for the current directory")?;
    let mut found = crates::against_direction(&metadata(&root)?).context("reading what cargo says")?;
    for name in WITHOUT_CIRCLES {
        let files = source::files(&root, &format!("host/{name}/src"))?;
        for entry in source::entries(name, &files) {
            let tree = tree::Tree::read(&files, &entry)?;
            found.extend(circles::of(&arrows::of(&tree)).iter().map(ToString::to_string));
        }
    }
    let mut out = io::stdout().lock();
    for one in &found {
        writeln!(out, "{one}").context("writing what was found")?;
    }
    Ok(if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The members of the workspace and what each depends on.
fn metadata(root: &Path) -> Result<serde_json::Value> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = ["metadata", "--no-deps", "--format-version", "1"];
    let answer = Command::new(cargo).args(arguments).current_dir(root).output().context("starting cargo")?;
    ensure!(answer.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&answer.stderr).trim());
    serde_json::from_slice(&answer.stdout).context("decoding cargo's metadata")
}
