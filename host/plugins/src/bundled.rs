//! The components that the image carries: used where no ConfigMap of their name has been healthy, so that a
//! cluster without plugin ConfigMaps works.

use std::{fs, path::Path};

use anyhow::{Context as _, Result};

use crate::source::Candidate;

/// Every `NAME.wasm` of the directory, by name. A directory that does not exist holds none.
pub fn read(dir: &Path) -> Result<Vec<Candidate>> {
    let shown = dir.display();
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("reading the plugin directory {shown}")),
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("reading the plugin directory {shown}"))?.path();
        if path.extension().is_some_and(|extension| extension == "wasm")
            && let Some(name) = path.file_stem().and_then(|stem| stem.to_str())
        {
            let bytes = fs::read(&path).with_context(|| format!("reading plugin {}", path.display()))?;
            found.push(Candidate::of(name, bytes));
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}
