//! Plugins as the rest of the operator sees them: which chain a job gets, and what that chain renders.
//!
//! A job is given a chain once ([`Plugins::choose`]) and is rendered by that chain until it ends
//! ([`Plugins::render`]), whatever the cluster's plugins have become meanwhile.

mod floor;
pub mod probes;
mod registry;
pub mod signature;
pub mod source;
mod state;
pub mod trial;
pub mod vectors;
mod wishes;

use std::{
    collections::BTreeMap,
    num::NonZero,
    path::Path,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
    thread::available_parallelism,
};

use anyhow::{Context as _, Result};
use coxswain_model::{
    job::ValidJob,
    pin::{Digest, Pin, PinnedPlugin},
    plan::{Descriptor, Failure, Plan, Violation},
    policy::{self, ClusterPolicy, Granted},
    seen::Seen,
    status::trouble::Trouble,
    view::Setting,
};
use coxswain_sandbox::{Chain, Fault, Link, Plugin, Sandbox};
use tokio::{sync::Semaphore, task::spawn_blocking};

pub use self::wishes::{Answer, follow};
use self::{
    registry::{Active, Registry},
    source::{Candidate, MAX_COMPONENT},
    state::{Outcome, Store},
};

/// Why there is no plan for a job.
#[derive(Debug)]
pub enum NoPlan {
    /// Something has to be changed by a person: a condition, no retries.
    Trouble(Trouble),
    /// The plugin namespace could not be read, or this process is ending: try again.
    Unavailable(anyhow::Error),
}

impl From<Trouble> for NoPlan {
    fn from(trouble: Trouble) -> Self {
        Self::Trouble(trouble)
    }
}

/// The plugins of this operator.
pub struct Plugins {
    sandbox: Sandbox,
    registry: RwLock<Registry>,
    outcomes: tokio::sync::Mutex<BTreeMap<String, Outcome>>,
    store: Option<Store>,
    leading: AtomicBool,
    /// Plugin calls at once: one that uses up its whole budget must leave cores to the others.
    calls: Arc<Semaphore>,
    rules: Rules,
}

/// What the administrator set for all plugins by flags.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// `--tuners`, in order.
    pub tuners: Vec<String>,
    /// `--cluster-domain`.
    pub cluster_domain: Option<String>,
    /// What plans may touch beyond the fixed rules.
    pub policy: ClusterPolicy,
}

// === impl Plugins ===

impl Plugins {
    /// Without a store (no cluster), only what [`Plugins::load_floor`] and [`Plugins::offer`] bring.
    pub fn new(rules: Rules, store: Option<Store>) -> Result<Self> {
        let cores = available_parallelism().map_or(2, NonZero::get).max(2);
        Ok(Self {
            sandbox: Sandbox::new().context("starting the plugin sandbox")?,
            registry: RwLock::default(),
            outcomes: tokio::sync::Mutex::default(),
            store,
            leading: AtomicBool::new(false),
            calls: Arc::new(Semaphore::new(cores)),
            rules,
        })
    }

    /// The same over a cluster's plugin namespace.
    pub fn in_cluster(rules: Rules, client: kube::Client, namespace: &str) -> Result<Self> {
        Self::new(rules, Some(Store::new(client, namespace)))
    }

    /// Loads the image's components. One that is broken is an error: the image is.
    pub async fn load_floor(&self, dir: &Path) -> Result<()> {
        for candidate in floor::read(dir)? {
            let name = candidate.name.clone();
            let plugin = self.load(candidate.clone()).await.map_err(anyhow::Error::msg);
            let plugin = plugin.with_context(|| format!("loading plugin {name} of {}", dir.display()))?;
            tracing::info!(plugin = name, digest = %plugin.digest(), "plugin of the image loaded");
            self.save_copy_if_leading(&candidate).await?;
            self.write(|registry| registry.add_floor(&name, plugin, candidate.bytes));
        }
        Ok(())
    }

    /// Loads one component that serves until the process ends, with the administrator's settings; for tools.
    pub async fn load_file(
        &self,
        name: &str,
        bytes: Vec<u8>,
        settings: BTreeMap<String, String>,
    ) -> Result<Plugin> {
        let candidate = Candidate::of(name, bytes);
        let plugin = self.load(candidate.clone()).await.map_err(anyhow::Error::msg)?;
        let plugin = self.check_settings(plugin, &settings).await.map_err(anyhow::Error::msg)?;
        let active = Active { plugin: plugin.clone(), bytes: candidate.bytes, settings };
        self.write(|registry| registry.activate(name, active));
        Ok(plugin)
    }

