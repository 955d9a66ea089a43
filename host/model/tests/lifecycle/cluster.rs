//! A cluster of one job: an API server that keeps objects as JSON and honours preconditions, the passes of an
//! operator, and by hand what kubelet, Job controller and garbage collector would do.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    time::Duration,
};

use coxswain_model::{
    api::{MpiJob, scheduling},
    desired::{self, Gang},
    diff::{self, Wanted},
    gate::{self, Gate},
    job::ValidJob,
    names::Names,
    observed::{LauncherGone, ObservedLauncher, ObservedState, Uid, Version},
    phase,
    pin::PinState,
    status::{self, Count, Event, Outcome, StatusUpdate},
    step::{Done, FailureReason, Kind, ObjectName, Step, StepFailure, Wave},
};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{observe, sample};

/// The cluster, the job's owner and the operator in one.
pub struct Cluster {
    pub raw: MpiJob,
    pub now: Timestamp,
    pub gang: Gang,
    pub objects: BTreeMap<ObjectName, Value>,
    /// Everything that was told, in order.
    pub events: Vec<Event>,
    pub counts: Vec<Count>,
    /// Objects that the API server does not let anyone create, and why.
    pub refuses: BTreeMap<ObjectName, (FailureReason, String)>,
    /// How often each object was created and deleted.
    pub created: BTreeMap<ObjectName, usize>,
    pub deleted: BTreeMap<ObjectName, usize>,
    /// Workers that DNS does not know yet.
    pub unpublished: BTreeSet<ObjectName>,
    /// When a launcher left that may have asked DNS, as the operator's index remembers it.
    pub asked: Option<Timestamp>,
    /// A launcher Job that had ended when it went, as the operator's index remembers it.
    ended: Option<ObservedLauncher>,
    /// What the operator knows of a launcher Job that is not there.
    launcher_gone: LauncherGone,
    version: u64,
    /// What the watches showed at each pass.
    past: Vec<ObservedState>,
    /// Writes after which the operator is killed, in a pass that crashes.
    writes_left: Option<usize>,
}

/// What one pass did.
pub struct Pass {
    pub steps: Vec<Step>,
    pub update: StatusUpdate,
}

impl Pass {
    pub fn is_idle(&self) -> bool {
        self.steps.is_empty()
            && self.update.status.is_none()
            && self.update.events.is_empty()
            && self.update.acts.is_empty()
    }
}

impl Cluster {
    pub fn new(raw: MpiJob) -> Self {
        Self {
            raw,
            now: sample::noon(),
            gang: Gang::Off,
            objects: BTreeMap::new(),
            events: vec![],
            counts: vec![],
            refuses: BTreeMap::new(),
            created: BTreeMap::new(),
            deleted: BTreeMap::new(),
            unpublished: BTreeSet::new(),
            asked: None,
            ended: None,
            launcher_gone: LauncherGone::Unknown,
            version: 1,
            past: vec![],
            writes_left: None,
        }
    }

    /// What the operator's watches show.
    pub fn seen(&self) -> ObservedState {
        let job = sample::valid(&self.raw);
        let named = |kind, name: String| self.objects.get(&ObjectName { kind, name });
        let group = |kind| named(kind, job.names().job().into()).map(|o| observe::pod_group(kind, o));
        let mut pods: Vec<_> =
            self.objects.iter().filter(|(n, _)| n.kind == Kind::Pod).map(|(_, o)| observe::pod(o)).collect();
        pods.sort_by_key(|pod| (pod.role, pod.index, pod.created));
        ObservedState {
            service: named(Kind::Service, job.names().job().into()).map(observe::service),
            config: named(Kind::ConfigMap, job.names().config()).map(observe::config),
            files: named(Kind::ConfigMap, job.names().files()).map(observe::config),
            secret: named(Kind::Secret, job.names().secret()).map(observe::secret),
            launcher: named(Kind::Job, job.names().launcher().to_string())
                .map(observe::launcher)
                .or_else(|| self.ended.clone()),
            launcher_gone: self.launcher_gone,
            pod_group: group(Kind::VolcanoPodGroup).or(group(Kind::SchedulerPluginsPodGroup)),
            published: self.published(),
            asked: self.asked,
            pods,
        }
    }

