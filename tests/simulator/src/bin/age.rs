//! `age [DAYS]`: two days of churn and then DAYS (30) of it, and what the operators hold after each: it must not grow with
//! their age.
#![allow(clippy::print_stdout, reason = "a command that is not shipped")]

use std::{alloc::System, process::ExitCode, thread, time::Instant};

use coxswain_simulator::aging::{self, Aged};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static HEAP: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Young enough that nothing can have piled up, old enough for everything to have happened once.
const YOUNG: u64 = 2;
const OLD: u64 = 30;
/// Of two processes: maps keep room for more than they hold, and a tenth for chance.
const SLACK: usize = 64 << 10;

fn main() -> ExitCode {
    let days = std::env::args().nth(1).and_then(|days| days.parse().ok()).unwrap_or(OLD);
    // Plugins are run inline, and take half a MiB of it.
    let lives = thread::Builder::new().stack_size(8 << 20).spawn(move || {
        // What is compiled once stays.
        let _ = age(1);
        (age(YOUNG), age(days))
    });
    let Some((young, old)) = lives.ok().and_then(|lives| lives.join().ok()) else {
        println!("age: it panicked");
        return ExitCode::FAILURE;
    };
    let bound = young.held + young.held / 10 + SLACK;
    let mut wrong = [young.violations, old.violations].concat();
    if old.held > bound {
        wrong.push(format!("L7: {} bytes are held after {days} days, and {bound} may be", old.held));
    }
    if old.rows > young.rows {
        wrong.push(format!("L7: {} rows are left in the caches", old.rows));
    }
    for wrong in &wrong {
        println!("BROKEN {wrong}");
    }
    if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn age(days: u64) -> Aged {
    let began = Instant::now();
    let aged = aging::run(days, || {
        let stats = HEAP.stats();
        stats.bytes_allocated.saturating_sub(stats.bytes_deallocated)
    });
    let Aged { jobs, requests, rows, held, .. } = &aged;
    println!(
        "age: {days} days: {jobs} jobs, {requests} requests; {rows} rows in the caches, {held} bytes held by both replicas, \
         {:.0} s",
        began.elapsed().as_secs_f64()
    );
    aged
}
