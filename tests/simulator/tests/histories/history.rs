//! A job in a cluster whose operator is the real one: things happen to it, time passes, and then one looks.
//!
//! The kubelets need 1 to 4 s to start a pod and 1 to 5 s to stop one, the garbage collector comes 0.5 to 10 s late, and a
//! launcher runs until it is told to end.

use std::{
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use coxswain_simulator::{
    fleet::Fleet,
    life::{self, Life},
    network::BIRTH,
    plan::{Deed, Denial, Ending, Held, Hold, Plan, Settings, Team},
    server::{
        Observer,
        ask::Propagation,
        kind::{EVENT, JOB, Kind, MPI_JOB, POD},
        store::{Object, text},
    },
    users::{self, TEAM},
};
use serde_json::{Value, json};
use tokio::{runtime::Runtime, time::sleep};

use crate::written::{Changes, Written};

pub const SECOND: Duration = Duration::from_secs(1);
pub const MINUTE: Duration = Duration::from_mins(1);

/// The launcher Job, and what its pods are called by.
pub const LAUNCHER: &str = "pi-launcher";
/// The scheduling gate of launchers.
pub const GATE: &str = "coxswain.dev/workers";

/// How often it is looked whether something has come about, and for how long.
const LOOK: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_mins(15);
/// Lines of the trace that a failure shows.
const SHOWN: usize = 80;

/// See the module. The job is `team-a/pi`.
pub struct History {
    // The order in which they are dropped: what lives on the runtime goes first.
    life: Life,
    changes: Arc<Changes>,
    /// Rules that this history breaks on purpose.
    broken: Mutex<Vec<&'static str>>,
    runtime: Runtime,
}

/// An `MPIJob` called `pi`, with more of a spec.
pub fn job(workers: u32, more: &Value) -> Value {
    users::job("pi", workers, more)
}

/// The same with annotations of the operator's.
pub fn annotated(mut job: Value, annotations: &[(&str, &str)]) -> Value {
    for (key, value) in annotations {
        job["metadata"]["annotations"][format!("coxswain.dev/{key}")] = json!(value);
    }
    job
}

impl History {
    /// A cluster without jobs, whose operator leads.
    pub fn begin() -> Self {
        Self::with(Settings::default())
    }

    /// The same with other settings of the operator.
    pub fn with(settings: Settings) -> Self {
        let plan = Plan {
            name: "history".to_owned(),
            seed: 1,
            replicas: 1,
            users: Vec::new(),
            exits: vec![0],
            // Longer than any history.
            runs_seconds: 30 * 24 * 3600,
            faults: Vec::new(),
            horizon_seconds: 0,
            settings,
            is_open: true,
        };
        let runtime = life::runtime(&plan);
        let (life, changes) = runtime.block_on(async {
            let changes = Arc::new(Changes::new());
            let life = Life::start(&plan);
            life.network.server.observe(Arc::clone(&changes) as Arc<dyn Observer>);
            (life, changes)
        });
        let history = Self { life, changes, broken: Mutex::default(), runtime };
        history.pass(2 * SECOND);
        history
    }

    /// A job that was made just now.
    pub fn of(job: Value) -> Self {
        let history = Self::begin();
        history.does(Deed::Create(job));
        history
    }

    /// A job that waits for its workers: their images are still being pulled.
    pub fn waiting(job: Value) -> Self {
        let history = Self::begin();
        history.hold(Held::Start, "pi-worker");
        history.does(Deed::Create(job));
        history.pass(10 * SECOND);
        history
    }

    /// A job that runs, just so.
    pub fn running(job: Value) -> Self {
        let history = Self::of(job);
        history.until_running();
        history
    }

    /// This rule is broken on purpose.
    pub fn breaks(&self, rule: &'static str) {
        self.broken.lock().unwrap().push(rule);
    }

    // ------------------------------------------------------------------------------------------------- what happens

    /// Time passes.
    pub fn pass(&self, time: Duration) {
        self.runtime.block_on(async { sleep(time).await });
    }

    /// Everything comes to rest: nobody in the cluster is as late as this.
    pub fn rest(&self) {
        self.pass(40 * SECOND);
    }

    /// Time passes until a tenth of a second after the next full one: times in the API are whole seconds.
    pub fn align(&self) {
        let past = self.at().subsec_millis();
        self.pass(Duration::from_millis(u64::from(1100 - past)));
    }

    /// Time passes until this holds.
    pub fn until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let end = self.at() + LONGEST;
        while !holds(self) {
            assert!(self.at() < end, "it did not come about that {what}; the status is {}", self.status());
            self.pass(LOOK);
        }
    }

    pub fn until_running(&self) {
        self.until("the job runs", |history| history.last_condition().starts_with("Running=True"));
    }

    pub fn until_workers(&self, indexes: &[u32]) {
        self.until("it has these workers", |history| history.workers() == indexes);
    }

    pub fn does(&self, deed: Deed) {
        let _here = self.runtime.enter();
        users::does(&self.life.network, &self.life.holds, Team::A, &deed);
    }

    pub fn create(&self, job: Value) {
        self.does(Deed::Create(job));
    }

    pub fn change(&self, change: Value) {
        self.does(Deed::Change { job: "pi".to_owned(), change });
    }

    pub fn suspend(&self, suspend: bool) {
        self.change(json!({"spec": {"runPolicy": {"suspend": suspend}}}));
    }

    pub fn scale(&self, workers: u32) {
        self.change(json!({"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": workers}}}}));
    }

    /// The user deletes the job and makes it again at once.
    pub fn make_again(&self, job: Value) {
        self.does(Deed::Delete { job: "pi".to_owned(), propagation: Propagation::Background });
        self.create(job);
    }

    pub fn make(&self, kind: &str, object: Value) {
        self.does(Deed::Make { kind: kind.to_owned(), object });
    }

    pub fn alter(&self, kind: &str, name: &str, change: Value) {
        self.does(Deed::Alter { kind: kind.to_owned(), name: name.to_owned(), change });
    }

    pub fn tell(&self, kind: &str, name: &str, status: Value) {
        self.does(Deed::Tell { kind: kind.to_owned(), name: name.to_owned(), status });
    }

    pub fn remove(&self, kind: &str, name: &str) {
        self.does(Deed::Remove { kind: kind.to_owned(), name: name.to_owned() });
    }

    /// The pod of this name, or the last one of the Job of this name, ends so.
    pub fn end_pod(&self, pod: &str, how: Ending) {
        self.does(Deed::EndPod { pod: pod.to_owned(), how });
    }

    pub fn end_launcher(&self, code: i64) {
        self.end_pod(LAUNCHER, Ending { code, ..Ending::default() });
    }

    pub fn fail_worker(&self, index: u32) {
        self.end_pod(&worker(index), Ending { code: 1, ..Ending::default() });
    }

    pub fn evict_worker(&self, index: u32) {
        let (reason, message) = ("Evicted".to_owned(), "The node was low on resource: memory.".to_owned());
        self.end_pod(&worker(index), Ending { code: 137, reason, message, ..Ending::default() });
    }

    /// It is gone at once, as with its node.
    pub fn lose_worker(&self, index: u32) {
        self.does(Deed::LosePod { pod: worker(index) });
    }

    pub fn hold(&self, what: Held, pod: &str) {
        self.does(Deed::Hold(Hold { what, pod: pod.to_owned() }));
    }

    pub fn release(&self, what: Held, pod: &str) {
        self.does(Deed::Release(Hold { what, pod: pod.to_owned() }));
    }

    /// The API server lets nobody create this object: 403.
    pub fn forbid(&self, kind: &str, name: &str, message: &str) {
        let (kind, name, message) = (kind.to_owned(), name.to_owned(), message.to_owned());
        self.does(Deed::Refuse(Denial { kind, name, is_invalid: false, message }));
    }

    pub fn admit(&self, kind: &str, name: &str) {
        self.does(Deed::Admit { kind: kind.to_owned(), name: name.to_owned() });
    }

    /// The launcher Job ends, by the Job controller's word alone.
    pub fn end_launcher_job(&self, condition: &str, reason: &str) {
        let time = self.wall_time();
        let condition = json!({"type": condition, "status": "True", "reason": reason, "message": "", "lastTransitionTime": time});
        let mut status = json!({"conditions": [condition]});
        if reason.is_empty() {
            status["completionTime"] = time;
        }
        self.tell("Job", LAUNCHER, status);
    }

    /// The operator's process is killed, and is started again so much later.
    pub fn operator_is_away(&self, time: Duration) {
        let _here = self.runtime.enter();
        self.life.fleet.kill_for(0, time);
    }

    /// The operator's watch of a kind lags so far behind from now on.
    pub fn lag(&self, kind: &str, lag: Duration) {
        self.life.network.lag(&format!(" {kind}"), lag);
    }

    // ------------------------------------------------------------------------------------------------- what is seen

    /// Since the cluster began.
    pub fn at(&self) -> Duration {
        let _here = self.runtime.enter();
        self.changes.now()
    }

    /// The server's time as objects have it.
    pub fn wall_time(&self) -> Value {
        timestamp(self.at())
    }

    pub fn get(&self, kind: &str, name: &str) -> Option<Object> {
        self.life.network.server.get(Kind::named(kind).unwrap(), TEAM, name)
    }

    /// The object as it is; null if there is none.
    pub fn object(&self, kind: &str, name: &str) -> Value {
        self.get(kind, name).map(|object| Value::clone(&object)).unwrap_or_default()
    }

    pub fn has(&self, kind: &str, name: &str) -> bool {
        self.get(kind, name).is_some()
    }

    pub fn job(&self) -> Value {
        self.object("MPIJob", "pi")
    }

    pub fn status(&self) -> Value {
        self.get("MPIJob", "pi").map(|job| job["status"].clone()).unwrap_or_default()
    }

    /// `Succeeded=True MPIJobSucceeded`, in order.
    pub fn conditions(&self) -> Vec<String> {
        let status = self.status();
        let conditions = status["conditions"].as_array().into_iter().flatten();
        let word = |condition: &Value, field: &str| condition[field].as_str().unwrap_or_default().to_owned();
        conditions
            .map(|one| format!("{}={} {}", word(one, "type"), word(one, "status"), word(one, "reason")))
            .collect()
    }

    pub fn condition(&self, kind: &str) -> Value {
        let status = self.status();
        let conditions = status["conditions"].as_array().into_iter().flatten();
        conditions.into_iter().find(|condition| condition["type"] == kind).cloned().unwrap_or_default()
    }

    pub fn last_condition(&self) -> String {
        self.conditions().pop().unwrap_or_default()
    }

    /// `Launcher` or `Worker`: active, succeeded, failed.
    pub fn counters(&self, role: &str) -> Option<(i64, i64, i64)> {
        let status = self.status();
        let counters = status["replicaStatuses"].get(role)?;
        let number = |field: &str| counters[field].as_i64().unwrap_or(0);
        Some((number("active"), number("succeeded"), number("failed")))
    }

    /// Type, reason and message of all events about the job, in the order in which they were first told.
    pub fn events(&self) -> Vec<(String, String, String)> {
        let written = self.written();
        let is_about_it = |one: &&Written| {
            one.change.kind == &EVENT
                && one.is_new()
                && one.change.object()["involvedObject"]["kind"] == "MPIJob"
        };
        let events = written.iter().filter(is_about_it);
        let word = |event: &Value, field: &str| event[field].as_str().unwrap_or_default().to_owned();
        events
            .map(|one| one.change.object())
            .map(|event| (word(event, "type"), word(event, "reason"), word(event, "message")))
            .collect()
    }

    /// Reasons of all events.
    pub fn told(&self) -> Vec<String> {
        self.events().into_iter().map(|(_, reason, _)| reason).collect()
    }

    /// Messages of warnings.
    pub fn warnings(&self) -> Vec<String> {
        let warnings = self.events().into_iter().filter(|(kind, ..)| kind == "Warning");
        warnings.map(|(_, _, message)| message).collect()
    }

    /// How often this was told, also where only a count was raised.
    pub fn times(&self, reason: &str) -> i64 {
        let events = self.life.network.server.all(&EVENT, Some(TEAM));
        events
            .iter()
            .filter(|event| event["reason"] == reason)
            .map(|event| event["count"].as_i64().unwrap_or(1))
            .sum()
    }

    /// Indexes of the workers that are there and stay.
    pub fn workers(&self) -> Vec<u32> {
        let mut workers: Vec<u32> = self
            .pods("pi-worker")
            .iter()
            .filter(|pod| pod["metadata"]["deletionTimestamp"].is_null())
            .filter_map(|pod| text(pod, "name").rsplit('-').next()?.parse().ok())
            .collect();
        workers.sort_unstable();
        workers
    }

    /// All that are called so.
    pub fn pods(&self, called: &str) -> Vec<Object> {
        let mut pods = self.life.network.server.all(&POD, Some(TEAM));
        pods.retain(|pod| text(pod, "name").starts_with(called));
        pods
    }

    /// The launcher's pod that runs or will.
    pub fn launcher_pod(&self) -> Option<Object> {
        let job = self.get("Job", LAUNCHER)?;
        self.pods(LAUNCHER).into_iter().find(|pod| {
            !matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"))
                && pod["metadata"]["deletionTimestamp"].is_null()
                && pod["metadata"]["ownerReferences"][0]["uid"] == job["metadata"]["uid"]
        })
    }

    /// The launcher has a pod, which the gate holds back.
    pub fn is_gated(&self) -> bool {
        self.launcher_pod().is_some_and(|pod| has_gate(&pod))
    }

    /// The launcher has a pod that nothing of ours holds back.
    pub fn is_let_go(&self) -> bool {
        self.launcher_pod().is_some_and(|pod| !has_gate(&pod))
    }

    /// When the gate was opened last.
    pub fn opened(&self) -> Duration {
        let opens = |one: &&Written| {
            let change = &one.change;
            let (Some(before), Some(after)) = (&change.before, &change.after) else { return false };
            change.kind == &POD && has_gate(before) && !has_gate(after)
        };
        self.written().iter().rfind(opens).expect("a gate that was opened").at
    }

    /// When the last pod that is called so got Ready.
    pub fn ready(&self, called: &str) -> Duration {
        let gets = |one: &&Written| {
            let change = &one.change;
            let is_called = change.kind == &POD && text(change.object(), "name").starts_with(called);
            is_called
                && change.before.as_ref().is_some_and(|pod| !is_ready(pod))
                && change.after.as_ref().is_some_and(|pod| is_ready(pod))
        };
        self.written().iter().rfind(gets).expect("a pod that got Ready").at
    }

    /// When the last of them was gone.
    pub fn left(&self, kind: &str, called: &str) -> Duration {
        let goes = |one: &&Written| one.is(kind, called) && one.change.after.is_none();
        self.written().iter().rfind(goes).expect("an object that has gone").at
    }

    /// When an object of this kind, whose name begins so, was made last.
    pub fn made(&self, kind: &str, called: &str) -> Duration {
        self.written().iter().rfind(|one| one.is(kind, called) && one.is_new()).expect("an object").at
    }

    /// When the status first had this condition, as conditions are written here.
    pub fn since(&self, condition: &str) -> Duration {
        let (kind, state) = condition.split_once('=').unwrap();
        let holds = |object: &Value| {
            let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
            conditions.into_iter().any(|one| one["type"] == kind && one["status"] == state)
        };
        let written = self.written();
        let first = written.iter().find(|one| {
            one.change.kind == &MPI_JOB && one.change.after.as_ref().is_some_and(|job| holds(job))
        });
        first.unwrap_or_else(|| panic!("{condition} never held")).at
    }

    /// When the launcher Job was told to have ended.
    pub fn launcher_job_ended(&self) -> Duration {
        let has_ended = |job: &Value| {
            let conditions = job["status"]["conditions"].as_array().into_iter().flatten();
            conditions.into_iter().any(|one| one["type"] == "Complete" || one["type"] == "Failed")
        };
        let ends = |one: &&Written| {
            one.change.kind == &JOB && one.change.after.as_ref().is_some_and(|job| has_ended(job))
        };
        self.written().iter().find(ends).expect("a Job that has ended").at
    }

    /// How often an object of this name was made.
    pub fn created(&self, kind: &str, name: &str) -> usize {
        self.written().iter().filter(|one| one.is(kind, name) && one.is_new() && one.name() == name).count()
    }

    /// `Pod pi-worker-0` and the like: what the operator has made, in order.
    pub fn creations(&self) -> Vec<String> {
        self.by_operator().iter().filter(|one| one.is_new()).map(Written::brief).collect()
    }

    /// What the operator has deleted, by kind and name.
    pub fn deletions(&self) -> Vec<String> {
        let mut deletions: Vec<String> = self.deleted().iter().map(Written::brief).collect();
        deletions.sort();
        deletions
    }

    /// The same, in order.
    pub fn deleted(&self) -> Vec<Written> {
        let deletes = |one: &Written| {
            let ends = |object: &Option<Object>| {
                object.as_ref().is_none_or(|object| !object["metadata"]["deletionTimestamp"].is_null())
            };
            one.change.before.is_some() && !ends(&one.change.before) && ends(&one.change.after)
        };
        let mut written = self.by_operator();
        written.retain(deletes);
        written
    }

    /// Writes of the job's status.
    pub fn status_writes(&self) -> Vec<Written> {
        let mut written = self.by_operator();
        written.retain(|one| one.change.kind == &MPI_JOB);
        written
    }

    /// Everything that the operator has written, but for events, leases and its own copies of plugins.
    pub fn by_operator(&self) -> Vec<Written> {
        let mut written = self.written();
        written.retain(|one| {
            Fleet::replica(&one.who).is_some()
                && one.change.kind != &EVENT
                && text(one.change.object(), "namespace") == TEAM
        });
        written
    }

    fn written(&self) -> Vec<Written> {
        self.changes.all()
    }

    fn show(&self) {
        let lines = self.life.lines();
        for line in lines.iter().skip(lines.len().saturating_sub(SHOWN)) {
            eprintln!("{}", line.chars().take(400).collect::<String>());
        }
    }
}

impl Drop for History {
    fn drop(&mut self) {
        if thread::panicking() {
            return self.show();
        }
        let _here = self.runtime.enter();
        let allowed = self.broken.lock().unwrap_or_else(PoisonError::into_inner);
        let mut broken = self.life.broken();
        broken.retain(|line| !allowed.iter().any(|rule| line.starts_with(&format!("{rule}:"))));
        assert_eq!(broken, Vec::<String>::new(), "rules are broken");
    }
}

pub fn worker(index: u32) -> String {
    format!("pi-worker-{index}")
}

/// As objects have it.
pub fn timestamp(at: Duration) -> Value {
    (BIRTH + at).strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into()
}

fn has_gate(pod: &Value) -> bool {
    pod["spec"]["schedulingGates"]
        .as_array()
        .is_some_and(|gates| gates.iter().any(|gate| gate["name"] == GATE))
}

fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}
