//! Native gangs beside no gangs, on fake nodes with a real scheduler: from the submission of all jobs until all pods run, and
//! what the operator asks for.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde::Serialize;

use crate::{
    audit::now, job::Shape, measure::median, plain::Plain, process::Operator, setting::Setting, tally::Tally,
};

/// A gang of a thousand takes the scheduler half a minute on two cores.
const LIMIT: Duration = Duration::from_mins(10);
const SETTLED: Duration = Duration::from_millis(2500);

/// The flag, and what a round with it is called.
const WITH: (&str, &[&str]) = ("native gangs", &["--gang-scheduling", "native"]);
const WITHOUT: (&str, &[&str]) = ("no gangs", &[]);

/// What the rounds of one size showed.
#[derive(Clone, Debug, Serialize)]
pub struct Gangs {
    /// `100x8`.
    pub size: String,
    /// Seconds until all ran, by round.
    pub without: Vec<f64>,
    /// The same, with gangs.
    pub with: Vec<f64>,
    /// Creates and deletes of the operator for one job, without gangs and with them.
    pub writes: (f64, f64),
}

impl Gangs {
    /// One line for people.
    pub fn shown(&self) -> String {
        let (without, with) = (median(self.without.iter().copied()), median(self.with.iter().copied()));
        format!(
            "{}: all run after {without:.1} s without gangs, {with:.1} s with them ({:.2}); creates and deletes a job {:.2} and {:.2}",
            self.size,
            with / without,
            self.writes.0,
            self.writes.1
        )
    }
}

/// Rounds by turns. A gang costs one more create and one more delete a job; more is an error.
pub async fn run(setting: &Setting, rounds: u32, told: &dyn Fn(&str)) -> Result<Vec<Gangs>> {
    let mut all = Vec::new();
    for (index, shape) in [Shape::small(100, 8), Shape::small(1, 1000)].into_iter().enumerate() {
        let size = format!("{}x{}", shape.jobs, shape.workers);
        let mut shown = Gangs { size, without: Vec::new(), with: Vec::new(), writes: (0.0, 0.0) };
        for turn in 0..rounds {
            for ((name, flags), is_gang) in [(WITHOUT, false), (WITH, true)] {
                let ns = format!("gangs-{index}-{turn}-{}", u8::from(is_gang));
                let (seconds, writes) = round(setting, shape, flags, &ns).await?;
                told(&format!("{} with {name}: {seconds:.1} s", shown.size));
                let (times, kept) = if is_gang {
                    (&mut shown.with, &mut shown.writes.1)
                } else {
                    (&mut shown.without, &mut shown.writes.0)
                };
                times.push(seconds);
                *kept = writes / f64::from(shape.jobs);
                setting.clear(&ns).await?;
            }
        }
        told(&shown.shown());
        let (without, with) = shown.writes;
        ensure!(with - without <= 2.0, "a gang costs {} creates and deletes a job, not 2", with - without);
        all.push(shown);
    }
    Ok(all)
}

/// Seconds until all run, and the operator's creates and deletes but for events.
async fn round(setting: &Setting, shape: Shape, flags: &[&str], ns: &str) -> Result<(f64, f64)> {
    setting.admin.make_namespace(ns).await?;
    let (operator, _) = Operator::start_with(setting, flags).await?;
    setting.log.quiet("mpi-operator", Duration::from_millis(300), LIMIT).await?;
    let begin = now();
    Plain::new(setting.plain().await?).submit(shape, ns).await?;
    let what = format!("all pods of {ns} run");
    setting.kubelet.until(ns, LIMIT, &what, |pods| pods.running >= shape.all_pods()).await?;
    let seconds = now() - begin;
    setting.kubelet.end(ns).await?;
    let deleted = |requests: &[crate::audit::Request]| {
        let pods = requests
            .iter()
            .filter(|r| r.ours() && &*r.verb == "delete" && &*r.kind == "pods" && r.code < 300);
        (pods.count() >= shape.all_workers()).then_some(())
    };
    setting.log.until(ns, LIMIT, &format!("the workers of {ns} are deleted"), deleted).await?;
    setting.log.quiet(ns, SETTLED, LIMIT).await?;
    operator.kill()?;
    let tally = Tally::of(setting.log.of(ns).iter().filter(|request| request.ours()));
    let writes = tally.count(|verb, kind, _| matches!(verb, "create" | "delete") && kind != "events");
    Ok((seconds, writes as f64))
}
