//! One script of requests for the simulated and for a real API server, so that the one is held to what the other answers.
//!
//! `conformance/script/GROUP.json` is a list of [`Step`]s; `conformance/record/MINOR/GROUP.json` is what a Kubernetes of that
//! minor version answered, normalised: uids, times and versions under names. `cargo test` compares the simulated server with
//! the record; `tests/simulator/record` makes the record anew on the bed.

mod normal;
mod run;
mod step;

use std::{collections::BTreeMap, fs, path::PathBuf};

use serde_json::Value;

pub use self::{run::run, step::Step};

/// Names and steps of all groups.
pub fn script() -> BTreeMap<String, Vec<Step>> {
    let read = |name: &str, text: &str| -> Vec<Step> {
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    files("script").into_iter().map(|(name, text)| (name.clone(), read(&name, &text))).collect()
}

/// What a Kubernetes of this minor version answered, by group.
pub fn record(minor: &str) -> BTreeMap<String, Vec<Value>> {
    let read =
        |name: &str, text: &str| serde_json::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
    files(&format!("record/{minor}"))
        .into_iter()
        .map(|(name, text)| (name.clone(), read(&name, &text)))
        .collect()
}

/// Minor versions of which there is a record.
pub fn recorded() -> Vec<String> {
    let entries = fs::read_dir(folder().join("record")).into_iter().flatten();
    let mut minors: Vec<String> =
        entries.map(|entry| entry.expect("a folder").file_name().into_string().expect("a version")).collect();
    minors.sort();
    minors
}

/// Writes what a server answered.
pub fn write_record(minor: &str, group: &str, answers: &[Value]) -> std::io::Result<()> {
    let folder = folder().join("record").join(minor);
    fs::create_dir_all(&folder)?;
    let text = serde_json::to_string_pretty(answers).expect("JSON");
    fs::write(folder.join(format!("{group}.json")), text + "\n")
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("conformance")
}

/// Texts of a folder's files by name, without the ending.
fn files(name: &str) -> BTreeMap<String, String> {
    let folder = folder().join(name);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let text = |entry: fs::DirEntry| {
        let name = entry.path().file_stem()?.to_str()?.to_owned();
        Some((name, fs::read_to_string(entry.path()).ok()?))
    };
    entries.filter_map(|entry| text(entry.ok()?)).collect()
}
