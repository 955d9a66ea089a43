//! Programs beside the tests, as a person would call them.

use anyhow::{Context as _, Result, ensure};
use tokio::process::Command;

/// Runs a program and returns what it printed. One that fails is an error with all that it said.
pub async fn run(program: &str, words: &[&str]) -> Result<String> {
    let done = Command::new(program).args(words).output().await;
    let done = done.with_context(|| format!("starting {program}"))?;
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    ensure!(
        done.status.success(),
        "{program} {words:?} failed:\n{said}{}",
        String::from_utf8_lossy(&done.stderr)
    );
    Ok(said)
}

/// The same for a line of shell, of which every part must end well.
pub async fn run_in_shell(line: &str) -> Result<String> {
    run("bash", &["-c", &format!("set -euo pipefail; {line}")]).await
}
