//! A job's file to everything that the operator would make of it, for the tools that need no cluster.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use coxswain_model::{
    api::{MpiJob, capabilities, resource},
    claims::{ClaimFacts, Facts, Source},
    desired::{self, Desired, Gang},
    explain::{self, Explained},
    job::{Group, ValidJob, Verdict, violation},
    observed::ObservedState,
    pin::Pin,
    plan::Plan,
    policy::{ClusterPolicy, Granted},
    status::RenderError,
};
use coxswain_sandbox::Plugin;
use serde_json::Value;

use super::plugin::component;
use crate::flags::either;
use coxswain_plugins::{NoPlan, Plugins, Rules, trial};

/// What serves beside the plugins that a tool names itself, and where.
#[derive(Debug, Args)]
pub struct Around {
    /// Tuner plugin, a component file; may be given several times, in order.
    #[arg(long, value_name = "FILE")]
    tuner: Vec<PathBuf>,
    /// Directory of components that serve where no --plugin is given.
    #[arg(long, value_name = "DIR", default_value = "/plugins")]
    plugin_dir: PathBuf,
    /// As the operator's flag.
    #[arg(long, default_value = "")]
    cluster_domain: String,
    /// As the operator's flag.
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    #[arg(value_parser = [capabilities::CAPABILITY_SHARED_MEMORY, capabilities::CAPABILITY_LOCK_MEMORY])]
    allow_capabilities: Vec<String>,
    /// What `--allow-capabilities` was called before; read for one more release, where that one is absent.
    #[arg(long, hide = true, value_name = "KINDS", value_delimiter = ',')]
    #[arg(value_parser = [capabilities::CAPABILITY_SHARED_MEMORY, capabilities::CAPABILITY_LOCK_MEMORY])]
    allow_wants: Vec<String>,
}

/// A job and what it becomes.
pub struct Rendering {
    /// The job.
    pub job: ValidJob,
    /// The chain that rendered it.
    pub pin: Pin,
    plan: Plan,
    /// What the policy let through.
    pub granted: Granted,
    /// Annotations of the job that have no effect.
    pub ignored: Vec<String>,
    desired: Desired,
}

impl Around {
    fn domain(&self) -> Option<&str> {
        Some(self.cluster_domain.as_str()).filter(|domain| !domain.is_empty())
    }

    /// The job of a file, and what the claims' objects beside it say; `-` is standard input.
    pub fn job(&self, file: &Path) -> Result<(ValidJob, ClaimFacts)> {
        let (raw, claims) = read(file)?;
        match ValidJob::parse(&raw, self.domain()) {
            Verdict::Valid(job) => Ok((*job, claims)),
            Verdict::Invalid(errors) => bail!("{}: {}", file.display(), violation::aggregate(&errors)),
            Verdict::NotOurs => bail!("the job is managed by another controller (spec.runPolicy.managedBy)"),
        }
    }

    /// Plugins with these tuners loaded, and nothing else yet.
    pub async fn plugins(&self) -> Result<Plugins> {
        if !self.allow_wants.is_empty() {
            eprintln!(
                "coxswain: --allow-wants is called --allow-capabilities now; the old name is read for one more release"
            );
        }
        let mut rules = Rules {
            cluster_domain: self.domain().map(str::to_owned),
            policy: ClusterPolicy {
                capabilities: either(&self.allow_capabilities, &self.allow_wants),
                ..ClusterPolicy::default()
            },
            ..Rules::default()
        };
        for tuner in &self.tuner {
            rules.tuners.push(name(tuner)?);
        }
        let plugins = Plugins::new(rules)?;
        for tuner in &self.tuner {
            load(&plugins, tuner, None, BTreeMap::new()).await?;
        }
        Ok(plugins)
    }

    /// Loads what the directory holds; names that are taken stay.
    pub async fn load_bundled(&self, plugins: &Plugins) -> Result<()> {
        plugins.load_bundled(&self.plugin_dir).await
    }
}

