//! `simulator test` runs the fixed budget, `simulator every` all that is enumerated, `simulator find` the budget up to the first
//! history that fails, `simulator soak [SEED]` everything and then seeds until it is stopped, and `simulator replay WHAT` runs
//! one plan and shows what happened: WHAT is a plan's file, the name of a workload, or `seed:N`; with `RUST_LOG=coxswain=debug` the operators' log goes to standard error meanwhile, by virtual time.
#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a command that is not shipped"
)]

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    process::ExitCode,
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    thread,
    time::{Instant, SystemTime},
};

use coxswain_simulator::{dice, life, modes, plan::Plan, workloads};
use tracing_subscriber::{
    EnvFilter,
    fmt::{format::Writer, time::FormatTime},
};

/// Histories of the fixed budget, of each of the three stages with faults: what two cores run in three minutes.
const BUDGET: usize = 2500;
/// Each so many plans are run twice, and must come out the same.
const TWICE: usize = 50;
/// Failures after which nobody reads further ones.
const ENOUGH: usize = 20;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["test"] => exit(test(BUDGET)),
        ["every"] => exit(test(usize::MAX)),
        ["find"] => find(),
        ["soak"] => soak(None),
        ["soak", seed] => soak(seed.parse().ok()),
        ["replay", what] => replay(what),
        _ => {
            println!(
                "usage: simulator test | every | find | soak [SEED] | replay FILE | replay WORKLOAD | replay seed:N"
            );
            ExitCode::from(2)
        }
    }
}

