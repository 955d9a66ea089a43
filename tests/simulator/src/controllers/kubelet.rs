//! Scheduler and kubelets: pods get a node, start, run, end, and go when they are told to.
//!
//! A launcher reaches its workers by what DNS would say at that moment: one that is not there makes it fail, which is why
//! there is a gate. How it ends otherwise is the plan's business.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    Actor, Key,
    inside::{Inside, has_ended, is_ending, phase},
};
use crate::{
    dice::Dice,
    holds::{AGAIN, Holds},
    plan::{Ending, Held},
    server::{
        ask::Propagation,
        kind::{CONFIG_MAP, ENDPOINT_SLICE, MPI_JOB, POD, SECRET},
        store::{Change, Object, text},
    },
};

const JOB_NAME: &str = "training.kubeflow.org/job-name";
const JOB_ROLE: &str = "training.kubeflow.org/job-role";
/// The annotation of a job whose launcher asks which of its hosts run.
const ELASTIC: &str = "coxswain.dev/start-min-workers";

/// How long a pod without a node goes on ending where something holds it.
const UNBOUND: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(20));

/// Exit code of a pod and how long it runs; nothing if it runs until it is told to end.
pub type Ends = Arc<dyn Fn(&Value) -> Option<(i64, Duration)> + Send + Sync>;

/// See the module.
pub struct Kubelets {
    /// Of launchers.
    pub ends: Ends,
    /// From its node to Ready, at least and at most.
    pub start: (Duration, Duration),
    /// From being told to end to its end.
    pub stop: (Duration, Duration),
    /// What is not done for now.
    pub holds: Holds,
}

impl Actor for Kubelets {
    fn name(&self) -> &'static str {
        "kubelet"
    }

    fn delay(&self) -> (Duration, Duration) {
        (Duration::from_millis(2), Duration::from_millis(50))
    }

    fn wakes(&self, _: &Inside, change: &Change) -> Vec<Key> {
        let is_pod = change.kind == &POD && change.after.is_some();
        is_pod.then(|| Key::of(&POD, change.object())).into_iter().collect()
    }

    fn look(&self, inside: &Inside, key: &Key) -> Option<Duration> {
        let pod = inside.get(&POD, &key.namespace, &key.name)?;
        if is_ending(&pod) {
            return self.stop(inside, &pod);
        }
        if has_ended(&pod) {
            return None;
        }
        if pod["spec"]["nodeName"].is_null() {
            bind(inside, &pod);
            return None;
        }
        match phase(&pod) {
            "Pending" => self.start(inside, &pod),
            _ => self.run(inside, &pod),
        }
    }
}

