//! Plugins swapped under load: jobs run and jobs come while three plugins are swapped again and again, candidates are
//! broken, and the operator is killed. What runs must not change, and every new job must be rendered by one build alone.

mod builds;
mod load;
mod state;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use coxswain_model::pin::Pin;
use serde::Serialize;

use self::{
    builds::{Build, PLUGINS, Plugins},
    load::Load,
    state::{Jobs, rendered_for},
};
use crate::{audit::now, process::Operator, setting::Setting};

/// Longest for anything that waits for hundreds of pods.
const LIMIT: Duration = Duration::from_mins(5);
/// Nothing is written any more after so long.
const SETTLED: Duration = Duration::from_secs(3);
/// Between two swaps, so that each build gets some jobs.
const PAUSE: Duration = Duration::from_millis(200);
const LIVE: &str = "swap-live";
const NEW: &str = "swap-new";

/// How much of it.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Jobs that run all the time, of two workers each.
    pub live: u32,
    /// Of these, jobs that get a worker meanwhile.
    pub scaled: u32,
    /// Swaps of each plugin.
    pub swaps: u32,
}

/// What was seen.
#[derive(Debug, Serialize)]
pub struct Shown {
    /// Swaps of all plugins.
    pub swaps: usize,
    /// Jobs that came meanwhile.
    pub jobs: usize,
    /// Seconds from the answer to the ConfigMap's write until the first job had been pinned to the build, sorted. A job
    /// comes every 50 ms.
    pub first_use: Vec<f64>,
}

impl Shown {
    /// The share `of` 1 of all swaps took at most so many seconds.
    pub fn quantile(&self, of: f64) -> f64 {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and the count")]
        let at = (of * self.first_use.len() as f64).ceil() as usize;
        self.first_use.get(at.saturating_sub(1)).copied().unwrap_or_default()
    }
}

/// Runs it. An error is what must not happen.
pub async fn run(setting: &Setting, size: Size, told: &dyn Fn(&str)) -> Result<Shown> {
    let plugins = Plugins::read(setting).await?;
    for plugin in PLUGINS {
        plugins.offer(&Build::new(&plugins, plugin, 0)).await?;
    }
    for namespace in [LIVE, NEW] {
        setting.admin.make_namespace(namespace).await?;
    }
    setting.kubelet.release().await?;
    let (operator, _) = Operator::start(setting).await?;
    let live = Jobs::of(LIVE).await?;
    let load = Load::of(setting).await?;
    load.submit_live(size.live).await?;
    let pods = size.live as usize * 3;
    setting.kubelet.until(LIVE, LIMIT, "all live jobs run", |seen| seen.running >= pods).await?;
    setting.log.quiet(LIVE, SETTLED, LIMIT).await?;
    let before = live.versions().await?;
    // Service, ConfigMap, Secret and Job of each, and its pods.
    ensure!(before.len() >= size.live as usize * 7, "only {} objects of {} jobs", before.len(), size.live);
    told(&format!("swap: {} jobs run", size.live));

    let coming = load.begin();
    let mut swaps = Swaps { setting, plugins, pins: Jobs::of(NEW).await?, first_use: Vec::new(), told };
    swaps.pins.follow();
    let operator = swaps.all(size, &load, operator).await?;
    let count = coming.end().await?;
    told(&format!("swap: {} swaps while {count} jobs came", swaps.first_use.len()));

    let pods = count * 2;
    setting.kubelet.until(NEW, LIMIT, "all new jobs run", |seen| seen.running >= pods).await?;
    setting.log.quiet(NEW, SETTLED, LIMIT).await?;
    live_unchanged(&live, &before, size).await?;
    new_ones_of_one_build(&swaps, count).await?;
    operator.kill()?;
    let Swaps { mut first_use, plugins, .. } = swaps;
    first_use.sort_by(f64::total_cmp);
    setting.clear(LIVE).await?;
    setting.clear(NEW).await?;
    plugins.remove().await?;
    Ok(Shown { swaps: first_use.len(), jobs: count, first_use })
}

/// What goes on while jobs come.
struct Swaps<'a> {
    setting: &'a Setting,
    plugins: Plugins,
    pins: Jobs,
    first_use: Vec<f64>,
    told: &'a dyn Fn(&str),
}

