//! The operators: processes that start, are told to end, are killed, and are started again.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Waker,
    time::Duration,
};

use coxswain_cluster::{index::Shared, rate::Rate, world::World};
use coxswain_model::desired::Gang;
use coxswain_operator::{
    options::Options,
    run::{Unsynced, operate},
};
use jiff::{SignedDuration, Timestamp};
use tokio::{sync::oneshot, task::JoinHandle};

use crate::{
    components,
    network::Network,
    plan::{Bound, Settings},
};

/// From the end of a process to its next start: the kubelet backs off.
const RESTART: Duration = Duration::from_secs(10);

/// Cheap to share.
#[derive(Clone)]
pub struct Fleet {
    network: Network,
    settings: Settings,
    slots: Arc<Mutex<Vec<Slot>>>,
    ended: Arc<Mutex<Vec<String>>>,
    caches: Arc<Mutex<BTreeMap<usize, Shared>>>,
    unready: Arc<Mutex<BTreeMap<usize, Unsynced>>>,
    ice: Arc<Mutex<BTreeMap<usize, Ice>>>,
}

/// Of a replica that stands still: who wants to be told when it goes on.
#[derive(Default)]
struct Ice(Vec<Waker>);

struct Slot {
    /// Counts the processes of this replica.
    life: u32,
    running: Option<Running>,
}

struct Running {
    task: JoinHandle<()>,
    stop: Option<oneshot::Sender<()>>,
}

impl Fleet {
    /// So many replicas, none of which runs.
    pub fn new(network: Network, replicas: usize, settings: Settings) -> Self {
        let slots = (0..replicas).map(|_| Slot { life: 0, running: None }).collect();
        Self {
            network,
            settings,
            slots: Arc::new(Mutex::new(slots)),
            ended: Arc::default(),
            caches: Arc::default(),
            unready: Arc::default(),
            ice: Arc::default(),
        }
    }

