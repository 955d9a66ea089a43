//! A job by chance, and what happens to it: its user changes its mind, its pods fail, are evicted, deleted or late, and
//! somebody meddles with what belongs to it. Where it must be in the end, [`crate::expected`] says.

use serde_json::{Value, json};

use crate::{
    dice::Dice,
    plan::{Act, Deed, Denial, Ending, Held, Hold, Plan, Settings, Team},
    tampering, users,
};

/// Workers of a job at most.
const LARGEST: u64 = 5;
/// Things that happen to it at most.
const MOST: u64 = 8;
/// Until when they do.
const LAST: u64 = 150;

/// See the module. Its faults are drawn elsewhere.
pub fn plan(dice: &Dice) -> Plan {
    let draws = Draws(dice);
    let act = |at_seconds, does| Act { at_seconds, team: Team::A, does };
    let mut users = vec![act(5, Deed::Create(job(&draws)))];
    for _ in 0..=draws.below(MOST, "happenings") {
        let at_seconds = 6 + draws.below(LAST, "moment");
        let (does, later) = happening(&draws);
        users.push(act(at_seconds, does));
        users.extend(later.map(|does| act(at_seconds + 5 + draws.below(60, "length"), does)));
    }
    let gang = if draws.below(4, "gang") == 0 { "volcano".to_owned() } else { String::new() };
    Plan {
        name: "drawn".to_owned(),
        seed: dice.seed(),
        replicas: 1,
        users,
        exits: (0..3).map(|_| i64::from(draws.is_one_of(3, "exit"))).collect(),
        runs_seconds: 5 + draws.below(60, "run"),
        faults: Vec::new(),
        horizon_seconds: 600,
        settings: Settings { gang, ..Settings::default() },
        is_open: true,
    }
}

struct Draws<'a>(&'a Dice);

impl Draws<'_> {
    fn below(&self, bound: u64, what: &str) -> u64 {
        self.0.number(&["drawn", what]) % bound
    }

    fn is_one_of(&self, of: u64, what: &str) -> bool {
        self.below(of, what) == 0
    }

    fn one<T: Clone>(&self, all: &[T], what: &str) -> T {
        all[usize::try_from(self.below(all.len() as u64, what)).expect("a small number")].clone()
    }

    fn policy(&self) -> &'static str {
        self.one(&["None", "Running", "All"], "policy")
    }

    fn worker(&self) -> String {
        format!("pi-worker-{}", self.below(LARGEST, "worker"))
    }
}

fn job(draws: &Draws) -> Value {
    let creation = draws.one(&["AtStartup", "WaitForWorkersReady"], "creation");
    let more = json!({
        "launcherCreationPolicy": creation,
        "runLauncherAsWorker": draws.is_one_of(4, "ranks"),
        // So that a job whose launcher cannot reach its workers has failed long before the horizon.
        "runPolicy": {
            "suspend": draws.is_one_of(4, "suspended"),
            "cleanPodPolicy": draws.policy(),
            "backoffLimit": draws.below(3, "limit"),
        },
    });
    let workers = u32::try_from(1 + draws.below(LARGEST, "workers")).expect("a small number");
    let mut job = users::job("pi", workers, &more);
    if draws.is_one_of(3, "elastic") {
        let least = 1 + draws.below(u64::from(workers), "least");
        job["metadata"]["annotations"]["coxswain.dev/start-min-workers"] = json!(least.to_string());
    }
    job
}

/// Something, and what takes it back.
fn happening(draws: &Draws) -> (Deed, Option<Deed>) {
    if draws.is_one_of(4, "tampering") {
        let version = u32::try_from(draws.below(4, "version")).expect("a small number");
        return tampering::way(draws.below(tampering::WAYS, "way"), &draws.worker(), version);
    }
    let change = |change: Value| Deed::Change { job: "pi".to_owned(), change };
    let policy = |policy: Value| change(json!({"spec": {"runPolicy": policy}}));
    let ends = |how: Ending| Deed::EndPod { pod: draws.worker(), how };
    let config = || ("ConfigMap".to_owned(), "pi-config".to_owned());
    let hold = |what: Held| {
        let hold = Hold { what, pod: draws.worker() };
        (Deed::Hold(hold.clone()), Some(Deed::Release(hold)))
    };
    let alone = match draws.below(17, "happening") {
        0 => policy(json!({"suspend": true})),
        1 | 2 => policy(json!({"suspend": false})),
        3 => {
            let replicas = 1 + draws.below(LARGEST, "size");
            change(json!({"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": replicas}}}}))
        }
        4 => policy(json!({"cleanPodPolicy": draws.policy()})),
        5 => ends(Ending { code: 1, ..Ending::default() }),
        6 => ends(Ending { code: 137, reason: "Evicted".to_owned(), ..Ending::default() }),
        7 => Deed::DeletePod { name: draws.worker() },
        8 => Deed::LosePod { pod: draws.worker() },
        9 => {
            let code = i64::from(draws.is_one_of(2, "code"));
            Deed::EndPod { pod: "pi-launcher".to_owned(), how: Ending { code, ..Ending::default() } }
        }
        10 => Deed::DeletePod { name: "pi-launcher".to_owned() },
        11 => Deed::Remove { kind: "Job".to_owned(), name: "pi-launcher".to_owned() },
        12 => {
            let (kind, name) = config();
            Deed::Alter { kind, name, change: json!({"metadata": {"annotations": null}}) }
        }
        13 => {
            let (kind, name) = config();
            Deed::Remove { kind, name }
        }
        14 => return hold(draws.one(&[Held::Start, Held::Readiness, Held::Publication], "held")),
        15 => return hold(Held::Stop),
        _ => {
            let (kind, name) = ("Pod".to_owned(), draws.worker());
            let admit = Deed::Admit { kind: kind.clone(), name: name.clone() };
            let message = "exceeded quota: pods".to_owned();
            return (Deed::Refuse(Denial { kind, name, is_invalid: false, message }), Some(admit));
        }
    };
    (alone, None)
}
