//! The scenarios: what is done in which order, and what is kept of it.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use crate::{
    audit::{Request, now},
    job::Shape,
    measure::{Measured, Memory, Quiet, Restart, Round, Size},
    plain::Plain,
    process::Operator,
    round,
    setting::{OPERATOR_NAMESPACE, Setting},
    tally::Tally,
};

/// Longest for anything that waits for thousands of pods.
const LIMIT: Duration = Duration::from_mins(15);
/// An operator that has asked for nothing for so long has nothing left to do: longer than any of its delays.
const SETTLED: Duration = Duration::from_secs(3);
/// Seconds of computing within [`SETTLED`], as for a lease and heartbeats of a watch.
const AT_REST: f64 = 0.1;
/// Pods that are deleted while no operator runs.
const LOST: u32 = 10;

/// What is run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Sizes and rounds of each.
    pub sizes: Vec<(Shape, usize)>,
    /// Rounds of bare pods, and how many.
    pub bare_pods: (u32, usize),
    /// Jobs that run while the operator starts again or has nothing to do, and rounds of restarts.
    pub running: (u32, usize),
    /// How long the quiet is watched.
    pub quiet: Duration,
    /// Jobs of ten workers, for the memory.
    pub memory: Vec<u32>,
}

impl Plan {
    /// All of it; half an hour.
    pub fn full() -> Self {
        let s = Shape::small;
        Self {
            sizes: vec![
                (s(1, 8), 7),
                (s(1, 100), 7),
                (s(1, 1000), 7),
                (s(1, 5000), 3),
                (s(20, 8), 5),
                (s(100, 8), 7),
                (s(500, 2), 3),
            ],
            bare_pods: (2000, 3),
            running: (500, 3),
            quiet: Duration::from_mins(1),
            memory: vec![0, 250, 1000, 2000],
        }
    }

    /// Small sizes; within three minutes.
    pub fn quick() -> Self {
        let s = Shape::small;
        Self {
            sizes: vec![(s(1, 8), 3), (s(1, 100), 3), (s(20, 8), 3), (s(1, 1000), 1)],
            bare_pods: (500, 1),
            running: (50, 1),
            quiet: Duration::from_secs(15),
            memory: vec![0, 50],
        }
    }

    /// What does not depend on the machine, for tests; within a minute.
    pub fn guard() -> Self {
        let s = Shape::small;
        Self {
            sizes: vec![(s(1, 8), 1), (s(10, 8), 1)],
            bare_pods: (0, 0),
            running: (20, 1),
            quiet: Duration::from_secs(12),
            memory: Vec::new(),
        }
    }
}

/// Runs the plan; `told` is given a line of progress at each step.
pub async fn run(setting: &Setting, plan: &Plan, told: &dyn Fn(&str)) -> Result<Measured> {
    let mut measured = Measured::default();
    warm_up(setting).await?;
    for number in 0..plan.bare_pods.1 {
        measured.bare_pods.push(bare_pods(setting, plan.bare_pods.0, number).await?);
        told(&format!("bare pods: {:.0} creates a second", measured.bare_pods[number]));
    }
    for (shape, rounds) in &plan.sizes {
        measured.sizes.push(size(setting, *shape, *rounds, told).await?);
    }
    for jobs in &plan.memory {
        let memory = memory(setting, *jobs).await?;
        told(&format!("memory: {} pods, {:.1} MB", memory.pods, memory.fresh));
        measured.memory.push(memory);
    }
    running(setting, plan, &mut measured, told).await?;
    Ok(measured)
}

/// The first objects of each kind cost the control plane a second or two.
async fn warm_up(setting: &Setting) -> Result<()> {
    let shape = Shape::small(2, 8);
    round::plain(setting, shape, &shape.rendered(setting)?, "warm-up").await?;
    setting.clear("warm-up").await
}

