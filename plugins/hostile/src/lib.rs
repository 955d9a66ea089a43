//! Does what no plugin should. Never shipped: it is there so that tests see the sandbox and the policy hold.
//!
//! The setting `behaviour` picks what `render`, `follow` and `tune` do; in other functions it behaves. `none` gives an empty
//! plan.

mod behaviours;
mod bindings;

use bindings::exports::coxswain::plugin::{about, launcher, tuner};
use coxswain_plugin_kit::{
    settings::{self, Declared, Kind, Settings},
    types::{Failure, File, Job, Member, Plan, Setting, Violation},
};

const BEHAVIOUR: &str = "behaviour";

const SETTINGS: &[Declared] =
    &[Declared { key: BEHAVIOUR, kind: Kind::Text, default: "none", summary: "what to do wrong" }];

struct Hostile;

impl about::Guest for Hostile {
    fn describe() -> about::Descriptor {
        about::Descriptor {
            name: "hostile".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            summary: "does what no plugin should".into(),
            serves: vec!["OpenMPI".into()],
            settings: settings::kinds(SETTINGS),
            reads_env: vec!["SEEN_".into()],
            writes_env: vec!["HOSTILE_".into()],
            reads_annotations: vec!["seen.example/".into()],
        }
    }

    fn check_settings(settings: Vec<Setting>) -> Vec<Violation> {
        settings::check(SETTINGS, &settings)
    }
}

impl launcher::Guest for Hostile {
    fn render(job: Job) -> Result<Plan, Failure> {
        act(&job)
    }

    fn follow(job: Job, _members: Vec<Member>) -> Result<Vec<File>, Failure> {
        act(&job).map(|plan| plan.files)
    }
}

impl tuner::Guest for Hostile {
    fn tune(job: Job, _so_far: Plan) -> Result<Plan, Failure> {
        act(&job)
    }
}

fn act(job: &Job) -> Result<Plan, Failure> {
    let settings = Settings::parse(SETTINGS, &job.settings)?;
    behaviours::perform(settings.text(BEHAVIOUR), job)
}
