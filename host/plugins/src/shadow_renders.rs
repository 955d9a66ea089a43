//! Shadow renders of all live jobs that a candidate concerns. New jobs wait for the candidate meanwhile, so that several go at
//! once, and on each thread one after the other: handing a job over takes as long as rendering it.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use coxswain_model::{
    pin::{Pin, PinnedPlugin},
    policy::ClusterPolicy,
};
use coxswain_sandbox::{Chain, Link};
use futures::future::join_all;
use tokio::{sync::Semaphore, time::Instant};

use crate::{
    jobs::{LiveJobs, ObservedJob},
    registry::{Active, merged},
    settings::as_settings,
    shadow::{Compared, ENOUGH, Shadow, compare},
};
use coxswain_cluster::{key::JobKey, world};

/// So long a thread goes on with its permit; then whoever waits for one goes first. A render takes some hundred
/// microseconds.
const BATCH: Duration = Duration::from_millis(10);

/// A live job, and what it is rendered by.
pub struct PinnedJob {
    /// The job.
    pub key: JobKey,
    /// Its pin.
    pub pin: Arc<Pin>,
    /// The components of the pin.
    pub chain: Chain,
}

/// See the module.
pub struct ShadowRenders {
    /// What there is of the jobs.
    pub jobs: LiveJobs,
    /// What is to serve.
    pub candidate: Active,
    /// What plans may touch.
    pub policy: ClusterPolicy,
    /// The jobs that it concerns.
    pub pinned: Vec<PinnedJob>,
}

#[derive(Default)]
struct Course {
    begun: usize,
    failed: usize,
    /// By the job's place.
    compared: Vec<(usize, Compared)>,
}

impl ShadowRenders {
    /// Renders until it is known what the candidate does, with a permit of `calls` on each thread.
    pub async fn run(self, calls: &Semaphore) -> Shadow {
        let (this, course) = (Arc::new(self), Arc::new(Mutex::new(Course::default())));
        join_all((0..world::cores()).map(|_| this.on_a_thread(&course, calls))).await;
        let mut compared = std::mem::take(&mut lock(&course).compared);
        compared.sort_by_key(|(at, _)| *at);
        let mut shadow = Shadow::default();
        for (at, compared) in compared {
            if let Some(job) = this.pinned.get(at).filter(|_| !shadow.is_settled()) {
                shadow.add(&job.key, compared);
            }
        }
        shadow
    }

    async fn on_a_thread(self: &Arc<Self>, course: &Arc<Mutex<Course>>, calls: &Semaphore) {
        let mut goes_on = true;
        while goes_on && self.has_more(&lock(course)) {
            let Ok(_permit) = calls.acquire().await else { return };
            let (this, course) = (Arc::clone(self), Arc::clone(course));
            goes_on = world::compute(move || this.batch(&course)).await.is_ok();
        }
    }

    fn has_more(&self, course: &Course) -> bool {
        course.begun < self.pinned.len() && course.failed < ENOUGH
    }

    fn batch(&self, course: &Mutex<Course>) {
        let begin = Instant::now();
        while begin.elapsed() < BATCH {
            let Some((at, job)) = self.next(course) else { return };
            let compared = catch_unwind(AssertUnwindSafe(|| self.compare(job)));
            let compared = compared.unwrap_or_else(|_| Some(Compared::Failed("rendering panicked".into())));
            if let Some(compared) = compared {
                let mut course = lock(course);
                course.failed += usize::from(matches!(compared, Compared::Failed(_)));
                course.compared.push((at, compared));
            }
        }
    }

    fn next(&self, course: &Mutex<Course>) -> Option<(usize, &PinnedJob)> {
        let mut course = lock(course);
        let at = course.begun;
        course.begun += usize::from(self.has_more(&course));
        self.pinned.get(at).filter(|_| course.begun > at).map(|job| (at, job))
    }

    /// One job; `None` if it is gone, or wrong by now.
    fn compare(&self, job: &PinnedJob) -> Option<Compared> {
        let observed = self.jobs.see(&job.key, &job.pin)?;
        let new = replaced(&job.chain, &job.pin, &self.candidate, &observed);
        Some(compare(&observed, &job.chain, &new, &self.policy))
    }
}

/// The chain of a pin with the candidate in it, with the settings that the job would have been pinned to.
fn replaced(old: &Chain, pin: &Pin, candidate: &Active, observed: &ObservedJob) -> Chain {
    let name = candidate.plugin.name();
    let jobs = observed.job.options().settings.get(name);
    let settings = merged(candidate.plugin.descriptor(), &candidate.candidate.settings, jobs);
    let new = Link { plugin: candidate.plugin.clone(), settings: as_settings(&settings) };
    let link =
        |pinned: &PinnedPlugin, old: &Link| if pinned.name == name { new.clone() } else { old.clone() };
    Chain {
        launcher: link(&pin.launcher, &old.launcher),
        tuners: pin.tuners.iter().zip(&old.tuners).map(|(pinned, old)| link(pinned, old)).collect(),
    }
}

fn lock(course: &Mutex<Course>) -> MutexGuard<'_, Course> {
    course.lock().unwrap_or_else(PoisonError::into_inner)
}
