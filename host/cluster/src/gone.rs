//! Launcher Jobs that are gone, for as long as a job's status does not say how it ended. A launcher that has ended must
//! not run again, whether Kubernetes removed its Job before a reconcile looked (`ttlSecondsAfterFinished`) or while no
//! operator was there.
//!
//! In go the rows that left the table of launcher Jobs, and what the API server answered about one that no watch shows;
//! out comes the last word on one job's launcher. It holds one entry for each job that waits for a reconcile, and knows
//! nothing that happened before this process listed Jobs. A standby has watches of its own, so whoever takes over knows.

use std::collections::HashMap;

use coxswain_model::observed::{LauncherGone, ObservedLauncher, Uid};

use crate::key::JobKey;

/// See the module.
#[derive(Debug, Default)]
pub struct GoneLaunchers(HashMap<JobKey, LastWord>);

#[derive(Debug)]
enum LastWord {
    /// The watch showed the Job when it was deleted, or its end before that.
    Shown(ObservedLauncher),
    /// The API server has none for the `MPIJob` with this uid, and the watch showed neither.
    Unobserved(Uid),
}

impl GoneLaunchers {
    /// A launcher Job is gone. `is_final`: this is its state when it was deleted; else there may have been a later one,
    /// and only an end is certain.
    pub fn left(&mut self, job: JobKey, mut launcher: ObservedLauncher, is_final: bool) {
        if is_final || launcher.end.is_some() {
            // Nobody may take it for one that can be written to.
            launcher.object.deleting = true;
            self.0.insert(job, LastWord::Shown(launcher));
        }
    }

    /// The API server has no launcher Job of the `MPIJob` with this uid.
    pub fn not_found(&mut self, job: JobKey, owner: &Uid) {
        if !self.knows(&job, owner) {
            self.0.insert(job, LastWord::Unobserved(owner.clone()));
        }
    }

    /// There is a last word about the launcher Job of the `MPIJob` with this uid.
    pub fn knows(&self, job: &JobKey, owner: &Uid) -> bool {
        self.0.get(job).is_some_and(|word| word.owner() == Some(owner))
    }

    /// The last word about the launcher Job of the `MPIJob` with this uid: the Job itself if it had ended.
    pub fn of(&self, job: &JobKey, owner: &Uid) -> (Option<ObservedLauncher>, LauncherGone) {
        match self.0.get(job).filter(|word| word.owner() == Some(owner)) {
            None => (None, LauncherGone::Unknown),
            Some(LastWord::Unobserved(_)) => (None, LauncherGone::Unobserved),
            Some(LastWord::Shown(launcher)) if launcher.end.is_none() => (None, LauncherGone::Deleted),
            Some(LastWord::Shown(launcher)) => (Some(launcher.clone()), LauncherGone::Unknown),
        }
    }

    /// Lets go of jobs that do not wait for it: `waits` is told the job and the uid of its `MPIJob`.
    pub fn retain(&mut self, waits: impl Fn(&JobKey, &Uid) -> bool) {
        self.0.retain(|job, word| word.owner().is_some_and(|owner| waits(job, owner)));
    }
}

impl LastWord {
    fn owner(&self) -> Option<&Uid> {
        match self {
            Self::Shown(launcher) => launcher.object.controller.as_ref(),
            Self::Unobserved(owner) => Some(owner),
        }
    }
}

#[cfg(test)]
mod tests;