    /// Everything that a candidate has to pass before new jobs get it. On any failure the plugin that serves now
    /// goes on serving.
    async fn offer(&self, candidate: Candidate) -> Result<Digest, String> {
        let Candidate { name, bytes, digest, settings } = candidate.clone();
        if let Some(reason) = self.outcomes.lock().await.get(&name).and_then(|o| o.refused.get(&digest)) {
            return Err(reason.clone());
        }
        let loaded = match self.load(candidate.clone()).await {
            Ok(plugin) => self.check_settings(plugin, &settings).await,
            refused => refused,
        };
        let plugin = match loaded {
            Ok(plugin) => plugin,
            Err(reason) => {
                self.note_refusal(&name, &digest, &reason).await;
                return Err(reason);
            }
        };
        // The copy first: a job may be pinned to the digest the moment after the switch.
        self.save_copy_if_leading(&candidate).await.map_err(|error| format!("{error:#}"))?;
        self.write(|registry| registry.activate(&name, Active { plugin, bytes, settings }));
        self.note_active(&name).await;
        Ok(digest)
    }

    async fn load(&self, candidate: Candidate) -> Result<Plugin, String> {
        let sandbox = self.sandbox.clone();
        let load = move || sandbox.load(&candidate.name, &candidate.bytes, MAX_COMPONENT);
        match spawn_blocking(load).await {
            Ok(loaded) => loaded.map_err(|refused| refused.to_string()),
            Err(panicked) => Err(format!("the component made the compiler fail: {panicked}")),
        }
    }

    /// The administrator's settings over the declared defaults, as the plugin itself judges them. Nothing is
    /// recorded against the digest for a wrong setting: the bytes are not at fault.
    async fn check_settings(
        &self,
        plugin: Plugin,
        given: &BTreeMap<String, String>,
    ) -> Result<Plugin, String> {
        let settings = as_settings(given);
        let judge = plugin.clone();
        let violations = match spawn_blocking(move || judge.check_settings(&settings)).await {
            Ok(Ok(violations)) => violations,
            Ok(Err(fault)) => return Err(format!("check-settings: {fault}")),
            Err(panicked) => return Err(format!("check-settings: {panicked}")),
        };
        let words: Vec<String> = violations.iter().map(|v| format!("{}: {}", v.path, v.text)).collect();
        if words.is_empty() { Ok(plugin) } else { Err(format!("data.settings: {}", words.join("; "))) }
    }

    /// A chain for a job that has none yet.
    pub fn choose(&self, job: &ValidJob) -> Result<Pin, Trouble> {
        let domain = self.rules.cluster_domain.as_deref();
        self.read(|registry| registry.choose(job, &self.rules.tuners, domain))
    }

    /// What the job's chain wants for it, checked. `gated` says whether the launcher waits for its workers.
    pub async fn render(
        &self,
        job: &ValidJob,
        pin: &Pin,
        seen: &Seen,
        gated: bool,
    ) -> Result<Granted, NoPlan> {
        let (plan, chain) = self.plan(job, pin, seen, gated).await?;
        self.grant(job, &plan, &chain).map_err(Into::into)
    }

    /// What the job's chain wants for it, not yet checked, and the chain.
    pub async fn plan(
        &self,
        job: &ValidJob,
        pin: &Pin,
        seen: &Seen,
        gated: bool,
    ) -> Result<(Plan, Chain), NoPlan> {
        let chain = self.chain(pin).await?;
        let view = job.view(gated);
        let members = job.members(seen);
        let _permit = self.calls.acquire().await.map_err(|closed| NoPlan::Unavailable(closed.into()))?;
        let called = spawn_blocking(move || chain.plan(&view, &members).map(|plan| (plan, chain)));
        match called.await {
            Ok(result) => result.map_err(|fault| trouble(pin, fault).into()),
            Err(panicked) => {
                let (plugin, fault) = (pin.summary(), panicked.to_string());
                Err(Trouble::PluginFailed { plugin, fault }.into())
            }
        }
    }

    /// What the policy grants of a chain's plan.
    pub fn grant(&self, job: &ValidJob, plan: &Plan, chain: &Chain) -> Result<Granted, Trouble> {
        let links = std::iter::once(&chain.launcher).chain(&chain.tuners);
        let descriptors: Vec<&Descriptor> = links.map(|link| link.plugin.descriptor()).collect();
        policy::grant(job, plan, &descriptors, &self.rules.policy).map_err(Trouble::PlanRefused)
    }

    async fn chain(&self, pin: &Pin) -> Result<Chain, NoPlan> {
        let launcher = self.link(&pin.launcher).await?;
        let mut tuners = Vec::new();
        for tuner in &pin.tuners {
            tuners.push(self.link(tuner).await?);
        }
        Ok(Chain { launcher, tuners })
    }

    /// A pin is honoured only for digests that the operator has admitted: tenants can write the object that
    /// carries it.
    async fn link(&self, pinned: &PinnedPlugin) -> Result<Link, NoPlan> {
        let settings = as_settings(&pinned.settings);
        if let Some(plugin) = self.read(|registry| registry.component(&pinned.digest)) {
            return Ok(Link { plugin, settings });
        }
        let missing = || Trouble::PinLost {
            why: format!(
                "the job is pinned to plugin {} sha256:{}, which this operator has never admitted or has lost",
                pinned.name,
                pinned.digest.short()
            ),
        };
        let store = self.store.as_ref().ok_or_else(missing)?;
        let copy = store.copy(&pinned.digest).await.map_err(NoPlan::Unavailable)?;
        let (name, bytes) = copy.ok_or_else(missing)?;
        let plugin = self.load(Candidate::of(&name, bytes)).await.map_err(|_| missing())?;
        self.write(|registry| registry.keep(plugin.clone()));
        Ok(Link { plugin, settings })
    }

