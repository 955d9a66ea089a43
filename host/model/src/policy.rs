//! What a plan may touch: turns a plugin's requests into grants, or into violations that name the plugin.
//!
//! A plugin can change the environment, command and files of the jobs that it serves, within the bounds below, and
//! nothing else: names, labels, owners, Secrets, security contexts, volumes, images, resources, scheduling and
//! status are the host's. One violation refuses the whole plan, and all violations are reported at once.

mod capabilities;
mod cluster_policy;
mod commands;
pub mod compare;
mod files;
mod findings;
mod granted;
mod notes;
mod ports;
mod variables;

use self::findings::Findings;
pub use self::{
    cluster_policy::ClusterPolicy,
    granted::{Grant, Granted, GrantedEnv},
};
use crate::{
    job::ValidJob,
    kind::Role,
    plan::{Descriptor, File, Plan, Violation},
};

/// Checks a plan of the plugins `chain` (launcher first). All violations are reported, not only the first.
pub fn grant(
    job: &ValidJob,
    plan: &Plan,
    chain: &[&Descriptor],
    policy: &ClusterPolicy,
) -> Result<Granted, Vec<Violation>> {
    let mut found = Findings::default();
    found.strangers(job.kind(), plan, chain);
    let (job_files, everywhere) = files::grant(job, &plan.files, &mut found);
    let (shared_memory, lock_memory) = capabilities::grant(job, plan, policy, &mut found);
    let of_role = |role: &'static Role| {
        let env = variables::grant(role.name, plan, chain, policy, &mut found);
        let ports = ports::grant(role.name, plan, &mut found);
        (role, Grant { env, ports })
    };
    let groups = job.kind().roles().map(of_role).collect();
    let launch_command = commands::launch(job, plan, &mut found);
    let prefix_command = commands::prefix(job, plan, policy, &mut found);
    let notes = notes::grant(&plan.notes, &mut found);
    notes::renamed(job, &mut found);
    found.unless_any(|ours| Granted {
        groups,
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

#[cfg(test)]
mod tests;
