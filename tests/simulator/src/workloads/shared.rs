//! Clusters that more than one job shares: a team whose webhook hangs, objects that nobody can use, crowds, bounds on rates,
//! a leader that sees nothing any more. Larger than the others, so that they are run as they are and under some seeds, and not
//! with every fault at every write.

use serde_json::{Value, json};

use super::{at, create, plan};
use crate::{
    plan::{Act, Bound, Deed, Fault, Held, Hold, Plan, Settings, Team},
    users,
};

/// Objects that a list shows on forty pages.
const CROWD: u32 = 120;
/// A name that no resource claim can have.
const NO_CLAIM: &str = "../../../namespaces/kube-system/secrets/x";

/// All of them.
pub fn all() -> Vec<Plan> {
    vec![hostile(), hangs(), crowd(), starves(), bounded(), blind(), swaps()]
}

/// They are run under these seeds, too.
pub const SEEDS: u64 = 4;

fn shared(name: &str, users: Vec<Act>, faults: Vec<Fault>) -> Plan {
    Plan { faults, ..plan(name, users, &[0]) }
}

fn by_others(at_seconds: u64, does: Deed) -> Act {
    Act { at_seconds, team: Team::B, does }
}

fn job(name: &str, workers: u32, more: &Value) -> Deed {
    Deed::Create(users::job(name, workers, more))
}

/// Objects of one team that cannot be decoded, or are larger than anything that fits, beside the job of another one; what is
/// known of them is lost when the server and then the process start anew.
fn hostile() -> Plan {
    let mut deep = json!("at the bottom");
    for _ in 0..200 {
        deep = json!({ "in": deep });
    }
    let mut nested = users::job("hostile-nested", 1, &json!({}));
    nested["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["securityContext"] = deep;
    let mut claims = users::job("hostile-claims", 1, &json!({}));
    claims["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["resourceClaims"] =
        json!([{"name": "device", "resourceClaimName": NO_CLAIM}]);
    let users = vec![
        by_others(5, Deed::Create(nested)),
        by_others(6, Deed::Create(claims)),
        by_others(7, job("hostile-size", 200_000, &json!({}))),
        by_others(8, job("hostile-suspended", 2_000_000, &json!({"runPolicy": {"suspend": true}}))),
        at(10, create(2, &json!({}))),
        at(70, job("later", 2, &json!({}))),
    ];
    let faults = vec![Fault::Restart { at_seconds: 40 }, Fault::Kill { replica: 0, at_seconds: 50 }];
    shared("hostile-objects", users, faults)
}

/// The webhook of one team's pods does not answer, and it makes more jobs than can be worked on at once.
fn hangs() -> Plan {
    let of_others = (0..12).map(|number| by_others(4, job(&format!("held-{number}"), 4, &json!({}))));
    let ours = [30, 45, 60].into_iter().map(|second| at(second, job(&format!("pi-{second}"), 2, &json!({}))));
    let faults = vec![Fault::Webhook { from_seconds: 0, to_seconds: 90 }];
    let settings = Settings { at_once: Some(8), ..Settings::default() };
    Plan {
        settings,
        horizon_seconds: 900,
        ..shared("webhook-hangs", of_others.chain(ours).collect(), faults)
    }
}

/// A third of all pages fail, for ever, and one list has forty; the process starts anew.
fn crowd() -> Plan {
    let map = |number: u32| json!({"metadata": {"name": format!("crowd-{number}"), "labels": {"coxswain.dev/job": "none"}}});
    let make = |number| by_others(1, Deed::Make { kind: "ConfigMap".to_owned(), object: map(number) });
    let ours = [at(10, create(2, &json!({}))), at(70, job("later", 2, &json!({})))];
    let plan = shared("crowd", (0..CROWD).map(make).chain(ours).collect(), Vec::new());
    let faults = vec![
        Fault::Pages { from_seconds: 0, to_seconds: plan.horizon_seconds, percent: 33 },
        Fault::Kill { replica: 0, at_seconds: 50 },
    ];
    Plan { faults, ..plan }
}

/// Jobs change more often than they may be looked at, and a gate has its time.
fn starves() -> Plan {
    let busy = |number: u64| format!("busy-{number}");
    let create = (0..4).map(|number| at(5, job(&busy(number), 1, &json!({}))));
    let change = |second: u64, number: u64| {
        let change = json!({"metadata": {"annotations": {"example.com/step": second.to_string()}}});
        at(second, Deed::Change { job: busy(number), change })
    };
    let changes = (6..120).flat_map(|second| (0..4).map(move |number| (second, number)));
    let mut gated = users::job("pi", 1, &json!({}));
    gated["metadata"]["annotations"]["coxswain.dev/start-gate-timeout"] = json!("20s");
    let hold = Hold { what: Held::Readiness, pod: "pi-worker".to_owned() };
    let pi = [at(4, Deed::Hold(hold.clone())), at(5, Deed::Create(gated)), at(130, Deed::Release(hold))];
    let reconciles = Some(Bound { each_second: 2, burst: 2 });
    let settings = Settings { reconciles, ..Settings::default() };
    let users = create.chain(changes.map(|(second, number)| change(second, number))).chain(pi).collect();
    Plan { settings, is_open: true, ..shared("starves", users, Vec::new()) }
}

/// A job whose pods are many, under a bound on requests.
fn bounded() -> Plan {
    let requests = Some(Bound { each_second: 4, burst: 4 });
    let settings = Settings { requests, ..Settings::default() };
    let users = vec![at(5, create(30, &json!({"runPolicy": {"cleanPodPolicy": "All"}})))];
    Plan { settings, runs_seconds: 60, ..shared("bounded", users, Vec::new()) }
}

/// The leader sees nothing any more, to the end, and can still renew its lease.
fn blind() -> Plan {
    let users = vec![at(5, create(2, &json!({}))), at(100, job("later", 2, &json!({})))];
    let plan = Plan { replicas: 2, horizon_seconds: 900, ..shared("blind-leader", users, Vec::new()) };
    let to_seconds = 2 * plan.horizon_seconds;
    Plan { faults: vec![Fault::CutOff { replica: 0, from_seconds: 60, to_seconds }], ..plan }
}

/// Components come and go while jobs run that are pinned to one of them, and grow, and new jobs begin.
fn swaps() -> Plan {
    let grow = |job: &str| Deed::Change {
        job: job.to_owned(),
        change: json!({"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": 3}}}}),
    };
    let swap = |version| Deed::Swap { version };
    let users = vec![
        at(5, create(1, &json!({}))),
        at(20, swap(1)),
        at(30, grow("pi")),
        at(35, job("second", 1, &json!({}))),
        at(60, swap(2)),
        at(80, swap(0)),
        at(90, job("third", 1, &json!({}))),
        at(100, grow("second")),
        at(110, swap(3)),
        at(120, swap(1)),
        at(130, swap(2)),
        at(140, swap(3)),
        at(150, grow("third")),
    ];
    Plan { runs_seconds: 400, horizon_seconds: 1200, ..shared("swaps", users, Vec::new()) }
}
