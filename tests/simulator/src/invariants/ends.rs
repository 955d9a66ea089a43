//! S4, S11: a job runs once and ends once.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::{Mutex, PoisonError},
};

use serde_json::Value;

use super::Violations;
use crate::{
    plan::{Fault, Plan, WriteFault},
    server::{
        Observer, Server,
        kind::{JOB, MPI_JOB, POD},
        store::{Change, Object, text},
    },
};

pub struct Ends {
    server: Server,
    violations: Violations,
    /// A POST may have its effect when its sender has given it up, and its name is free again.
    may_be_late: bool,
    /// How a job ended and when, by uid.
    ended: Mutex<HashMap<String, (&'static str, String)>>,
    /// Jobs whose launcher Job has finished, by uid.
    over: Mutex<HashSet<String>>,
}

impl Ends {
    pub fn new(plan: &Plan, server: Server, violations: Violations) -> Self {
        let is_late = |fault: &Fault| matches!(fault, Fault::Write { how: WriteFault::Late, .. });
        let may_be_late = plan.faults.iter().any(is_late);
        Self { server, violations, may_be_late, ended: Mutex::default(), over: Mutex::default() }
    }

    /// S4: there is no launcher after the end.
    fn launcher(&self, job: &Object) {
        let Some(owner) = job["metadata"]["ownerReferences"][0]["uid"].as_str() else { return };
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let over = self.over.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.may_be_late && (ended.contains_key(owner) || over.contains(owner)) {
            self.violations
                .add("S4", &format!("a launcher Job {} after the end of the job", text(job, "name")));
        }
    }

    /// What has finished is over, whether its status says so or not.
    fn finished(&self, job: &Object) {
        let conditions = job["status"]["conditions"].as_array().into_iter().flatten();
        let ends = |condition: &Value| {
            matches!(condition["type"].as_str(), Some("Complete" | "Failed")) && condition["status"] == "True"
        };
        if let (true, Some(owner)) =
            (conditions.into_iter().any(ends), job["metadata"]["ownerReferences"][0]["uid"].as_str())
        {
            self.over.lock().unwrap_or_else(PoisonError::into_inner).insert(owner.to_owned());
        }
    }

    /// S4: no two launchers at once.
    fn pod(&self, pod: &Object) {
        let namespace = text(pod, "namespace");
        let jobs = self.server.all(&JOB, Some(namespace));
        let pods = self.server.all(&POD, Some(namespace));
        let owner_of = |object: &Object| {
            object["metadata"]["ownerReferences"][0]["uid"].as_str().unwrap_or_default().to_owned()
        };
        let lives = |pod: &&Object| !matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
        let Some(job) = jobs.iter().find(|job| text(job, "uid") == owner_of(pod)) else { return };
        let of_same = |other: &&Object| owner_of(other) == owner_of(job);
        let uids: BTreeSet<String> =
            jobs.iter().filter(of_same).map(|job| text(job, "uid").to_owned()).collect();
        let living = pods.iter().filter(lives).filter(|pod| uids.contains(&owner_of(pod))).count();
        if living > 1 {
            self.violations.add("S4", &format!("{living} launchers of {} at once", text(job, "name")));
        }
    }

    /// S4 and S11: an end stays what it is.
    fn status(&self, job: &Object) {
        let (name, uid) = (text(job, "name"), text(job, "uid"));
        let is = |kind: &str| {
            let conditions = job["status"]["conditions"].as_array().into_iter().flatten();
            conditions.into_iter().any(|condition| condition["type"] == kind && condition["status"] == "True")
        };
        let time = |field: &str| job["status"][field].as_str().unwrap_or_default().to_owned();
        let how = match (is("Succeeded"), is("Failed")) {
            (true, true) => return self.violations.add("S11", &format!("{name} has succeeded and failed")),
            (true, false) => "succeeded",
            (false, true) => "failed",
            (false, false) => "goes on",
        };
        let end = time("completionTime");
        if !end.is_empty() && end < time("startTime") {
            self.violations.add("S11", &format!("{name} ended at {end}, before it began"));
        }
        if is("Running") && how != "goes on" {
            self.violations.add("S11", &format!("{name} {how} and runs"));
        }
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        match ended.get(uid) {
            Some((before, at)) if *before != how || (*at != end && !at.is_empty()) => {
                self.violations.add("S4", &format!("{name} {before} at {at}, and now it {how} at {end}"));
            }
            Some((_, at)) if !at.is_empty() => {}
            _ if how == "goes on" => {}
            _ => drop(ended.insert(uid.to_owned(), (how, end))),
        }
    }
}

impl Observer for Ends {
    fn changed(&self, _: &str, change: &Change) {
        let Some(object): Option<&Object> = change.after.as_ref() else { return };
        let is_new = change.before.is_none();
        match change.kind {
            kind if kind == &JOB && is_new => self.launcher(object),
            kind if kind == &JOB => self.finished(object),
            kind if kind == &POD
                && is_new
                && object["metadata"]["labels"]["batch.kubernetes.io/job-name"] != Value::Null =>
            {
                self.pod(object);
            }
            kind if kind == &MPI_JOB => self.status(object),
            _ => {}
        }
    }
}