    fn published(&self) -> HashSet<Uid> {
        let pods = self.objects.iter().filter(|(name, _)| name.kind == Kind::Pod);
        let known = pods.filter(|(name, _)| !self.unpublished.contains(name));
        known.map(|(_, pod)| observe::identity(pod).uid).collect()
    }

    /// One pass of the operator, as `reconcile` makes it.
    pub fn pass(&mut self) -> Pass {
        let seen = self.seen();
        self.past.push(seen.clone());
        let (steps, outcome) = self.act(&seen);
        let update = status::next(&sample::valid(&self.raw), &self.seen(), &outcome, self.now);
        self.record(&update);
        Pass { steps, update }
    }

    /// A pass that ends with the operator's life after so many writes; nothing is told.
    pub fn crash(&mut self, writes: usize) {
        self.writes_left = Some(writes);
        self.act(&self.seen());
        self.writes_left = None;
    }

    /// A pass over what the watches showed so many passes ago, as after a restart. The status that it leads to
    /// is refused by the API server if there was another one since, which is so here. What became of a launcher that is
    /// gone is no part of it: a process forgets it when it makes another one, and at its own end.
    pub fn lag(&mut self, passes: usize) {
        if let Some(seen) = self.past.iter().rev().nth(passes).cloned() {
            self.act(&ObservedState { launcher_gone: LauncherGone::Unknown, ..seen });
        }
    }

    fn act(&mut self, seen: &ObservedState) -> (Vec<Step>, Outcome) {
        let job = sample::valid(&self.raw);
        let phase = phase::of(&job, seen);
        let gate = gate::decide(&job, seen, self.now);
        let state = PinState::of(&job, seen);
        let known = matches!(state, PinState::Fresh | PinState::Pinned(_));
        let desired = (known && phase::needs_plan(phase)).then(|| sample::desired(&job, seen, &self.gang));
        let adopted = state == PinState::Adopted && phase::needs_plan(phase);
        let wanted = if adopted {
            Wanted::Adopted(sample::adopted_job(&job, seen, &self.gang))
        } else {
            desired.map_or(Wanted::Nothing, Wanted::from)
        };
        let steps = diff::steps(&job, seen, phase, &gate, &wanted);
        check(&steps, seen, &job);
        let done = self.apply(&steps, job.names());
        let fresh = state == PinState::Fresh && matches!(wanted, Wanted::Everything(_));
        let pinned = fresh.then(|| "openmpi@0123456789ab (v0.1.0)".to_owned());
        (steps, Outcome { done, gate, render_error: None, pinned, notes: vec![], ignored: Some(vec![]) })
    }

    fn record(&mut self, update: &StatusUpdate) {
        if let Some(status) = &update.status {
            let old = self.raw.status.clone().unwrap_or_default();
            let mut stored = json!({"status": serde_json::to_value(old.clone()).unwrap()});
            merge(&mut stored, &status::merge_patch(&old, status));
            self.raw.status = Some(serde_json::from_value(stored["status"].clone()).unwrap());
            assert_eq!(self.raw.status.as_ref(), Some(status), "the patch leads to the status");
        }
        self.events.extend(update.events.iter().chain(&update.acts).cloned());
        self.counts.extend(&update.counts);
    }

    /// Passes until one has nothing to do and nothing to tell.
    pub fn settle(&mut self) {
        for _ in 0..20 {
            if self.pass().is_idle() {
                return;
            }
        }
        panic!("the passes do not come to rest");
    }

    fn apply(&mut self, steps: &[Step], names: &Names) -> Done {
        let mut done = Done::default();
        for wave in [Wave::Dependencies, Wave::LauncherUpdate, Wave::Pods] {
            for step in steps.iter().filter(|step| step.wave() == wave) {
                self.carry_out(step, names, &mut done);
            }
            if !done.failures.is_empty() {
                break;
            }
        }
        done
    }