/// Plain client and operator by turns.
async fn size(setting: &Setting, shape: Shape, rounds: usize, told: &dyn Fn(&str)) -> Result<Size> {
    let rendered = shape.rendered(setting)?;
    let objects = rendered.templates().len();
    let mut size = Size::new(shape);
    for number in 0..rounds {
        let name = |who: &str| format!("{who}-{}-{}-{number}", shape.jobs, shape.workers);
        let ns = name("plain");
        let times = round::plain(setting, shape, &rendered, &ns).await.with_context(|| ns.clone())?;
        setting.clear(&ns).await?;
        let ns = name("ours");
        let (ours, spent) =
            round::operator(setting, shape, objects, &ns).await.with_context(|| ns.clone())?;
        setting.clear(&ns).await?;
        told(&format!(
            "{}, round {} of {rounds}: all objects after {:.2} s, raw {:.2} s; deleted in {:.2} s, raw {:.2} s",
            size.name(),
            number + 1,
            ours.objects,
            times.objects,
            ours.deletes,
            times.deletes
        ));
        size.plain.push(times);
        size.operator.push(Round { times: ours, spent });
    }
    Ok(size)
}

async fn bare_pods(setting: &Setting, count: u32, number: usize) -> Result<f64> {
    let ns = format!("bare-{number}");
    setting.admin.make_namespace(&ns).await?;
    setting.kubelet.hold().await?;
    let plain = Plain::new(setting.plain().await?);
    plain.bare_pods(&ns, count).await?;
    let enough = |requests: &[Request]| (requests.len() >= count as usize).then_some(());
    setting.log.until(&ns, LIMIT, "bare pods exist", enough).await?;
    let seconds = setting.log.with(&ns, |requests| {
        let first = requests.iter().map(|r| r.received).fold(f64::MAX, f64::min);
        requests.iter().map(|r| r.answered).fold(first, f64::max) - first
    });
    setting.kubelet.release().await?;
    setting.clear(&ns).await?;
    Ok(f64::from(count) / seconds)
}

/// Starts jobs with an operator that goes on, and waits until all pods run and it has settled.
async fn start_jobs(setting: &Setting, shape: Shape, ns: &str) -> Result<Operator> {
    setting.admin.make_namespace(ns).await?;
    setting.kubelet.release().await?;
    let (operator, _) = Operator::start(setting).await?;
    if shape.jobs > 0 {
        Plain::new(setting.plain().await?).submit(shape, ns).await?;
        let all = format!("all pods of {ns} run");
        setting.kubelet.until(ns, LIMIT, &all, |pods| pods.running >= shape.all_pods()).await?;
    }
    setting.log.quiet(ns, SETTLED, LIMIT).await?;
    Ok(operator)
}

async fn memory(setting: &Setting, jobs: u32) -> Result<Memory> {
    let ns = format!("memory-{jobs}");
    let shape = Shape { jobs, workers: 10, realistic: true };
    start_jobs(setting, shape, &ns).await?.kill()?;
    let asked = |requests: &[Request]| requests.iter().filter(|r| r.ours() && r.writes()).count();
    let before = setting.log.with(&ns, asked);
    let (operator, _) = Operator::start(setting).await?;
    setting.log.quiet(&ns, SETTLED, LIMIT).await?;
    at_rest(&operator).await?;
    let used = operator.used()?;
    operator.kill()?;
    let writes = setting.log.with(&ns, asked) - before;
    setting.clear(&ns).await?;
    Ok(Memory { pods: shape.all_pods(), fresh: used.resident, peak: used.peak, writes })
}

/// Waits until an operator computes next to nothing: it leads before it has listed all, and asks for nothing where
/// nothing has changed.
async fn at_rest(operator: &Operator) -> Result<()> {
    let deadline = Instant::now() + LIMIT;
    let mut before = operator.used()?.cpu;
    loop {
        tokio::time::sleep(SETTLED).await;
        let cpu = operator.used()?.cpu;
        if cpu - before < AT_REST {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "the operator goes on computing");
        before = cpu;
    }
}