impl Kubelets {
    fn start(&self, inside: &Inside, pod: &Object) -> Option<Duration> {
        let left = left(inside, pod, "start", scheduled(pod)?, self.start);
        if !left.is_zero() {
            return Some(left);
        }
        if self.holds.is_held(Held::Start, text(pod, "name")) {
            return Some(AGAIN);
        }
        if !volumes(inside, pod) {
            return Some(Duration::from_secs(2));
        }
        let time = inside.time();
        let is_ready = !self.holds.is_held(Held::Readiness, text(pod, "name"));
        let last = text(pod, "uid").bytes().fold(7_u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte));
        let containers: Vec<Value> = each_container(
            pod,
            &|name| json!({"name": name, "ready": is_ready, "restartCount": 0, "state": {"running": {"startedAt": time}}}),
        );
        let status = json!({
            "phase": "Running",
            "podIP": format!("10.0.{}.{}", last % 16, last),
            "startTime": time,
            "conditions": [scheduled_condition(pod), ready(is_ready, &time)],
            "containerStatuses": containers,
        });
        let _ = inside.patch_status(&POD, pod, &status);
        None
    }

    /// A launcher ends by itself.
    fn run(&self, inside: &Inside, pod: &Object) -> Option<Duration> {
        if pod["metadata"]["labels"][JOB_ROLE] != "launcher" {
            return None;
        }
        let started: Timestamp = pod["status"]["startTime"].as_str()?.parse().ok()?;
        let past: Duration = inside.network.now().duration_since(started).try_into().unwrap_or_default();
        // Times of pods know no fractions of seconds.
        if past < Duration::from_secs(2) && !reaches_workers(inside, pod) {
            end(inside, pod, &Ending { code: 255, ..Ending::default() });
            return None;
        }
        let (code, time) = (self.ends)(pod)?;
        if past < time {
            return Some(time.saturating_sub(past));
        }
        end(inside, pod, &Ending { code, ..Ending::default() });
        None
    }

    fn stop(&self, inside: &Inside, pod: &Object) -> Option<Duration> {
        let told: Timestamp = pod["metadata"]["deletionTimestamp"].as_str()?.parse().ok()?;
        let grace = pod["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
        let told = told - jiff::SignedDuration::from_secs(grace);
        // Of a pod without a node the pod garbage collector says that it has failed.
        let is_bound = !pod["spec"]["nodeName"].is_null();
        let left = left(inside, pod, "stop", told, if is_bound { self.stop } else { UNBOUND });
        if self.holds.is_held(Held::Stop, text(pod, "name")) {
            return Some(AGAIN);
        }
        if !has_ended(pod) {
            if !left.is_zero() {
                return Some(left);
            }
            end(inside, pod, &Ending { code: 143, ..Ending::default() });
        }
        let _ = inside.delete(&POD, pod, Propagation::Background, Some(0));
        None
    }
}

/// What is left of a drawn time that began then.
fn left(
    inside: &Inside,
    pod: &Object,
    what: &str,
    began: Timestamp,
    (least, most): (Duration, Duration),
) -> Duration {
    // The same time whenever it is looked at: drawn for the pod, not for the look.
    // A launcher's own name is chance already.
    let made_for = Some(text(pod, "generateName")).filter(|made_for| !made_for.is_empty());
    let name = made_for.unwrap_or_else(|| text(pod, "name"));
    let dice = Dice::new(inside.network.dice.seed());
    let fraction = dice.fraction(&["kubelet", what, text(pod, "namespace"), name]);
    let time = least + most.saturating_sub(least).mul_f64(fraction);
    let past: Duration = inside.network.now().duration_since(began).try_into().unwrap_or_default();
    time.saturating_sub(past)
}

/// What holds no gate gets a node.
fn bind(inside: &Inside, pod: &Object) {
    if pod["spec"]["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty()) {
        return;
    }
    inside.network.server.bind(inside.network.now(), pod, "node-1");
}

fn scheduled(pod: &Object) -> Option<Timestamp> {
    scheduled_condition(pod)["lastTransitionTime"].as_str()?.parse().ok()
}

fn scheduled_condition(pod: &Object) -> Value {
    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().find(|condition| condition["type"] == "PodScheduled").cloned().unwrap_or_default()
}

fn ready(is_ready: bool, time: &Value) -> Value {
    let status = if is_ready { "True" } else { "False" };
    json!({"type": "Ready", "status": status, "lastTransitionTime": time})
}

fn each_container(pod: &Object, status: &dyn Fn(&Value) -> Value) -> Vec<Value> {
    let containers = pod["spec"]["containers"].as_array().into_iter().flatten();
    containers.map(|container| status(&container["name"])).collect()
}

/// Everything that it mounts is there.
fn volumes(inside: &Inside, pod: &Object) -> bool {
    let namespace = text(pod, "namespace");
    let is_there = |volume: &Value| {
        let named = |pointer: &str| volume.pointer(pointer).and_then(Value::as_str);
        let is_optional = |pointer: &str| volume.pointer(pointer).is_some_and(|optional| optional == true);
        let config = named("/configMap/name").filter(|_| !is_optional("/configMap/optional"));
        let secret = named("/secret/secretName").filter(|_| !is_optional("/secret/optional"));
        config.is_none_or(|name| inside.get(&CONFIG_MAP, namespace, name).is_some())
            && secret.is_none_or(|name| inside.get(&SECRET, namespace, name).is_some())
    };
    pod["spec"]["volumes"].as_array().into_iter().flatten().all(is_there)
}

