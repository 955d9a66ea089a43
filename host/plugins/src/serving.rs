//! Plugins as the rest of the operator sees them: which chain a job gets, and what that chain renders.
//!
//! A job is given a chain once ([`Plugins::choose`]) and is rendered by that chain until it ends
//! ([`Plugins::render`]), whatever the cluster's plugins have become meanwhile.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use anyhow::{Context as _, Result};
use coxswain_model::{
    job::ValidJob,
    observed::ObservedState,
    pin::{Digest, Pin, PinnedPlugin},
    plan::{Failure, Plan, Violation},
    policy::{self, ClusterPolicy, Granted},
    status::RenderError,
};
use coxswain_sandbox::{Chain, Child, Compiler, Fault, Link, Plugin, Sandbox};
use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::{
    bundled,
    copies::Copies,
    jobs::LiveJobs,
    load::{Load, Loader},
    metrics::PluginMetrics,
    registry::{Active, Registry, not_allowed},
    reviews::Reviews,
    settings::as_settings,
    source::Candidate,
    status_cache::StatusCache,
    store::Store,
    trust::Trust,
    verdict::Refusal,
};
use coxswain_cluster::{leadership::Leadership, metrics, world};

/// The subcommand that compiles a plugin from standard input to standard output.
pub const COMPILE: &str = "compile-plugin";

/// Why there is no plan for a job.
#[derive(Debug)]
pub enum NoPlan {
    /// Something has to be changed by a person: a condition, no retries.
    RenderError(RenderError),
    /// The plugin namespace could not be read, or this process is ending: try again.
    Unavailable(anyhow::Error),
}

impl From<RenderError> for NoPlan {
    fn from(render_error: RenderError) -> Self {
        Self::RenderError(render_error)
    }
}

/// The plugins of this operator.
pub struct Plugins {
    pub(crate) sandbox: Arc<dyn Load>,
    pub(crate) metrics: PluginMetrics,
    pub(crate) registry: RwLock<Registry>,
    pub(crate) statuses: tokio::sync::Mutex<StatusCache>,
    pub(crate) copies: tokio::sync::Mutex<Copies>,
    /// Held while a copied component is compiled. After a start all jobs want the same few at once: each is compiled once,
    /// and a candidate waits for one of them at most.
    compiling_copy: tokio::sync::Mutex<()>,
    pub(crate) store: Option<Store>,
    pub(crate) jobs: Option<LiveJobs>,
    pub(crate) leadership: Leadership,
    /// The term in which this process writes; 0 is none.
    pub(crate) term: AtomicU64,
    pub(crate) reviews: mpsc::Sender<oneshot::Sender<Result<()>>>,
    /// Plugin calls at once: one that uses up its whole budget must leave cores to the others.
    pub(crate) calls: Arc<Semaphore>,
    pub(crate) rules: Rules,
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
    /// Whose signature plugins need.
    pub trust: Trust,
}

/// The cluster as plugins need it.
pub struct InCluster {
    /// Copies and statuses.
    pub store: Store,
    /// Whom a swap concerns.
    pub jobs: LiveJobs,
    /// Who leads may write.
    pub leadership: Leadership,
}

// === impl Plugins ===

impl Plugins {
    /// Without a cluster: only what [`Plugins::load_bundled`] and [`Plugins::load_file`] bring.
    pub fn new(rules: Rules) -> Result<Self> {
        let metrics = metrics::Registry::default();
        Self::with(rules, None, Compiler::Here, &metrics).map(|(plugins, _)| plugins)
    }

    /// Over a cluster's plugin namespace; compiles in processes of their own; counts in `metrics`. The reviews are for
    /// [`follow`].
    pub fn in_cluster(
        rules: Rules,
        cluster: InCluster,
        metrics: &metrics::Registry,
    ) -> Result<(Self, Reviews)> {
        // Not by a path: this very program, also where the file was replaced meanwhile.
        let child = Child { program: "/proc/self/exe".into(), words: vec![COMPILE.to_owned()] };
        Self::with(rules, Some(cluster), Compiler::Child(child), metrics)
    }

