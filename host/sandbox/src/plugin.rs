//! A plugin that can be asked.

use std::{fmt, sync::Arc};

use coxswain_model::{
    pin::Digest,
    plan::{Descriptor, Failure, File, Plan, Violation},
    view::{JobView, Member, Setting},
};
use wasmtime::Store;

use crate::{
    bindings::v0_1::{DescribesPre, launches::LaunchesPre, tunes::TunesPre},
    call::{Caller, Function, Limits},
    convert::{self, Input},
    fault::{Break, Fault},
};

/// A component that has been checked, compiled and has said who it is. Clones are the same plugin.
#[derive(Clone)]
pub struct Plugin(Arc<Loaded>);

/// What a plugin consists of.
pub(crate) struct Loaded {
    pub caller: Caller,
    pub descriptor: Descriptor,
    pub describes: DescribesPre<Limits>,
    pub launches: Option<LaunchesPre<Limits>>,
    pub tunes: Option<TunesPre<Limits>>,
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
    /// As [`Plugin::check_settings`], before there is a plugin.
    pub fn check_settings(&self, settings: &[Setting]) -> Result<Vec<Violation>, Break> {
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

impl From<Loaded> for Plugin {
    fn from(loaded: Loaded) -> Self {
        Self(Arc::new(loaded))
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
