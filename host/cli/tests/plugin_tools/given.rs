//! The binary, components, and files to hand to it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use coxswain_test_support::components;

/// The checkout.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A component that `make plugins` built.
pub fn component(name: &str) -> String {
    let path = components::path(name);
    path.to_str().unwrap().to_owned()
}

/// A folder of the test's own, empty.
pub fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// A file in it.
pub fn file(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// What one call did.
#[derive(Debug)]
pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// `coxswain WORDS…`, without a terminal.
pub fn coxswain(words: &[&str]) -> Said {
    said(command(words))
}

/// The same, not yet run.
pub fn command(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coxswain"));
    command.args(words).env_remove("CLICOLOR_FORCE").env_remove("NO_COLOR");
    command
}

/// Runs it.
pub fn said(mut command: Command) -> Said {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Said { code: status.code(), out: text(stdout), err: text(stderr) }
}
