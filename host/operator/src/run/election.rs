//! Running for the lease, and what begins and ends with holding it.

use std::{sync::Arc, time::Duration};

use coxswain_model::{api::wire, status::Event};
use tokio::sync::watch;

use super::client;
use crate::{
    cluster::{
        events::Subject,
        lease::{Candidate, LeaseApi, Standing, Timing},
        live::Live,
        pace::Pace,
        rest::Rest,
    },
    flags::Flags,
    metrics::Metrics,
    queue::Cause,
};

/// A holder that has not renewed for the lease's 15 s and 20 more is stuck, as in the MPI Operator.
pub const UNHEALTHY: Duration = Duration::from_secs(35);

/// Three tries fit into the 10 s after which a holder gives up.
const TIMEOUT: Duration = Duration::from_secs(3);

/// A candidate with a client of its own.
pub async fn candidate(
    flags: &Flags,
    standing: Standing,
    metrics: &Arc<Metrics>,
) -> anyhow::Result<Candidate<LeaseApi>> {
    let pace = Pace::new(None, Arc::clone(metrics));
    let rest = Rest::new(client::new(flags).await?, pace, Arc::clone(metrics)).with_timeout(TIMEOUT);
    let (namespace, name) = (flags.lock_namespace.clone(), wire::OPERATOR_NAME.to_owned());
    let record = LeaseApi { rest, namespace, name };
    Ok(Candidate::new(record, identity(), Timing::default(), standing))
}

/// `<hostname>_<uuid>`: new for each process, so that a restarted one does not take its predecessor's lease for
/// its own.
fn identity() -> String {
    let hostname = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let hex = format!("{:032x}", rand::random::<u128>());
    let part = |range| hex.get(range).unwrap_or_default();
    let uuid = [part(0..8), part(8..12), part(12..16), part(16..20), part(20..32)].join("-");
    format!("{}_{uuid}", hostname.trim())
}

/// One term of leading.
pub struct Term {
    /// Of this process.
    pub standing: Standing,
    /// Of the candidate.
    pub identity: String,
    /// Where the lease is.
    pub lock_namespace: String,
    /// Told and asked.
    pub live: Live,
}

impl Term {
    /// Waits for the lease, then has all jobs looked at. False if it was told to stop before that.
    pub async fn begin(&self, stop: &mut watch::Receiver<bool>) -> bool {
        let mut leads = self.standing.subscribe();
        tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => return false,
            _ = leads.wait_for(|leads| *leads) => {}
        }
        self.live.metrics.leads(true);
        self.tell("became leader");
        let jobs: Vec<_> = self.live.index.read().jobs.jobs().cloned().collect();
        for job in &jobs {
            (self.live.wake)(job, Cause::Other);
        }
        true
    }

    /// The passes have stopped.
    pub fn end(&self) {
        self.live.metrics.leads(false);
        self.tell("stopped leading");
    }

    fn tell(&self, what: &str) {
        let lease = Subject {
            api_version: "coordination.k8s.io/v1",
            kind: "Lease",
            namespace: self.lock_namespace.clone(),
            name: wire::OPERATOR_NAME.to_owned(),
            uid: String::new(),
            version: String::new(),
        };
        let message = format!("{} {what}", self.identity);
        let event = Event { warning: false, reason: "LeaderElection".to_owned(), message };
        self.live.events.tell_as(lease, event, wire::OPERATOR_NAME);
    }
}
