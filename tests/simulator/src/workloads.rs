//! What users do, as plans without faults. Each is run as it is, and with every single fault.

pub mod shared;

use serde_json::{Value, json};

use crate::{
    plan::{Act, Deed, Plan, Settings, Team},
    server::ask::Propagation,
    users,
};

/// All of them.
pub fn all() -> Vec<Plan> {
    vec![
        plan("succeeds", vec![at(5, create(2, &json!({})))], &[0]),
        plan("cleans-up", vec![at(5, create(2, &json!({"runPolicy": {"cleanPodPolicy": "Running"}})))], &[0]),
        plan("cleans-all", vec![at(5, create(2, &json!({"runPolicy": {"cleanPodPolicy": "All"}})))], &[0]),
        plan("fails-and-retries", vec![at(5, create(2, &json!({})))], &[1, 0]),
        plan("fails", vec![at(5, create(2, &json!({"runPolicy": {"backoffLimit": 1}})))], &[1]),
        plan("deadline", vec![at(5, create(1, &json!({"runPolicy": {"activeDeadlineSeconds": 8}})))], &[0]),
        plan("suspended", vec![at(5, create(2, &json!({"runPolicy": {"suspend": true}})))], &[0]),
        plan(
            "suspended-and-resumed",
            vec![at(5, create(2, &json!({"runPolicy": {"suspend": true}}))), at(20, suspend(false))],
            &[0],
        ),
        plan(
            "suspended-while-it-runs",
            vec![at(5, create(2, &json!({}))), at(15, suspend(true)), at(40, suspend(false))],
            &[0],
        ),
        plan("suspended-for-good", vec![at(5, create(2, &json!({}))), at(15, suspend(true))], &[0]),
        plan(
            "waits-for-workers",
            vec![at(5, create(2, &json!({"launcherCreationPolicy": "WaitForWorkersReady"})))],
            &[0],
        ),
        plan("grows", vec![at(5, create(1, &json!({}))), at(14, scale(3))], &[0]),
        plan("shrinks", vec![at(5, create(3, &json!({}))), at(14, scale(1))], &[0]),
        plan("deleted", vec![at(5, create(2, &json!({}))), at(14, delete(Propagation::Background))], &[0]),
        plan(
            "deleted-first",
            vec![at(5, create(2, &json!({}))), at(14, delete(Propagation::Foreground))],
            &[0],
        ),
        plan(
            "made-again",
            vec![
                at(5, create(2, &json!({}))),
                at(14, delete(Propagation::Background)),
                at(15, create(2, &json!({}))),
            ],
            &[0],
        ),
        plan("expires", vec![at(5, create(2, &json!({"runPolicy": {"ttlSecondsAfterFinished": 0}})))], &[0]),
        plan("launcher-alone", vec![at(5, create(0, &json!({})))], &[0]),
        plan(
            "managed-by-another",
            vec![at(5, create(2, &json!({"runPolicy": {"managedBy": "kueue.x-k8s.io/multikueue"}})))],
            &[0],
        ),
        plan("namespace-deleted", vec![at(5, create(2, &json!({}))), at(14, Deed::DeleteNamespace)], &[0]),
    ]
}

/// The one of this name.
pub fn named(name: &str) -> Option<Plan> {
    all().into_iter().chain(shared::all()).find(|plan| plan.name == name)
}

fn plan(name: &str, users: Vec<Act>, exits: &[i64]) -> Plan {
    Plan {
        name: name.to_owned(),
        seed: 1,
        replicas: 1,
        users,
        exits: exits.to_vec(),
        runs_seconds: 10,
        faults: Vec::new(),
        horizon_seconds: 360,
        settings: Settings::default(),
        is_open: false,
    }
}

fn at(at_seconds: u64, does: Deed) -> Act {
    Act { at_seconds, team: Team::A, does }
}

fn create(workers: u32, more: &Value) -> Deed {
    Deed::Create(users::job("pi", workers, more))
}

fn suspend(suspend: bool) -> Deed {
    Deed::Change { job: "pi".to_owned(), change: json!({"spec": {"runPolicy": {"suspend": suspend}}}) }
}

fn scale(workers: u32) -> Deed {
    let change = json!({"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": workers}}}});
    Deed::Change { job: "pi".to_owned(), change }
}

fn delete(propagation: Propagation) -> Deed {
    Deed::Delete { job: "pi".to_owned(), propagation }
}