fn exit(failed: usize) -> ExitCode {
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The plans that failed once, every workload, so many of everything that is enumerated, and seeds. How many failed.
fn test(budget: usize) -> usize {
    let began = Instant::now();
    let mut failed = stage("found plans", &found());
    let workloads = workloads::all();
    failed += stage("workloads without a fault", &workloads);
    failed += stage("clusters that are shared", &modes::shared());
    if failed > 0 {
        println!("simulator: what fails without a fault is not tried with one");
        return failed;
    }
    let writes: Vec<Plan> = workloads.iter().flat_map(modes::writes).collect();
    failed += stage(&of(writes.len(), "a fault at each write"), &modes::sample(writes, budget));
    let views: Vec<Plan> = workloads.iter().flat_map(modes::views).collect();
    failed += stage(&of(views.len(), "a stale view or a gap at each change"), &modes::sample(views, budget));
    let seeds = 1..=budget.min(BUDGET) as u64;
    failed += stage("seeds", &seeds.map(modes::seeded).collect::<Vec<_>>());
    println!("simulator: {failed} failed, {} s", began.elapsed().as_secs());
    failed
}

/// Up to the first history that fails, without those that are known to: for a defect that was put back.
fn find() -> ExitCode {
    let workloads = workloads::all();
    let writes = modes::sample(workloads.iter().flat_map(modes::writes).collect(), BUDGET);
    let views = modes::sample(workloads.iter().flat_map(modes::views).collect(), BUDGET);
    let seeds = (1..=BUDGET as u64).map(modes::seeded).collect();
    let mut before = 0;
    for plans in [workloads, modes::shared(), seeds, writes, views] {
        for (number, plan) in (before + 1..).zip(&plans) {
            if let Some(rule) = broken(plan).first() {
                println!("found by history {number}: {}: {rule}", plan.name);
                return ExitCode::SUCCESS;
            }
        }
        before += plans.len();
    }
    println!("not found in {before} histories");
    ExitCode::FAILURE
}

fn broken(plan: &Plan) -> Vec<String> {
    run(plan, false).map_or_else(|panic| vec![panic], |(_, violations)| violations)
}

fn of(all: usize, what: &str) -> String {
    format!("of {all} with {what}")
}

/// Everything that is enumerated, and then seeds without end.
fn soak(seed: Option<u64>) -> ExitCode {
    if seed.is_none() && test(usize::MAX) > 0 {
        return ExitCode::FAILURE;
    }
    let clock = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(1, |time| time.as_secs());
    let mut seed = seed.unwrap_or_else(|| dice::mixed(clock()) >> 20);
    println!("simulator: seeds from {seed} on");
    loop {
        let plans: Vec<Plan> = (seed..seed + 1000).map(modes::seeded).collect();
        if stage(&format!("seeds from {seed} on"), &plans) > 0 {
            return ExitCode::FAILURE;
        }
        seed += 1000;
    }
}

fn replay(what: &str) -> ExitCode {
    let seeded = |seed: &str| seed.parse().ok().map(modes::seeded);
    let plan =
        what.strip_prefix("seed:").and_then(seeded).or_else(|| workloads::named(what)).or_else(|| read(what));
    let Some(plan) = plan else {
        println!("{what} is no file, workload or seed");
        return ExitCode::from(2);
    };
    let log =
        tracing_subscriber::fmt().with_env_filter(EnvFilter::from_default_env()).with_writer(std::io::stderr);
    log.with_timer(VirtualTime::default()).init();
    let report = life::run(&plan);
    report.lines.iter().for_each(|line| println!("{line}"));
    println!("{:#?}", plan.faults);
    println!(
        "{}: {} writes, {} requests, hash {:016x}",
        plan.name, report.writes, report.requests, report.hash
    );
    report.jobs.iter().for_each(|job| println!("{job}"));
    report.violations.iter().for_each(|violation| println!("BROKEN {violation}"));
    if report.violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Seconds since the first line.
#[derive(Default)]
struct VirtualTime(OnceLock<tokio::time::Instant>);

impl FormatTime for VirtualTime {
    fn format_time(&self, line: &mut Writer<'_>) -> std::fmt::Result {
        let now = tokio::time::Instant::now();
        write!(line, "{:10.3}", now.duration_since(*self.0.get_or_init(|| now)).as_secs_f64())
    }
}

/// Runs plans on all cores. How many failed.
fn stage(name: &str, plans: &[Plan]) -> usize {
    let began = Instant::now();
    let (next, failed, requests) = (AtomicUsize::new(0), Mutex::new(Vec::new()), AtomicU64::new(0));
    let enough = AtomicBool::new(false);
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(plan) = plans.get(at).filter(|_| !enough.load(Ordering::Relaxed)) else {
                return;
            };
            let violations = match run(plan, at % TWICE == 0) {
                Ok((asked, violations)) => {
                    requests.fetch_add(asked, Ordering::Relaxed);
                    violations
                }
                Err(panic) => vec![panic],
            };
            if !violations.is_empty() {
                let breaks_the_same = |plan: &Plan| {
                    run(plan, false).is_ok_and(|(_, others)| {
                        others.iter().any(|other| violations.iter().any(|one| rule(one) == rule(other)))
                    })
                };
                let plan = modes::least(plan, breaks_the_same);
                let mut failed = failed.lock().expect("nobody panics here");
                failed.push((plan, violations));
                enough.store(failed.len() >= ENOUGH, Ordering::Relaxed);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(2, usize::from) {
            // Plugins are run inline, and take half a MiB of it.
            let spawned = thread::Builder::new().stack_size(8 << 20).spawn_scoped(scope, work);
            spawned.expect("a thread");
        }
    });
    let failed = failed.into_inner().expect("nobody panics here");
    for (plan, violations) in &failed {
        println!("FAILED {}", plan.name);
        for violation in violations {
            println!("  {violation}");
        }
        println!("  replay: make simulator-replay PLAN={}", keep(plan).display());
    }
    let ran = next.load(Ordering::Relaxed).min(plans.len());
    println!(
        "simulator: {name}: {ran} of {} histories, {} requests, {} failed, {:.1} s",
        plans.len(),
        requests.load(Ordering::Relaxed),
        failed.len(),
        began.elapsed().as_secs_f64()
    );
    failed.len()
}

/// Requests and what was broken; also where a second run differs from the first one.
fn run(plan: &Plan, twice: bool) -> Result<(u64, Vec<String>), String> {
    let once = || catch_unwind(AssertUnwindSafe(|| life::run(plan))).map_err(|_| "it panicked".to_owned());
    let report = once()?;
    let mut violations = report.violations;
    if twice && once()?.hash != report.hash {
        violations.push("two runs of this plan differ".to_owned());
    }
    Ok((report.requests, violations))
}

/// `S4` of `S4: two launchers of …`.
fn rule(violation: &str) -> &str {
    violation.split(':').next().unwrap_or_default()
}

/// Plans that failed once, and must never again.
fn found() -> Vec<Plan> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("found");
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files.iter().filter_map(|file| read(file.to_str()?)).collect()
}

fn read(file: &str) -> Option<Plan> {
    serde_json::from_str(&fs::read_to_string(file).ok()?).ok()
}

/// Writes a plan that failed, for the replay.
fn keep(plan: &Plan) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/simulator/failed");
    let name: String = plan.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let file = folder.join(format!("{name}.json"));
    let text = serde_json::to_string_pretty(plan).expect("JSON");
    if let Err(error) = fs::create_dir_all(&folder).and_then(|()| fs::write(&file, text)) {
        println!("  {}: {error}", file.display());
    }
    file
}
