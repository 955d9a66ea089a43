//! Bad days: an API server that is gone, slow, overloaded or forgetful, a webhook that never answers, jobs that no
//! operator can carry out. All others must not notice. `tests/cluster/outage` runs them one after another on a bed of the
//! kind `mixed`: the operator's pods are real, with two replicas, and reach the API server through a proxy that can be
//! told to misbehave; the jobs' pods are on fake nodes, so that there can be hundreds.
//!
//! The long form has the sizes that are documented; in the short one all of it takes minutes.

mod hostile;
mod load;
mod probe;
mod replicas;
mod server;
mod webhook;

use std::time::Duration;

/// How much of everything.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    /// Jobs that run all the time.
    jobs: u32,
    /// Time from one new job to the next.
    interval: Duration,
    /// How long the API server is gone.
    gone: Duration,
    /// How long it is frozen.
    frozen: Duration,
    /// How long its answers are late.
    slow: Duration,
    /// How long half of them are refusals.
    refused: Duration,
    /// How long watches are cut.
    cut: Duration,
    /// The life of each.
    watch: Duration,
    /// The leader is killed under every fault, not only while the API server is gone.
    kills: bool,
    /// Rounds of jobs with and without a webhook that hangs.
    rounds: usize,
    /// Longest that the last job may take to end after the fault.
    ends: Duration,
}

impl Sizes {
    fn chosen() -> Self {
        let secs = Duration::from_secs;
        let mins = Duration::from_mins;
        if crate::is_long() {
            return Self {
                jobs: 200,
                interval: Duration::from_millis(500),
                gone: mins(5),
                frozen: mins(1),
                slow: mins(10),
                refused: mins(5),
                cut: mins(5),
                watch: secs(20),
                kills: true,
                rounds: 3,
                ends: mins(5),
            };
        }
        Self {
            jobs: 20,
            interval: Duration::from_millis(500),
            gone: secs(15),
            frozen: secs(20),
            slow: secs(12),
            refused: secs(12),
            cut: secs(12),
            watch: secs(4),
            kills: false,
            rounds: 1,
            ends: mins(2),
        }
    }
}
