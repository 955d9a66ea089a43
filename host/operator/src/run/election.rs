//! Who runs for the lease, and over which way.

use std::{sync::Arc, time::Duration};

use coxswain_model::api::labels;
use kube::Client;

use coxswain_cluster::{
    leadership::Leadership,
    lease::{Candidate, LeaseApi, Timing},
    metrics::Metrics,
    world,
};

/// A holder that has not renewed for the lease's 15 s and 20 more is stuck, as in the MPI Operator.
pub const UNHEALTHY: Duration = Duration::from_secs(35);

/// A candidate over a client of its own.
pub fn candidate(
    namespace: &str,
    client: Client,
    leadership: Leadership,
    metrics: &Arc<Metrics>,
) -> Candidate<LeaseApi> {
    let timing = Timing::default();
    let record = LeaseApi {
        client,
        metrics: Arc::clone(metrics),
        limit: timing.answer,
        namespace: namespace.to_owned(),
        name: labels::OPERATOR_NAME.to_owned(),
    };
    Candidate::new(record, identity(), timing, leadership)
}

/// `<hostname>_<uuid>`: new for each process, so that a restarted one does not take its predecessor's lease for
/// its own.
fn identity() -> String {
    if let Some(identity) = world::identity() {
        return identity;
    }
    let hostname = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let hex = format!("{:032x}", world::random::<u128>());
    let part = |range| hex.get(range).unwrap_or_default();
    let uuid = [part(0..8), part(8..12), part(12..16), part(16..20), part(20..32)].join("-");
    format!("{}_{uuid}", hostname.trim())
}
