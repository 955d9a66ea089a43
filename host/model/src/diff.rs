//! (observed, desired) → the steps that lead from one to the other.
//!
//! Total and deterministic: the same arguments give the same steps in the same order, sorted by
//! [`crate::step::Wave`]; where nothing differs there are none. Never more than `replicas` workers are created
//! by one reconcile: each index once, and only where no pod of that name exists, not even a terminating one.

mod dependencies;
mod launcher;
mod ownership;
mod workers;

pub use self::ownership::foreign;
pub use crate::desired::Wanted;
use crate::{
    gate::Gate,
    job::{LauncherCreation, ValidJob},
    observed::ObservedState,
    phase::Phase,
    step::Step,
};

/// What to do for a job in `phase`. Where nothing can be said of what should exist and beside foreign
/// objects nothing is created and no content is changed; suspending, cleaning up, scaling down and opening the
/// gate go on.
pub fn steps(
    job: &ValidJob,
    observed: &ObservedState,
    phase: Phase,
    gate: &Gate,
    wanted: &Wanted,
) -> Vec<Step> {
    let wanted = if foreign(job, observed, phase).is_empty() { wanted } else { &Wanted::Nothing };
    let mut steps = match phase {
        Phase::Active => active(job, observed, gate, wanted),
        Phase::Suspended => suspended(job, observed, wanted),
        // Cleaning follows once the status says how it ended, as in the MPI Operator.
        Phase::Ended | Phase::Lost => Vec::new(),
        Phase::Evicted { .. } => launcher::suspend(job, observed).into_iter().collect(),
        Phase::Finished => {
            launcher::suspend(job, observed).into_iter().chain(workers::clean_up(job, observed)).collect()
        }
    };
    steps.sort_by_key(Step::wave);
    steps
}

fn active(job: &ValidJob, observed: &ObservedState, gate: &Gate, wanted: &Wanted) -> Vec<Step> {
    let mut steps = workers::scale_down(job, observed);
    if let Wanted::Adopted(adopted_job) = wanted {
        steps.extend(
            adopted_job.config.as_ref().and_then(|config| dependencies::config(job, observed, config)),
        );
        steps.extend(workers::create(job, observed, &adopted_job.workers));
    }
    if let Wanted::Everything(desired) = wanted {
        steps.extend(dependencies::steps(job, observed, desired));
        steps.extend(dependencies::pod_group(job, observed, desired));
        let replaced = launcher::replace(job, observed, desired)
            .or_else(|| launcher::renew(job, observed, desired))
            .or_else(|| launcher::resume(job, observed, desired));
        steps.extend(replaced);
        // A pod that is created while the name of something that it mounts is still taken would hang on it.
        if !dependencies::are_leaving(observed) {
            steps.extend(workers::create(job, observed, &desired.workers));
            steps.extend(launcher::create(job, observed, desired));
        }
    }
    steps.extend(launcher::open_gate(gate));
    steps
}

/// Under `WaitForWorkersReady` the launcher Job is not made while there are no workers to be ready.
fn suspended(job: &ValidJob, observed: &ObservedState, wanted: &Wanted) -> Vec<Step> {
    let mut steps = workers::stop(job, observed);
    steps.extend(launcher::suspend(job, observed));
    if let Wanted::Everything(desired) = wanted {
        steps.extend(dependencies::steps(job, observed, desired));
        steps.extend(launcher::replace(job, observed, desired));
        if job.launcher_creation() == LauncherCreation::AtStartup && !dependencies::are_leaving(observed) {
            steps.extend(launcher::create_suspended(job, observed, desired));
        }
    }
    steps
}

#[cfg(test)]
mod native_gang_tests;
#[cfg(test)]
mod tests;
