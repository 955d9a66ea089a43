//! S12: a copy of a component stays for as long as a job is pinned to it.

use super::Violations;
use crate::{
    fleet::Fleet,
    network::Network,
    server::{
        Observer,
        kind::{CONFIG_MAP, MPI_JOB},
        store::{Change, Object, text},
    },
};

const PIN: &str = "coxswain.dev/pin";
const COPY: &str = "coxswain-copy-";

pub struct Copies {
    network: Network,
    violations: Violations,
}

impl Copies {
    pub fn new(network: Network, violations: Violations) -> Self {
        Self { network, violations }
    }

    /// A job that lives is pinned to this digest.
    fn is_pinned(&self, digest: &str) -> bool {
        let jobs = self.network.server.all(&MPI_JOB, None);
        let lives = |uid: &str| jobs.iter().any(|job| text(job, "uid") == uid && !has_ended(job));
        let maps = self.network.server.all(&CONFIG_MAP, None);
        maps.iter().any(|map| {
            let pin = map["metadata"]["annotations"][PIN].as_str().unwrap_or_default();
            let owner = map["metadata"]["ownerReferences"][0]["uid"].as_str().unwrap_or_default();
            pin.contains(digest) && lives(owner)
        })
    }
}

fn has_ended(job: &Object) -> bool {
    let mut conditions = job["status"]["conditions"].as_array().into_iter().flatten();
    conditions.any(|condition| {
        condition["status"] == "True" && (condition["type"] == "Succeeded" || condition["type"] == "Failed")
    })
}

impl Observer for Copies {
    fn changed(&self, who: &str, change: &Change) {
        let is_removal =
            change.kind == &CONFIG_MAP && change.after.is_none() && Fleet::replica(who).is_some();
        let Some(digest) = text(change.object(), "name").strip_prefix(COPY).filter(|_| is_removal) else {
            return;
        };
        if self.is_pinned(digest) {
            self.violations
                .add("S12", &format!("the copy of {digest} is removed, and a job is pinned to it"));
        }
    }
}
