//! What is reported of the launcher's gate.

use std::time::Duration;

use super::draft::Draft;
use crate::{
    gate::{Because, Gate, Missing},
    object::Kind,
};

impl Draft<'_> {
    /// A closed gate is a wake-up, an open one an event where it was not opened for the best of reasons.
    pub(super) fn open_gate(&mut self) {
        match &self.outcome.gate {
            Gate::Closed { until, .. } => {
                let left = Duration::try_from(until.duration_since(self.now)).unwrap_or_default();
                self.wake(left.max(Duration::from_secs(1)));
            }
            Gate::Open { pod, because, .. } if self.is_opened(pod) => match because {
                Because::AllReady | Because::RanBefore | Because::Minimum => {}
                Because::WorkerFailed => {
                    let message =
                        "the launcher starts although not all workers are ready: a worker has ended";
                    self.act(true, "StartGateOpened", message);
                }
                Because::TimedOut { missing } => {
                    let message = self.timed_out(missing);
                    self.act(true, "StartGateTimedOut", &message);
                }
            },
            Gate::NotUsed | Gate::Open { .. } => {}
        }
    }

    /// The step that opens the gate was carried out: neither it nor an earlier wave failed.
    fn is_opened(&self, pod: &str) -> bool {
        let failures = &self.outcome.done.failures;
        failures.iter().all(|failure| failure.object.kind == Kind::Pod && failure.object.name != pod)
    }

    fn timed_out(&self, missing: &Missing) -> String {
        let hosts: Vec<String> =
            missing.sample.iter().map(|pod| self.job.pod_name(*pod).to_string()).collect();
        let rest = usize::try_from(missing.count).unwrap_or(usize::MAX).saturating_sub(hosts.len());
        let more = if rest == 0 { String::new() } else { format!(" and {rest} more") };
        format!(
            "the launcher starts after {} s although {} of {} workers are not ready or not in DNS: {}{more}",
            self.job.options().start_gate_timeout.as_secs(),
            missing.count,
            self.job.workers(),
            hosts.join(", ")
        )
    }
}
