//! What a plan may touch: turns a plugin's wishes into grants, or into violations that name the plugin.
//!
//! A plugin can change the environment, command and files of the jobs that it serves, within the bounds below, and
//! nothing else: names, labels, owners, Secrets, security contexts, volumes, images, resources, scheduling and
//! status are the host's. One violation refuses the whole plan, and all violations are told at once.

mod commands;
pub mod compare;
mod files;
mod notes;
mod ports;
mod variables;
mod wants;

use crate::{
    api::wire,
    job::ValidJob,
    plan::{Change, Descriptor, Edit, EnvValue, File, Note, Plan, Port, Violation},
};

/// What the cluster's administrator allows beyond the fixed rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterPolicy {
    /// Plugins that may put words before the user's command.
    pub prefix_command: Vec<String>,
    /// Kinds of `want` that are granted to every job (a job annotation may ask for more).
    pub wants: Vec<String>,
    /// Variables that plugins may set although they are withheld by default (`PATH`, `LD_*`, proxies, …), by full
    /// name. The plugin must declare them, too.
    pub env: Vec<String>,
}

/// A plan that passed every rule, sorted by what it touches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Granted {
    /// For the launcher's main container.
    pub launcher: Grant,
    /// For the workers' main container.
    pub worker: Grant,
    /// The launcher's whole command, if the job asked for it.
    pub launch_command: Option<Vec<String>>,
    /// Words before the user's command in the launcher.
    pub prefix_command: Vec<String>,
    /// Files beside the host list, by name.
    pub job_files: Vec<File>,
    /// Files for every pod; `place` is one of the known places.
    pub everywhere: Vec<File>,
    /// Size of `/dev/shm`, if granted: a Kubernetes quantity.
    pub shared_memory: Option<String>,
    /// `IPC_LOCK`, if granted.
    pub lock_memory: bool,
    /// For the user: the plugins' own, and wishes that were not granted.
    pub notes: Vec<Note>,
}

/// What one role's main container gets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grant {
    /// In plan order, names unique (the last edit of a name wins at the place of the first).
    pub env: Vec<GrantedEnv>,
    /// Names unique.
    pub ports: Vec<Port>,
}

/// A variable that may be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantedEnv {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: EnvValue,
    /// Replaces the user's value.
    pub force: bool,
    /// The plugin whose value it is.
    pub by: String,
    /// The plugins whose values it replaced.
    pub replaced: Vec<String>,
}

/// Checks a plan of the plugins `chain` (launcher first). All violations are reported, not only the first.
pub fn grant(
    job: &ValidJob,
    plan: &Plan,
    chain: &[&Descriptor],
    policy: &ClusterPolicy,
) -> Result<Granted, Vec<Violation>> {
    let mut found = Findings::default();
    found.strangers(plan, chain);
    let (job_files, everywhere) = files::grant(job, &plan.files, &mut found);
    let (shared_memory, lock_memory) = wants::grant(job, plan, policy, &mut found);
    let [launcher, worker] = [wire::ROLE_LAUNCHER, wire::ROLE_WORKER].map(|role| Grant {
        env: variables::grant(role, plan, chain, policy, &mut found),
        ports: ports::grant(role, plan, &mut found),
    });
    let launch_command = commands::launch(job, plan, &mut found);
    let prefix_command = commands::prefix(job, plan, policy, &mut found);
    let notes = notes::grant(&plan.notes, &mut found);
    found.unless_any(|ours| Granted {
        launcher,
        worker,
        launch_command,
        prefix_command,
        job_files,
        everywhere,
        shared_memory,
        lock_memory,
        notes: [notes, ours].concat(),
    })
}

/// Puts files that follow the pods in the place of those of the same name. They may change what a file says, no
/// more: which files there are is fixed when the launcher is made.
pub fn follow(job: &ValidJob, granted: &Granted, files: &[File]) -> Result<Granted, Vec<Violation>> {
    let mut found = Findings::default();
    let job_files = files::follow(job, &granted.job_files, files, &mut found);
    found.unless_any(|_| Granted { job_files, ..granted.clone() })
}

/// Most edits of one plugin.
const MAX_EDITS: usize = 256;

/// What a check finds: reasons to refuse, and remarks.
#[derive(Debug, Default)]
struct Findings {
    violations: Vec<Violation>,
    notes: Vec<Note>,
}

impl Findings {
    /// `text` says what is wrong and the way out.
    fn refuse(&mut self, by: &str, item: &str, text: impl Into<String>) {
        self.refuse_at(format!("plugins[{by}].{item}"), text);
    }

    /// The same, where something else than a plugin is to be changed. Repeats are dropped: an edit of both roles is
    /// checked for each.
    fn refuse_at(&mut self, path: impl Into<String>, text: impl Into<String>) {
        let violation = Violation { path: path.into(), text: text.into() };
        if !self.violations.contains(&violation) {
            self.violations.push(violation);
        }
    }

    fn note(&mut self, by: &str, text: String) {
        self.notes.push(Note { by: by.to_owned(), warning: false, text });
    }

    /// What no rule of one kind sees: edits of plugins or groups that there are not, or too many.
    fn strangers(&mut self, plan: &Plan, chain: &[&Descriptor]) {
        for edit in &plan.edits {
            if chain.iter().all(|plugin| plugin.name != edit.by) {
                self.refuse(&edit.by, "edits", "is not in the job's chain of plugins");
            }
            let known = [None, Some(wire::ROLE_LAUNCHER), Some(wire::ROLE_WORKER)];
            if !known.contains(&edit.group.as_deref()) {
                let group = edit.group.as_deref().unwrap_or_default();
                self.refuse(
                    &edit.by,
                    "edits",
                    format!("unknown group {group:?}: the groups are \"launcher\" and \"worker\""),
                );
            }
        }
        for plugin in chain {
            let count = plan.edits.iter().filter(|edit| edit.by == plugin.name).count();
            if count > MAX_EDITS {
                self.refuse(&plugin.name, "edits", format!("{count} edits: at most {MAX_EDITS} are allowed"));
            }
        }
    }

    fn unless_any(self, granted: impl FnOnce(Vec<Note>) -> Granted) -> Result<Granted, Vec<Violation>> {
        if self.violations.is_empty() { Ok(granted(self.notes)) } else { Err(self.violations) }
    }
}

/// The edits that reach a role.
fn edits<'a>(plan: &'a Plan, role: &'a str) -> impl Iterator<Item = (&'a str, &'a Change)> {
    let reaches = move |edit: &&Edit| edit.group.as_deref().is_none_or(|group| group == role);
    plan.edits.iter().filter(reaches).map(|edit| (edit.by.as_str(), &edit.change))
}

/// A control character other than a tab: nothing that people or shells expect in one line.
fn is_control(c: char) -> bool {
    c.is_control() && c != '\t'
}

#[cfg(test)]
mod tests;
