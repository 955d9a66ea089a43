//! One pass over one job: look, think, act, tell.

use std::sync::Arc;

use coxswain_model::{
    desired::{self, Desired, Gang, Upkeep, secret},
    diff::{self, Wanted},
    gate,
    job::{ValidJob, Verdict},
    phase::{self, Phase},
    pin::{Pin, Standing},
    plan::Note,
    progress,
    seen::Seen,
    status::{self, Outcome, trouble::Trouble},
    step::FailureReason,
};
use jiff::Timestamp;
use tokio::sync::Semaphore;

use crate::{
    cluster::{Cluster, claims::Claims, key::JobKey},
    error::Failed,
    plugins::{NoPlan, Plugins},
    progress::Progress,
    queue::Ended,
};

/// What a pass works with.
pub struct Context<C> {
    /// Eyes and hands.
    pub cluster: C,
    /// Renders.
    pub plugins: Arc<Plugins>,
    /// Jobs that are rendered and compared at once; each takes some hundred KiB meanwhile. Waiting for the
    /// API server does not count.
    pub thoughts: Semaphore,
    /// What may wait.
    pub progress: Progress,
    /// `--gang-scheduling`.
    pub gang: Gang,
    /// `--cluster-domain`, for jobs that have no pin yet.
    pub cluster_domain: Option<String>,
}

/// What should exist, as far as that can be said.
#[derive(Default)]
enum Objects {
    #[default]
    Unknown,
    Upkeep(Upkeep),
    All(Box<Desired>),
}

/// What came of rendering.
#[derive(Default)]
struct Rendered {
    objects: Objects,
    trouble: Option<Trouble>,
    /// Text for the event that names the pin, if this pass makes it.
    pinned: Option<String>,
    notes: Vec<Note>,
}

/// One pass. Says how it ended; an error is retried as its reason asks.
pub async fn pass<C: Cluster>(ctx: &Context<C>, key: &JobKey) -> Result<Ended, Failed> {
    let Some(raw) = ctx.cluster.job(key) else { return Ok(Ended::Gone) };
    let job = match ValidJob::parse(&raw, ctx.cluster_domain.as_deref()) {
        Verdict::Valid(job) => *job,
        Verdict::Invalid(errors) => {
            let tale = status::rejected(&raw, &errors, Timestamp::now());
            ctx.cluster.record(&raw, &tale).await?;
            return Ok(Ended::Well { wake: None });
        }
        Verdict::NotOurs => return Ok(Ended::Well { wake: None }),
    };
    ctx.cluster.adopt(&job).await?;
    let claims = claims(ctx, &job).await?;
    // Never closed; without a permit it would only take more memory.
    let thinks = ctx.thoughts.acquire().await;
    let seen = ctx.cluster.observe(&job);
    let phase = phase::of(&job, &seen);
    let (job, rendered) = render(ctx, job, claims, &seen, phase).await?;
    let gate = gate::decide(&job, &seen, Timestamp::now());
    let mut steps = diff::steps(&job, &seen, phase, &gate, rendered.objects.wanted());
    let mut waits = None;
    if progress::hosts_may_wait(&job, &seen, phase, &gate, &steps) {
        waits = ctx.progress.left(key);
        steps.retain(|step| waits.is_none() || !progress::is_hosts(&job, step));
    }
    let wrote = !steps.is_empty();
    drop(thinks);
    let done = ctx.cluster.apply(&job, steps).await;
    let failed = Failed::of(&done, &format!("writing the objects of {}", job.key()));
    let Rendered { objects: _, trouble, pinned, notes } = rendered;
    let outcome = Outcome { done, gate, trouble, pinned, notes };
    let seen = ctx.cluster.observe(&job);
    let mut tale = status::next(&job, &seen, &outcome, Timestamp::now());
    if progress::status_may_wait(&job, &seen, phase, &tale) {
        waits = ctx.progress.left(key);
        tale.status = tale.status.filter(|_| waits.is_none());
    }
    ctx.cluster.record(&raw, &tale).await?;
    match waits {
        Some(left) => tale.wake = Some(tale.wake.map_or(left, |wake| wake.min(left))),
        None if !progress::may_wait(&job, phase) => ctx.progress.forget(key),
        None if wrote || tale.status.is_some() => ctx.progress.written(key),
        None => {}
    }
    match failed {
        // The tale says when to look again for an object that is in the way.
        Some(failed) if failed.reason != FailureReason::Foreign => Err(failed),
        _ => Ok(Ended::Well { wake: tale.wake }),
    }
}

