//! The demo's job, as it is in examples/, again and again.

use std::time::{Duration, Instant};

use crate::{Job, Space, is_long};
use anyhow::Result;

const PI: &str = include_str!("../../../../examples/pi.yaml");

/// Under new names, so that each asks DNS for names that nobody has asked for before. A name that is asked for before
/// it exists is refused for the 30 s that CoreDNS caches, which is what launchers without a gate run into.
#[tokio::test]
async fn jobs_one_after_another_succeed_with_every_rank_on_a_worker_and_no_restart() -> Result<()> {
    let space = Space::new("demo").await?;
    let mut times = Vec::new();
    for turn in 0..if is_long() { 10 } else { 4 } {
        let name = format!("pi-{turn}");
        let job = Job::of_yaml(PI, &name)?;
        let began = Instant::now();
        space.create(&job).await?;
        space.succeeds(&name).await?;
        times.push(began.elapsed());
        space.ran_on_workers(&name, 2).await?;
        space.launcher_started_once(&name).await?;
    }
    times.sort();
    let seconds: Vec<String> = times.iter().map(|time| format!("{:.1}", time.as_secs_f64())).collect();
    println!("seconds from create to Succeeded, sorted: {}", seconds.join(" "));

    // The namespace stays: the audit log is read by its name.
    let slowest = times.last().copied().unwrap_or_default();
    assert!(slowest < Duration::from_secs(30), "one of them waited for DNS: {seconds:?}");
    Ok(())
}
