//! What goes wrong, as the plan says.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use http::Method;
use serde_json::json;
use tokio::time::Instant;

use crate::{
    controllers::Inside,
    dice::Dice,
    fleet::Fleet,
    network::{Calm, Fate, How, Network, Weather},
    plan::{Fault, Plan, WriteFault},
    server::{
        Observer,
        ask::Raw,
        kind::{KINDS, LEASE, POD},
        store::Change,
    },
    users::{OTHERS, TEAM},
};

/// Until an API server gives a webhook up: what it may be told to wait at most.
const WEBHOOK: Duration = Duration::from_secs(30);
/// Until a write that is late has its effect: longer than anybody waits for it.
const LATE: Duration = Duration::from_secs(30);

/// See the module. Cheap to share.
#[derive(Clone)]
pub struct Faults {
    plan: Arc<Plan>,
    network: Network,
    fleet: Fleet,
    seen: Arc<Mutex<Seen>>,
    started: Instant,
}

#[derive(Default)]
struct Seen {
    /// Writes of operators.
    writes: u32,
    /// Changes, by kind.
    events: BTreeMap<String, u32>,
}

impl Faults {
    /// Lets everything of the plan happen.
    pub fn start(plan: &Arc<Plan>, network: &Network, fleet: &Fleet) -> Self {
        let this = Self {
            plan: Arc::clone(plan),
            network: network.clone(),
            fleet: fleet.clone(),
            seen: Arc::default(),
            started: Instant::now(),
        };
        network.set_weather(this.clone());
        network.server.observe(Arc::new(this.clone()));
        for fault in &plan.faults {
            this.enter(fault);
        }
        this
    }

    /// Writes of operators, but for events and leases.
    pub fn writes(&self) -> u32 {
        self.lock().writes
    }

    /// Changes of each kind.
    pub fn events(&self) -> BTreeMap<String, u32> {
        self.lock().events.clone()
    }

    /// What has its time.
    fn enter(&self, fault: &Fault) {
        let (network, fleet) = (self.network.clone(), self.fleet.clone());
        let at = |seconds: u64| self.started + Duration::from_secs(seconds);
        let agenda = &self.network.agenda;
        match *fault {
            Fault::Restart { at_seconds } => agenda.at(at(at_seconds), move || network.restart(true)),
            Fault::Kill { replica, at_seconds } => agenda.at(at(at_seconds), move || fleet.kill(replica)),
            Fault::Stop { replica, at_seconds } => agenda.at(at(at_seconds), move || fleet.stop(replica)),
            Fault::Stale { ref kind, event: 1, seconds } => self.lag(kind, seconds),
            Fault::CutOff { replica, from_seconds, .. } => {
                // Open connections: what is behind them is forgotten, and whoever reads does not learn it.
                let part = format!("operator-{replica}/");
                agenda.at(at(from_seconds), move || network.silence(&part));
            }
            Fault::BlackHole { ref kind, from_seconds, .. } => {
                let part = format!(" {kind}");
                agenda.at(at(from_seconds), move || network.cut(&part));
            }
            Fault::Quota { from_seconds, to_seconds, pods } => {
                let ends = network.clone();
                agenda.at(at(from_seconds), move || {
                    network.server.state().quotas.insert((TEAM.to_owned(), POD.plural), pods);
                });
                agenda.at(at(to_seconds), move || {
                    ends.server.state().quotas.remove(&(TEAM.to_owned(), POD.plural));
                });
            }
            Fault::Freeze { replica, at_seconds, seconds } => {
                let time = Duration::from_secs(seconds);
                agenda.at(at(at_seconds), move || fleet.freeze(replica, time));
            }
            Fault::Write { .. }
            | Fault::Stale { .. }
            | Fault::Gap { .. }
            | Fault::Brownout { .. }
            | Fault::Throttled { .. }
            | Fault::Webhook { .. }
            | Fault::Pages { .. }
            | Fault::SlowLease { .. } => {}
        }
    }

