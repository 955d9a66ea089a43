//! Where the components are that `make plugins` built.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// The folder of those that ship: `COXSWAIN_PLUGINS`, or `plugins` in the target directory. In it `unshipped` holds what is for
/// tests only, `examples` what authors of plugins start from.
pub fn folder() -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = || env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace.join("target"), PathBuf::from);
    env::var_os("COXSWAIN_PLUGINS").map_or_else(|| target().join("plugins"), PathBuf::from)
}

/// The file of a component, wherever in the folder it stands. Panics where there is none.
pub fn path(name: &str) -> PathBuf {
    let folder = folder();
    let places = [folder.clone(), folder.join("unshipped"), folder.join("examples")];
    let mut files = places.iter().map(|place| place.join(name).with_extension("wasm"));
    let found = files.find(|file| file.exists());
    found.unwrap_or_else(|| panic!("{name} is not in {}: run `make plugins`", folder.display()))
}

/// Its bytes.
pub fn bytes(name: &str) -> Vec<u8> {
    let path = path(name);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
