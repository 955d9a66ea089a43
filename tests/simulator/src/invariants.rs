//! What must never happen, checked on the server's side at every request and every write. The numbers are those of the
//! design (README.md).

mod copies;
mod devices;
mod ends;
mod events;
mod gates;
mod objects;
mod requests;
mod waits;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use crate::{
    network::Network,
    plan::{Fault, Plan},
};

const JOB_NAME: &str = "training.kubeflow.org/job-name";
const JOB_ROLE: &str = "training.kubeflow.org/job-role";

/// Longest life of a watch, and what is added until it is taken for dead.
const WATCHES: u64 = 300 + 10;

/// What was broken, in words. Cheap to share.
#[derive(Clone, Default)]
pub struct Violations(Arc<Mutex<Vec<String>>>);

impl Violations {
    /// Something was.
    pub fn add(&self, rule: &str, what: &str) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let line = format!("{rule}: {what}");
        if !all.contains(&line) {
            all.push(line);
        }
    }

    /// All of them.
    pub fn all(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Watches over everything from now on.
pub fn start(plan: &Plan, network: &Network) -> Violations {
    let violations = Violations::default();
    network.server.observe(Arc::new(requests::Requests::new(plan, network.clone(), violations.clone())));
    network.server.observe(Arc::new(objects::Objects::new(plan, network.clone(), violations.clone())));
    network.server.observe(Arc::new(ends::Ends::new(plan, network.server.clone(), violations.clone())));
    network.server.observe(Arc::new(gates::Gates::new(plan, network.clone(), violations.clone())));
    network.server.observe(Arc::new(events::Events::new(plan, violations.clone())));
    let devices = devices::Devices::new(plan, network.clone(), violations.clone());
    network.server.observe(Arc::new(devices::Watcher(devices)));
    let waits = waits::Waits::new(plan, network.clone(), violations.clone());
    network.server.observe(Arc::new(waits::Watcher(waits)));
    network.server.observe(Arc::new(copies::Copies::new(network.clone(), violations.clone())));
    violations
}

/// How old what a leader goes by may be because of the plan's faults.
fn lag(plan: &Plan) -> Duration {
    let lag = plan.faults.iter().filter_map(|fault| match fault {
        Fault::Stale { seconds, .. } | Fault::Freeze { seconds, .. } => Some(*seconds),
        // A relist after the first pauses, or after a brownout's.
        Fault::Gap { .. } | Fault::Restart { .. } => Some(3),
        // Or of one that has several pages, each of which fails as often as not.
        Fault::Brownout { .. } | Fault::Pages { .. } => Some(60),
        // Open watches are silent, which nobody notices before the time is over for which they were asked to last.
        // A replica that never sees anything never leads.
        Fault::CutOff { to_seconds, .. } if *to_seconds >= plan.horizon_seconds => None,
        Fault::CutOff { from_seconds, to_seconds, .. } => {
            Some(to_seconds.saturating_sub(*from_seconds) + WATCHES)
        }
        Fault::Throttled { from_seconds, to_seconds } | Fault::BlackHole { from_seconds, to_seconds, .. } => {
            Some(to_seconds.saturating_sub(*from_seconds) + 60)
        }
        // Sent before, with its effect afterwards.
        Fault::Write { .. } => Some(40),
        Fault::SlowLease { .. }
        | Fault::Quota { .. }
        | Fault::Webhook { .. }
        | Fault::Kill { .. }
        | Fault::Stop { .. } => None,
    });
    Duration::from_secs(lag.max().unwrap_or(0))
}

/// What must come about has come about after so long, where nothing goes wrong.
const SOON: Duration = Duration::from_secs(30);
/// Until a process that was killed is followed by one that leads: its lease runs out, or it starts again.
const FAILOVER: Duration = Duration::from_secs(45);

/// The same with the plan's faults.
fn patience(plan: &Plan) -> Duration {
    let bad = plan.faults.iter().map(|fault| match fault {
        Fault::CutOff { to_seconds, .. } if *to_seconds >= plan.horizon_seconds => Duration::ZERO,
        Fault::Brownout { from_seconds, to_seconds, .. }
        | Fault::Throttled { from_seconds, to_seconds }
        | Fault::CutOff { from_seconds, to_seconds, .. }
        | Fault::BlackHole { from_seconds, to_seconds, .. } => {
            Duration::from_secs(to_seconds.saturating_sub(*from_seconds)) + FAILOVER
        }
        Fault::Freeze { seconds, .. } => Duration::from_secs(*seconds) + FAILOVER,
        _ => FAILOVER,
    });
    SOON + lag(plan) + bad.sum::<Duration>()
}
