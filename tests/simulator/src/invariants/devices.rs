//! L5: what a suspended job held is free.

use std::{sync::Arc, time::Duration};

use super::{Violations, patience};
use crate::{
    controllers::{has_ended, is_ending},
    network::Network,
    plan::Plan,
    server::{
        Observer,
        kind::{MPI_JOB, POD},
        store::{Change, Object, text},
    },
};

pub struct Devices {
    network: Network,
    violations: Violations,
    within: Duration,
}

impl Devices {
    pub fn new(plan: &Plan, network: Network, violations: Violations) -> Arc<Self> {
        Arc::new(Self { network, violations, within: patience(plan) })
    }

    fn check(&self, namespace: &str, name: &str, uid: &str, version: i64) {
        let Some(job) = self.network.server.get(&MPI_JOB, namespace, name) else { return };
        // Resumed meanwhile, or suspended once more, which has a check of its own.
        if text(&job, "uid") != uid || job["metadata"]["generation"].as_i64() != Some(version) {
            return;
        }
        // What had ended before anybody could suspend it keeps what its policy says.
        let mut conditions = job["status"]["conditions"].as_array().into_iter().flatten();
        if conditions.any(|condition| {
            condition["status"] == "True"
                && (condition["type"] == "Succeeded" || condition["type"] == "Failed")
        }) {
            return;
        }
        let pods = self.network.server.all(&POD, Some(namespace));
        // Workers are the job's own pods; what has ended holds nothing.
        let owner = |pod: &Object| pod["metadata"]["ownerReferences"][0].clone();
        let is_ours =
            |pod: &Object| owner(pod)["uid"] == uid || owner(pod)["name"] == format!("{name}-launcher");
        let holds = |pod: &&Object| is_ours(pod) && !is_ending(pod) && !has_ended(pod);
        let count = pods.iter().filter(holds).count();
        if count > 0 {
            let seconds = self.within.as_secs();
            self.violations.add("L5", &format!("{name} has {count} pods {seconds} s after it was suspended"));
        }
    }
}

/// Enters the checks.
pub struct Watcher(pub Arc<Devices>);

impl Observer for Watcher {
    fn changed(&self, _: &str, change: &Change) {
        let Some(after) = change.after.as_ref().filter(|_| change.kind == &MPI_JOB) else { return };
        let is_suspended = |job: &Object| job["spec"]["runPolicy"]["suspend"] == true;
        let was = change.before.as_ref().is_some_and(is_suspended);
        let foreign = !after["spec"]["runPolicy"]["managedBy"].is_null();
        if was || foreign || !is_suspended(after) {
            return;
        }
        let text = |field| text(after, field).to_owned();
        let (namespace, name, uid) = (text("namespace"), text("name"), text("uid"));
        let version = after["metadata"]["generation"].as_i64().unwrap_or_default();
        let devices = Arc::clone(&self.0);
        let agenda = devices.network.agenda.clone();
        agenda.after(devices.within, move || devices.check(&namespace, &name, &uid, version));
    }
}
