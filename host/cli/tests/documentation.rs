//! What the documentation tells people to type, and what the examples say that they need.
//!
//! The guides to plugins are run whole by `tests/guide`; the tables from the code are held by `src/documentation.rs`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use coxswain_test_support::components;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|e| e == extension)).collect();
    files.sort();
    assert!(files.len() > 5, "{folder} holds {} files", files.len());
    files
}

/// Commands on one of the examples, in a line of their own or between backticks.
fn renders(text: &str) -> Vec<Vec<String>> {
    let commands = text.split("coxswain render examples/").skip(1).map(|rest| {
        let end = rest.find(['`', '#', '\n']).unwrap_or(rest.len());
        format!("render examples/{}", rest.get(..end).unwrap())
    });
    commands.map(|command| command.split_whitespace().map(str::to_owned).collect()).collect()
}

#[test]
fn every_command_on_an_example_works_in_a_clone() {
    let plugins = components::folder().display().to_string();
    let mut tried = 0;
    for file in files("docs", "md").into_iter().chain([root().join("README.md")]) {
        for words in renders(&fs::read_to_string(&file).unwrap()) {
            let words = words.into_iter().map(|word| word.replace("target/plugins", &plugins));
            let mut command = Command::new(env!("CARGO_BIN_EXE_coxswain"));
            let output = command.args(words).current_dir(root()).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{}: {command:?}: {said}", file.display());
            tried += 1;
        }
    }
    assert!(tried >= 2, "only {tried} commands were found");
}

#[test]
fn examples_whose_image_is_in_no_registry_say_so() {
    for file in files("examples", "yaml") {
        let text = fs::read_to_string(&file).unwrap();
        let is_nowhere =
            ["image: localhost/", "image: ghcr.io/example/"].iter().any(|image| text.contains(image));
        let (_, needs) = text.split_once("# Needs:").unwrap();
        let (needs, _) = needs.split_once("# Look at:").unwrap();
        let says = needs.contains("an image") || text.contains("# The image is in no registry");
        assert!(!is_nowhere || says, "{}: it needs an image, and says that it needs{needs}", file.display());
    }
}
