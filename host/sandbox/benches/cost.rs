//! What loading and calling cost, as a table: `cargo bench -p coxswain-sandbox`.
//!
//! Figures are medians of wall-clock time within this one run; fuel is exact and the same on every machine.

#![allow(
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
    hint::black_box,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use coxswain_model::view::MemberState;
use coxswain_sandbox::{Call, Chain, Link, Observer, Sandbox};

/// Sizes of jobs that the design speaks of.
const HOSTS: [u32; 4] = [8, 64, 1_000, 10_000];

fn main() {
    let fuel = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&fuel);
    let observer: Observer = Arc::new(move |call: &Call<'_>| seen.store(call.fuel, Ordering::Relaxed));
    let sandbox = Sandbox::with_observer(observer).unwrap();

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