/// Every host of the list has an address.
fn reaches_workers(inside: &Inside, pod: &Object) -> bool {
    let namespace = text(pod, "namespace");
    let Some(job) = pod["metadata"]["labels"][JOB_NAME].as_str() else { return true };
    let Some(config) = inside.get(&CONFIG_MAP, namespace, &format!("{job}-config")) else { return false };
    let slices = inside.all(&ENDPOINT_SLICE, namespace);
    let known = |host: &str| {
        let endpoints = slices.iter().flat_map(|slice| slice["endpoints"].as_array().into_iter().flatten());
        let mut endpoints = endpoints
            .filter(|endpoint| endpoint["hostname"] == host && endpoint["conditions"]["ready"] != false);
        endpoints.any(|endpoint| {
            let name = endpoint["targetRef"]["name"].as_str().unwrap_or_default();
            inside.get(&POD, namespace, name).is_some_and(|pod| phase(&pod) == "Running")
        })
    };
    let is_elastic = inside
        .get(&MPI_JOB, namespace, job)
        .is_some_and(|job| !job["metadata"]["annotations"][ELASTIC].is_null());
    let list = if is_elastic { "discover_hosts.sh" } else { "hostfile" };
    let hosts = config["data"][list].as_str().unwrap_or_default();
    let own = text(pod, "name");
    hosts
        .lines()
        .map(|line| line.trim_start_matches("echo "))
        .filter_map(|line| line.split(['.', ' ', ':']).next().filter(|host| !host.is_empty()))
        .filter(|host| !own.starts_with(host) && host.contains("-worker-"))
        .all(known)
}

/// Containers of a pod that runs start again, as `OnFailure` does it.
pub fn restart(inside: &Inside, pod: &Object) {
    let time = inside.time();
    let containers = each_container(
        pod,
        &|name| json!({"name": name, "ready": true, "restartCount": 1, "state": {"running": {"startedAt": time}}}),
    );
    let _ = inside.patch_status(&POD, pod, &json!({"containerStatuses": containers}));
}

/// The probes of a pod that runs succeed from now on, or fail.
pub fn probe(inside: &Inside, pod: &Object, is_ready: bool) {
    let conditions = [scheduled_condition(pod), ready(is_ready, &inside.time())];
    let _ = inside.patch_status(&POD, pod, &json!({"conditions": conditions}));
}

/// The containers of a pod have ended.
pub fn end(inside: &Inside, pod: &Object, how: &Ending) {
    let late = Duration::from_secs(how.late_seconds);
    let time: Value = (inside.network.now() - late).strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into();
    let ran = |name: &Value| {
        let all = pod["status"]["containerStatuses"].as_array().into_iter().flatten();
        all.into_iter().find(|ran| ran["name"] == *name).cloned().unwrap_or_default()
    };
    let containers: Vec<Value> = each_container(pod, &|name| {
        let (ran, reason) = (ran(name), if how.code == 0 { "Completed" } else { "Error" });
        let (started, restarts) =
            (&ran["state"]["running"]["startedAt"], ran["restartCount"].as_i64().unwrap_or(0));
        let ended = json!({"exitCode": how.code, "reason": reason, "startedAt": started, "finishedAt": time});
        json!({"name": name, "ready": false, "restartCount": restarts, "state": {"terminated": ended}})
    });
    let mut status = json!({
        "phase": if how.code == 0 { "Succeeded" } else { "Failed" },
        "conditions": [scheduled_condition(pod), ready(false, &time)],
        "containerStatuses": containers,
    });
    for (field, words) in [("reason", &how.reason), ("message", &how.message)] {
        if !words.is_empty() {
            status[field] = words.as_str().into();
        }
    }
    let _ = inside.patch_status(&POD, pod, &status);
}