    fn carry_out(&mut self, step: &Step, names: &Names, done: &mut Done) {
        match step {
            Step::Create { object, manifest, .. } | Step::CreateSecret { object, manifest } => {
                self.post(object.clone(), manifest.clone(), done);
            }
            Step::CreateWorkers { template, indexes } => {
                for index in indexes {
                    let pod = serde_json::from_str(&template.manifest(*index)).unwrap();
                    self.post(names.worker(*index).into(), pod, done);
                }
            }
            Step::Patch { object, uid, version, patch, .. } => {
                if self.is(object, Some(uid), Some(*version), done) {
                    self.patch(object, patch);
                }
            }
            Step::Resume { object, uid, launcher } => {
                if self.is(object, Some(uid), None, done) {
                    let resumed = desired::launcher::resumed(self.objects[object].clone(), launcher);
                    self.objects.insert(object.clone(), resumed);
                    self.patch(object, &json!({"status": {"startTime": null}}));
                }
            }
            Step::OpenGate { pod, version, position } => {
                let pod = pod_name(pod);
                if self.is(&pod, None, Some(*version), done) {
                    let gates = &mut self.objects.get_mut(&pod).unwrap()["spec"]["schedulingGates"];
                    let gate = gates.as_array_mut().unwrap().remove(*position);
                    assert_eq!(gate["name"], scheduling::GATE_WORKERS);
                    self.patch(&pod, &json!({}));
                }
            }
            Step::Delete { object, uid, version } => {
                if self.is(object, Some(uid), *version, done) {
                    self.delete(object, done);
                }
            }
        }
    }

    /// The preconditions of a write hold, and the operator is still alive.
    fn is(
        &mut self,
        name: &ObjectName,
        uid: Option<&Uid>,
        version: Option<Version>,
        done: &mut Done,
    ) -> bool {
        let found = self.objects.get(name).map(observe::identity);
        let same = found.is_some_and(|found| {
            uid.is_none_or(|uid| *uid == found.uid) && version.is_none_or(|version| version == found.version)
        });
        if !same {
            done.failures.push(failure(name, FailureReason::Conflict, "changed"));
        }
        same && self.is_alive()
    }

    fn is_alive(&mut self) -> bool {
        let alive = self.writes_left != Some(0);
        self.writes_left = self.writes_left.map(|left| left.saturating_sub(1));
        alive
    }

    fn delete(&mut self, name: &ObjectName, done: &mut Done) {
        *self.deleted.entry(name.clone()).or_default() += 1;
        done.deleted += 1;
        if name.kind == Kind::Pod {
            self.patch(name, &json!({"metadata": {"deletionTimestamp": self.now}}));
        } else {
            self.objects.remove(name);
            if *name == launcher() {
                self.launcher_gone = LauncherGone::Deleted;
            }
        }
    }

    fn post(&mut self, name: ObjectName, manifest: Value, done: &mut Done) {
        if let Some((reason, message)) = self.refuses.get(&name) {
            done.failures.push(failure(&name, *reason, message));
        } else if self.objects.contains_key(&name) {
            done.failures.push(failure(&name, FailureReason::Conflict, "already exists"));
        } else if self.is_alive() {
            *self.created.entry(name.clone()).or_default() += 1;
            done.created += 1;
            if name == launcher() {
                (self.ended, self.launcher_gone) = (None, LauncherGone::Unknown);
            }
            self.put(name, manifest);
        }
    }

    /// Stores a new object under a uid of its own.
    pub fn put(&mut self, name: ObjectName, mut manifest: Value) {
        self.version += 1;
        merge(
            &mut manifest,
            &json!({"metadata": {
                "name": name.name,
                "uid": format!("uid-{}", self.version),
                "resourceVersion": self.version.to_string(),
                "creationTimestamp": self.now,
            }}),
        );
        self.objects.insert(name, manifest);
    }

    /// Changes an object.
    pub fn patch(&mut self, name: &ObjectName, patch: &Value) {
        self.version += 1;
        let object = self.objects.get_mut(name).unwrap();
        let asked = asks_dns(name, object);
        merge(object, patch);
        merge(object, &json!({"metadata": {"resourceVersion": self.version.to_string()}}));
        if asked && !asks_dns(name, object) {
            self.asked = Some(self.now);
        }
    }

