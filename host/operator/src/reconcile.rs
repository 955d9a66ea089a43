//! One reconcile of one job: observe, decide, act, report.

use std::{sync::Arc, time::Duration};

use coxswain_model::{
    api::MpiJob,
    desired::{self, Gang, native_gang, secret},
    diff::{self, Wanted},
    gate,
    job::{LostWorker, ValidJob, Verdict},
    observed::ObservedState,
    phase::{self, Phase},
    pin::{Pin, PinState},
    plan::Note,
    progress,
    status::{self, Outcome, RenderError},
    step::FailureReason,
};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::Instant,
};

use crate::{progress::Progress, queue::Ended, retries::Retries};
use coxswain_cluster::{claims::Claims, failed::Failed, key::JobKey, live::Live, world};
use coxswain_plugins::{NoPlan, Plugins};

/// What a reconcile works with.
pub struct Context {
    /// Eyes and hands.
    pub cluster: Live,
    /// Renders.
    pub plugins: Arc<Plugins>,
    /// Jobs that are rendered and compared at once; each takes some hundred KiB meanwhile. Waiting for the
    /// API server, or for a component that is not at hand, does not count.
    pub rendering: Semaphore,
    /// What may wait.
    pub progress: Progress,
    /// What has failed and waits.
    pub retries: Retries,
    /// `--gang-scheduling`.
    pub gang: Gang,
    /// `--cluster-domain`, for jobs that have no pin yet.
    pub cluster_domain: Option<String>,
    /// `--lost-worker`, for jobs that do not say.
    pub lost_worker: LostWorker,
}

/// What came of rendering.
#[derive(Default)]
struct Rendered {
    objects: Wanted,
    render_error: Option<RenderError>,
    /// Text for the event that names the pin, if this reconcile makes it.
    pinned: Option<String>,
    notes: Vec<Note>,
    /// Annotations without effect, once the job is rendered.
    ignored: Option<Vec<String>>,
    /// The job is pinned to components that are not at hand: nothing was rendered.
    lacks: Option<Pin>,
    /// Why it cannot be said at the moment what should exist. What is observed is reported all the same.
    unavailable: Option<Failed>,
}

impl From<RenderError> for Rendered {
    fn from(render_error: RenderError) -> Self {
        Self { render_error: Some(render_error), ..Self::default() }
    }
}

impl From<NoPlan> for Rendered {
    fn from(why: NoPlan) -> Self {
        match why {
            NoPlan::RenderError(render_error) => render_error.into(),
            NoPlan::Unavailable(error) => {
                Self { unavailable: Some(Failed::unavailable(error)), ..Self::default() }
            }
        }
    }
}

/// A reconcile that did not come through, and how the queue is to go on.
#[derive(Debug)]
pub struct Unfinished {
    /// For people.
    pub failed: Failed,
    /// For the queue.
    pub ended: Ended,
}

impl Unfinished {
    /// Where it is known when to look again: the writes that failed wait, not the job.
    fn until(failed: Failed, wake: Option<Duration>) -> Self {
        Self { failed, ended: Ended::Well { wake } }
    }
}

impl From<Failed> for Unfinished {
    fn from(failed: Failed) -> Self {
        let ended = match failed.reason {
            FailureReason::Conflict => Ended::Conflict,
            FailureReason::Unavailable => Ended::Failed,
            FailureReason::Foreign | FailureReason::Invalid | FailureReason::Forbidden => Ended::Refused,
        };
        Self { failed, ended }
    }
}

/// One reconcile of the job, which is `raw` by now. Says how it ended; an error is retried as its reason asks.
pub async fn run(ctx: &Context, key: &JobKey, raw: &MpiJob) -> Result<Ended, Unfinished> {
    let job = match ValidJob::parse(raw, ctx.cluster_domain.as_deref()) {
        Verdict::Valid(job) => *job,
        Verdict::Invalid(errors) => {
            let update = status::rejected(raw, &errors, world::now());
            ctx.cluster.record(raw, &update).await?;
            return Ok(Ended::Well { wake: None });
        }
        Verdict::NotOurs => return Ok(Ended::Well { wake: None }),
    };
    let job = job.with_lost_worker_default(ctx.lost_worker);
    ctx.cluster.adopt(&job).await?;
    let claims = claims(ctx, &job).await?;
    let (permit, Look { job, observed, phase, rendered }) = look(ctx, job, &claims).await;
    let gate = gate::decide(&job, &observed, world::now());
    let mut steps = diff::steps(&job, &observed, phase, &gate, &rendered.objects);
    let mut waits = None;
    if let Some(wait) = progress::hosts_wait(&job, &observed, phase, &gate, &steps) {
        waits = ctx.progress.left(key, wait);
        steps.retain(|step| waits.is_none() || !progress::is_hosts(&job, step));
    }
    let (tried, held) = ctx.retries.hold_back(key, &mut steps, Instant::now());
    drop(permit);
    let mut done = ctx.cluster.apply(&job, steps).await;
    let retry = ctx.retries.settle(key, &tried, &done, Instant::now(), world::random());
    let failed = Failed::of(&done, &format!("writing the objects of {}", job.key()));
    // What waits has failed for all that anybody can see.
    done.failures.extend(held.failures);
    let Rendered { render_error, pinned, notes, ignored, unavailable, .. } = rendered;
    let outcome = Outcome { done, gate, render_error, pinned, notes, ignored };
    let observed = ctx.cluster.observe(&job);
    let mut update = status::next(&job, &observed, &outcome, world::now());
    if let Some(wait) = progress::status_wait(&job, &observed, phase, &update) {
        let left = ctx.progress.left(key, wait);
        update.status = update.status.filter(|_| left.is_none());
        waits = left.or(waits);
    }
    ctx.cluster.record(raw, &update).await?;
    match waits {
        Some(left) => update.wake = Some(update.wake.map_or(left, |wake| wake.min(left))),
        None if failed.is_none() => ctx.progress.forget(key),
        // What was due and could not be written has waited long enough when it is tried again.
        None => {}
    }
    let wake = update.wake.into_iter().chain(retry).min();
    match (unavailable, failed) {
        (Some(unavailable), _) => Err(unavailable.into()),
        // The update says when to look again for an object that is in the way.
        (None, Some(failed)) if failed.reason != FailureReason::Foreign => {
            Err(Unfinished::until(failed, wake))
        }
        _ => Ok(Ended::Well { wake }),
    }
}

