//! The files of one crate, as texts by their path from the root of the checkout.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context as _, Result};

/// Texts by path.
pub(crate) type Files = BTreeMap<String, String>;

/// All Rust files under `folder`, which is given from `root`.
pub(crate) fn files(root: &Path, folder: &str) -> Result<Files> {
    let mut files = Files::new();
    let mut left = vec![folder.to_owned()];
    while let Some(folder) = left.pop() {
        let entries = fs::read_dir(root.join(&folder)).with_context(|| format!("listing {folder}"))?;
        for entry in entries {
            let entry = entry.with_context(|| format!("listing {folder}"))?;
            let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if entry.file_type().with_context(|| format!("looking at {path}"))?.is_dir() {
                left.push(path);
            } else if Path::new(&path).extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(root.join(&path)).with_context(|| format!("reading {path}"))?;
                files.insert(path, text);
            }
        }
    }
    Ok(files)
}

/// The files with which the compiler starts: of the library and of the program.
pub(crate) fn entries(name: &str, files: &Files) -> Vec<String> {
    let candidates = ["lib", "main"].map(|file| format!("host/{name}/src/{file}.rs"));
    candidates.into_iter().filter(|file| files.contains_key(file)).collect()
}
