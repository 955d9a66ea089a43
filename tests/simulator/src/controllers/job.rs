//! The Job controller, as far as Jobs of one pod need it: Kubernetes 1.34's `syncJob`.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    Actor, Key,
    inside::{Inside, has_ended, is_ending, is_held_by, job_of, phase},
};
use crate::server::{
    ask::Propagation,
    kind::{JOB, POD},
    store::{Change, Object, text},
};

/// Holds a pod until it has been counted.
const TRACKING: &str = "batch.kubernetes.io/job-tracking";
/// Between a pod's failure and the next pod; doubled with each.
const BACKOFF: Duration = Duration::from_secs(10);
const LONGEST_BACKOFF: Duration = Duration::from_mins(10);

/// See the module.
#[derive(Default)]
pub struct Jobs {
    /// Failures in a row and the time of the last one, by the Job's uid.
    failures: Mutex<HashMap<String, (u32, Timestamp)>>,
}

impl Actor for Jobs {
    fn name(&self) -> &'static str {
        "job-controller"
    }

    fn delay(&self) -> (Duration, Duration) {
        (Duration::from_millis(5), Duration::from_millis(100))
    }

    fn wakes(&self, _: &Inside, change: &Change) -> Vec<Key> {
        let object = change.object();
        if change.kind == &JOB {
            return vec![Key::of(&JOB, object)];
        }
        if change.kind != &POD {
            return Vec::new();
        }
        let job = |(name, _): (&str, &str)| Key { name: name.to_owned(), ..Key::of(&JOB, object) };
        job_of(object).map(job).into_iter().collect()
    }

    fn look(&self, inside: &Inside, key: &Key) -> Option<Duration> {
        let job = inside.get(&JOB, &key.namespace, &key.name);
        let uid = job.as_ref().map(|job| text(job, "uid").to_owned()).unwrap_or_default();
        let mut pods = inside.all(&POD, &key.namespace);
        pods.retain(|pod| job_of(pod).is_some_and(|(name, _)| name == key.name));
        for orphan in pods.iter().filter(|pod| job_of(pod).is_some_and(|(_, owner)| owner != uid)) {
            if is_held_by(orphan, TRACKING) {
                inside.let_go(&POD, orphan, TRACKING);
            }
        }
        pods.retain(|pod| job_of(pod).is_some_and(|(_, owner)| owner == uid));
        let job = job?;
        if job["spec"]["managedBy"].as_str().is_some_and(|by| by != "kubernetes.io/job-controller") {
            return None;
        }
        Sync { jobs: self, inside, job: &job, pods }.run()
    }
}

/// One look at one Job.
struct Sync<'a> {
    jobs: &'a Jobs,
    inside: &'a Inside,
    job: &'a Object,
    pods: Vec<Object>,
}

