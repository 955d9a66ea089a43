//! What is costly to make and the same in every run: compiled plugins, key pairs.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use coxswain_cluster::keys;
use coxswain_model::desired::secret::KeyPair;
use coxswain_plugins::{Load, Loader};
use coxswain_sandbox::{Plugin, Refused, Sandbox};
use coxswain_test_support::components;

/// Key pairs that runs share: nothing depends on which one a job gets.
const PAIRS: usize = 8;

/// By name and bytes.
type Loaded = HashMap<(String, Vec<u8>), Result<Plugin, Refused>>;

/// Compiles each component once.
pub struct Compiled {
    sandbox: Sandbox,
    plugins: Mutex<Loaded>,
}

impl Load for Compiled {
    fn load(&self, name: &str, bytes: &[u8], bound: usize) -> Result<Plugin, Refused> {
        let mut plugins = self.plugins.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (name.to_owned(), bytes.to_vec());
        plugins.entry(key).or_insert_with(|| self.sandbox.load(name, bytes, bound)).clone()
    }
}

/// Of this process.
pub fn engine() -> Arc<Loader> {
    static LOADER: OnceLock<Arc<Loader>> = OnceLock::new();
    let make = || {
        let compiled = Compiled { sandbox: Sandbox::new().expect("an engine"), plugins: Mutex::default() };
        Arc::new(Loader(Arc::new(compiled)))
    };
    Arc::clone(LOADER.get_or_init(make))
}

/// One of a few.
///
/// # Errors
///
/// None: the operator's own can fail.
pub fn key_pair() -> anyhow::Result<KeyPair> {
    static KEYS: OnceLock<Vec<KeyPair>> = OnceLock::new();
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let pairs = KEYS.get_or_init(|| (0..PAIRS).map(|_| keys::pair().expect("a key pair")).collect());
    Ok(pairs[NEXT.fetch_add(1, Ordering::Relaxed) % PAIRS].clone())
}

/// `openmpi` with a section that nobody reads: another digest for each version, and the same behaviour. What is none for 0.
pub fn version(version: u32) -> Vec<u8> {
    if version == 0 {
        return b"no component".to_vec();
    }
    let mut bytes = std::fs::read(folder().join("openmpi.wasm")).expect("it was copied there");
    let mut section = vec![7];
    section.extend(b"version");
    section.extend(version.to_le_bytes());
    bytes.extend([0, u8::try_from(section.len()).expect("twelve bytes")]);
    bytes.extend(section);
    bytes
}

/// The folder of the image's components: `openmpi` alone, as `make plugins` has built it.
pub fn folder() -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let make = || {
        let target = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target");
        let folder = target.join("simulator/plugins");
        std::fs::create_dir_all(&folder).expect("a folder");
        let built = components::bytes("openmpi");
        std::fs::write(folder.join("openmpi.wasm"), built).expect("a file in it");
        folder
    };
    FOLDER.get_or_init(make).clone()
}
