//! Which plans are run: every fault at every place of every workload, and seeds.

use crate::{
    dice::Dice,
    drawn, life,
    plan::{Fault, Plan, WriteFault},
    workloads::{self, shared},
};

/// Lags of a stale view: short, longer than the operator believes in its own writes (30 s), and longer than most of it.
const LAGS: [u64; 3] = [1, 40, 100];

/// Beyond the horizon of any plan.
const FOR_EVER: u64 = 1 << 20;

/// The plan, with each fault at each of its writes.
pub fn writes(plan: &Plan) -> Vec<Plan> {
    let reference = life::run(plan);
    let with = |(number, how): (u32, WriteFault)| with(plan, Fault::Write { number, how });
    (1..=reference.writes).flat_map(|number| WriteFault::ALL.map(|how| (number, how))).map(with).collect()
}

/// The plan, with a view that is stale from each change of each kind that is watched on, and with each change missed.
pub fn views(plan: &Plan) -> Vec<Plan> {
    const WATCHED: [&str; 7] = ["MPIJob", "Pod", "Service", "EndpointSlice", "ConfigMap", "Secret", "Job"];
    let reference = life::run(plan);
    let mut plans = Vec::new();
    for (kind, count) in reference.events.iter().filter(|(kind, _)| WATCHED.contains(&kind.as_str())) {
        for event in 1..=*count {
            let stale = |seconds: u64| with(plan, Fault::Stale { kind: kind.clone(), event, seconds });
            plans.extend(LAGS.map(stale));
            plans.push(with(plan, Fault::Gap { kind: kind.clone(), event }));
        }
    }
    plans
}

/// Clusters that are shared: each as it is, and with other draws.
pub fn shared() -> Vec<Plan> {
    let seeded = |plan: Plan| {
        (0..shared::SEEDS).map(move |seed| {
            let name = format!("{} under seed {seed}", plan.name);
            Plan { name, seed: plan.seed + seed, ..plan.clone() }
        })
    };
    shared::all().into_iter().flat_map(seeded).collect()
}

fn with(plan: &Plan, fault: Fault) -> Plan {
    let mut plan = plan.clone();
    plan.name = format!("{} {fault:?}", plan.name);
    plan.faults.push(fault);
    plan
}

/// So many of them, from all parts of the list alike; always the same ones.
pub fn sample(plans: Vec<Plan>, count: usize) -> Vec<Plan> {
    let all = plans.len();
    let is_taken = |at: usize| (at + 1) * count / all > at * count / all;
    if count >= all {
        return plans;
    }
    plans.into_iter().enumerate().filter(|(at, _)| is_taken(*at)).map(|(_, plan)| plan).collect()
}

/// The plan without the faults, users' acts and replicas that its failure does not need.
pub fn least(plan: &Plan, fails: impl Fn(&Plan) -> bool) -> Plan {
    let mut least = plan.clone();
    let mut change = |change: &dyn Fn(&mut Plan)| {
        let mut less = least.clone();
        change(&mut less);
        let is_enough = fails(&less);
        if is_enough {
            least = less;
        }
    };
    for at in (0..plan.faults.len()).rev() {
        change(&|plan| drop(plan.faults.remove(at)));
    }
    // The first one makes the job.
    for at in (1..plan.users.len()).rev() {
        change(&|plan| drop(plan.users.remove(at)));
    }
    let needs_another = |fault: &Fault| match fault {
        Fault::Kill { replica, .. } | Fault::Stop { replica, .. } => *replica > 0,
        Fault::CutOff { replica, to_seconds, .. } => *replica > 0 || *to_seconds == FOR_EVER,
        _ => false,
    };
    change(&|plan| {
        if !plan.faults.iter().any(needs_another) {
            plan.replicas = 1;
        }
    });
    least
}

/// A plan by chance: a workload or a job to which things happen, one or two replicas, and some faults.
pub fn seeded(seed: u64) -> Plan {
    let dice = Dice::new(seed);
    let below = |bound: u64, what: &str| dice.number(&["plan", what]) % bound;
    let all = workloads::all();
    let at = usize::try_from(below(all.len() as u64, "workload")).expect("a small number");
    let mut plan = if below(2, "kind of history") == 0 { all[at].clone() } else { drawn::plan(&dice) };
    plan.name = format!("seed {seed}: {}", plan.name);
    plan.seed = seed;
    plan.replicas = 1 + usize::try_from(below(2, "replicas")).expect("a small number");
    plan.horizon_seconds = 600;
    if below(4, "skew") == 0 {
        plan.settings.ahead_seconds = i64::try_from(below(240, "ahead")).expect("small") - 120;
    }
    for _ in 0..below(4, "faults") {
        let second = below(120, "second");
        let replica = usize::try_from(below(plan.replicas as u64, "replica")).expect("a small number");
        let kind = ["MPIJob", "Pod", "EndpointSlice", "ConfigMap", "Job"]
            [usize::try_from(below(5, "kind")).expect("small")];
        let event = 1 + u32::try_from(below(20, "event")).expect("small");
        let number = 1 + u32::try_from(below(20, "write")).expect("small");
        let how = WriteFault::ALL[usize::try_from(below(12, "how")).expect("small")];
        plan.faults.push(match below(13, "class") {
            0 => Fault::Write { number, how },
            1 => Fault::Stale { kind: kind.to_owned(), event, seconds: 1 + below(60, "lag") },
            2 => Fault::Gap { kind: kind.to_owned(), event },
            3 => {
                let percent = 20 + u8::try_from(below(60, "percent")).expect("small");
                Fault::Brownout {
                    from_seconds: second,
                    to_seconds: second + 5 + below(50, "length"),
                    percent,
                }
            }
            4 => Fault::Kill { replica, at_seconds: second },
            5 => Fault::Restart { at_seconds: second },
            class => lasting(&dice, class, replica, plan.replicas, kind),
        });
    }
    plan
}

/// A fault that lasts for a while.
fn lasting(dice: &Dice, class: u64, replica: usize, replicas: usize, kind: &str) -> Fault {
    let below = |bound: u64, what: &str| dice.number(&["plan", what]) % bound;
    let from_seconds = below(120, "second");
    let to_seconds = from_seconds + 5 + below(55, "length");
    match class {
        6 => Fault::Throttled { from_seconds, to_seconds },
        // The first one may stay broken for ever: it never sees anything, and must not lead.
        7 if below(3, "for ever") == 0 && replicas > 1 => {
            Fault::CutOff { replica: 0, from_seconds: 0, to_seconds: FOR_EVER }
        }
        7 => Fault::CutOff { replica, from_seconds, to_seconds },
        8 => Fault::BlackHole { kind: kind.to_owned(), from_seconds, to_seconds },
        11 => Fault::Freeze { replica, at_seconds: from_seconds, seconds: 1 + below(60, "frozen") },
        12 => Fault::Pages {
            from_seconds,
            to_seconds,
            percent: 10 + u8::try_from(below(30, "pages")).expect("small"),
        },
        9 => Fault::SlowLease { from_seconds, to_seconds, seconds: 1 + below(14, "slow") },
        _ => Fault::Quota { from_seconds, to_seconds, pods: below(3, "pods") },
    }
}