/// Quiet and restarts share their running jobs.
async fn running(setting: &Setting, plan: &Plan, measured: &mut Measured, told: &dyn Fn(&str)) -> Result<()> {
    let (jobs, rounds) = plan.running;
    if jobs == 0 {
        return Ok(());
    }
    let shape = Shape::small(jobs, 2);
    let mut operator = start_jobs(setting, shape, "running").await?;
    let quiet = quiet(setting, &operator, jobs, plan.quiet).await?;
    told(&format!("quiet: {} lease updates and {} other requests", quiet.lease, quiet.others));
    measured.quiet = Some(quiet);
    for number in 0..rounds {
        let (next, restart) = restart(setting, operator, shape, number).await?;
        operator = next;
        told(&format!(
            "restart with {jobs} jobs: leads after {:.2} s, then a new job's objects after {:.2} s; {} needless writes",
            restart.leads, restart.new_job, restart.needless
        ));
        measured.restarts.push(restart);
    }
    operator.kill()?;
    setting.clear("running").await?;
    Ok(())
}

async fn quiet(setting: &Setting, operator: &Operator, jobs: u32, span: Duration) -> Result<Quiet> {
    let (begin, cpu) = (now(), operator.used()?.cpu);
    tokio::time::sleep(span).await;
    let within = |requests: &[Request]| {
        let ours = requests
            .iter()
            .filter(|r| r.ours() && r.received > begin && !matches!(&*r.verb, "watch" | "compare"));
        let lease = ours.clone().filter(|r| &*r.kind == "leases").count();
        (lease, ours.count() - lease)
    };
    let (lease, other) = setting.log.with(OPERATOR_NAMESPACE, within);
    let others = other + setting.log.with("running", within).1 + setting.log.with("", within).1;
    let cpu = operator.used()?.cpu - cpu;
    Ok(Quiet { jobs, seconds: now() - begin, lease, others, cpu })
}

/// Kills the operator, deletes workers of the first jobs, starts it again and submits a job when it leads.
async fn restart(
    setting: &Setting,
    operator: Operator,
    shape: Shape,
    number: usize,
) -> Result<(Operator, Restart)> {
    operator.kill()?;
    let plain = Plain::new(setting.plain().await?);
    plain.delete_workers(Shape::small(LOST, 1), "running").await?;
    let there = shape.all_pods() - LOST as usize;
    setting.kubelet.until("running", LIMIT, "the lost workers are gone", |pods| pods.all == there).await?;
    let before = setting.log.of("running").len();

    let begin = now();
    let (operator, led) = Operator::start(setting).await?;
    let ns = format!("new-{number}");
    setting.admin.make_namespace(&ns).await?;
    plain.submit(Shape::small(1, 2), &ns).await?;
    // Service, ConfigMap, Secret, launcher Job and two workers.
    let new_job = created(setting, &ns, 0, 6).await?;
    let lost_back = created(setting, "running", before, LOST as usize).await?;
    setting.kubelet.until("running", LIMIT, "all run again", |pods| pods.running >= shape.all_pods()).await?;
    setting.log.quiet("running", SETTLED, LIMIT).await?;
    let asked = setting.log.of("running").split_off(before);
    let submitted = setting.log.with(&ns, |requests| requests.first().map_or(led, |r| r.received));
    setting.clear(&ns).await?;

    let asked = Tally::of(asked.iter().filter(|request| request.ours()));
    let restart = Restart {
        jobs: shape.jobs,
        leads: led - begin,
        new_job: new_job - submitted.max(led),
        lost_back: lost_back - led,
        needless: asked.beyond_lost_workers(LOST as usize),
        asked,
    };
    Ok((operator, restart))
}

/// Waits until so many objects have been created, and says when the last one was.
async fn created(setting: &Setting, ns: &str, since: usize, count: usize) -> Result<f64> {
    let what = format!("{count} objects are created in {ns}");
    setting
        .log
        .until(ns, LIMIT, &what, |requests| {
            let new = requests.get(since..).unwrap_or_default().iter();
            let made: Vec<f64> = new
                .filter(|r| r.ours() && &*r.verb == "create" && &*r.kind != "events" && r.code == 201)
                .map(|r| r.answered)
                .collect();
            (made.len() >= count).then(|| made.iter().copied().fold(0.0, f64::max))
        })
        .await
}