    pub fn advance(&mut self, time: Duration) {
        self.now += time;
    }

    /// What the kubelet reports of a worker.
    pub fn worker(&mut self, index: u32, status: &Value) {
        self.patch(&pod_name(&format!("pi-worker-{index}")), &json!({"status": status}));
    }

    /// The kubelet gets all workers ready.
    pub fn ready(&mut self) {
        let pods: Vec<_> = self.objects.keys().filter(|n| n.name.contains("-worker-")).cloned().collect();
        for pod in pods {
            self.patch(&pod, &json!({"status": {"phase": "Running", "ready": true}}));
        }
    }

    /// Terminating pods vanish.
    pub fn reap(&mut self) {
        self.retain(|_, object| object.pointer("/metadata/deletionTimestamp").is_none());
    }

    /// The Job controller makes the launcher's pod.
    pub fn launch(&mut self, name: &str) {
        let job = self.objects[&launcher()].clone();
        assert_ne!(job["spec"]["suspend"], true, "the Job is suspended");
        let owner = json!([{"uid": job["metadata"]["uid"], "controller": true}]);
        let mut pod = job["spec"]["template"].clone();
        pod["metadata"]["ownerReferences"] = owner;
        self.put(pod_name(name), pod);
        self.patch(&launcher(), &json!({"status": {"startTime": self.now}}));
    }

    /// The kubelet runs the launcher's pod, which no gate may hold back.
    pub fn run_launcher(&mut self, name: &str) {
        let pod = &self.objects[&pod_name(name)];
        assert!(observe::pod(pod).gate.is_none(), "the launcher is held back");
        self.patch(&pod_name(name), &json!({"status": {"phase": "Running", "ready": true}}));
    }

    /// The Job controller ends the launcher Job, and what happened to workers before has been reported, too.
    pub fn end(&mut self, kind: &str, reason: &str, message: &str) {
        self.end_just_now(kind, reason, message);
        self.advance(Duration::from_secs(2));
    }

    /// The same, a moment later.
    pub fn end_just_now(&mut self, kind: &str, reason: &str, message: &str) {
        let condition = json!({"type": kind, "status": "True", "reason": reason, "message": message});
        let status = json!({"conditions": [condition], "completionTime": self.now});
        self.patch(&launcher(), &json!({"status": status}));
    }

    /// Somebody deletes the launcher Job, or Kubernetes does some time after its end, and its pods go with it. The
    /// operator's watches show it, unless the operator is away.
    pub fn lose_launcher(&mut self, is_seen: bool) {
        let mut gone = observe::launcher(&self.objects[&launcher()]);
        gone.object.deleting = true;
        self.launcher_gone = match (is_seen, &gone.end) {
            (false, _) => LauncherGone::Unobserved,
            (true, None) => LauncherGone::Deleted,
            (true, Some(_)) => LauncherGone::Unknown,
        };
        self.ended = Some(gone).filter(|gone| is_seen && gone.end.is_some());
        self.retain(|name, _| *name != launcher() && !name.name.starts_with("pi-launcher-"));
    }

    /// The Job controller deletes the pods of a suspended Job.
    pub fn stop_launcher(&mut self) {
        assert_eq!(self.objects[&launcher()]["spec"]["suspend"], true);
        self.retain(|name, _| !name.name.starts_with("pi-launcher-"));
    }

    /// The user deletes the job and creates it again; the garbage collector has not been here yet.
    pub fn recreate(&mut self, uid: &str) {
        (self.ended, self.launcher_gone) = (None, LauncherGone::Unknown);
        uid.clone_into(&mut self.raw.metadata.uid);
        self.raw.status = None;
    }

    /// The garbage collector deletes what belonged to `uid`, and what belonged to that.
    pub fn collect(&mut self, uid: &str) {
        let mut gone = BTreeSet::from([Uid::from(uid)]);
        for _ in 0..2 {
            let owned =
                |object: &Value| observe::identity(object).controller.is_some_and(|c| gone.contains(&c));
            let more: Vec<_> =
                self.objects.values().filter(|o| owned(o)).map(|o| observe::identity(o).uid).collect();
            gone.extend(more);
        }
        self.retain(|_, object| !gone.contains(&observe::identity(object).uid));
    }

