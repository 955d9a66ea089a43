//! One round: jobs from their submission to the last worker's end, made by the operator or by the plain client.
//!
//! Both rounds are alike: a new namespace, fake kubelet held until all objects exist, then released; launchers ended
//! on request. Times come from the audit log.

use std::time::Duration;

use anyhow::{Context as _, Result};
use serde::Serialize;

use crate::{
    audit::{Request, Who, now},
    job::{Rendered, Shape},
    plain::Plain,
    process::Operator,
    setting::Setting,
    tally::Tally,
};

/// Longest that a phase may take; a bed on two busy cores makes some 100 pods a second.
const LIMIT: Duration = Duration::from_mins(15);
/// The operator has settled when it asked for nothing for so long; the Job controller gathers for a second.
const SETTLED: Duration = Duration::from_millis(2500);

/// What one round took, in seconds.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Times {
    /// From the first job's submission until the last of the objects was answered.
    pub objects: f64,
    /// From there until the last pod's creation had arrived.
    pub pods_out: f64,
    /// From the kubelet's release until all pods ran, launchers included.
    pub running: f64,
    /// From the first deletion of a worker until the last was answered.
    pub deletes: f64,
    /// From the end of the launchers until then.
    pub cleaned: f64,
}

/// What the operator's round showed beside its times.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Spent {
    /// Its requests until all ran and it had settled.
    pub to_running: Tally,
    /// And from there to the end.
    pub to_end: Tally,
    /// Seconds of computing until all ran.
    pub cpu_to_running: f64,
    /// All in all, less its start.
    pub cpu: f64,
    /// Most resident memory, MB.
    pub peak: f64,
}

/// Runs the operator over the jobs.
pub async fn operator(setting: &Setting, shape: Shape, objects: usize, ns: &str) -> Result<(Times, Spent)> {
    setting.admin.make_namespace(ns).await?;
    let (operator, _) = Operator::start(setting).await?;
    setting.log.quiet("mpi-operator", Duration::from_millis(300), LIMIT).await?;
    let idle = operator.used()?.cpu;

    setting.kubelet.hold().await?;
    let plain = Plain::new(setting.plain().await?);
    plain.submit(shape, ns).await?;
    wait_for_creates(setting, ns, Who::Operator, objects * shape.jobs as usize).await?;
    let mut times = made(setting, ns, Who::Operator)?;
    times.running = run(setting, shape, ns).await?;
    let cpu_to_running = operator.used()?.cpu - idle;
    setting.log.quiet(ns, SETTLED, LIMIT).await?;
    let running = setting.log.of(ns);

    let ended = now();
    setting.kubelet.end(ns).await?;
    wait_for_deletes(setting, ns, Who::Operator, shape.all_workers()).await?;
    deleted(setting, ns, Who::Operator, ended, &mut times)?;
    setting.log.quiet(ns, SETTLED, LIMIT).await?;
    let all = setting.log.of(ns);
    let used = operator.used()?;
    operator.kill()?;

    let ours = |requests: &[Request]| Tally::of(requests.iter().filter(|request| request.ours()));
    let spent = Spent {
        to_running: ours(&running),
        to_end: ours(all.get(running.len()..).unwrap_or_default()),
        cpu_to_running,
        cpu: used.cpu - idle,
        peak: used.peak,
    };
    Ok((times, spent))
}

/// Has the plain client do the same work.
pub async fn plain(setting: &Setting, shape: Shape, rendered: &Rendered, ns: &str) -> Result<Times> {
    setting.admin.make_namespace(ns).await?;
    setting.kubelet.hold().await?;
    let plain = Plain::new(setting.plain().await?);
    plain.make(shape, ns, rendered).await?;
    wait_for_creates(setting, ns, Who::Plain, rendered.templates().len() * shape.jobs as usize).await?;
    let mut times = made(setting, ns, Who::Plain)?;
    times.running = run(setting, shape, ns).await?;
    let ended = now();
    plain.delete_workers(shape, ns).await?;
    wait_for_deletes(setting, ns, Who::Plain, shape.all_workers()).await?;
    deleted(setting, ns, Who::Plain, ended, &mut times)?;
    Ok(times)
}

/// Objects of a job that were made, as opposed to the job itself and what is told about it.
fn makes(request: &Request, who: Who) -> bool {
    let told = matches!(&*request.kind, "mpijobs" | "events");
    request.who == who && &*request.verb == "create" && request.code == 201 && !told
}

fn removes(request: &Request, who: Who) -> bool {
    request.who == who && &*request.verb == "delete" && &*request.kind == "pods" && request.code < 300
}

async fn wait_for_creates(setting: &Setting, ns: &str, who: Who, count: usize) -> Result<()> {
    let what = format!("{count} objects exist in {ns}");
    let enough =
        |requests: &[Request]| (requests.iter().filter(|r| makes(r, who)).count() >= count).then_some(());
    setting.log.until(ns, LIMIT, &what, enough).await
}

async fn wait_for_deletes(setting: &Setting, ns: &str, who: Who, count: usize) -> Result<()> {
    let what = format!("{count} workers are deleted in {ns}");
    let enough =
        |requests: &[Request]| (requests.iter().filter(|r| removes(r, who)).count() >= count).then_some(());
    setting.log.until(ns, LIMIT, &what, enough).await
}

/// Times until the objects existed.
fn made(setting: &Setting, ns: &str, who: Who) -> Result<Times> {
    setting.log.with(ns, |requests| {
        let submitted = requests.iter().filter(|r| &*r.verb == "create" && &*r.kind == "mpijobs");
        let begin = submitted.map(|r| r.received).reduce(f64::min).context("nobody submitted a job")?;
        let made = || requests.iter().filter(|r| makes(r, who));
        let answered = made().map(|r| r.answered).fold(begin, f64::max);
        let sent = made().filter(|r| &*r.kind == "pods").map(|r| r.received).fold(begin, f64::max);
        Ok(Times { objects: answered - begin, pods_out: sent - begin, ..Times::default() })
    })
}

/// Lets the kubelet go and waits until all pods run. Returns how long that took.
async fn run(setting: &Setting, shape: Shape, ns: &str) -> Result<f64> {
    let begin = now();
    setting.kubelet.release().await?;
    let what = format!("all pods of {ns} run");
    setting.kubelet.until(ns, LIMIT, &what, |pods| pods.running >= shape.all_pods()).await?;
    Ok(now() - begin)
}

fn deleted(setting: &Setting, ns: &str, who: Who, ended: f64, times: &mut Times) -> Result<()> {
    setting.log.with(ns, |requests| {
        let deletes = || requests.iter().filter(|r| removes(r, who));
        let first = deletes().map(|r| r.received).reduce(f64::min).context("nothing was deleted")?;
        let last = deletes().map(|r| r.answered).fold(first, f64::max);
        times.deletes = last - first;
        times.cleaned = last - ended;
        Ok(())
    })
}
