//! Variables that Open MPI has to hand on: of the launcher's environment, ranks over ssh get what begins with `OMPI_`
//! and nothing else, unless `mpirun` is told. (MPICH and Intel MPI hand on everything.)
//!
//! `mpirun` refuses a list in the environment beside `-x` on its command line, so the list is made only where no `-x`
//! can be.

use alloc::{string::String, vec::Vec};

use coxswain_plugin_kit::{
    env::Env,
    plan,
    settings::Settings,
    types::{Change, Edit, EnvValue, Group, Job, Plan},
};

use super::{
    Draft,
    users::{self, Said},
};
use crate::{FORWARD, asked::contains};

/// Names with `;` between them.
const LIST: &str = "OMPI_MCA_mca_base_env_list";
const SEPARATOR: &str = ";";
const STARTERS: [&str; 4] = ["mpirun", "mpiexec", "orterun", "prterun"];

/// Has the ranks get `names`, or says how.
pub fn add(draft: &mut Draft, job: &Job, so_far: &Plan, names: &[&str], settings: Settings) {
    let drivers = job.groups.iter().find(|group| group.driver);
    let (Some(driver), "OpenMPI", false) = (drivers, &*job.flavor, names.is_empty()) else { return };
    let may = match settings.text(FORWARD) {
        "never" => return,
        "always" => true,
        _ => is_free(driver),
    };
    if let Some(words) = rendered(so_far) {
        draft.edits.push(Edit {
            group: Some(driver.name.clone()),
            change: Change::LaunchCommand(with_names(words, names)),
        });
        return;
    }
    match users::said_in(driver, LIST) {
        Said::Value(theirs) => {
            draft.edits.extend(Env::of(&driver.name).force(LIST, joined(theirs, names)).into_edits());
        }
        Said::Nothing if may => {
            let list = joined(listed(so_far), names);
            draft.edits.extend(Env::of(&driver.name).fallback(LIST, list).into_edits());
        }
        _ => tell(draft, driver, names),
    }
}

/// What to add to a command that takes no list.
fn tell(draft: &mut Draft, driver: &Group, names: &[&str]) {
    let words = || driver.container.command.iter().chain(&driver.container.args);
    let missing: Vec<&str> =
        names.iter().copied().filter(|name| !words().any(|word| contains(word, name))).collect();
    if !missing.is_empty() {
        let text = [
            "ranks over ssh do not get these variables, as a -x of the launcher's command stands against a list: add -x ",
            &missing.join(" -x "),
            " to mpirun, or set nccl-rdma.coxswain.dev/forward: always where there is no -x",
        ];
        draft.notes.push(plan::warning(text.concat()));
    }
}

/// The launcher's command starts `mpirun` where it can be seen, and without `-x`.
fn is_free(driver: &Group) -> bool {
    let words = || driver.container.command.iter().chain(&driver.container.args);
    let parts = || words().flat_map(|word| word.split_ascii_whitespace());
    let starts = |word: &str| STARTERS.contains(&word.rsplit('/').next().unwrap_or(word));
    parts().any(starts) && parts().all(|word| word != "-x")
}

/// The whole command, where a plugin has rendered it.
fn rendered(so_far: &Plan) -> Option<&[String]> {
    so_far.edits.iter().rev().find_map(|edit| match &edit.change {
        Change::LaunchCommand(words) => Some(&**words),
        _ => None,
    })
}

/// `-x NAME` after the program, for each that is not there.
fn with_names(words: &[String], names: &[&str]) -> Vec<String> {
    let mut all: Vec<String> = words.iter().take(1).cloned().collect();
    for name in names {
        let is_there = |pair: &[String]| {
            let given = pair.get(1).and_then(|word| word.split('=').next());
            pair.first().is_some_and(|word| word == "-x") && given == Some(name)
        };
        if !words.windows(2).any(is_there) {
            all.extend(["-x".into(), (*name).into()]);
        }
    }
    all.extend(words.iter().skip(1).cloned());
    all
}

/// The list as the plugins before have it.
fn listed(so_far: &Plan) -> &str {
    so_far
        .edits
        .iter()
        .rev()
        .find_map(|edit| match &edit.change {
            Change::Env(env) if env.name == LIST => match &env.value {
                EnvValue::Literal(list) => Some(&**list),
                EnvValue::Field(_) => None,
            },
            _ => None,
        })
        .unwrap_or_default()
}

/// `list` and those `names` that are not in it.
fn joined(list: &str, names: &[&str]) -> String {
    let has = |name: &str| list.split(SEPARATOR).any(|item| item.split('=').next() == Some(name));
    let mut all: Vec<&str> = list.split(SEPARATOR).filter(|item| !item.is_empty()).collect();
    all.extend(names.iter().copied().filter(|name| !has(name)));
    all.join(SEPARATOR)
}