/// Loads a component under its file's name, or the one that is given.
pub async fn load(
    plugins: &Plugins,
    file: &Path,
    named: Option<&str>,
    settings: BTreeMap<String, String>,
) -> Result<Plugin> {
    let name = named.map_or_else(|| name(file), |name| Ok(name.to_owned()))?;
    let loaded = plugins.load_file(&name, component::bytes(file)?, settings).await;
    loaded.with_context(|| format!("loading {}", file.display()))
}

/// A plugin's name is its file's.
fn name(file: &Path) -> Result<String> {
    component::name(file).with_context(|| format!("{} has no file name", file.display()))
}

impl Rendering {
    /// Chooses a chain and renders. Of `claims`, those count that the job's pods name.
    ///
    /// # Errors
    ///
    /// The inner one tells the job's user why there is nothing; the outer one is technical.
    pub async fn of(
        job: ValidJob,
        mut claims: ClaimFacts,
        plugins: &Plugins,
    ) -> Result<Result<Self, RenderError>> {
        let named: BTreeSet<String> = job.claim_sources().iter().map(Source::key).collect();
        claims.retain(|key, _| named.contains(key));
        let pin = match plugins.choose(&job) {
            Ok(pin) => Pin { claims, ..pin },
            Err(render_error) => return Ok(Err(render_error)),
        };
        let gated = desired::launcher::gated(&job, &Gang::Off);
        let (plan, chain) = match plugins.plan(&job, &pin, &ObservedState::default(), gated).await {
            Ok(planned) => planned,
            Err(NoPlan::RenderError(render_error)) => return Ok(Err(render_error)),
            Err(NoPlan::Unavailable(error)) => return Err(error),
        };
        Ok(plugins.grant(&job, &plan, &chain).map(|granted| {
            let ignored = plugins.ignored(&job, &pin);
            let desired = desired::objects(
                &job,
                &granted,
                &pin,
                &Gang::Off,
                &BTreeMap::new(),
                &ObservedState::default(),
            );
            Self { job, pin, plan, granted, ignored, desired }
        }))
    }

    /// Every object, in the order of their creation.
    pub fn objects(&self) -> Result<Vec<Value>> {
        let Desired { service, config, files, secret, pod_group, workers, launcher } = &self.desired;
        let mut objects = vec![service.clone(), config.clone()];
        objects.extend(files.clone());
        objects.push(secret.clone());
        objects.extend(pod_group.as_ref().map(|(_, group)| group.clone()));
        for template in workers {
            let count = self.job.groups().of(template.role()).map_or(0, Group::replicas);
            for index in 0..count {
                let reading = || format!("reading {}", template.object(index));
                objects.push(serde_json::from_str(&template.manifest(index)).with_context(reading)?);
            }
        }
        objects.push(launcher.clone());
        Ok(objects)
    }

    /// Who set what.
    pub fn explain(&self) -> Vec<Explained> {
        explain::explain(&self.job, &self.plan, &self.granted, &self.desired)
    }
}

/// For a person.
pub fn words(render_error: &RenderError) -> String {
    format!("{}: {}", render_error.reason(), render_error.message())
}

/// The job of a file, and the facts of the claims beside it.
fn read(file: &Path) -> Result<(MpiJob, ClaimFacts)> {
    let shown = file.display();
    let text = if file == Path::new("-") {
        io::read_to_string(io::stdin()).context("reading the job from standard input")?
    } else {
        std::fs::read_to_string(file).with_context(|| format!("reading {shown}"))?
    };
    let documents: Vec<Value> =
        serde_saphyr::from_multiple(&text).with_context(|| format!("reading {shown} as YAML"))?;
    let is_job = |one: &Value| one.get("kind").is_some_and(|kind| kind == resource::KIND);
    let (mut jobs, others): (Vec<Value>, Vec<Value>) =
        if documents.len() == 1 { (documents, vec![]) } else { documents.into_iter().partition(is_job) };
    let job = jobs.pop().filter(|_| jobs.is_empty());
    let raw = job.with_context(|| format!("reading {shown}: it must hold one {}", resource::KIND))?;
    let job = trial::raw_job(raw).map_err(anyhow::Error::msg).with_context(|| format!("reading {shown}"))?;
    let facts = |object: &Value| Some((Source::described_by(object)?.key(), Facts::read(object)));
    Ok((job, others.iter().filter_map(facts).collect()))
}
