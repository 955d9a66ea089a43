//! How much of the limit each namespace may hold.
//!
//! In: requests that begin and end, answers, silence. Out: whether a namespace may begin one more, and whether a
//! silence is the server's own. A namespace whose writes are not answered while others' are has a webhook that
//! hangs: what it may hold in that flow is halved each time and grows again by one an answer, and nobody else's is
//! touched. Where nobody was answered either, and a second namespace is silent, too, it is the server.

use std::{collections::HashMap, sync::Arc, time::Duration};

use tokio::time::Instant;

use super::flow::{FLOWS, Flow, MOST};

/// A namespace may hold so many times what is free: all of the limit if it is alone (the limit has a third more than
/// that), and never so much that nothing is left for one that comes.
const TIMES_FREE: usize = 3;

/// Events under way at once: they are quick, nobody waits for them, and pods need the rest. A namespace may have as many of
/// them as it leaves to others.
const EVENTS: usize = 16;

/// Silences that belong together: two time limits of a request.
const TOGETHER: Duration = Duration::from_secs(20);

/// A namespace of which nothing was heard for so long is forgotten; its next request finds out anew.
const FORGOTTEN: Duration = Duration::from_mins(5);

/// See the module. Holds the namespaces that have requests under way or were silent lately.
#[derive(Default)]
pub(super) struct Shares {
    namespaces: HashMap<Arc<str>, Share>,
    events: usize,
    /// Who was answered last, and before that somebody else.
    last: Option<(Arc<str>, Instant)>,
    other: Option<Instant>,
    /// Silences while nobody else was answered.
    silent: HashMap<Arc<str>, Instant>,
}

#[derive(Default)]
struct Share {
    in_flight: [usize; FLOWS],
    limits: [Option<Limit>; FLOWS],
}

#[derive(Clone, Copy)]
struct Limit {
    most: usize,
    changed: Instant,
}

impl Shares {
    /// Whether the namespace may begin one more, where so many are free.
    pub(super) fn may(&self, flow: Flow, namespace: &str, free: usize) -> bool {
        let share = self.namespaces.get(namespace);
        let events = share.map_or(0, |share| share.held(Flow::Events));
        if flow == Flow::Events && events >= EVENTS.saturating_sub(self.events) {
            return false;
        }
        let Some(share) = share else { return free > 0 };
        let held: usize = share.in_flight.iter().sum();
        let limit = share.limits.get(flow as usize).copied().flatten();
        held < TIMES_FREE * free && limit.is_none_or(|limit| share.held(flow) < limit.most)
    }

    /// A request begins.
    pub(super) fn begin(&mut self, flow: Flow, namespace: &Arc<str>) {
        let share = self.namespaces.entry(Arc::clone(namespace)).or_default();
        if let Some(held) = share.in_flight.get_mut(flow as usize) {
            *held += 1;
        }
        self.events += usize::from(flow == Flow::Events);
    }

    /// It has ended.
    pub(super) fn end(&mut self, flow: Flow, namespace: &str) {
        self.events -= usize::from(flow == Flow::Events).min(self.events);
        let Some(share) = self.namespaces.get_mut(namespace) else { return };
        if let Some(held) = share.in_flight.get_mut(flow as usize) {
            *held = held.saturating_sub(1);
        }
        if share.is_idle() && share.limits.iter().all(Option::is_none) {
            self.namespaces.remove(namespace);
        }
    }

    /// The server has answered.
    pub(super) fn answered(&mut self, flow: Flow, namespace: &Arc<str>, now: Instant) {
        match &mut self.last {
            Some((last, at)) if last == namespace => *at = now,
            last => self.other = last.replace((Arc::clone(namespace), now)).map(|(_, at)| at),
        }
        self.silent.remove(namespace);
        let limits = self.namespaces.get_mut(namespace).map(|share| &mut share.limits);
        if let Some(limit) = limits.and_then(|limits| limits.get_mut(flow as usize)) {
            *limit = limit
                .map(|limit| Limit { most: limit.most + 1, changed: now })
                .filter(|limit| limit.most < MOST);
        }
    }

    /// A write that began at `since` was not answered. True if it is the server that is silent.
    pub(super) fn silent(&mut self, flow: Flow, namespace: &Arc<str>, since: Instant, now: Instant) -> bool {
        self.halve(flow, namespace, now);
        let elsewhere = match &self.last {
            Some((last, at)) if last != namespace => Some(*at),
            _ => self.other,
        };
        if elsewhere.is_some_and(|at| at >= since) {
            return false;
        }
        self.silent.retain(|_, at| now.saturating_duration_since(*at) < TOGETHER);
        self.silent.insert(Arc::clone(namespace), now);
        self.silent.len() > 1
    }

    fn halve(&mut self, flow: Flow, namespace: &Arc<str>, now: Instant) {
        self.namespaces.retain(|_, share| !share.is_forgotten(now));
        let share = self.namespaces.entry(Arc::clone(namespace)).or_default();
        let held = share.held(flow);
        let Some(limit) = share.limits.get_mut(flow as usize) else { return };
        if limit.is_none() {
            let flow = flow.label();
            tracing::warn!(
                namespace = &**namespace,
                flow,
                "the API server does not answer writes to this namespace; a webhook may hang"
            );
        }
        let most = limit.map_or(held, |limit| limit.most.min(held)) / 2;
        *limit = Some(Limit { most: most.max(1), changed: now });
    }
}

impl Share {
    fn held(&self, flow: Flow) -> usize {
        self.in_flight.get(flow as usize).copied().unwrap_or_default()
    }

    fn is_idle(&self) -> bool {
        self.in_flight.iter().all(|held| *held == 0)
    }

    fn is_forgotten(&self, now: Instant) -> bool {
        let old = |limit: &Limit| now.saturating_duration_since(limit.changed) >= FORGOTTEN;
        self.is_idle() && self.limits.iter().flatten().all(old)
    }
}