    /// Starts a replica.
    pub fn start(&self, replica: usize) {
        let life = {
            let mut slots = self.lock();
            slots[replica].life += 1;
            slots[replica].life
        };
        let who = format!("operator-{replica}/{life}");
        let (stop, stopped) = oneshot::channel::<()>();
        let world = Arc::new(self.world(replica, &who));
        let (client, for_lease) = (self.network.client(&who), self.network.client(&format!("{who} lease")));
        let this = self.clone();
        let operator = async move {
            let told_to_end = async {
                if stopped.await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            let ended = operate(this.options(), client, for_lease, told_to_end).await;
            this.has_ended(replica, &who, ended.err());
        };
        let task = tokio::spawn(world.hold(operator));
        self.lock()[replica].running = Some(Running { task, stop: Some(stop) });
    }

    /// As the kernel does: nothing of it goes on, and it tells nobody.
    pub fn kill(&self, replica: usize) {
        self.kill_for(replica, RESTART);
    }

    /// The same, and it is started again so much later.
    pub fn kill_for(&self, replica: usize, pause: Duration) {
        let mut slots = self.lock();
        let Some(running) = slots[replica].running.take() else { return };
        let who = format!("operator-{replica}/{}", slots[replica].life);
        drop(slots);
        running.task.abort();
        self.thaw(replica);
        self.forget(replica);
        self.network.kill(&who);
        self.start_after(replica, pause);
    }

    /// All of them, for good.
    pub fn end(&self) {
        let count = self.lock().len();
        for replica in 0..count {
            self.kill_for(replica, Duration::from_hours(24 * 365));
        }
    }

    /// Nothing of it goes on for so long.
    pub fn freeze(&self, replica: usize, time: Duration) {
        self.ice().entry(replica).or_default();
        let this = self.clone();
        self.network.agenda.after(time, move || this.thaw(replica));
    }

    fn thaw(&self, replica: usize) {
        let waiting = self.ice().remove(&replica);
        waiting.into_iter().flat_map(|ice| ice.0).for_each(Waker::wake);
    }

    fn ice(&self) -> MutexGuard<'_, BTreeMap<usize, Ice>> {
        self.ice.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As the kubelet does first.
    pub fn stop(&self, replica: usize) {
        let stop = self.lock()[replica].running.as_mut().and_then(|running| running.stop.take());
        if let Some(stop) = stop {
            let _ = stop.send(());
        }
    }

    /// Which replica sends under this name.
    pub fn replica(who: &str) -> Option<usize> {
        who.strip_prefix("operator-")?.split('/').next()?.parse().ok()
    }

    /// The process of this name runs.
    pub fn runs(&self, who: &str) -> bool {
        let Some(replica) = Self::replica(who) else { return false };
        self.lock()
            .get(replica)
            .is_some_and(|slot| slot.running.is_some() && who == format!("operator-{replica}/{}", slot.life))
    }

    /// Processes that have ended by themselves, though nobody told them to.
    pub fn ended(&self) -> Vec<String> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What each replica that runs knows of the cluster.
    pub fn caches(&self) -> Vec<(usize, Shared)> {
        let caches = self.caches.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let slots = self.lock();
        caches.into_iter().filter(|(replica, _)| slots[*replica].running.is_some()).collect()
    }

    /// What each replica that runs answers on `/readyz`: what it does not see.
    pub fn unready(&self) -> Vec<(usize, Vec<String>)> {
        let unready = self.unready.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let slots = self.lock();
        let runs = unready.into_iter().filter(|(replica, _)| slots[*replica].running.is_some());
        runs.map(|(replica, unsynced)| (replica, unsynced())).collect()
    }

    /// What its process has shown, and which holds on to it.
    fn forget(&self, replica: usize) {
        self.caches.lock().unwrap_or_else(PoisonError::into_inner).remove(&replica);
        self.unready.lock().unwrap_or_else(PoisonError::into_inner).remove(&replica);
    }

    fn has_ended(&self, replica: usize, who: &str, error: Option<anyhow::Error>) {
        if let Some(error) = error {
            let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
            ended.push(format!("{who}: {error:#}"));
        }
        self.lock()[replica].running = None;
        self.start_after(replica, RESTART);
    }

    fn start_after(&self, replica: usize, pause: Duration) {
        let this = self.clone();
        self.network.agenda.after(pause, move || this.start(replica));
    }

    fn world(&self, replica: usize, who: &str) -> World {
        let (caches, unready, ice) =
            (Arc::clone(&self.caches), Arc::clone(&self.unready), Arc::clone(&self.ice));
        let (network, dice, name) = (self.network.clone(), self.network.dice.clone(), who.to_owned());
        let ahead = self.ahead(replica);
        World {
            now: Arc::new(move || network.now() + ahead),
            dice: Arc::new(move || dice.number(&["world", &name])),
            keys: Arc::new(components::key_pair),
            engine: components::engine(),
            identity: who.to_owned(),
            cores: 2,
            shown: Arc::new(move |what| {
                if let Some(cache) = what.downcast_ref::<Shared>() {
                    caches.lock().unwrap_or_else(PoisonError::into_inner).insert(replica, cache.clone());
                }
                if let Some(unsynced) = what.downcast_ref::<Unsynced>() {
                    let unsynced = Arc::clone(unsynced);
                    unready.lock().unwrap_or_else(PoisonError::into_inner).insert(replica, unsynced);
                }
            }),
            stands_still: Arc::new(move |waker| {
                let mut ice = ice.lock().unwrap_or_else(PoisonError::into_inner);
                let Some(Ice(waiting)) = ice.get_mut(&replica) else { return false };
                waiting.push(waker.clone());
                true
            }),
        }
    }

    /// Of the API server's clock.
    fn ahead(&self, replica: usize) -> SignedDuration {
        let ahead = SignedDuration::from_secs(self.settings.ahead_seconds);
        if replica.is_multiple_of(2) { ahead } else { -ahead }
    }

    /// The time of day for the process of this name.
    pub fn now(&self, who: &str) -> Timestamp {
        self.network.now() + Self::replica(who).map_or(SignedDuration::ZERO, |replica| self.ahead(replica))
    }

    /// No sockets, and the components of this checkout.
    fn options(&self) -> Options {
        let gang = match self.settings.gang.as_str() {
            "" => Gang::Off,
            "volcano" => Gang::Volcano,
            name => Gang::SchedulerPlugins(name.to_owned()),
        };
        let rate = |bound: Bound| Rate { qps: bound.each_second.into(), burst: bound.burst.into() };
        Options {
            plugin_dir: components::folder(),
            gang,
            at_once: self.settings.at_once,
            api_rate: self.settings.requests.map(rate),
            reconcile_rate: self.settings.reconciles.map(rate),
            ..Options::default()
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
