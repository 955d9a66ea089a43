//! What loading and calling cost, as a table: `cargo bench -p coxswain-sandbox`.
//!
//! First one plugin after the other, then the whole chain of a job that uses RDMA. Figures are medians of wall-clock time
//! within this one run; fuel is exact and the same on every machine; memory is what the process grew by.

#![allow(
    clippy::cast_precision_loss,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a program for people that may fail"
)]

#[path = "../tests/all/given.rs"]
#[allow(dead_code, reason = "shared with the tests, which use all of it")]
mod given;

use std::{
    fs,
    hint::black_box,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use coxswain_model::view::{JobView, MemberState};
use coxswain_sandbox::{Call, Chain, Compiler, Link, Observer, Plugin, Sandbox};

/// Sizes of jobs that the design speaks of.
const HOSTS: [u32; 4] = [8, 64, 1_000, 10_000];

/// The whole chain, by hosts: what is aimed at on a current core.
const CHAIN: [(u32, Duration); 3] = [
    (8, Duration::from_micros(100)),
    (1_000, Duration::from_micros(500)),
    (10_000, Duration::from_millis(4)),
];
/// Plugins that are held at once while memory is measured.
const HELD: usize = 64;

fn main() {
    let fuel = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&fuel);
    let observer: Observer = Arc::new(move |call: &Call<'_>| seen.store(call.fuel, Ordering::Relaxed));
    let sandbox = Sandbox::with(Compiler::Here, observer).unwrap();

    for (name, flavor) in [("openmpi", "OpenMPI"), ("intel-mpi", "Intel"), ("mpich", "MPICH")] {
        let bytes = given::bytes(name);
        let load = median(10, || drop(black_box(sandbox.load(name, &bytes, given::BOUND).unwrap())));
        println!("{name}: {} bytes, loads in {load:.1?}", bytes.len());

        let plugin = sandbox.load(name, &bytes, given::BOUND).unwrap();
        let settings = given::merged(&plugin, &[]);
        let chain = Chain { launcher: Link { plugin, settings }, tuners: vec![] };
        println!("{:>8} {:>12} {:>12} {:>12} {:>12}", "hosts", "render", "fuel", "follow", "fuel");
        for hosts in HOSTS {
            let job = given::job(flavor, hosts, 8);
            let members = given::members(&job, MemberState::Ready);
            let runs = if hosts > 1_000 { 50 } else { 500 };
            let render = median(runs, || drop(black_box(chain.render(&job).unwrap())));
            let render_fuel = fuel.load(Ordering::Relaxed);
            let follow = median(runs, || drop(black_box(chain.follow(&job, &members).unwrap())));
            let follow_fuel = fuel.load(Ordering::Relaxed);
            println!("{hosts:>8} {render:>12.1?} {render_fuel:>12} {follow:>12.1?} {follow_fuel:>12}");
        }
    }
    whole_chain();
    memory();
}

/// Open MPI's plugin, then the tuner for RDMA networks, on a job whose workers ask for cards.
fn whole_chain() {
    let fuel = Arc::new(AtomicU64::new(0));
    let sum = Arc::clone(&fuel);
    let observer: Observer = Arc::new(move |call: &Call<'_>| {
        sum.fetch_add(call.fuel, Ordering::Relaxed);
    });
    let sandbox = Sandbox::with(Compiler::Here, observer).unwrap();
    let link = |name: &str| {
        let plugin = sandbox.load(name, &given::bytes(name), given::BOUND).unwrap();
        let settings = given::merged(&plugin, &[]);
        Link { plugin, settings }
    };
    for name in ["openmpi", "nccl-rdma"] {
        let bytes = given::bytes(name);
        let load = median(10, || drop(black_box(sandbox.load(name, &bytes, given::BOUND).unwrap())));
        println!("{name}: {} bytes, loads in {load:.1?}", bytes.len());
    }
    let chain = Chain { launcher: link("openmpi"), tuners: vec![link("nccl-rdma")] };
    println!("chain of openmpi and nccl-rdma");
    println!("{:>8} {:>12} {:>12} {:>12}", "hosts", "render", "fuel", "aim");
    for (hosts, aim) in CHAIN {
        let job = with_cards(given::job("OpenMPI", hosts, 8));
        let runs = if hosts > 1_000 { 50 } else { 500 };
        let render = median(runs, || drop(black_box(chain.render(&job).unwrap())));
        fuel.store(0, Ordering::Relaxed);
        let plan = chain.render(&job).unwrap();
        assert!(plan.files.iter().any(|file| file.by == "nccl-rdma"), "the tuner had nothing to do");
        println!("{hosts:>8} {render:>12.1?} {:>12} {aim:>12.1?}", fuel.load(Ordering::Relaxed));
    }
}

fn with_cards(mut job: JobView) -> JobView {
    job.groups[1].container.devices = vec![("nvidia.com/gpu".into(), 8), ("rdma/hca".into(), 1)];
    job
}

/// What a loaded plugin holds while nobody calls it.
fn memory() {
    let sandbox = Sandbox::new().unwrap();
    for name in ["openmpi", "nccl-rdma"] {
        let bytes = given::bytes(name);
        // The first ones grow what is kept for all.
        let load = || -> Vec<Plugin> {
            (0..HELD).map(|_| sandbox.load(name, &bytes, given::BOUND).unwrap()).collect()
        };
        drop(black_box(load()));
        let before = resident();
        let held = load();
        let each = resident().saturating_sub(before) as f64 / HELD as f64;
        println!("{name}: {each:.0} KiB for each loaded plugin, of {}", held.len());
    }
}

/// KiB of memory that the process has in use.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
}

fn median(runs: usize, mut run: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..runs)
        .map(|_| {
            let begin = Instant::now();
            run();
            begin.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[runs / 2]
}
