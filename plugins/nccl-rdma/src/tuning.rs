//! A profile's variables as files, edits and capability requests of a plan.

mod forward;
mod users;

use alloc::{string::String, vec::Vec};

use coxswain_plugin_kit::{
    env::Env,
    plan,
    settings::Settings,
    types::{Change, Edit, File, Group, Job, Note, Plan, Want},
};

use self::users::Said;
use crate::{
    LOCK_MEMORY, NONE, SHARED_MEMORY, asked,
    carrier::{self, Carrier},
    interface,
    profiles::Profile,
    variables::{self, Variable},
};

/// A plan under construction.
#[derive(Default)]
pub struct Draft {
    pub edits: Vec<Edit>,
    pub files: Vec<File>,
    pub notes: Vec<Note>,
}

impl From<Draft> for Plan {
    fn from(draft: Draft) -> Self {
        let Draft { edits, files, notes } = draft;
        Self { edits, files, notes }
    }
}

/// What the profile adds to the plan so far.
pub fn plan(job: &Job, so_far: &Plan, profile: &Profile, settings: Settings) -> Draft {
    let interface = interface::of(job, settings);
    let variables = variables::of(job, profile, &interface, settings);
    let mut draft = Draft::default();
    if interface.is_uneven {
        draft.notes.push(plan::warning(
            "claims give some pods that execute ranks a network interface and others none or another: it is not used",
        ));
    }
    files(&mut draft, job, profile, &variables);
    environment(&mut draft, job, &variables);
    let names = handed_on(&variables);
    forward::add(&mut draft, job, so_far, &names, settings);
    capabilities(&mut draft, settings);
    draft
}

/// RCCL reads a file of its own with the same contents.
fn files(draft: &mut Draft, job: &Job, profile: &Profile, variables: &[Variable]) {
    let lines = |wanted: Carrier| {
        let mut text = String::new();
        for (name, value) in variables.iter().filter(|(name, _)| carrier::of(name) == Some(wanted)) {
            // What the user gave a container would not reach a rank that sshd starts.
            let value = match users::said(job, name) {
                Said::Nothing => value,
                Said::Value(theirs) => theirs,
                Said::Reference => continue,
            };
            for part in [name, "=", value, "\n"] {
                text.push_str(part);
            }
        }
        text
    };
    let mut add = |place: &str, file: &str, text: String| {
        if !text.is_empty() {
            draft.files.push(plan::file_everywhere(place, file, text));
        }
    };
    let nccl = lines(Carrier::NcclConf);
    if profile.is_for_rccl || asked::has_amd(job) {
        add("rccl-conf", "rccl.conf", nccl.clone());
    }
    add("nccl-conf", "nccl.conf", nccl);
    add("ucx-conf", "ucx.conf", lines(Carrier::UcxConf));
}

fn environment(draft: &mut Draft, job: &Job, variables: &[Variable]) {
    let drivers: Vec<&Group> = job.groups.iter().filter(|group| group.driver).collect();
    let workers = job.groups.iter().filter(|group| group.runs_ranks && !group.driver);
    let set = |env: Env, wanted: &dyn Fn(Carrier) -> bool| {
        let chosen = variables.iter().filter(|(name, _)| carrier::of(name).is_some_and(wanted));
        chosen.fold(env, |env, (name, value)| env.fallback(name, value.as_str())).into_edits()
    };
    let everyone = |way| matches!(way, Carrier::UcxConf | Carrier::Environment);
    draft.edits.extend(set(Env::of_everyone(), &everyone));
    for group in drivers {
        let launcher = |way| matches!(way, Carrier::LauncherOf(flavor) if flavor == job.flavor);
        draft.edits.extend(set(Env::of(&group.name), &launcher));
    }
    for group in workers {
        draft.edits.extend(set(Env::of(&group.name), &|way| way == Carrier::Pods));
    }
}

/// Names of the variables that a launcher has to hand on.
fn handed_on(variables: &[Variable]) -> Vec<&str> {
    let travels = |name: &str| matches!(carrier::of(name), Some(Carrier::UcxConf | Carrier::Environment));
    variables.iter().map(|(name, _)| &**name).filter(|name| travels(name)).collect()
}

fn capabilities(draft: &mut Draft, settings: Settings) {
    let mut request = |kind: &str, parameter: Option<String>| {
        let want = Want { kind: kind.into(), parameter };
        draft.edits.push(Edit { group: None, change: Change::Want(want) });
    };
    let size = settings.text(SHARED_MEMORY);
    if size != NONE {
        request("shared-memory", Some(size).filter(|size| !size.is_empty()).map(Into::into));
    }
    if settings.flag(LOCK_MEMORY) {
        request("lock-memory", None);
    }
}
