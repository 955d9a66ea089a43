//! Days of churn: jobs come, run and go, leaders freeze and follow each other, components are swapped, the API server forgets.
//! What a process holds in the end must not grow with its age (L7).
//!
//! What it holds is found out by ending it: nothing else is freed then. A map that is never emptied shows by that, whoever
//! keeps it.

use std::time::Duration;

use coxswain_cluster::index::{Index, Shared};
use serde_json::json;
use tokio::time::sleep;

use crate::{
    controllers::Inside,
    life::{self, Life},
    network::Network,
    plan::{Deed, Plan, Settings, Team},
    server::{
        ask::Propagation,
        kind::{EVENT, MPI_JOB},
        store::text,
    },
    users::{self, TEAM},
};

/// From one job to the next.
const BETWEEN: Duration = Duration::from_mins(10);
/// The user deletes each of them so long after it was made.
const AGE: Duration = Duration::from_mins(8);
const LIVES_A_DAY: u64 = 24 * 60 * 60 / BETWEEN.as_secs();
/// A leader that stands still for so long has lost its lease.
const FREEZE: Duration = Duration::from_secs(40);
/// From the last job until nothing needs to be remembered: longer than the operator remembers anything.
const DRAIN: Duration = Duration::from_mins(30);
/// Components that are swapped for each other.
const VERSIONS: u64 = 3;
/// API servers forget events after that.
const EVENTS: Duration = Duration::from_hours(1);

/// What came of it.
pub struct Aged {
    /// Jobs that lived.
    pub jobs: u64,
    /// Requests of both replicas.
    pub requests: u64,
    /// Rows of both replicas' caches, when the last job was gone.
    pub rows: usize,
    /// Bytes that both processes held then.
    pub held: usize,
    /// What was broken.
    pub violations: Vec<String>,
}

/// So many days. `heap` says how many bytes are in use.
pub fn run(days: u64, heap: impl Fn() -> usize) -> Aged {
    let plan = plan(days);
    life::runtime(&plan).block_on(async {
        let life = Life::start(&plan);
        sleep(Duration::from_mins(1)).await;
        for number in 0..days * LIVES_A_DAY {
            live(&life, number).await;
        }
        sleep(DRAIN).await;
        let rows = life.fleet.caches().iter().map(|(_, cache)| rows(cache)).sum();
        let violations = life.broken();
        let before = heap();
        life.fleet.end();
        sleep(Duration::from_secs(1)).await;
        let held = before.saturating_sub(heap());
        Aged { jobs: days * LIVES_A_DAY, requests: life.requests(), rows, held, violations }
    })
}

fn rows(cache: &Shared) -> usize {
    let index = cache.read();
    let Index { jobs, pods, services, slices, configs, secrets, launchers, groups, .. } = &*index;
    let of_jobs = [services.count(), slices.count(), configs.count(), secrets.count(), launchers.count()];
    jobs.count() + pods.count() + groups.count() + of_jobs.iter().sum::<usize>()
}

fn plan(days: u64) -> Plan {
    Plan {
        name: format!("{days} days"),
        seed: 1,
        replicas: 2,
        users: Vec::new(),
        exits: vec![0],
        runs_seconds: 30,
        faults: Vec::new(),
        horizon_seconds: 0,
        settings: Settings::default(),
        is_open: true,
    }
}

/// One job, and what happens beside it: each day once a leader stands still, each third day another component, each week an
/// API server that has forgotten everything.
async fn live(life: &Life, number: u64) {
    let (name, day) = (format!("pi-{number}"), number / LIVES_A_DAY);
    let does = |deed: &Deed| users::does(&life.network, &life.holds, Team::A, deed);
    let change = |change| Deed::Change { job: name.clone(), change };
    let suspend = |suspend: bool| change(json!({"spec": {"runPolicy": {"suspend": suspend}}}));
    match number % LIVES_A_DAY {
        // Each in turn for longer than the other one, which leads from then on.
        50 => {
            let second = usize::from(day.is_multiple_of(2));
            life.fleet.freeze(1 - second, 2 * FREEZE);
            life.fleet.freeze(second, FREEZE);
        }
        100 if day.is_multiple_of(3) => {
            let version = 1 + u32::try_from(day / 3 % VERSIONS).expect("a small number");
            does(&Deed::Swap { version });
        }
        120 if day.is_multiple_of(7) => life.network.restart(true),
        _ => {}
    }
    forget_events(&life.network);
    does(&Deed::Create(users::job(&name, 2, &json!({}))));
    sleep(Duration::from_secs(15)).await;
    match number % 4 {
        1 => does(&change(json!({"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": 3}}}}))),
        2 => does(&suspend(true)),
        _ => {}
    }
    sleep(Duration::from_mins(1)).await;
    if number % 4 == 2 {
        does(&suspend(false));
    }
    sleep(AGE.saturating_sub(Duration::from_secs(75))).await;
    does(&Deed::Delete { job: name.clone(), propagation: Propagation::Background });
    sleep(BETWEEN.saturating_sub(AGE)).await;
    debug_assert!(life.network.server.get(&MPI_JOB, TEAM, &name).is_none());
}

fn forget_events(network: &Network) {
    let inside = Inside::new(network.clone(), "event-ttl");
    let now = network.now();
    for event in inside.all(&EVENT, TEAM) {
        let made: Option<jiff::Timestamp> = text(&event, "creationTimestamp").parse().ok();
        let age = made.map(|made| now.duration_since(made)).and_then(|age| Duration::try_from(age).ok());
        if age.is_some_and(|age| age >= EVENTS) {
            let _ = inside.delete(&EVENT, &event, Propagation::Background, None);
        }
    }
}
