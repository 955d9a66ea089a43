//! Runs a plan: a cluster, its controllers, its users and the operators, from virtual time 0 to the plan's horizon.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use http::Method;
use serde_json::{Value, json};
use tokio::{
    runtime::Runtime,
    task::JoinHandle,
    time::{Instant, sleep},
};

use crate::{
    agenda::Agenda,
    caches,
    controllers::{self, Ends, Garbage, Inside, Jobs, Kubelets, Namespaces, Slices},
    dice::Dice,
    expected,
    faults::Faults,
    fleet::Fleet,
    holds::Holds,
    invariants::{self, Violations},
    network::{BIRTH, Network},
    plan::Plan,
    server::{
        Observer, Server,
        ask::Raw,
        kind::{MPI_JOB, NAMESPACE},
        state::Answer,
        store::text,
    },
    trace::Trace,
    users::{self, OTHERS, TEAM},
};

/// Changes of a kind that the server keeps: few, so that a watch that lags or is cut has to list.
const HISTORY: usize = 20;
/// Objects on a page of a list: few, so that most lists have several. A server may give fewer than it is asked for.
const PAGE: usize = 3;
/// Before the horizon, nobody asks for anything but the lease and what there is.
const QUIET: Duration = Duration::from_mins(2);

/// What came of a plan.
pub struct Report {
    /// What was broken.
    pub violations: Vec<String>,
    /// Of everything that happened.
    pub hash: u64,
    /// Writes of operators, but for events and leases.
    pub writes: u32,
    /// Changes of each kind.
    pub events: BTreeMap<String, u32>,
    /// Requests of operators.
    pub requests: u64,
    /// The last things that happened.
    pub lines: Vec<String>,
    /// `name: Succeeded`, of each job.
    pub jobs: Vec<String>,
}

/// Runs it on this thread.
pub fn run(plan: &Plan) -> Report {
    let horizon = Duration::from_secs(plan.horizon_seconds);
    runtime(plan).block_on(async {
        let life = Life::start(plan);
        sleep(horizon).await;
        life.report()
    })
}

/// What a life runs on, from virtual time 0.
pub fn runtime(plan: &Plan) -> Runtime {
    // kube's own watcher, which follows the plugins' ConfigMaps, draws its pauses there.
    fastrand::seed(plan.seed);
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime")
}

/// A cluster, its controllers, its users and the operators, while time passes.
pub struct Life {
    /// The way to the server, and the server.
    pub network: Network,
    /// The operators.
    pub fleet: Fleet,
    /// What is not done for now.
    pub holds: Holds,
    plan: Arc<Plan>,
    faults: Faults,
    trace: Arc<Trace>,
    asked: Arc<Asked>,
    violations: Violations,
    running: JoinHandle<()>,
}

impl Life {
    /// Everything begins. To be called on a [`runtime`], before anything else.
    pub fn start(plan: &Plan) -> Self {
        let plan = Arc::new(plan.clone());
        let agenda = Agenda::default();
        let server = Server::new(HISTORY, BIRTH, plan.seed);
        server.state().longest_page = PAGE;
        let network = Network::new(server, agenda.clone(), Dice::new(plan.seed));
        let trace = Arc::new(Trace::new());
        network.server.observe(Arc::clone(&trace) as Arc<dyn Observer>);
        let asked = Arc::new(Asked::default());
        network.server.observe(Arc::clone(&asked) as Arc<dyn Observer>);
        let violations = invariants::start(&plan, &network);
        let fleet = Fleet::new(network.clone(), plan.replicas, plan.settings.clone());
        let faults = Faults::start(&plan, &network, &fleet);
        let holds = Holds::default();
        work(&plan, &network, &holds);
        users::start(&plan, &network, &holds);
        for replica in 0..plan.replicas {
            let fleet = fleet.clone();
            agenda.after(Duration::from_millis(10 * (1 + replica as u64)), move || fleet.start(replica));
        }
        let running = tokio::spawn(async move { agenda.run().await });
        Self { network, fleet, holds, plan, faults, trace, asked, violations, running }
    }

    /// What was broken up to now, other than where everything must be in the end.
    pub fn broken(&self) -> Vec<String> {
        for ended in self.fleet.ended() {
            self.violations.add("S13", &format!("a process has ended: {ended}"));
        }
        if self.running.is_finished() {
            self.violations.add("simulator", "its own agenda has ended: see the panic above");
        }
        self.violations.all()
    }

    /// The last things that happened.
    pub fn lines(&self) -> Vec<String> {
        self.trace.lines()
    }

    /// Requests of operators.
    pub fn requests(&self) -> u64 {
        self.asked.count.load(Ordering::Relaxed)
    }