    /// A page is asked for whose token has expired: half as often as one fails.
    fn expires(&self, dice: &Dice, past: u64, who: &str, raw: &Raw) -> bool {
        let share = self.plan.faults.iter().find_map(|fault| match fault {
            Fault::Pages { from_seconds, to_seconds, percent } => {
                (*from_seconds..*to_seconds).contains(&past).then_some(f64::from(*percent) / 200.0)
            }
            _ => None,
        });
        let is_page = raw.method == Method::GET && raw.uri.contains("continue=");
        is_page && share.is_some_and(|share| dice.chance(share, &["expired", who, path(raw)]))
    }

    fn lag(&self, kind: &str, seconds: u64) {
        let (network, part) = (self.network.clone(), format!(" {kind}"));
        let lag = Duration::from_secs(seconds);
        network.lag(&part, lag);
        self.network.agenda.after(lag, move || network.lag(&part, Duration::from_millis(2)));
    }

    fn write(&self, who: &str, raw: &Raw, how: WriteFault, calm: Fate) -> Fate {
        let replica = Fleet::replica(who).expect("an operator");
        let (fleet, agenda) = (self.fleet.clone(), &self.network.agenda);
        let refused = |code, reason| How::Refused { code, reason, retry_after: None };
        let how = match how {
            WriteFault::CrashBefore => {
                agenda.after(Duration::ZERO, move || fleet.kill(replica));
                How::Silence { has_effect: false }
            }
            WriteFault::CrashAfter => {
                agenda.after(calm.there + Duration::from_millis(1), move || fleet.kill(replica));
                How::Silence { has_effect: true }
            }
            WriteFault::NoAnswer => How::Silence { has_effect: true },
            WriteFault::Late => return Fate { there: LATE, how: How::Silence { has_effect: true }, ..calm },
            WriteFault::Reset => How::Reset { has_effect: false },
            // A DELETE by uid is refused so for another uid alone, and an object that has the uid keeps it.
            WriteFault::Conflict if raw.method == Method::DELETE => How::Answered,
            WriteFault::Conflict => refused(409, "Conflict"),
            WriteFault::Invalid => refused(422, "Invalid"),
            WriteFault::TooMany => {
                let retry_after = Some(Duration::from_secs(2));
                How::Refused { code: 429, reason: "TooManyRequests", retry_after }
            }
            WriteFault::Unavailable => refused(503, "ServiceUnavailable"),
            WriteFault::TimedOut => How::AnsweredWith { code: 504, reason: "Timeout" },
            WriteFault::Stop => {
                agenda.after(Duration::ZERO, move || fleet.stop(replica));
                How::Answered
            }
            WriteFault::LeaseLost => {
                let inside = Inside::new(self.network.clone(), "somebody");
                agenda.after(Duration::ZERO, move || take_lease(&inside));
                How::Answered
            }
        };
        Fate { how, ..calm }
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// By somebody who never renews it.
fn take_lease(inside: &Inside) {
    let Some(lease) = inside.get(&LEASE, "mpi-operator", "mpi-operator") else { return };
    let time = inside.network.now().to_string();
    let spec = json!({"holderIdentity": "somebody", "renewTime": time, "acquireTime": time});
    let _ = inside.patch(
        &LEASE,
        &lease,
        json!({"metadata": {"resourceVersion": lease["metadata"]["resourceVersion"]}, "spec": spec}),
    );
}

/// What stands before the question mark.
fn path(raw: &Raw) -> &str {
    raw.uri.split('?').next().unwrap_or_default()
}

/// A write of an operator that decides something.
pub fn is_write(who: &str, raw: &Raw) -> bool {
    let path = path(raw);
    Fleet::replica(who).is_some()
        && raw.method != Method::GET
        && !path.contains("/leases")
        && !path.contains("/events")
}

impl Weather for Faults {
    fn fate(&mut self, dice: &Dice, now: Instant, who: &str, raw: &Raw) -> Fate {
        let calm = Calm::fate(dice, who, raw);
        if is_write(who, raw) {
            let number = {
                let mut seen = self.lock();
                seen.writes += 1;
                seen.writes
            };
            let hit = self.plan.faults.iter().find_map(|fault| match fault {
                Fault::Write { number: other, how } if *other == number => Some(*how),
                _ => None,
            });
            if let Some(how) = hit {
                return self.write(who, raw, how, calm);
            }
        }
        let past = now.duration_since(self.started).as_secs();
        let Some(replica) = Fleet::replica(who) else { return calm };
        if self.expires(dice, past, who, raw) {
            self.network.server.state().expire_pages();
        }
        let hit = self.plan.faults.iter().find_map(|fault| span(fault, dice, past, replica, who, raw, calm));
        hit.unwrap_or(calm)
    }
}

/// What a fault that lasts makes of a request of a replica, if it is hit.
fn span(
    fault: &Fault,
    dice: &Dice,
    past: u64,
    replica: usize,
    who: &str,
    raw: &Raw,
    calm: Fate,
) -> Option<Fate> {
    let is_for_lease = raw.uri.contains("/leases");
    let chance = |what, share| dice.chance(share, &[what, who, raw.method.as_str(), &raw.uri]);
    let is_now = |from: &u64, to: &u64| (*from..*to).contains(&past);
    match fault {
        Fault::Brownout { from_seconds, to_seconds, percent } => {
            let is_hit = is_now(from_seconds, to_seconds) && chance("brownout", f64::from(*percent) / 100.0);
            let how = How::Refused { code: 503, reason: "ServiceUnavailable", retry_after: None };
            is_hit.then_some(Fate { how, ..calm })
        }
        Fault::Throttled { from_seconds, to_seconds } => {
            let is_hit = is_now(from_seconds, to_seconds) && chance("throttled", 0.5);
            let retry_after = Some(dice.between(
                Duration::from_secs(1),
                Duration::from_secs(30),
                &["throttled for", who, &raw.uri],
            ));
            let how = How::Refused { code: 429, reason: "TooManyRequests", retry_after };
            is_hit.then_some(Fate { how, ..calm })
        }
        Fault::CutOff { replica: other, from_seconds, to_seconds } => {
            let is_hit = is_now(from_seconds, to_seconds) && *other == replica && !is_for_lease;
            is_hit.then_some(Fate { how: How::Silence { has_effect: false }, ..calm })
        }
        Fault::BlackHole { kind, from_seconds, to_seconds } => {
            let reads_all = raw.method == Method::GET && path(raw).ends_with(&format!("/{}", plural(kind)));
            let is_hit = is_now(from_seconds, to_seconds) && reads_all;
            is_hit.then_some(Fate { how: How::Silence { has_effect: false }, ..calm })
        }
        Fault::Webhook { from_seconds, to_seconds } => {
            let pods = format!("/namespaces/{OTHERS}/pods");
            let is_hit =
                is_now(from_seconds, to_seconds) && raw.method == Method::POST && path(raw).ends_with(&pods);
            let how = How::Refused { code: 500, reason: "InternalError", retry_after: None };
            is_hit.then_some(Fate { there: WEBHOOK, how, ..calm })
        }
        Fault::Pages { from_seconds, to_seconds, percent } => {
            let is_list = raw.method == Method::GET && raw.uri.contains("limit=") && !is_for_lease;
            let is_hit = is_now(from_seconds, to_seconds)
                && is_list
                && dice.chance(f64::from(*percent) / 100.0, &["page", who, path(raw)]);
            let how = How::Refused { code: 503, reason: "ServiceUnavailable", retry_after: None };
            is_hit.then_some(Fate { how, ..calm })
        }
        Fault::SlowLease { from_seconds, to_seconds, seconds } => {
            let is_hit = is_now(from_seconds, to_seconds) && is_for_lease;
            is_hit.then_some(Fate { there: Duration::from_secs(*seconds), ..calm })
        }
        _ => None,
    }
}

fn plural(kind: &str) -> &'static str {
    KINDS.into_iter().find(|other| other.kind == kind).map_or("", |kind| kind.plural)
}

impl Observer for Faults {
    fn changed(&self, _: &str, change: &Change) {
        let count = {
            let mut seen = self.lock();
            let count = seen.events.entry(change.kind.kind.to_owned()).or_default();
            *count += 1;
            *count
        };
        for fault in &self.plan.faults {
            match fault {
                Fault::Stale { kind, event, seconds } if *kind == change.kind.kind && *event == count + 1 => {
                    self.lag(kind, *seconds);
                }
                Fault::Gap { kind, event } if *kind == change.kind.kind && *event == count => {
                    self.network.cut(&format!(" {kind}"));
                    self.network.server.state().forget();
                }
                _ => {}
            }
        }
    }
}
