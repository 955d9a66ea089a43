//! Everything that the watches reported, folded into rows by job: what `observe` answers from, in time proportional
//! to the objects of the one job.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use coxswain_model::{
    api::{MpiJob, resource},
    desired::{native_gang, pod_group::Priorities},
    job::ValidJob,
    names,
    observed::{
        ObservedConfig, ObservedLauncher, ObservedPod, ObservedPodGroup, ObservedSecret, ObservedService,
        ObservedSlice, ObservedState,
    },
};
use jiff::Timestamp;

use crate::{
    aside::Aside,
    gone::GoneLaunchers,
    job_row::JobRow,
    key::JobKey,
    launcher_exits::LauncherExits,
    named::Named,
    table::{Gone, Row as _, Table},
};

/// The tables of all kinds.
#[derive(Debug, Default)]
pub struct Index {
    /// Whole objects, packed.
    pub jobs: Table<JobRow>,
    /// Workers and launchers' pods.
    pub pods: Table<ObservedPod>,
    /// Headless Services.
    pub services: Table<Named<ObservedService>>,
    /// The Services' `EndpointSlice`s.
    pub slices: Table<Named<ObservedSlice>>,
    /// Both ConfigMaps of each job.
    pub configs: Table<Named<ObservedConfig>>,
    /// Key pairs.
    pub secrets: Table<Named<ObservedSecret>>,
    /// Launcher Jobs.
    pub launchers: Table<Named<ObservedLauncher>>,
    /// Gang scheduling's groups.
    pub groups: Table<Named<ObservedPodGroup>>,
    /// Values of the cluster's priority classes; watched under gang scheduling alone.
    pub priorities: Priorities,
    /// Objects that could not be decoded.
    pub aside: Aside,
    /// When launchers left.
    pub launcher_exits: LauncherExits,
    /// Launcher Jobs that are gone.
    pub gone: GoneLaunchers,
}

impl Index {
    /// The job, packed. Nothing for one that is set aside.
    pub(super) fn job(&self, key: &JobKey) -> Option<&JobRow> {
        self.jobs.of(key).first().filter(|_| !self.aside.holds(resource::KIND, key))
    }

    /// Everything that exists of a job.
    pub fn observed(&self, key: &JobKey, job: &ValidJob) -> ObservedState {
        let names = job.names();
        let mut pods = self.pods.of(key).to_vec();
        pods.sort_by_key(|pod| (pod.role, pod.index, pod.created));
        let (last, launcher_gone) = self.gone.of(key, job.uid());
        ObservedState {
            service: named(self.services.of(key), names.job()),
            config: named(self.configs.of(key), &names.config()),
            files: named(self.configs.of(key), &names.files()),
            secret: named(self.secrets.of(key), &names.secret()),
            launcher: named(self.launchers.of(key), names.launcher().as_ref()).or(last),
            launcher_gone,
            pod_group: pod_group(self.groups.of(key), job),
            pods,
            published: self
                .slices
                .of(key)
                .iter()
                .flat_map(|slice| slice.observed.pods.iter().cloned())
                .collect(),
            asked: self.launcher_exits.last(key),
        }
    }

    /// Takes note of launchers that have left, as the watch has reported before `now`, and of launcher Jobs that are gone.
    pub fn note_left(&mut self, now: Timestamp) {
        for Gone { job, row, is_final } in self.launchers.remembered() {
            if names::is_launcher(&row.name, &job.name) {
                self.gone.left(job, row.observed, is_final);
            }
        }
        for job in self.pods.left() {
            self.launcher_exits.left(job, now);
        }
    }

    /// Forgets launcher Jobs that are gone and whose jobs have ended, too.
    pub fn forget_ended(&mut self) {
        let Self { jobs, launchers, gone, .. } = self;
        gone.retain(|key, owner| {
            let job = jobs.of(key).first().filter(|job| job.uid() == owner && !job.has_ended());
            job.is_some() && launchers.of(key).is_empty()
        });
    }
}

/// The group of the job. A native gang has a name for each start: one that is on its way out comes after the others.
fn pod_group(rows: &[Named<ObservedPodGroup>], job: &ValidJob) -> Option<ObservedPodGroup> {
    let native = rows.iter().map(|row| &row.observed).filter(|group| group.native.is_some());
    let ours = native.filter(|group| group.object.is_controlled_by(job.uid()));
    let current = ours.max_by_key(|group| (!group.object.deleting, native_gang::start(&group.name)));
    current.cloned().or_else(|| named(rows, job.names().job()))
}

fn named<T: Clone>(rows: &[Named<T>], name: &str) -> Option<T> {
    rows.iter().find(|row| *row.name == *name).map(|row| row.observed.clone())
}

/// The index behind its lock, which is never held while waiting for anything.
#[derive(Clone, Debug, Default)]
pub struct Shared(Arc<RwLock<Index>>);

impl Shared {
    /// For looking.
    pub fn read(&self) -> RwLockReadGuard<'_, Index> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The job as the API server has it, our own last write included. Nothing for one that is set aside: what is known
    /// of it is out of date. The lock is held for the packed bytes alone: unpacking takes as long as the job is large,
    /// and a writer that waits holds up every reader.
    pub fn job(&self, key: &JobKey) -> Option<Arc<MpiJob>> {
        let row = self.read().job(key).cloned();
        row.and_then(|row| row.job()).map(Arc::new)
    }

    /// Bytes that the job takes decoded, about; 0 if there is none.
    pub fn decoded(&self, key: &JobKey) -> usize {
        self.read().job(key).map_or(0, JobRow::decoded)
    }

    /// For folding.
    pub fn write(&self) -> RwLockWriteGuard<'_, Index> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