    /// At the horizon.
    fn report(self) -> Report {
        let Self { network, violations, .. } = &self;
        for wrong in expected::check(&self.plan, network) {
            violations.add("L1", &wrong);
        }
        // A row that nobody stands behind any more is tried to be cleaned up until it is gone (see L6).
        let late = self.asked.last().filter(|_| !caches::relabels(&self.plan));
        if let Some(late) = late.filter(|late| late.0 + QUIET > Instant::now()) {
            violations.add("L2", &format!("something is still asked for at the end: {}", late.1));
        }
        for (replica, cache) in self.fleet.caches() {
            // Who sees nothing to the end knows nothing.
            if expected::is_cut_off(&self.plan, replica) {
                continue;
            }
            for difference in caches::check(&self.plan, network, &cache) {
                violations.add("L6", &format!("replica {replica}: {difference}"));
            }
        }
        for wrong in expected::readiness(&self.plan, &self.fleet) {
            violations.add("S13", &wrong);
        }
        if let Some(wrong) = expected::nobody_leads(&self.plan, network, &self.fleet) {
            violations.add("L3", &wrong);
        }
        let violations = self.broken();
        let jobs = network.server.all(&MPI_JOB, Some(TEAM));
        Report {
            violations,
            hash: self.trace.hash(),
            writes: self.faults.writes(),
            events: self.faults.events(),
            requests: self.requests(),
            lines: self.trace.lines(),
            jobs: jobs.iter().map(|job| format!("{}: {}", text(job, "name"), condition(job))).collect(),
        }
    }
}

impl Drop for Life {
    /// Nothing of a cluster outlives its history: a thousand of them run in one process.
    fn drop(&mut self) {
        self.running.abort();
        self.network.server.forget_observers();
        self.network.agenda.clear();
    }
}

/// Everything but users and operators.
fn work(plan: &Arc<Plan>, network: &Network, holds: &Holds) {
    let second = Duration::from_secs(1);
    controllers::start(network, Jobs::default());
    let (ends, start, stop) = (ends(plan), (second, 4 * second), (second, 5 * second));
    controllers::start(network, Kubelets { ends, start, stop, holds: holds.clone() });
    controllers::start(network, Slices { holds: holds.clone() });
    controllers::start(network, Garbage { delay: (second / 2, 10 * second) });
    controllers::start(network, Namespaces);
    let inside = Inside::new(network.clone(), "administrator");
    for namespace in ["mpi-operator", TEAM, OTHERS] {
        inside.create(&NAMESPACE, "", json!({"metadata": {"name": namespace}})).expect("a new namespace");
    }
}

/// Launchers end as the plan says, in the order in which they started, a job for itself.
fn ends(plan: &Arc<Plan>) -> Ends {
    let plan = Arc::clone(plan);
    let started = Mutex::new(HashMap::<String, Vec<String>>::new());
    Arc::new(move |pod: &Value| {
        let mut started = started.lock().unwrap_or_else(PoisonError::into_inner);
        let job = pod["metadata"]["ownerReferences"][0]["uid"].as_str().unwrap_or_default();
        let attempts = started.entry(job.to_owned()).or_default();
        let uid = text(pod, "uid").to_owned();
        let attempt = attempts.iter().position(|other| *other == uid).unwrap_or_else(|| {
            attempts.push(uid);
            attempts.len() - 1
        });
        let code = plan.exits.get(attempt).or(plan.exits.last()).copied().unwrap_or(0);
        Some((code, Duration::from_secs(plan.runs_seconds)))
    })
}

fn condition(job: &Value) -> String {
    let conditions = job["status"]["conditions"].as_array().into_iter().flatten();
    let holding = conditions.into_iter().filter(|condition| condition["status"] == "True");
    let names: Vec<&str> = holding.filter_map(|condition| condition["type"].as_str()).collect();
    names.join(" ")
}

/// Requests of operators: how many, and which was the last one that was not for the lease, and no list or watch.
#[derive(Default)]
struct Asked {
    count: AtomicU64,
    last: Mutex<Option<(Instant, String)>>,
}

impl Asked {
    fn last(&self) -> Option<(Instant, String)> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Observer for Asked {
    fn asked(&self, who: &str, raw: &Raw, _: &Answer) {
        if Fleet::replica(who).is_none() {
            return;
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        // Copies of components go when nothing has needed them for a while.
        let is_for_itself = raw.uri.contains("/leases") || raw.uri.contains("/configmaps/coxswain-copy-");
        if raw.method != Method::GET && !is_for_itself {
            let line = format!("{who} {} {}", raw.method, raw.uri);
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), line));
        }
    }
}