    fn with(
        rules: Rules,
        cluster: Option<InCluster>,
        compiler: Compiler,
        metrics: &metrics::Registry,
    ) -> Result<(Self, Reviews)> {
        let cores = world::cores().max(2);
        let plugin_metrics = PluginMetrics::new(metrics).context("setting up the metrics of plugins")?;
        let observer = plugin_metrics.observer();
        let sandbox = match world::engine::<Loader>() {
            Some(loader) => Arc::clone(&loader.0),
            None => Arc::new(Sandbox::with(compiler, observer).context("starting the plugin sandbox")?),
        };
        let (reviews, asked) = mpsc::channel(1);
        let (store, jobs, leadership) = match cluster {
            Some(InCluster { store, jobs, leadership }) => (Some(store), Some(jobs), leadership),
            None => (None, None, Leadership::default()),
        };
        let plugins = Self {
            sandbox,
            metrics: plugin_metrics,
            registry: RwLock::default(),
            statuses: tokio::sync::Mutex::default(),
            copies: tokio::sync::Mutex::default(),
            compiling_copy: tokio::sync::Mutex::default(),
            store,
            jobs,
            leadership,
            term: AtomicU64::new(0),
            reviews,
            calls: Arc::new(Semaphore::new(cores)),
            rules,
        };
        Ok((plugins, Reviews(asked)))
    }

    /// Only who holds the lease, and has taken over in this very term what the leader before left, writes.
    pub(crate) fn leads(&self) -> bool {
        self.leadership.leads_in(self.term.load(Ordering::Acquire))
    }

    pub(crate) fn lead_from_now(&self, term: u64) {
        self.term.store(term, Ordering::Release);
    }

    /// The term is over: from now on this process decides for itself alone, and writes nothing.
    pub fn follow_only(&self) {
        self.term.store(0, Ordering::Release);
    }

    /// Counts what jobs are pinned to, for metrics.
    pub fn count_pins(&self) {
        if let Some(jobs) = &self.jobs {
            let name = |digest: &Digest| {
                self.read(|registry| registry.component(digest).map(|plugin| plugin.name().to_owned()))
            };
            self.metrics.count(&jobs.pinned(), name);
        }
    }

