//! Bytes to a plugin that can be asked.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::Result;
use wasmtime::{
    Engine, Store,
    component::{Component, Linker},
};

use crate::{
    bindings::v0_1::{DescribesPre, launches::LaunchesPre, tunes::TunesPre},
    call::{Caller, Limits, Observer},
    compiler::Compiler,
    engine,
    fault::{Break, Refused},
    inspect,
    plugin::{Loaded, Plugin},
};

mod describe;

/// Versions of the contract that this host speaks.
const SPEAKS: &str = "0.1.";

/// Loads plugins. Clones share one engine.
#[derive(Clone)]
pub struct Sandbox(Arc<Shared>);

struct Shared {
    engine: Engine,
    compiler: Compiler,
    observer: Option<Observer>,
    /// Held while compiling: one at a time, as that is what takes memory.
    compiling: Mutex<()>,
}

// === impl Sandbox ===

impl Sandbox {
    /// Starts an engine that compiles in this process, as suits tools and tests.
    ///
    /// # Errors
    ///
    /// Where the machine gives no thread, or wasmtime does not know it.
    pub fn new() -> Result<Self> {
        Self::with(Compiler::Here, None)
    }

    /// Starts an engine; `observer` is notified of every call, on the caller's thread.
    ///
    /// # Errors
    ///
    /// As [`Self::new`].
    pub fn with(compiler: Compiler, observer: impl Into<Option<Observer>>) -> Result<Self> {
        let engine = engine::start()?;
        let (observer, compiling) = (observer.into(), Mutex::new(()));
        Ok(Self(Arc::new(Shared { engine, compiler, observer, compiling })))
    }

    /// Inspects, compiles and asks `bytes` (at most `bound` of them) who they are. They must call themselves `name`.
    ///
    /// Takes tens of milliseconds for a Rust plugin of 50 KB on an idle machine: it compiles.
    ///
    /// # Errors
    ///
    /// The first step that fails, in words.
    pub fn load(&self, name: &str, bytes: &[u8], bound: usize) -> Result<Plugin, Refused> {
        let guarded = AssertUnwindSafe(|| self.load_unguarded(name, bytes, bound));
        catch_unwind(guarded).unwrap_or_else(|panic| Err(Refused::Broke(Break::panicked(panic.as_ref()))))
    }

    fn load_unguarded(&self, name: &str, bytes: &[u8], bound: usize) -> Result<Plugin, Refused> {
        let digest = inspect::bytes(bytes, bound)?;
        let engine = &self.0.engine;
        let component = self.compile(bytes)?;
        inspect::purity(&component, engine)?;
        let pre = Linker::new(engine)
            .instantiate_pre(&component)
            .map_err(|error| Refused::WrongWorld(format!("it cannot be linked: {error:#}")))?;

        let exports = |interface| exports(&component, engine, interface);
        if !exports("about")? {
            return Err(Refused::WrongWorld(
                "it exports no interface coxswain:plugin/about: it is no plugin".into(),
            ));
        }
        let describes = DescribesPre::new(pre.clone()).map_err(wrong_world)?;
        let launches = exports("launcher")?.then(|| LaunchesPre::new(pre.clone()));
        let tunes = exports("tuner")?.then(|| TunesPre::new(pre.clone()));
        let (launches, tunes) =
            (launches.transpose().map_err(wrong_world)?, tunes.transpose().map_err(wrong_world)?);

        let caller =
            Caller { name: name.into(), digest, engine: engine.clone(), observer: self.0.observer.clone() };
        try_instance(&caller, |store| describes.instantiate(store))?;
        launches.iter().try_for_each(|pre| try_instance(&caller, |store| pre.instantiate(store)))?;
        tunes.iter().try_for_each(|pre| try_instance(&caller, |store| pre.instantiate(store)))?;
        let descriptor = describe::ask(&caller, &describes)?;
        let loaded = Loaded { caller, descriptor, describes, launches, tunes };
        describe::check(&loaded)?;
        Ok(Plugin::from(loaded))
    }

    fn compile(&self, bytes: &[u8]) -> Result<Component, Refused> {
        let _one_at_a_time = self.0.compiling.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.compiler.component(&self.0.engine, bytes)
    }
}

/// Whether a component exports an interface in a version that this host speaks.
fn exports(component: &Component, engine: &Engine, interface: &str) -> Result<bool, Refused> {
    let versions = inspect::versions(component, engine, interface);
    if versions.is_empty() || versions.iter().any(|version| version.starts_with(SPEAKS)) {
        return Ok(!versions.is_empty());
    }
    let versions = versions.join(", ");
    Err(Refused::WrongWorld(format!(
        "it exports coxswain:plugin/{interface} in version {versions}, this operator speaks {SPEAKS}x"
    )))
}

/// Types are compared when an instance is made, so one is made.
fn try_instance<T>(
    caller: &Caller,
    instantiate: impl FnOnce(&mut Store<Limits>) -> wasmtime::Result<T>,
) -> Result<(), Refused> {
    let made = caller.trial(|store| instantiate(store).map(drop)).map_err(Refused::Broke)?;
    made.map_err(wrong_world)
}

#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
fn wrong_world(error: wasmtime::Error) -> Refused {
    Refused::WrongWorld(format!("its interfaces are not those of coxswain:plugin@{SPEAKS}x: {error:#}"))
}
