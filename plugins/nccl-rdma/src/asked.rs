//! Which platform a job's pods ask for: devices by their resource names, claims by class, name and interface.

use alloc::string::String;

use coxswain_plugin_kit::types::{Claim, Group, Job};

use crate::profiles::{self, Profile};

/// Resource, or the beginning of one, to profile; the first that fits counts. A number behind `=` is the amount that is
/// asked for.
///
/// Sources: those of the profiles; NVIDIA's network operator for the `nvidia.com` names. `rdma/ib` occurs on `CoreWeave`,
/// where 1 means all cards of the node, and on Azure, where it counts them.
const DEVICES: [(&str, &str); 12] = [
    ("vpc.amazonaws.com/efa", "aws-efa"),
    ("aliyun/erdma", "alibaba-erdma"),
    ("networking.gke.io.networks/rdma", "gke-gib"),
    ("amd.com/nic", "amd-ainic"),
    ("amd.com/vnic", "amd-ainic"),
    ("rdma/shared_ib", "azure-nd"),
    ("rdma/ib=1", "coreweave-ib"),
    ("rdma/ib=", "azure-nd"),
    ("rdma/roce", "roce"),
    ("rdma/", "infiniband"),
    ("nvidia.com/hostdev", "infiniband"),
    ("nvidia.com/mlnxnics", "infiniband"),
];

/// Part of a claim's device class or name, to profile; the first that fits counts.
const CLAIMS: [(&str, &str); 5] = [
    ("mrdma.google.com", "gke-gib"),
    ("erdma", "alibaba-erdma"),
    ("efa", "aws-efa-dranet"),
    ("dranet", "dranet"),
    ("rdma", "dranet"),
];

/// The profile, and what it was chosen by. Claims go before devices: a claim on a card is about the network, a device
/// beside it may be anything.
pub fn profile(job: &Job) -> Option<(&'static Profile, String)> {
    let groups = || job.groups.iter().filter(|group| group.runs_ranks);
    let (name, by) = groups()
        .flat_map(|group| &group.claims)
        .find_map(by_claim)
        .or_else(|| groups().find_map(by_device))?;
    Some((profiles::named(name)?, ["the pods ask for ", &by].concat()))
}

fn by_claim(claim: &Claim) -> Option<(&'static str, String)> {
    let words = || claim.classes.iter().chain([&claim.name]);
    let row = CLAIMS.iter().find(|(part, _)| words().any(|word| contains(word, part)));
    let by = ["claim ", &claim.name].concat();
    match row {
        Some((_, profile)) => Some((*profile, by)),
        None => claim.network_interface.as_ref().map(|_| ("dranet", by)),
    }
}

fn by_device(group: &Group) -> Option<(&'static str, String)> {
    DEVICES.iter().find_map(|(pattern, profile)| {
        let asked = group.container.devices.iter().find(|device| {
            let text = [&device.resource, "=", count(device.count)].concat();
            if pattern.ends_with('1') { text == *pattern } else { text.starts_with(pattern) }
        })?;
        (asked.count > 0).then(|| (*profile, asked.resource.clone()))
    })
}

/// Ranks run on AMD's GPUs.
pub fn has_amd(job: &Job) -> bool {
    let devices =
        job.groups.iter().filter(|group| group.runs_ranks).flat_map(|group| &group.container.devices);
    devices.into_iter().any(|device| device.resource == "amd.com/gpu")
}

/// Only 1 is told from the others.
fn count(count: u64) -> &'static str {
    if count == 1 { "1" } else { "many" }
}

/// Byte by byte, as the words are short: the library's search would be a twentieth of this plugin.
pub fn contains(word: &str, part: &str) -> bool {
    word.as_bytes().windows(part.len()).any(|window| window == part.as_bytes())
}