    fn retain(&mut self, stays: impl Fn(&ObjectName, &Value) -> bool) {
        if self.objects.iter().any(|(name, object)| !stays(name, object) && asks_dns(name, object)) {
            self.asked = Some(self.now);
        }
        self.objects.retain(|name, object| stays(name, object));
    }

    /// `True Succeeded MPIJobSucceeded`, in order.
    pub fn conditions(&self) -> Vec<String> {
        let status = self.raw.status.clone().unwrap_or_default();
        status.conditions.iter().map(|c| format!("{}={} {}", c.kind, c.status, c.reason)).collect()
    }

    /// Reasons of everything told so far.
    pub fn told(&self) -> Vec<&str> {
        self.events.iter().map(|event| event.reason.as_str()).collect()
    }

    /// `Launcher` or `Worker`: active, succeeded, failed.
    pub fn counters(&self, role: &str) -> Option<(i32, i32, i32)> {
        let status = self.raw.status.clone().unwrap_or_default();
        status.replica_statuses.get(role).map(|c| (c.active, c.succeeded, c.failed))
    }

    /// Indexes of the workers that are there and stay.
    pub fn workers(&self) -> Vec<u32> {
        let seen = self.seen();
        seen.workers().filter(|pod| !pod.deleting).map(|pod| pod.index).collect()
    }

    pub fn gate(&self) -> Gate {
        gate::decide(&sample::valid(&self.raw), &self.seen(), self.now)
    }
}

/// Every list of steps that any test makes is held to this.
fn check(steps: &[Step], seen: &ObservedState, job: &ValidJob) {
    assert!(steps.is_sorted_by_key(Step::wave), "{steps:?}");
    let mut names = BTreeSet::new();
    let mut make = |name: String| assert!(names.insert(name.clone()), "{name} is created twice");
    for step in steps {
        match step {
            Step::Create { object, .. } | Step::CreateSecret { object, .. } => make(object.to_string()),
            Step::CreateWorkers { indexes, .. } => {
                assert!(!indexes.is_empty() && indexes.len() <= job.workers() as usize);
                for index in indexes {
                    make(format!("worker {index}"));
                }
            }
            Step::Delete { object, uid, .. } if object.kind == Kind::Pod => {
                let pod = seen.workers().find(|pod| pod.uid == *uid).unwrap();
                assert_eq!(
                    (pod.name(job.names()), pod.controller.as_ref()),
                    (object.name.clone(), Some(job.uid()))
                );
            }
            Step::Delete { uid, .. } => assert!(*uid != Uid::default()),
            Step::Patch { .. } | Step::Resume { .. } | Step::OpenGate { .. } => {}
        }
    }
}

pub fn launcher() -> ObjectName {
    ObjectName { kind: Kind::Job, name: "pi-launcher".to_owned() }
}

pub fn pod_name(name: &str) -> ObjectName {
    ObjectName { kind: Kind::Pod, name: name.to_owned() }
}

fn failure(object: &ObjectName, reason: FailureReason, message: &str) -> StepFailure {
    StepFailure { object: object.clone(), reason, message: message.to_owned() }
}

fn asks_dns(name: &ObjectName, object: &Value) -> bool {
    name.kind == Kind::Pod && observe::pod(object).asks_dns()
}

/// RFC 7386.
pub fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (key, value) in patch {
        if value.is_null() {
            target.as_object_mut().unwrap().remove(key);
        } else {
            merge(&mut target[key.as_str()], value);
        }
    }
}

/// The pod of [`running`]'s launcher.
pub const POD: &str = "pi-launcher-a";

pub fn running(raw: MpiJob) -> Cluster {
    let mut cluster = Cluster::new(raw);
    cluster.settle();
    cluster.launch(POD);
    cluster.ready();
    cluster.settle();
    cluster.run_launcher(POD);
    cluster.settle();
    cluster
}