/// What stands behind the device claims of a job that is about to be pinned; the pin says it from then on.
async fn claims<C: Cluster>(ctx: &Context<C>, job: &ValidJob) -> Result<Claims, Failed> {
    if job.claim_sources().is_empty() {
        return Ok(Claims::default());
    }
    let seen = ctx.cluster.observe(job);
    let is_fresh = phase::needs_plan(phase::of(job, &seen)) && Standing::of(job, &seen) == Standing::Fresh;
    if is_fresh { ctx.cluster.claims(job).await } else { Ok(Claims::default()) }
}

/// Everything that should exist, or why that cannot be said.
async fn render<C: Cluster>(
    ctx: &Context<C>,
    job: ValidJob,
    claims: Claims,
    seen: &Seen,
    phase: Phase,
) -> Result<(ValidJob, Rendered), Failed> {
    if !phase::needs_plan(phase) {
        return Ok((job, Rendered::default()));
    }
    let in_trouble = |trouble| Rendered { trouble: Some(trouble), ..Rendered::default() };
    if secret::lacks_known_hosts(&job, seen) {
        let secret = job.names.secret();
        return Ok((job, in_trouble(Trouble::KnownHostsMissing { secret })));
    }
    let (pin, fresh) = match Standing::of(&job, seen) {
        Standing::Pinned(pin) => (pin, false),
        Standing::Fresh => match ctx.plugins.choose(&job) {
            Ok(pin) => (Pin { claims: claims.facts, ..pin }, true),
            Err(trouble) => return Ok((job, in_trouble(trouble))),
        },
        Standing::Adopted => return keep_up(ctx, job, seen).await,
        Standing::Lost(why) => return Ok((job, in_trouble(Trouble::PinLost { why }))),
    };
    let job = job.under_domain(pin.cluster_domain.as_deref());
    let gated = desired::launcher::gated(&job, &ctx.gang);
    let granted = match ctx.plugins.render(&job, &pin, seen, gated).await {
        Ok(granted) => granted,
        Err(NoPlan::Trouble(trouble)) => return Ok((job, in_trouble(trouble))),
        Err(NoPlan::Unavailable(error)) => return Err(Failed::unavailable(error)),
    };
    let desired = desired::objects(&job, &granted, &pin, &ctx.gang, &ctx.cluster.priorities());
    let (pinned, notes) = if fresh {
        (Some(ctx.plugins.describe(&pin)), [claims.notes, granted.notes].concat())
    } else {
        (None, Vec::new())
    };
    Ok((job, Rendered { objects: Objects::All(Box::new(desired)), trouble: None, pinned, notes }))
}

/// What is kept up of a job that the MPI Operator started. Where no plugin serves it, its host list stays as it is.
async fn keep_up<C: Cluster>(
    ctx: &Context<C>,
    job: ValidJob,
    seen: &Seen,
) -> Result<(ValidJob, Rendered), Failed> {
    let granted = match ctx.plugins.choose(&job) {
        Ok(pin) => match ctx.plugins.render(&job, &pin, seen, false).await {
            Ok(granted) => Some(granted),
            Err(NoPlan::Trouble(_)) => None,
            Err(NoPlan::Unavailable(error)) => return Err(Failed::unavailable(error)),
        },
        Err(_) => None,
    };
    let objects = Objects::Upkeep(desired::upkeep(&job, granted.as_ref(), &ctx.gang));
    Ok((job, Rendered { objects, ..Rendered::default() }))
}

impl Objects {
    fn wanted(&self) -> Wanted<'_> {
        match self {
            Self::Unknown => Wanted::Nothing,
            Self::Upkeep(upkeep) => Wanted::Upkeep(upkeep),
            Self::All(desired) => Wanted::Everything(desired),
        }
    }
}