    /// Loads the image's components. One that is broken is an error: the image is.
    pub async fn load_bundled(&self, dir: &Path) -> Result<()> {
        for candidate in bundled::read(dir)? {
            let name = candidate.name.clone();
            self.add_bundled(candidate)
                .await
                .with_context(|| format!("loading plugin {name} of {}", dir.display()))?;
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
        let candidate = Candidate { settings, ..Candidate::of(name, bytes) };
        let plugin = self.load(&candidate).await.map_err(|refusal| anyhow::anyhow!(refusal.why))?;
        let checked = self.check_settings(&plugin, &candidate.settings).await;
        checked.map_err(|refusal| anyhow::anyhow!(refusal.why))?;
        let active = Active { plugin: plugin.clone(), candidate: Arc::new(candidate) };
        self.write(|registry| registry.activate(name, active));
        Ok(plugin)
    }

    async fn add_bundled(&self, candidate: Candidate) -> Result<()> {
        let plugin = self.load(&candidate).await.map_err(|refusal| anyhow::anyhow!(refusal.why))?;
        let name = candidate.name.clone();
        tracing::info!(plugin = name, digest = %plugin.digest(), "plugin of the image loaded");
        let active = Active { plugin, candidate: Arc::new(candidate) };
        self.write(|registry| registry.add_bundled(&name, active));
        self.metrics.serves(&name, self.read(|registry| registry.active(&name).cloned()).as_ref());
        Ok(())
    }

    /// A chain for a job that has none yet.
    pub fn choose(&self, job: &ValidJob) -> Result<Pin, RenderError> {
        let domain = self.rules.cluster_domain.as_deref();
        self.read(|registry| registry.choose(job, &self.rules.tuners, domain))
    }

    /// What the job's chain wants for it, checked. `gated` says whether the launcher waits for its workers.
    pub async fn render(
        &self,
        job: &ValidJob,
        pin: &Pin,
        observed: &ObservedState,
        gated: bool,
    ) -> Result<Granted, NoPlan> {
        let (plan, chain) = self.plan(job, pin, observed, gated).await?;
        self.grant(job, &plan, &chain).map_err(Into::into)
    }

    /// What the job's chain wants for it, not yet checked, and the chain.
    pub async fn plan(
        &self,
        job: &ValidJob,
        pin: &Pin,
        observed: &ObservedState,
        gated: bool,
    ) -> Result<(Plan, Chain), NoPlan> {
        let chain = self.chain(job.names().namespace(), pin).await?;
        let view = job.view_pinned(pin, gated);
        let members = job.members(observed);
        let _permit = self.calls.acquire().await.map_err(|closed| NoPlan::Unavailable(closed.into()))?;
        let called = world::compute(move || chain.plan(&view, &members).map(|plan| (plan, chain)));
        match called.await {
            Ok(result) => result.map_err(|fault| render_error(job, pin, fault).into()),
            Err(panicked) => {
                let (plugin, fault) = (pin.summary(), panicked.to_string());
                Err(RenderError::PluginFailed { plugin, fault }.into())
            }
        }
    }

    /// What the policy grants of a chain's plan.
    pub fn grant(&self, job: &ValidJob, plan: &Plan, chain: &Chain) -> Result<Granted, RenderError> {
        policy::grant(job, plan, &chain.descriptors(), &self.rules.policy).map_err(RenderError::PlanRefused)
    }

    /// Some component of the pin is not at hand: [`Plugins::fetch`] it, which takes a while, before rendering.
    pub fn lacks(&self, pin: &Pin) -> bool {
        self.read(|registry| pin.plugins().any(|pinned| registry.component(&pinned.digest).is_none()))
    }

    /// Brings the components of the pin that are not at hand.
    pub async fn fetch(&self, pin: &Pin) -> Result<(), NoPlan> {
        for pinned in pin.plugins() {
            if self.read(|registry| registry.component(&pinned.digest).is_none()) {
                self.copied(pinned).await?;
            }
        }
        Ok(())
    }

    pub(crate) async fn chain(&self, namespace: &str, pin: &Pin) -> Result<Chain, NoPlan> {
        let launcher = self.link(namespace, &pin.launcher).await?;
        let mut tuners = Vec::new();
        for tuner in &pin.tuners {
            tuners.push(self.link(namespace, tuner).await?);
        }
        Ok(Chain { launcher, tuners })
    }

    /// A pin is honoured only for components that the operator has admitted, and for namespaces that may use them:
    /// tenants can write the object that carries it. What counts is the component's own name.
    pub(crate) async fn link(&self, namespace: &str, pinned: &PinnedPlugin) -> Result<Link, NoPlan> {
        let settings = as_settings(&pinned.settings);
        let at_hand = self.read(|registry| registry.component(&pinned.digest));
        let plugin = match at_hand {
            Some(plugin) => plugin,
            None => self.copied(pinned).await?,
        };
        if !self.read(|registry| registry.allows(plugin.name(), namespace)) {
            return Err(not_allowed(plugin.name(), namespace).into());
        }
        Ok(Link { plugin, settings })
    }

    /// A component of which there is a copy alone.
    pub(crate) async fn copied(&self, pinned: &PinnedPlugin) -> Result<Plugin, NoPlan> {
        let lost = |how: &str| RenderError::PinLost {
            why: format!(
                "the job is pinned to plugin {} sha256:{}, {how}",
                pinned.name,
                pinned.digest.short()
            ),
        };
        let missing = || lost("which this operator has never admitted or has lost");
        let store = self.store.as_ref().ok_or_else(missing)?;
        let copy = store.copy(&pinned.digest).await.map_err(NoPlan::Unavailable)?;
        let copy = copy.ok_or_else(missing)?;
        self.rules.trust.verify(&copy).map_err(|why| lost(&format!("whose copy counts no more: {why}")))?;
        let _alone = self.compiling_copy.lock().await;
        let plugin = match self.load(&copy).await {
            Ok(plugin) => plugin,
            Err(Refusal { bytes: true, .. }) => return Err(missing().into()),
            Err(Refusal { why, .. }) => return Err(NoPlan::Unavailable(anyhow::anyhow!(why))),
        };
        self.write(|registry| registry.keep(plugin.clone()));
        Ok(plugin)
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

    /// What the job's annotations say in vain, as its chain goes.
    pub fn ignored(&self, job: &ValidJob, pin: &Pin) -> Vec<String> {
        let plugin = |pinned: &PinnedPlugin| self.read(|registry| registry.component(&pinned.digest));
        let chain: Vec<_> =
            pin.plugins().filter_map(|pinned| Some((pinned.name.as_str(), plugin(pinned)?))).collect();
        let described: Vec<_> = chain.iter().map(|(name, plugin)| (*name, plugin.descriptor())).collect();
        job.options().ignored(&described)
    }

    pub(crate) fn read<T>(&self, look: impl FnOnce(&Registry) -> T) -> T {
        look(&self.registry.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn write<T>(&self, change: impl FnOnce(&mut Registry) -> T) -> T {
        change(&mut self.registry.write().unwrap_or_else(PoisonError::into_inner))
    }
}

fn render_error(job: &ValidJob, pin: &Pin, fault: coxswain_sandbox::ChainFault) -> RenderError {
    let name = fault.plugin;
    let digest = pin.plugins().find(|pinned| pinned.name == name).map(|pinned| pinned.digest.short());
    let plugin = format!("{name}@{}", digest.unwrap_or_default());
    match fault.fault {
        Fault::Refused(Failure::Invalid(violations)) => RenderError::refused_by(&name, job, violations),
        Fault::Refused(Failure::Unsupported(words)) => RenderError::PlanRefused(vec![Violation {
            path: "spec.mpiImplementation".into(),
            text: format!("plugin {plugin} cannot serve this job: {words}"),
        }]),
        Fault::Broken(how) => RenderError::PluginFailed { plugin, fault: how.to_string() },
    }
}
