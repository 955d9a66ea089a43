//! Every object of every case in `tests/golden`, byte for byte, through the real plugins and `coxswain render`.
//!
//! A case is a folder with `job.yaml`; `arguments` holds more arguments of `render`, one a line, if the case needs
//! any. What is printed must equal `expected.yaml` (or `expected.jsonl` where `arguments` asks for JSON, or
//! `expected.err` for a job that is refused). Where `excerpt` names objects, one a line, those stand in the file, and a
//! digest of everything in place of the others. `COXSWAIN_UPDATE_GOLDEN=1` writes the files anew.
#![allow(clippy::unwrap_used, clippy::panic, clippy::match_bool, reason = "a test")]

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use coxswain_model::pin::Digest;
use coxswain_test_support::components;
use pretty_assertions::StrComparison;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A plugin's digest differs between compilers, so the golden files name the plugin in its place.
fn names_of_digests() -> BTreeMap<String, String> {
    let files = fs::read_dir(components::folder())
        .unwrap_or_else(|error| panic!("{error}: run `make plugins` first"));
    let paths = files.map(|file| file.unwrap().path());
    let components = paths.filter(|path| path.extension().is_some_and(|extension| extension == "wasm"));
    let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    components.map(|path| (Digest::of(&fs::read(&path).unwrap()).to_string(), name(&path))).collect()
}

fn render(case: &Path) -> (&'static str, String) {
    let arguments = fs::read_to_string(case.join("arguments")).unwrap_or_default();
    let output = Command::new(env!("CARGO_BIN_EXE_coxswain"))
        .arg("render")
        .arg(case.join("job.yaml"))
        .arg("--plugin-dir")
        .arg(components::folder())
        .args(arguments.lines())
        .output()
        .unwrap();
    let file = match output.status.success() {
        true if arguments.contains("json") => "expected.jsonl",
        true => "expected.yaml",
        false => "expected.err",
    };
    let said = if output.status.success() { output.stdout } else { output.stderr };
    let mut said = String::from_utf8(said).unwrap().replace(&format!("{}/", root().display()), "");
    for (digest, name) in names_of_digests() {
        said = said.replace(&digest, &format!("<digest of {name}>"));
    }
    match fs::read_to_string(case.join("excerpt")) {
        Ok(names) => (file, excerpt(&said, &names.lines().collect::<Vec<_>>())),
        Err(_) => (file, said),
    }
}

/// The digest of all lines, each a JSON object, and the lines of the objects that are `named`.
fn excerpt(said: &str, named: &[&str]) -> String {
    let is_named = |line: &&str| {
        let object: serde_json::Value = serde_json::from_str(line).unwrap();
        named.contains(&object.pointer("/metadata/name").unwrap().as_str().unwrap())
    };
    let lines: Vec<&str> = said.lines().filter(is_named).collect();
    let (all, digest) = (said.lines().count(), Digest::of(said.as_bytes()));
    format!("{{\"objects\":{all},\"sha256\":\"{digest}\"}}\n{}\n", lines.join("\n"))
}

#[test]
fn every_object_of_every_case_is_as_its_golden_file_says() {
    let update = env::var_os("COXSWAIN_UPDATE_GOLDEN").is_some();
    let mut cases: Vec<PathBuf> =
        fs::read_dir(root().join("tests/golden")).unwrap().map(|case| case.unwrap().path()).collect();
    cases.retain(|case| case.join("job.yaml").exists());
    cases.sort();
    assert!(cases.len() >= 2, "tests/golden holds {} cases", cases.len());

    let mut different = Vec::new();
    for case in cases {
        let (file, said) = render(&case);
        let expected = case.join(file);
        if update {
            fs::write(&expected, &said).unwrap();
        }
        let golden = fs::read_to_string(&expected).unwrap_or_default();
        if golden != said {
            different.push(format!("{}\n{}", expected.display(), StrComparison::new(&golden, &said)));
        }
    }
    let count = different.len();
    assert!(different.is_empty(), "{count} cases differ:\n\n{}", different.join("\n\n"));
}