/// A job, what exists of it, and what should.
struct Look {
    job: ValidJob,
    observed: ObservedState,
    phase: Phase,
    rendered: Rendered,
}

/// Looks at the job and renders it. The permit is for what is to be decided from that; it is not held while a component
/// is fetched.
async fn look<'a>(
    ctx: &'a Context,
    mut job: ValidJob,
    claims: &Claims,
) -> (Option<SemaphorePermit<'a>>, Look) {
    let mut lacks = None;
    loop {
        // Never closed; without a permit it would only take more memory.
        let permit = ctx.rendering.acquire().await.ok();
        let observed = ctx.cluster.observe(&job);
        let phase = phase::of(&job, &observed);
        let rendered;
        (job, rendered) = match lacks.take() {
            Some(why) => (job, Rendered::from(why)),
            None => render(ctx, job, claims, &observed, phase).await,
        };
        let Some(pin) = rendered.lacks else { return (permit, Look { job, observed, phase, rendered }) };
        // Takes a request and a compilation; what there is to see is another thing afterwards.
        drop((permit, observed));
        lacks = ctx.plugins.fetch(&pin).await.err();
    }
}

/// What stands behind the device claims of a job that is about to be pinned; the pin says it from then on.
async fn claims(ctx: &Context, job: &ValidJob) -> Result<Claims, Failed> {
    if job.claim_sources().is_empty() {
        return Ok(Claims::default());
    }
    let observed = ctx.cluster.observe(job);
    let is_fresh =
        phase::needs_plan(phase::of(job, &observed)) && PinState::of(job, &observed) == PinState::Fresh;
    if is_fresh { ctx.cluster.claims(job).await } else { Ok(Claims::default()) }
}

/// Everything that should exist, or why that cannot be said.
async fn render(
    ctx: &Context,
    job: ValidJob,
    claims: &Claims,
    observed: &ObservedState,
    phase: Phase,
) -> (ValidJob, Rendered) {
    if !phase::needs_plan(phase) {
        return (job, Rendered::default());
    }
    if secret::lacks_known_hosts(&job, observed) {
        let secret = job.names().secret();
        return (job, RenderError::KnownHostsMissing { secret }.into());
    }
    let (pin, fresh) = match PinState::of(&job, observed) {
        PinState::Pinned(pin) if ctx.plugins.lacks(&pin) => {
            return (job, Rendered { lacks: Some(pin), ..Rendered::default() });
        }
        PinState::Pinned(pin) => (pin, false),
        PinState::Fresh => match ctx.plugins.choose(&job) {
            Ok(pin) => {
                let pin = Pin { claims: claims.facts.clone(), ..pin };
                if let Some(too_long) = RenderError::too_long(&pin) {
                    return (job, too_long.into());
                }
                (pin, true)
            }
            Err(render_error) => return (job, render_error.into()),
        },
        PinState::Adopted => {
            let rendered = keep_up(ctx, &job, observed).await;
            return (job, rendered);
        }
        PinState::Lost(why) => return (job, RenderError::PinLost { why }.into()),
    };
    let job = job.under_domain(pin.cluster_domain.as_deref());
    let violations = native_gang::violations(&job, &ctx.gang);
    if !violations.is_empty() {
        return (job, RenderError::PlanRefused(violations).into());
    }
    let gated = desired::launcher::gated(&job, &ctx.gang);
    let granted = match ctx.plugins.render(&job, &pin, observed, gated).await {
        Ok(granted) => granted,
        Err(why) => return (job, why.into()),
    };
    let desired = desired::objects(&job, &granted, &pin, &ctx.gang, &ctx.cluster.priorities(), observed);
    let (pinned, notes) = if fresh {
        (Some(ctx.plugins.describe(&pin)), [claims.notes.clone(), granted.notes].concat())
    } else {
        (None, Vec::new())
    };
    let ignored = Some([ctx.plugins.ignored(&job, &pin), native_gang::ignored(&job, &ctx.gang)].concat());
    let objects = Wanted::from(desired);
    (job, Rendered { objects, pinned, notes, ignored, ..Rendered::default() })
}

/// What is kept up of a job that the MPI Operator started. Where no plugin serves it, its host list stays as it is.
async fn keep_up(ctx: &Context, job: &ValidJob, observed: &ObservedState) -> Rendered {
    let granted = match ctx.plugins.choose(job) {
        Ok(pin) => match ctx.plugins.render(job, &pin, observed, false).await {
            Ok(granted) => Some(granted),
            Err(NoPlan::RenderError(_)) => None,
            Err(why) => return why.into(),
        },
        Err(_) => None,
    };
    let objects = Wanted::Adopted(desired::adopted_job(job, granted.as_ref(), &ctx.gang));
    Rendered { objects, ..Rendered::default() }
}
