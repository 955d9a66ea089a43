//! Bytes to a plugin that can be asked.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::Result;
use coxswain_model::{
    pin::Digest,
    plan::{Descriptor, Failure, File, Plan, Violation},
    view::{JobView, Member, Setting},
};
use wasmtime::{
    Engine, Store,
    component::{Component, Linker},
};

use crate::{
    bindings::v0_1::{DescribesPre, launches::LaunchesPre, tunes::TunesPre},
    call::{Caller, Function, Limits, Observer},
    compiler::Compiler,
    convert::{self, Input},
    engine,
    fault::{Break, Fault, Refused},
    inspect,
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

/// A component that has been checked, compiled and has said who it is. Clones are the same plugin.
#[derive(Clone)]
pub struct Plugin(Arc<Loaded>);

struct Loaded {
    caller: Caller,
    descriptor: Descriptor,
    describes: DescribesPre<Limits>,
    launches: Option<LaunchesPre<Limits>>,
    tunes: Option<TunesPre<Limits>>,
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

    /// Starts an engine; `observer` is told of every call, on the caller's thread.
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
        Ok(Plugin(Arc::new(loaded)))
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

// === impl Plugin ===

impl Plugin {
    /// The name it is loaded as.
    pub fn name(&self) -> &str {
        &self.0.caller.name
    }

    /// sha256 of its bytes.
    pub fn digest(&self) -> &Digest {
        &self.0.caller.digest
    }

    /// What it says of itself. A claim, not a right.
    pub fn descriptor(&self) -> &Descriptor {
        &self.0.descriptor
    }

    /// It can render jobs.
    pub fn is_launcher(&self) -> bool {
        self.0.launches.is_some()
    }

    /// It can tune plans.
    pub fn is_tuner(&self) -> bool {
        self.0.tunes.is_some()
    }

    /// What is wrong with `settings`; the path of a violation is the setting's key.
    ///
    /// # Errors
    ///
    /// Only [`Fault::Broken`].
    pub fn check_settings(&self, settings: &[Setting]) -> Result<Vec<Violation>, Fault> {
        self.0.check_settings(settings).map_err(Fault::Broken)
    }

    /// The plan for `job`, with the settings in it. What the plugin does not declare to read is left out.
    ///
    /// # Errors
    ///
    /// The plugin refuses the job, or breaks.
    pub fn render(&self, job: &JobView) -> Result<Plan, Fault> {
        self.render_with(&mut Input::of(job), &job.settings)
    }

    /// The files that follow `members`.
    ///
    /// # Errors
    ///
    /// As [`Self::render`].
    pub fn follow(&self, job: &JobView, members: &[Member]) -> Result<Vec<File>, Fault> {
        self.follow_with(&mut Input::of(job), &job.settings, members)
    }

    /// The plugin's own edits, files and notes on top of `so_far`.
    ///
    /// # Errors
    ///
    /// As [`Self::render`].
    pub fn tune(&self, job: &JobView, so_far: &Plan) -> Result<Plan, Fault> {
        self.tune_with(&mut Input::of(job), &job.settings, so_far)
    }

    pub(crate) fn render_with(&self, job: &mut Input<'_>, settings: &[Setting]) -> Result<Plan, Fault> {
        let loaded = &*self.0;
        let launches = loaded.launches.as_ref().ok_or(Fault::Broken(Break::NotExported("launcher")))?;
        let view = job.view();
        let input = job.read_by(&loaded.descriptor, settings);
        let enter = |store: &mut Store<Limits>| {
            launches.instantiate(&mut *store)?.coxswain_plugin_launcher().call_render(store, input)
        };
        settle(loaded.caller.run(Function::Render, hosts(view), enter, |raw| convert::plan(raw, self.name())))
    }

    pub(crate) fn follow_with(
        &self,
        job: &mut Input<'_>,
        settings: &[Setting],
        members: &[Member],
    ) -> Result<Vec<File>, Fault> {
        let loaded = &*self.0;
        let launches = loaded.launches.as_ref().ok_or(Fault::Broken(Break::NotExported("launcher")))?;
        let view = job.view();
        let input = job.read_by(&loaded.descriptor, settings);
        let members = convert::members(view, members);
        let size = hosts(view).saturating_add(members.len());
        let enter = |store: &mut Store<Limits>| {
            launches.instantiate(&mut *store)?.coxswain_plugin_launcher().call_follow(store, input, &members)
        };
        settle(loaded.caller.run(Function::Follow, size, enter, |raw| convert::files(raw, self.name())))
    }

    pub(crate) fn tune_with(
        &self,
        job: &mut Input<'_>,
        settings: &[Setting],
        so_far: &Plan,
    ) -> Result<Plan, Fault> {
        let loaded = &*self.0;
        let tunes = loaded.tunes.as_ref().ok_or(Fault::Broken(Break::NotExported("tuner")))?;
        let view = job.view();
        let input = job.read_by(&loaded.descriptor, settings);
        let so_far = convert::so_far(so_far);
        let enter = |store: &mut Store<Limits>| {
            tunes.instantiate(&mut *store)?.coxswain_plugin_tuner().call_tune(store, input, &so_far)
        };
        settle(loaded.caller.run(Function::Tune, hosts(view), enter, |raw| convert::plan(raw, self.name())))
    }
}

impl Loaded {
    fn check_settings(&self, settings: &[Setting]) -> Result<Vec<Violation>, Break> {
        let input = convert::settings(settings);
        let enter = |store: &mut Store<Limits>| {
            self.describes
                .instantiate(&mut *store)?
                .coxswain_plugin_about()
                .call_check_settings(store, &input)
        };
        self.caller.run(Function::CheckSettings, 0, enter, convert::violations)
    }
}

impl fmt::Debug for Plugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.name(), self.digest().short())
    }
}

/// Size of the input, which makes the budget.
fn hosts(job: &JobView) -> usize {
    job.groups.iter().map(|group| group.hosts.len()).sum()
}

fn settle<T>(answer: Result<Result<T, Failure>, Break>) -> Result<T, Fault> {
    answer.map_err(Fault::Broken)?.map_err(Fault::Refused)
}
