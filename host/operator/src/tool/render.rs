//! `coxswain render JOB.yaml --plugin FILE.wasm`: every object of a job, made by the same code as in the
//! operator.

use std::{
    collections::BTreeMap,
    io::{self, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};
use coxswain_model::{
    api::{MpiJob, wire},
    desired::{self, Desired, Gang},
    job::{ValidJob, Verdict, violation},
    policy::ClusterPolicy,
    seen::Seen,
    status::trouble::Trouble,
};
use serde_json::Value;

use crate::plugins::{NoPlan, Plugins, Rules, trial};

/// Arguments of `render`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The job, YAML or JSON; `-` reads standard input.
    job: PathBuf,
    /// Launcher plugin that renders it, a component file. Without it, the plugins of --plugin-dir serve as in
    /// the operator.
    #[arg(long, value_name = "FILE")]
    plugin: Option<PathBuf>,
    /// Tuner plugin; may be given several times, in order.
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
    #[arg(value_parser = [wire::WANT_SHARED_MEMORY, wire::WANT_LOCK_MEMORY])]
    allow_wants: Vec<String>,
    /// Form of the output.
    #[arg(long, short, value_enum, default_value_t = Format::Yaml)]
    output: Format,
}

/// Form of the output.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// One document an object.
    Yaml,
    /// One line an object.
    Json,
}

/// Renders and prints.
pub async fn run(arguments: Arguments) -> Result<()> {
    let objects = objects(&arguments).await?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    for object in objects {
        match arguments.output {
            Format::Yaml => write!(out, "---\n{}", serde_saphyr::to_string(&object)?)?,
            Format::Json => writeln!(out, "{object}")?,
        }
    }
    out.flush().context("writing the objects")
}

async fn objects(arguments: &Arguments) -> Result<Vec<Value>> {
    let raw = read(&arguments.job)?;
    let domain = Some(arguments.cluster_domain.clone()).filter(|domain| !domain.is_empty());
    let job = match ValidJob::parse(&raw, domain.as_deref()) {
        Verdict::Valid(job) => job,
        Verdict::Invalid(errors) => bail!("{}: {}", arguments.job.display(), violation::aggregate(&errors)),
        Verdict::NotOurs => bail!("the job is managed by another controller (spec.runPolicy.managedBy)"),
    };
    let (plugins, job) = plugins(arguments, *job, domain).await?;
    let pin = plugins.choose(&job).map_err(|trouble| words(&trouble))?;
    let gated = desired::launcher::gated(&job, &Gang::Off);
    let granted = match plugins.render(&job, &pin, &Seen::default(), gated).await {
        Ok(granted) => granted,
        Err(NoPlan::Trouble(trouble)) => return Err(words(&trouble)),
        Err(NoPlan::Unavailable(error)) => return Err(error),
    };
    for note in &granted.notes {
        tracing::warn!(plugin = note.by, "{}", note.text);
    }
    in_order(&job, &desired::objects(&job, &granted, &pin, &Gang::Off, &BTreeMap::new()))
}

/// In the order of their creation.
fn in_order(job: &ValidJob, desired: &Desired) -> Result<Vec<Value>> {
    let Desired { service, config, files, secret, pod_group, workers, launcher } = desired;
    let mut objects = vec![service.clone(), config.clone()];
    objects.extend(files.clone());
    objects.push(secret.clone());
    objects.extend(pod_group.as_ref().map(|(_, group)| group.clone()));
    for index in 0..job.workers() {
        if let Some(stamp) = workers {
            let pod = stamp.manifest(index);
            objects.push(serde_json::from_str(&pod).with_context(|| format!("reading worker {index}"))?);
        }
    }
    objects.push(launcher.clone());
    Ok(objects)
}

async fn plugins(
    arguments: &Arguments,
    mut job: ValidJob,
    domain: Option<String>,
) -> Result<(Plugins, ValidJob)> {
    let policy = ClusterPolicy { wants: arguments.allow_wants.clone(), ..ClusterPolicy::default() };
    let mut rules = Rules { cluster_domain: domain, policy, ..Rules::default() };
    for tuner in &arguments.tuner {
        rules.tuners.push(stem(tuner)?);
    }
    let plugins = Plugins::new(rules, None)?;
    for file in arguments.plugin.iter().chain(&arguments.tuner) {
        let bytes = std::fs::read(file).with_context(|| format!("reading plugin {}", file.display()))?;
        plugins
            .load_file(&stem(file)?, bytes)
            .await
            .with_context(|| format!("loading {}", file.display()))?;
    }
    if let Some(file) = &arguments.plugin {
        job.wishes.plugin = Some(stem(file)?);
    } else {
        plugins.load_floor(&arguments.plugin_dir).await?;
    }
    Ok((plugins, job))
}

/// A plugin's name is its file's name without the extension, as in the operator's directory.
fn stem(file: &Path) -> Result<String> {
    let stem = file.file_stem().and_then(|stem| stem.to_str());
    stem.map(str::to_owned).with_context(|| format!("{} has no file name", file.display()))
}

fn read(file: &Path) -> Result<MpiJob> {
    let shown = file.display();
    let text = if file == Path::new("-") {
        io::read_to_string(io::stdin()).context("reading the job from standard input")?
    } else {
        std::fs::read_to_string(file).with_context(|| format!("reading {shown}"))?
    };
    let raw: Value = serde_saphyr::from_str(&text).with_context(|| format!("reading {shown} as YAML"))?;
    trial::raw_job(raw).map_err(anyhow::Error::msg).with_context(|| format!("reading {shown}"))
}

fn words(trouble: &Trouble) -> anyhow::Error {
    anyhow::anyhow!("{}: {}", trouble.reason(), trouble.message())
}
