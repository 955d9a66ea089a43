//! L6: what a replica's cache holds of each job is what the server would list.

use std::collections::BTreeMap;

use coxswain_cluster::{
    index::Shared,
    key::JobKey,
    table::{Row, Table},
};

use crate::{
    network::Network,
    plan::{Deed, Plan},
    server::{
        kind::{CONFIG_MAP, JOB, Kind, MPI_JOB, POD, SECRET, SERVICE},
        store::{Object, text},
    },
};

const JOB_LABEL: &str = "coxswain.dev/job";
const JOB_NAME_LABEL: &str = "training.kubeflow.org/job-name";

/// In what they differ. A mark stands for each object: its version.
pub fn check(plan: &Plan, network: &Network, cache: &Shared) -> Vec<String> {
    let index = cache.read();
    let is_aside = |kind: &'static Kind, object: &Object| {
        index.aside.holds(kind.kind, &JobKey::new(text(object, "namespace"), text(object, "name")))
    };
    let label = |label: &'static str| {
        move |object: &Object| object["metadata"]["labels"][label].as_str().map(str::to_owned)
    };
    let kinds = [
        differs(network, &MPI_JOB, &index.jobs, |object| {
            Some(text(object, "name").to_owned()).filter(|_| !is_aside(&MPI_JOB, object))
        }),
        // A pod without an owner that somebody gives to another job by its labels keeps its former row for a while:
        // README.md, "Known".
        differs(network, &POD, &index.pods, job_of_pod).filter(|_| !relabels(plan)),
        differs(network, &SERVICE, &index.services, label(JOB_LABEL)),
        differs(network, &CONFIG_MAP, &index.configs, label(JOB_LABEL)),
        differs(network, &SECRET, &index.secrets, label(JOB_LABEL)),
        differs(network, &JOB, &index.launchers, label(JOB_LABEL)),
    ];
    kinds.into_iter().flatten().collect()
}

/// Somebody changes labels of pods by hand.
pub fn relabels(plan: &Plan) -> bool {
    let is = |deed: &Deed| {
        matches!(deed, Deed::Alter { kind, change, .. }
            if kind == POD.kind && change["metadata"].get("labels").is_some())
    };
    plan.users.iter().any(|act| is(&act.does))
}

/// A worker belongs to its `MPIJob`, a launcher's pod to that of its Job, whatever somebody writes into their labels.
fn job_of_pod(pod: &Object) -> Option<String> {
    let owners = pod["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    let owner = owners.into_iter().find(|owner| owner["controller"] == true);
    let of_owner = owner.and_then(|owner| {
        let name = owner["name"].as_str()?;
        match owner["kind"].as_str()? {
            "MPIJob" => Some(name),
            "Job" => name.strip_suffix("-launcher"),
            _ => None,
        }
    });
    of_owner.or(pod["metadata"]["labels"][JOB_NAME_LABEL].as_str()).map(str::to_owned)
}

fn differs<R: Row>(
    network: &Network,
    kind: &'static Kind,
    table: &Table<R>,
    job_of: impl Fn(&Object) -> Option<String>,
) -> Option<String> {
    let mut there = BTreeMap::<(String, String), Vec<u64>>::new();
    for object in network.server.all(kind, None) {
        let Some(job) = job_of(&object) else { continue };
        let version = object["metadata"]["resourceVersion"].as_str().and_then(|version| version.parse().ok());
        there.entry((text(&object, "namespace").to_owned(), job)).or_default().push(version.unwrap_or(0));
    }
    let mut known = BTreeMap::<(String, String), Vec<u64>>::new();
    for key in table.jobs() {
        let JobKey { namespace, name } = key;
        let versions = table.of(key).iter().map(|row| row.version().0);
        known.insert((namespace.to_string(), name.to_string()), versions.collect());
    }
    for versions in there.values_mut().chain(known.values_mut()) {
        versions.sort_unstable();
    }
    (there != known).then(|| format!("{}: the server has {there:?}, the cache {known:?}", kind.kind))
}
