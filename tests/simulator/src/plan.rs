//! A run as data: what users do, what goes wrong, and how long it takes. A seed only makes plans and draws; what is kept of a
//! run that failed is its plan.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::server::ask::Propagation;

/// See the module.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// What it is called in reports.
    pub name: String,
    /// Of all draws.
    pub seed: u64,
    /// Operators at once.
    pub replicas: usize,
    /// What users do.
    pub users: Vec<Act>,
    /// Exit codes of a job's launcher pods, one after the other; the last one stands for all later ones.
    pub exits: Vec<i64>,
    /// How long each of them runs.
    pub runs_seconds: u64,
    /// What goes wrong.
    #[serde(default)]
    pub faults: Vec<Fault>,
    /// When it ends.
    pub horizon_seconds: u64,
    /// How the operators are set up.
    #[serde(default)]
    pub settings: Settings,
    /// More than the spec and the exits decides how its job ends.
    #[serde(default)]
    pub is_open: bool,
}

/// How the operators are set up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// `--gang-scheduling`.
    pub gang: String,
    /// Clocks of the first and of every second replica are ahead of the API server's by so much, those of the others behind.
    pub ahead_seconds: i64,
    /// `--threadiness`, if it is set.
    pub at_once: Option<usize>,
    /// `--kube-api-qps` and `--kube-api-burst`, if they are set.
    pub requests: Option<Bound>,
    /// `--controller-queue-rate-limit` and `--controller-queue-burst`, if they are set.
    pub reconciles: Option<Bound>,
}

/// An upper bound on a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Bound {
    /// A second.
    pub each_second: u32,
    /// So many at once after a rest.
    pub burst: u32,
}

/// Users of one namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub enum Team {
    /// Where what is told of jobs holds without restriction.
    #[default]
    A,
    /// Those beside them.
    B,
}

impl Team {
    /// Where they work.
    pub const fn namespace(self) -> &'static str {
        match self {
            Self::A => "team-a",
            Self::B => "team-b",
        }
    }
}

/// What a user does.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Act {
    /// When.
    pub at_seconds: u64,
    /// Who.
    #[serde(default)]
    pub team: Team,
    /// What.
    pub does: Deed,
}

/// In the namespace of a team: what users do with jobs, what others do with what belongs to them, and what becomes of pods. A
/// pod is called by its name, or by that of the Job that made it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub enum Deed {
    /// Makes an `MPIJob`.
    Create(Value),
    /// Changes it.
    Change {
        /// Its name.
        job: String,
        /// A merge patch.
        change: Value,
    },
    /// Deletes it.
    Delete {
        /// Its name.
        job: String,
        /// And what it owns.
        propagation: Propagation,
    },
    /// Deletes a pod, as `kubectl drain` does.
    DeletePod {
        /// Its name.
        name: String,
    },
    /// Deletes the namespace.
    DeleteNamespace,
    /// Makes an object of any kind, unless there is one of its name or a quota forbids it.
    Make {
        /// `kind`.
        kind: String,
        /// The object.
        object: Value,
    },
    /// Changes one.
    Alter {
        /// `kind`.
        kind: String,
        /// Its name.
        name: String,
        /// A merge patch.
        change: Value,
    },
    /// Writes the status of one.
    Tell {
        /// `kind`.
        kind: String,
        /// Its name.
        name: String,
        /// A merge patch of `status`.
        status: Value,
    },
    /// Deletes one.
    Remove {
        /// `kind`.
        kind: String,
        /// Its name.
        name: String,
    },
    /// An administrator applies a component of `openmpi`: one for each number, which all do the same under another digest, and
    /// bytes that are none for 0.
    Swap {
        /// Which.
        version: u32,
    },
    /// The containers of a pod end.
    EndPod {
        /// Which.
        pod: String,
        /// How.
        how: Ending,
    },
    /// A pod is gone at once, as with its node.
    LosePod {
        /// Which.
        pod: String,
    },
    /// The containers of a pod are started again in place.
    RestartPod {
        /// Which.
        pod: String,
    },
    /// From now on something is not done.
    Hold(Hold),
    /// It is done again.
    Release(Hold),
    /// From now on the API server does not let anybody create an object.
    Refuse(Denial),
    /// It does again.
    Admit {
        /// `kind`.
        kind: String,
        /// Its name.
        name: String,
    },
}

/// How a pod's containers end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Ending {
    /// Exit code.
    pub code: i64,
    /// `status.reason` of the pod, such as `Evicted`.
    pub reason: String,
    /// `status.message` of the pod.
    pub message: String,
    /// The kubelet reports it so late.
    pub late_seconds: u64,
}