impl Sync<'_> {
    fn run(&self) -> Option<Duration> {
        if self.is("Complete") || self.is("Failed") {
            return self.expire();
        }
        let mut status = self.job["status"].clone();
        let is_suspended = self.job["spec"]["suspend"] == true;
        if status["startTime"].is_null() && !is_suspended {
            status["startTime"] = self.inside.time();
        }
        let counted = self.count(&mut status);
        let end = self.end(&status);
        let mut again = None;
        if let Some((target, _, reason, message)) = &end {
            let active: Vec<&Object> = self.active().collect();
            for pod in &active {
                let _ = self.inside.delete(&POD, pod, Propagation::Background, None);
            }
            if !self.is(target) {
                self.condition(&mut status, target, true, reason, message);
            }
        } else if !is_ending(self.job) {
            again = self.manage(&mut status);
        }
        self.tell_numbers(&mut status);
        if let Some((target, last, reason, message)) = &end {
            // The end is told when nothing of the Job runs or ends any more, after its reason was.
            if self.is(target) && self.pods.iter().all(|pod| has_ended(pod)) {
                self.condition(&mut status, last, true, reason, message);
                if *last == "Complete" {
                    status["completionTime"] = self.inside.time();
                }
            }
        }
        if status != self.job["status"] {
            let _ = self.inside.patch_status(&JOB, self.job, &status);
        }
        for pod in counted {
            self.inside.let_go(&POD, &pod, TRACKING);
        }
        again
    }

    /// Pods that run or will.
    fn active(&self) -> impl Iterator<Item = &Object> {
        self.pods.iter().filter(|pod| !has_ended(pod) && !is_ending(pod))
    }

    /// A pod that is ending runs until it has ended, and has no successor before.
    fn replaces_failed_only(&self) -> bool {
        self.job["spec"]["podReplacementPolicy"] == "Failed"
    }

    /// Counts each pod that has ended once, or is ending before it succeeded, and returns those.
    fn count(&self, status: &mut Value) -> Vec<Object> {
        let mut counted = Vec::new();
        let counts = |pod: &Object| {
            has_ended(pod) || is_ending(self.job) || (is_ending(pod) && !self.replaces_failed_only())
        };
        for pod in self.pods.iter().filter(|pod| is_held_by(pod, TRACKING) && counts(pod)) {
            let field = if phase(pod) == "Succeeded" { "succeeded" } else { "failed" };
            status[field] = (status[field].as_i64().unwrap_or(0) + 1).into();
            let mut failures = self.jobs.failures.lock().unwrap_or_else(PoisonError::into_inner);
            let failure = failures.entry(text(self.job, "uid").to_owned()).or_default();
            *failure = (if field == "failed" { failure.0 + 1 } else { 0 }, self.inside.network.now());
            counted.push(Object::clone(pod));
        }
        counted
    }

    /// The condition that comes first, the one that says that all is over, and why.
    fn end(&self, status: &Value) -> Option<(&'static str, &'static str, String, String)> {
        let spec = &self.job["spec"];
        for (target, last) in [("SuccessCriteriaMet", "Complete"), ("FailureTarget", "Failed")] {
            if let Some(condition) = self.find(target) {
                let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
                return Some((target, last, text("reason"), text("message")));
            }
        }
        let failed = |reason: &str, message: &str| {
            Some(("FailureTarget", "Failed", reason.to_owned(), message.to_owned()))
        };
        if status["failed"].as_i64().unwrap_or(0) > spec["backoffLimit"].as_i64().unwrap_or(6) {
            return failed("BackoffLimitExceeded", "Job has reached the specified backoff limit");
        }
        if self.until_deadline().is_some_and(|left| left.is_zero()) {
            return failed("DeadlineExceeded", "Job was active longer than specified deadline");
        }
        let wanted = spec["completions"].as_i64().unwrap_or(1);
        let is_complete =
            status["succeeded"].as_i64().unwrap_or(0) >= wanted && self.active().next().is_none();
        let message = "Reached expected number of succeeded pods";
        is_complete
            .then(|| ("SuccessCriteriaMet", "Complete", "CompletionsReached".to_owned(), message.to_owned()))
    }

    /// What is left of `activeDeadlineSeconds`.
    fn until_deadline(&self) -> Option<Duration> {
        let seconds = self.job["spec"]["activeDeadlineSeconds"].as_u64()?;
        if self.job["spec"]["suspend"] == true {
            return None;
        }
        let start: Timestamp = self.job["status"]["startTime"].as_str()?.parse().ok()?;
        let past = self.inside.network.now().duration_since(start);
        Some(Duration::from_secs(seconds).saturating_sub(past.try_into().unwrap_or_default()))
    }

    /// Makes the pod that is missing, or removes those that must not be.
    fn manage(&self, status: &mut Value) -> Option<Duration> {
        let suspended = self.find("Suspended").is_some();
        if self.job["spec"]["suspend"] == true {
            let active: Vec<&Object> = self.active().collect();
            for pod in &active {
                let _ = self.inside.delete(&POD, pod, Propagation::Background, None);
            }
            if !suspended {
                self.condition(status, "Suspended", true, "JobSuspended", "Job suspended");
            }
            return None;
        }
        if suspended {
            self.condition(status, "Suspended", false, "JobResumed", "Job resumed");
            status["startTime"] = self.inside.time();
        }
        if self.active().next().is_some() || status["succeeded"].as_i64().unwrap_or(0) > 0 {
            return self.until_deadline();
        }
        let is_going = |pod: &Object| is_ending(pod) && !has_ended(pod);
        if self.replaces_failed_only() && self.pods.iter().any(is_going) {
            return None;
        }
        if let Some(pause) = self.backoff() {
            return Some(self.until_deadline().map_or(pause, |left| left.min(pause)));
        }
        let made = self.inside.create(&POD, text(self.job, "namespace"), self.pod());
        let again = made.is_err().then_some(BACKOFF);
        [again, self.until_deadline()].into_iter().flatten().min()
    }

    /// How long the next pod has to wait.
    fn backoff(&self) -> Option<Duration> {
        let failures = self.jobs.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let (times, last) = failures.get(text(self.job, "uid")).copied().filter(|(times, _)| *times > 0)?;
        let pause = BACKOFF.saturating_mul(1 << (times - 1).min(10)).min(LONGEST_BACKOFF);
        let past = self.inside.network.now().duration_since(last).try_into().unwrap_or_default();
        Some(pause.saturating_sub(past)).filter(|pause| !pause.is_zero())
    }

    fn pod(&self) -> Value {
        let template = &self.job["spec"]["template"];
        let mut meta = json!({
            "generateName": format!("{}-", text(self.job, "name")),
            "finalizers": [TRACKING],
            "ownerReferences": [{
                "apiVersion": "batch/v1",
                "kind": "Job",
                "name": text(self.job, "name"),
                "uid": text(self.job, "uid"),
                "controller": true,
                "blockOwnerDeletion": true,
            }],
        });
        for field in ["labels", "annotations"] {
            if !template["metadata"][field].is_null() {
                meta[field] = template["metadata"][field].clone();
            }
        }
        json!({"metadata": meta, "spec": template["spec"]})
    }

    fn tell_numbers(&self, status: &mut Value) {
        let active = self.active().count();
        let is_ready = |pod: &&Object| {
            let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
            conditions
                .into_iter()
                .any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
        };
        status["ready"] = self.active().filter(is_ready).count().into();
        status["terminating"] =
            self.pods.iter().filter(|pod| is_ending(pod) && !has_ended(pod)).count().into();
        if active > 0 {
            status["active"] = active.into();
        } else {
            // A merge patch removes what is null.
            status["active"] = Value::Null;
        }
        if self.job["status"]["active"].is_null() && active == 0 {
            status.as_object_mut().expect("a status").remove("active");
        }
    }

    fn find(&self, kind: &str) -> Option<&Value> {
        let conditions = self.job["status"]["conditions"].as_array()?;
        conditions.iter().find(|condition| condition["type"] == kind && condition["status"] == "True")
    }

    fn is(&self, kind: &str) -> bool {
        self.find(kind).is_some()
    }

    fn condition(&self, status: &mut Value, kind: &str, holds: bool, reason: &str, message: &str) {
        let condition = json!({
            "type": kind,
            "status": if holds { "True" } else { "False" },
            "reason": reason,
            "message": message,
            "lastProbeTime": self.inside.time(),
            "lastTransitionTime": self.inside.time(),
        });
        let mut all = status["conditions"].as_array().cloned().unwrap_or_default();
        all.retain(|other| other["type"] != kind);
        all.push(condition);
        status["conditions"] = all.into();
    }

    /// After `ttlSecondsAfterFinished`.
    fn expire(&self) -> Option<Duration> {
        let seconds = self.job["spec"]["ttlSecondsAfterFinished"].as_i64()?;
        if is_ending(self.job) {
            return None;
        }
        let end = self.find("Complete").or_else(|| self.find("Failed"))?;
        let end: Timestamp = end["lastTransitionTime"].as_str()?.parse().ok()?;
        let past = self.inside.network.now().duration_since(end).as_secs();
        if past < seconds {
            return Some(Duration::from_secs(u64::try_from(seconds - past).unwrap_or_default()));
        }
        let _ = self.inside.delete(&JOB, self.job, Propagation::Foreground, None);
        None
    }
}