    /// `openmpi 0.1.0 (sha256:0123456789ab), …`: what an event about a pin says.
    pub fn describe(&self, pin: &Pin) -> String {
        let one = |pinned: &PinnedPlugin| {
            let plugin = self.read(|registry| registry.component(&pinned.digest));
            let version = plugin.map(|plugin| plugin.descriptor().version.clone()).unwrap_or_default();
            format!("{} {version} (sha256:{})", pinned.name, pinned.digest.short())
        };
        pin.plugins().map(one).collect::<Vec<_>>().join(", ")
    }

    fn read<T>(&self, look: impl FnOnce(&Registry) -> T) -> T {
        look(&self.registry.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, change: impl FnOnce(&mut Registry) -> T) -> T {
        change(&mut self.registry.write().unwrap_or_else(PoisonError::into_inner))
    }
}

// === what is kept across restarts ===

impl Plugins {
    /// Called when this process has become the leader, before the first pass: everything that a job may be
    /// pinned to has its copy.
    pub async fn lead(&self) -> Result<()> {
        self.leading.store(true, Ordering::Release);
        let active: Vec<(String, Active)> = self.read(|registry| {
            registry.all().map(|(name, active)| (name.to_owned(), active.clone())).collect()
        });
        for (name, active) in active {
            let store = self.store.as_ref().context("a leader has a cluster")?;
            store.save_copy(&name, active.plugin.digest(), &active.bytes).await?;
            self.note_active(&name).await;
        }
        Ok(())
    }

    async fn save_copy_if_leading(&self, candidate: &Candidate) -> Result<()> {
        match &self.store {
            Some(store) if self.leading.load(Ordering::Acquire) => {
                store.save_copy(&candidate.name, &candidate.digest, &candidate.bytes).await
            }
            _ => Ok(()),
        }
    }

    /// The last good component of a plugin, as an earlier process left it.
    async fn last_good(&self, plugin: &str) -> Option<Active> {
        let outcome = self.outcomes.lock().await.get(plugin)?.clone();
        let settings = outcome.settings.clone();
        let pinned = PinnedPlugin { name: plugin.to_owned(), digest: outcome.active?, settings };
        let plugin = self.link(&pinned).await.ok()?.plugin;
        let bytes = self.store.as_ref()?.copy(plugin.digest()).await.ok()??.1;
        Some(Active { plugin, bytes, settings: outcome.settings })
    }

    async fn note_refusal(&self, plugin: &str, digest: &Digest, reason: &str) {
        let mut outcomes = self.outcomes.lock().await;
        let outcome = outcomes.entry(plugin.to_owned()).or_default();
        outcome.refused.insert(digest.clone(), reason.to_owned());
        self.save_outcome(plugin, outcome).await;
    }

    async fn note_active(&self, plugin: &str) {
        let now = self.read(|registry| registry.active(plugin).cloned());
        let mut outcomes = self.outcomes.lock().await;
        let outcome = outcomes.entry(plugin.to_owned()).or_default();
        let (digest, settings) = match now {
            Some(active) => (Some(active.plugin.digest().clone()), active.settings),
            None => (None, BTreeMap::new()),
        };
        if outcome.active != digest || outcome.settings != settings {
            outcome.active = digest;
            outcome.settings = settings;
            self.save_outcome(plugin, outcome).await;
        }
    }

    /// A failure costs only that the next process does not know; it is logged and written again with the next
    /// change.
    async fn save_outcome(&self, plugin: &str, outcome: &Outcome) {
        let Some(store) = &self.store else { return };
        if self.leading.load(Ordering::Acquire)
            && let Err(error) = store.save_outcome(plugin, outcome).await
        {
            tracing::warn!(plugin, "{error:#}");
        }
    }
}

fn as_settings(given: &BTreeMap<String, String>) -> Vec<Setting> {
    given.iter().map(|(key, value)| Setting { key: key.clone(), value: value.clone() }).collect()
}

fn trouble(pin: &Pin, fault: coxswain_sandbox::ChainFault) -> Trouble {
    let plugin = fault.plugin;
    let digest = pin.plugins().find(|pinned| pinned.name == plugin).map(|pinned| pinned.digest.short());
    let plugin = format!("{plugin}@{}", digest.unwrap_or_default());
    match fault.fault {
        Fault::Refused(Failure::Invalid(violations)) => Trouble::PlanRefused(violations),
        Fault::Refused(Failure::Unsupported(words)) => Trouble::PlanRefused(vec![Violation {
            path: "spec.mpiImplementation".into(),
            text: format!("plugin {plugin} cannot serve this job: {words}"),
        }]),
        Fault::Broken(how) => Trouble::PluginFailed { plugin, fault: how.to_string() },
    }
}
