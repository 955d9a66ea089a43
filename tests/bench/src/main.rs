//! The bench: how fast the operator is, what it holds and what it asks for, beside what a plain client does on the same
//! bed in the same run.
//!
//! In: a bed with fake nodes (`bed up fake-nodes --audit`), in which this runs (`bed exec`); the operator's binary and
//! its plugins. Out: progress and a table on the terminal.
#![forbid(unsafe_code)]
#![allow(
    clippy::print_stdout,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    reason = "a program for people, whose counts are far below 2^52"
)]
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "tests may fail"))]

mod aims;
mod api;
mod audit;
mod gangs;
mod job;
mod measure;
mod page;
mod plain;
mod plot;
mod process;
mod published;
mod round;
mod scenario;
mod setting;
mod swap;
mod table;
mod tally;

use std::{fs, path::PathBuf, time::Instant};

use anyhow::{Context as _, Result, bail};
use clap::Parser;
use jiff::Timestamp;
use serde_json::json;

use self::{
    measure::{Machine, Measured},
    scenario::Plan,
    setting::Setting,
};

/// Measures the operator on a bed with fake nodes.
#[derive(Debug, Parser)]
struct Arguments {
    /// The operator's binary.
    #[arg(long)]
    operator: PathBuf,
    /// Folder of its plugins.
    #[arg(long)]
    plugins: PathBuf,
    /// The API server's audit log.
    #[arg(long)]
    audit_log: PathBuf,
    /// Folder for what is written.
    #[arg(long)]
    out: PathBuf,
    /// Small sizes only.
    #[arg(long)]
    quick: bool,
    /// Only what does not depend on the machine; an aim of that kind that is missed is an error.
    #[arg(long)]
    guard: bool,
    /// Only plugins swapped under load, so often each; what must not happen is an error.
    #[arg(long, value_name = "TIMES")]
    swap: Option<u32>,
    /// Jobs that run while plugins are swapped.
    #[arg(long, value_name = "JOBS", default_value_t = 200)]
    live: u32,
    /// Only gangs beside no gangs, in so many rounds; needs a bed with the real scheduler.
    #[arg(long, value_name = "ROUNDS")]
    gangs: Option<u32>,
    /// Only this: a size such as 1x1000, `bare-pods`, `memory` or `running`; may be given several times.
    #[arg(long, value_name = "WHAT")]
    only: Vec<String>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let plan = plan(&arguments)?;
    let begin = Instant::now();
    let told = |line: &str| println!("bench: {:5.0} s  {line}", begin.elapsed().as_secs_f64());
    let machine = machine();
    let Arguments { operator, plugins, audit_log, out, guard, swap, live, gangs, .. } = arguments;
    let setting = Setting::prepare(operator, plugins, &audit_log, out).await?;
    if let Some(swaps) = swap {
        return swap_plugins(&setting, swap::Size { live, scaled: live / 10, swaps }, &told).await;
    }
    if let Some(rounds) = gangs {
        let shown = gangs::run(&setting, rounds, &told).await?;
        return write(&setting.out.join("gangs.json"), &serde_json::to_string_pretty(&shown)?);
    }
    let measured = Measured { machine, ..scenario::run(&setting, &plan, &told).await? };
    let aims = aims::aims(&measured);
    println!("\n{}", table::report(&measured, &aims));
    write(
        &setting.out.join("results.json"),
        &serde_json::to_string_pretty(&json!({
            "measured": measured, "aims": aims, "published": published::MPI_OPERATOR,
        }))?,
    )?;
    write(&setting.out.join("report.html"), &page::page(&measured, &aims)?)?;
    let missed: Vec<&str> =
        aims.iter().filter(|aim| aim.exact && aim.met == Some(false)).map(|aim| aim.scenario).collect();
    if guard && !missed.is_empty() {
        bail!("missed what does not depend on the machine: {}", missed.join("; "));
    }
    Ok(())
}

async fn swap_plugins(setting: &Setting, size: swap::Size, told: &dyn Fn(&str)) -> Result<()> {
    let shown = swap::run(setting, size, told).await?;
    let milliseconds = |of| shown.quantile(of) * 1e3;
    println!(
        "\n{} swaps, {} jobs came meanwhile; from ConfigMap to first use: median {:.0} ms, p99 {:.0} ms (aim: 500 ms)",
        shown.swaps,
        shown.jobs,
        milliseconds(0.5),
        milliseconds(0.99)
    );
    write(&setting.out.join("swap.json"), &serde_json::to_string_pretty(&shown)?)
}

fn plan(arguments: &Arguments) -> Result<Plan> {
    let mut plan = if arguments.guard {
        Plan::guard()
    } else if arguments.quick {
        Plan::quick()
    } else {
        Plan::full()
    };
    if arguments.only.is_empty() {
        return Ok(plan);
    }
    let name = |shape: job::Shape| format!("{}x{}", shape.jobs, shape.workers);
    let mut known: Vec<String> = plan.sizes.iter().map(|(shape, _)| name(*shape)).collect();
    known.extend(["bare-pods", "memory", "running"].map(str::to_owned));
    if let Some(unknown) = arguments.only.iter().find(|only| !known.contains(only)) {
        bail!("--only {unknown}: there are {}", known.join(", "));
    }
    let wanted = |what: &str| arguments.only.iter().any(|only| only == what);
    plan.sizes.retain(|(shape, _)| wanted(&name(*shape)));
    if !wanted("bare-pods") {
        plan.bare_pods = (0, 0);
    }
    if !wanted("memory") {
        plan.memory.clear();
    }
    if !wanted("running") {
        plan.running = (0, 0);
    }
    Ok(plan)
}

fn machine() -> Machine {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let processor = read("/proc/cpuinfo")
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map(|(_, name)| name.to_owned());
    Machine {
        started: Timestamp::now().to_string(),
        cores: std::thread::available_parallelism().map_or(0, std::num::NonZero::get),
        processor: processor.unwrap_or_default(),
        load: read("/proc/loadavg").split(' ').next().and_then(|load| load.parse().ok()).unwrap_or_default(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

fn write(path: &std::path::Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("writing {}", path.display()))?;
    println!("bench: wrote {}", path.display());
    Ok(())
}