/// Something that is not done for pods of a name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// What.
    pub what: Held,
    /// The pod's name, or the beginning of it before a dash.
    pub pod: String,
}

/// What may not be done for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub enum Held {
    /// The kubelet does not start it: its image is still being pulled.
    Start,
    /// It runs and is not Ready.
    Readiness,
    /// No `EndpointSlice` tells its address.
    Publication,
    /// Told to end, it does not: its node does not answer.
    Stop,
}

/// An object that nobody may create.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Denial {
    /// `kind`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// 422 in place of 403.
    pub is_invalid: bool,
    /// Why.
    pub message: String,
}

/// What goes wrong.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum Fault {
    /// A write of the operators, other than events and leases, fares badly.
    Write {
        /// From 1.
        number: u32,
        /// How.
        how: WriteFault,
    },
    /// The operators' watches of a kind lag behind.
    Stale {
        /// `kind`.
        kind: String,
        /// From this change of it on, from 1.
        event: u32,
        /// By so much and for so long.
        seconds: u64,
    },
    /// The operators' watches of a kind are cut before they tell a change, and the server forgets what happened.
    Gap {
        /// `kind`.
        kind: String,
        /// This change of it, from 1.
        event: u32,
    },
    /// The server refuses now and then.
    Brownout {
        /// From then.
        from_seconds: u64,
        /// Until then.
        to_seconds: u64,
        /// So many of a hundred requests.
        percent: u8,
    },
    /// The server asks half of all requests of operators to come back later, those for the lease, too.
    Throttled {
        /// From then.
        from_seconds: u64,
        /// Until then.
        to_seconds: u64,
    },
    /// Nothing that a replica asks for is answered, but for what it asks of the lease; its open watches are silent.
    CutOff {
        /// From 0.
        replica: usize,
        /// From then.
        from_seconds: u64,
        /// Until then.
        to_seconds: u64,
    },
    /// Lists and openings of watches of a kind are never answered.
    BlackHole {
        /// `kind`.
        kind: String,
        /// From then.
        from_seconds: u64,
        /// Until then.
        to_seconds: u64,
    },
    /// What is asked of the lease takes so long.
    SlowLease {
        /// From then.
        from_seconds: u64,
        /// Until then.
        to_seconds: u64,
        /// From the request to its answer.
        seconds: u64,
    },
    /// A webhook in the way of team B's pods does not answer.
    Webhook {
        /// From then.
        from_seconds: u64,
        /// Until then.
        to_seconds: u64,
    },
    /// Pages of lists fail now and then, and some of the tokens that lead to them expire.
    Pages {
        /// From then.
        from_seconds: u64,
        /// Until then.
        to_seconds: u64,
        /// So many of a hundred.
        percent: u8,
    },
    /// The process of a replica stands still: on its node, something else computes.
    Freeze {
        /// From 0.
        replica: usize,
        /// When.
        at_seconds: u64,
        /// For so long.
        seconds: u64,
    },
    /// Team A's namespace may have so many pods.
    Quota {
        /// From then.
        from_seconds: u64,
        /// Until then.
        to_seconds: u64,
        /// No more than these.
        pods: u64,
    },
    /// All watches end; the server remembers nothing of what happened.
    Restart {
        /// When.
        at_seconds: u64,
    },
    /// The process of a replica is killed, and is started again 10 s later.
    Kill {
        /// From 0.
        replica: usize,
        /// When.
        at_seconds: u64,
    },
    /// The process of a replica is told to end, and is started again when it has.
    Stop {
        /// From 0.
        replica: usize,
        /// When.
        at_seconds: u64,
    },
}

/// What becomes of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum WriteFault {
    /// The process is killed before it has an effect.
    CrashBefore,
    /// The process is killed after it had its effect.
    CrashAfter,
    /// It has its effect, and nobody answers.
    NoAnswer,
    /// Nobody answers, and it has its effect 30 s later.
    Late,
    /// The connection ends before it has an effect.
    Reset,
    /// 409, without an effect.
    Conflict,
    /// 422, without an effect.
    Invalid,
    /// 429 with `Retry-After: 2`, without an effect.
    TooMany,
    /// 503, without an effect.
    Unavailable,
    /// 504, after it had its effect.
    TimedOut,
    /// The process is told to end.
    Stop,
    /// Somebody else takes the lease.
    LeaseLost,
}

impl WriteFault {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::CrashBefore,
        Self::CrashAfter,
        Self::NoAnswer,
        Self::Late,
        Self::Reset,
        Self::Conflict,
        Self::Invalid,
        Self::TooMany,
        Self::Unavailable,
        Self::TimedOut,
        Self::Stop,
        Self::LeaseLost,
    ];
}