impl Swaps<'_> {
    async fn all(&mut self, size: Size, load: &Load, mut operator: Operator) -> Result<Operator> {
        let half = size.scaled / 2;
        for round in 1..=size.swaps {
            for plugin in PLUGINS {
                let last_good = Build::new(&self.plugins, plugin, round - 1);
                if plugin == PLUGINS[0] && round == size.swaps.div_ceil(4) {
                    self.refused(&last_good).await?;
                    (self.told)("swap: a broken candidate was refused, its plugin goes on");
                }
                if plugin == PLUGINS[0] && round == size.swaps.div_ceil(2) {
                    // The same bytes again, and they stand there while the operator comes back with another list of
                    // tuners.
                    self.refused(&last_good).await?;
                    load.scale(0..half).await?;
                    operator.kill()?;
                    operator = Operator::start_with(self.setting, &["--tuners", "nccl-rdma"]).await?.0;
                    let since = now();
                    self.used(&last_good, since).await.context("after the operator was killed")?;
                    (self.told)("swap: killed over broken bytes, and the last good build serves on");
                }
                let took = self.swap(&Build::new(&self.plugins, plugin, round)).await?;
                self.first_use.push(took);
            }
        }
        load.scale(half..size.scaled).await?;
        Ok(operator)
    }

    /// Offers a build and waits until a job has been pinned to it. Returns how long that took.
    async fn swap(&self, build: &Build) -> Result<f64> {
        let written = self.plugins.offer(build).await?;
        let used = self.used(build, 0.0).await?;
        tokio::time::sleep(PAUSE).await;
        Ok(used - written)
    }

    /// Waits until a job that was pinned after `since` is pinned to a build. Returns when that was.
    async fn used(&self, build: &Build, since: f64) -> Result<f64> {
        let begin = now();
        loop {
            if let Some(at) = self.pins.first_pinned(&build.digest, since) {
                return Ok(at);
            }
            if now() - begin > LIMIT.as_secs_f64() {
                bail!("no job was pinned to {} within {} s", build.name(), LIMIT.as_secs());
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Offers broken bytes; jobs that come are pinned to what served before.
    async fn refused(&self, last_good: &Build) -> Result<()> {
        self.plugins.offer_broken(last_good.plugin).await?;
        self.used(last_good, now()).await.map(drop)
    }
}

/// Nothing of a running job has changed but what scaling changes.
async fn live_unchanged(live: &Jobs, before: &BTreeMap<String, String>, size: Size) -> Result<()> {
    let after = live.versions().await?;
    let scaled: BTreeSet<String> = (0..size.scaled).map(load::live_name).collect();
    for (object, version) in before {
        let follows = scaled.iter().any(|job| *object == format!("ConfigMap/{job}-config"));
        ensure!(
            follows || after.get(object) == Some(version),
            "{object} of a running job was changed: version {version}, then {:?}",
            after.get(object)
        );
    }
    for object in after.keys().filter(|object| !before.contains_key(*object)) {
        let is_new_worker = scaled.iter().any(|job| *object == format!("Pod/{job}-worker-2"));
        ensure!(is_new_worker, "{object} came to a running job");
    }
    for job in &scaled {
        let [old, new] = [0, 2].map(|index| live.environment(format!("{job}-worker-{index}")));
        let (old, new) = (old.await?, new.await?);
        ensure!(old == new, "the worker that was added to {job} has another environment: {old}, then {new}");
    }
    Ok(())
}

/// Every job that came has one chain, of builds that served, and was rendered by it.
async fn new_ones_of_one_build(swaps: &Swaps<'_>, count: usize) -> Result<()> {
    let pinned = swaps.pins.pins().await?;
    ensure!(pinned.len() == count, "{count} jobs came, {} have a pin", pinned.len());
    for (job, pins) in &pinned {
        let [on_config, on_launcher] = pins.as_slice() else {
            bail!("{job} has {} pins, not two", pins.len())
        };
        ensure!(on_config == on_launcher, "{job} has two pins: {on_config}, {on_launcher}");
        let pin = Pin::from_annotation(on_config).with_context(|| format!("reading the pin of {job}"))?;
        let number =
            state::number(&pin).with_context(|| format!("the pin of {job} names no build: {on_config}"))?;
        let plugin = PLUGINS.into_iter().find(|plugin| plugin.name == pin.launcher.name);
        let plugin = plugin.with_context(|| format!("{job} is pinned to {}", pin.launcher.name))?;
        let build = Build::new(&swaps.plugins, plugin, number);
        ensure!(
            build.digest == pin.launcher.digest,
            "{job} has the settings of {} and another build",
            build.name()
        );
    }
    for (job, numbers) in swaps.pins.rendered().await? {
        let pin = pinned.get(&job).and_then(|pins| Pin::from_annotation(pins.first()?));
        let number = pin.as_ref().and_then(state::number);
        ensure!(
            rendered_for(&numbers, number),
            "{job} is pinned to build {number:?} and rendered by {numbers:?}"
        );
    }
    Ok(())
}
