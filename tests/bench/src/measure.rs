//! What was measured, as values: rounds of each size and the figures that stand by themselves.

use serde::Serialize;

use crate::{
    job::Shape,
    round::{Spent, Times},
    tally::Tally,
};

/// Everything of one run.
#[derive(Debug, Default, Serialize)]
pub struct Measured {
    /// Where and when.
    pub machine: Machine,
    /// Jobs that were made, run and cleaned up.
    pub sizes: Vec<Size>,
    /// Bare pods a second that the plain client created: the most that this bed does.
    pub bare_pods: Vec<f64>,
    /// Restarts with running jobs.
    pub restarts: Vec<Restart>,
    /// Memory over pods.
    pub memory: Vec<Memory>,
    /// Idle minutes.
    pub quiet: Option<Quiet>,
}

/// Where and when a run was.
#[derive(Debug, Default, Serialize)]
pub struct Machine {
    /// RFC 3339.
    pub started: String,
    /// Cores.
    pub cores: usize,
    /// The processor's own name.
    pub processor: String,
    /// Processes that wanted to run when the bench began, over a minute: above 1 somebody else was measured too.
    pub load: f64,
    /// Of the operator.
    pub version: String,
}

/// One size, in rounds by turns.
#[derive(Debug, Serialize)]
pub struct Size {
    /// Jobs.
    pub jobs: u32,
    /// Workers of each.
    pub workers: u32,
    /// Of the plain client.
    pub plain: Vec<Times>,
    /// Of the operator.
    pub operator: Vec<Round>,
}

/// One round of the operator.
#[derive(Debug, Serialize)]
pub struct Round {
    /// Its times.
    pub times: Times,
    /// And the rest.
    pub spent: Spent,
}

impl Size {
    /// Without rounds.
    pub fn new(shape: Shape) -> Self {
        Self { jobs: shape.jobs, workers: shape.workers, plain: Vec::new(), operator: Vec::new() }
    }

    /// For people.
    pub fn name(&self) -> String {
        format!("{} × {}", self.jobs, self.workers)
    }

    /// Workers of all jobs.
    pub fn all_workers(&self) -> f64 {
        f64::from(self.jobs) * f64::from(self.workers)
    }

    /// Median of the operator's rounds.
    pub fn ours(&self, figure: impl Fn(&Times) -> f64) -> f64 {
        median(self.operator.iter().map(|round| figure(&round.times)))
    }

    /// Median of the plain client's.
    pub fn raw(&self, figure: impl Fn(&Times) -> f64) -> f64 {
        median(self.plain.iter().map(figure))
    }

    /// Median over rounds of the operator of what it spent.
    pub fn spent(&self, figure: impl Fn(&Spent) -> f64) -> f64 {
        median(self.operator.iter().map(|round| figure(&round.spent)))
    }

    /// Largest count of any round.
    pub fn most(&self, count: impl Fn(&Spent) -> usize) -> usize {
        self.operator.iter().map(|round| count(&round.spent)).max().unwrap_or_default()
    }

    /// Milliseconds of computing for each worker brought up and removed.
    pub fn cpu_per_worker(&self) -> f64 {
        self.spent(|spent| spent.cpu) * 1000.0 / self.all_workers()
    }
}

/// The operator killed, ten workers deleted, started again; times in seconds since it led.
#[derive(Debug, Serialize)]
pub struct Restart {
    /// Running jobs, of two workers each.
    pub jobs: u32,
    /// From the start of the process.
    pub leads: f64,
    /// Until the objects of a job existed that was submitted when it led.
    pub new_job: f64,
    /// Until the lost workers existed again.
    pub lost_back: f64,
    /// All that it asked for in the namespace of the running jobs.
    pub asked: Tally,
    /// Writes there that concern jobs in which nothing had changed.
    pub needless: usize,
}

/// Memory with so many pods in the cluster.
#[derive(Debug, Serialize)]
pub struct Memory {
    /// Pods of jobs, launchers included.
    pub pods: usize,
    /// Resident MB of a new process after its first reconcile over all jobs.
    pub fresh: f64,
    /// The most it had.
    pub peak: f64,
    /// What it asked for, less reads.
    pub writes: usize,
}

/// A while in which nothing happens.
#[derive(Debug, Serialize)]
pub struct Quiet {
    /// Running jobs.
    pub jobs: u32,
    /// Seconds.
    pub seconds: f64,
    /// Updates of the lease.
    pub lease: usize,
    /// Everything else but watches that go on.
    pub others: usize,
    /// Seconds of computing.
    pub cpu: f64,
}

/// The middle value; of an even number, the mean of the two in the middle. 0 of none.
pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match (values.get(middle), values.len() % 2) {
        (Some(upper), 1) => *upper,
        (Some(upper), _) => f64::midpoint(*upper, values.get(middle - 1).copied().unwrap_or(*upper)),
        (None, _) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        for (values, middle) in
            [(vec![], 0.0), (vec![3.0], 3.0), (vec![3.0, 1.0], 2.0), (vec![9.0, 1.0, 2.0], 2.0)]
        {
            assert!((median(values.into_iter()) - middle).abs() < 1e-9);
        }
    }
}
