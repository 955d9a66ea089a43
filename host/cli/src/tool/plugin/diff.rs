//! `coxswain plugin diff OLD NEW JOB…`: what another component would change in the objects of jobs.
//!
//! In: two components of one plugin, and jobs. Out: a unified diff for each object that differs. Exit code 0 if none
//! does, 1 if one does, 2 if there is nothing to compare. That the digest differs is no difference.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anstyle::{AnsiColor, Style};
use anyhow::{Context as _, Result, ensure};
use clap::Args;
use coxswain_sandbox::Plugin;
use serde::Serialize;
use serde_json::Value;
use similar::TextDiff;

use super::{component, format::Format};
use crate::tool::{
    rendering::{self, Around, Rendering},
    table::{BAD, DIM, GOOD, HEAD},
};
use coxswain_plugins::Plugins;

/// What `diff` says where there is nothing to compare.
const NOTHING_TO_COMPARE: u8 = 2;
/// Stands where the objects of a job would, if it is refused.
const REFUSAL: &str = "refusal";
/// Lines around a difference.
const CONTEXT: usize = 3;

/// Arguments of `plugin diff`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The component that serves now.
    old: PathBuf,
    /// The one that is to take its place.
    new: PathBuf,
    /// Jobs, YAML or JSON.
    #[arg(required = true)]
    jobs: Vec<PathBuf>,
    /// The plugin's name, if it is not the files'.
    #[arg(long)]
    name: Option<String>,
    /// The administrator's settings, one `key: value` a line.
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// Other settings for the new component.
    #[arg(long, value_name = "FILE")]
    new_settings: Option<PathBuf>,
    /// Launcher plugin for a tuner that is compared, a component file. Without it, those of --plugin-dir serve.
    #[arg(long, value_name = "FILE")]
    plugin: Option<PathBuf>,
    #[command(flatten)]
    around: Around,
    /// Form of the output.
    #[arg(long, short, value_enum, default_value_t)]
    output: Format,
}

/// What became of one job.
#[derive(Debug, Serialize)]
struct JobDiff {
    /// As it was named.
    job: String,
    /// Objects that differ.
    objects: Vec<ObjectDiff>,
    /// Why there is nothing to compare, where both refuse the job in the same words.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
}

/// One object that differs.
#[derive(Debug, Serialize)]
struct ObjectDiff {
    /// `Pod/pi-worker-0`; a refusal is called `refusal`.
    object: String,
    /// Others with the same difference: workers are alike.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    alike: Vec<String>,
    /// `added`, `removed`, `changed`.
    change: &'static str,
    /// Unified, without the two lines that name files.
    diff: String,
}

/// Compares and prints.
pub async fn run(arguments: Arguments) -> Result<ExitCode> {
    let jobs = match compare(&arguments).await {
        Ok(jobs) => jobs,
        Err(error) => {
            eprintln!("coxswain: {error:#}");
            return Ok(ExitCode::from(NOTHING_TO_COMPARE));
        }
    };
    let different = jobs.iter().any(|job| !job.objects.is_empty());
    let mut out = anstream::stdout().lock();
    match arguments.output {
        Format::Json => {
            let document = serde_json::json!({ "different": different, "jobs": jobs });
            writeln!(out, "{document:#}")?;
        }
        Format::Text => jobs.iter().try_for_each(|job| job.write(&mut out))?,
    }
    Ok(if different { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

async fn compare(arguments: &Arguments) -> Result<Vec<JobDiff>> {
    let settings = arguments.settings.as_deref();
    let old = Side::load(arguments, &arguments.old, settings).await?;
    let new = Side::load(arguments, &arguments.new, arguments.new_settings.as_deref().or(settings)).await?;
    let (a, b) = (old.plugin.name(), new.plugin.name());
    ensure!(a == b, "{a} and {b} are different plugins; --name gives both one name");
    let mut compared = Vec::new();
    for file in &arguments.jobs {
        let shown = file.display();
        let before = old.objects(arguments, file).await.with_context(|| format!("rendering {shown}"))?;
        let after = new.objects(arguments, file).await.with_context(|| format!("rendering {shown}"))?;
        let refused = before.get(REFUSAL).filter(|words| after.get(REFUSAL) == Some(words));
        let refused = refused.map(|words| words.trim_end().to_owned());
        compared.push(JobDiff { job: shown.to_string(), objects: differences(&before, &after), refused });
    }
    Ok(compared)
}

/// One of the two components, among the plugins that serve beside it.
struct Side {
    plugins: Plugins,
    plugin: Plugin,
    launcher: Option<String>,
}

impl Side {
    async fn load(arguments: &Arguments, file: &Path, settings: Option<&Path>) -> Result<Self> {
        let plugins = arguments.around.plugins().await?;
        let settings = settings.map(component::settings).transpose()?.unwrap_or_default();
        let plugin = rendering::load(&plugins, file, arguments.name.as_deref(), settings).await?;
        let mut launcher = plugin.is_launcher().then(|| plugin.name().to_owned());
        if let Some(file) = &arguments.plugin {
            let named = rendering::load(&plugins, file, None, BTreeMap::new()).await?;
            launcher = Some(named.name().to_owned());
        } else if launcher.is_none() {
            arguments.around.load_bundled(&plugins).await?;
        }
        Ok(Self { plugins, plugin, launcher })
    }

    /// By `Kind/name`, as YAML without the digest; a job that is refused has its refusal alone.
    async fn objects(&self, arguments: &Arguments, file: &Path) -> Result<BTreeMap<String, String>> {
        let (job, claims) = arguments.around.job(file)?;
        let mut job = job.with_plugin(self.launcher.as_deref());
        if self.plugin.is_tuner() && !self.plugin.is_launcher() {
            job = job.with_tuner(self.plugin.name());
        }
        let rendering = match Rendering::of(job, claims, &self.plugins).await? {
            Ok(rendering) => rendering,
            Err(render_error) => {
                let words = rendering::words(&render_error).replace(&self.plugin.digest().short(), "DIGEST");
                return Ok([(REFUSAL.to_owned(), format!("{words}\n"))].into());
            }
        };
        let mut objects = BTreeMap::new();
        for object in rendering.objects()? {
            let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            let name = format!("{}/{}", text("/kind"), text("/metadata/name"));
            let yaml = serde_saphyr::to_string(&object)?;
            objects.insert(name, yaml.replace(&self.plugin.digest().to_string(), "DIGEST"));
        }
        Ok(objects)
    }
}

/// By object; those of one kind with one difference are reported once.
fn differences(old: &BTreeMap<String, String>, new: &BTreeMap<String, String>) -> Vec<ObjectDiff> {
    let mut found: Vec<ObjectDiff> = Vec::new();
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for name in names {
        let (before, after) = (old.get(name), new.get(name));
        let change = match (before, after) {
            (Some(before), Some(after)) if before == after => continue,
            (None, _) => "added",
            (_, None) => "removed",
            _ => "changed",
        };
        let text = |side: Option<&String>| side.cloned().unwrap_or_default();
        let (before, after) = (text(before), text(after));
        let diff = TextDiff::from_lines(&before, &after);
        let diff = diff.unified_diff().context_radius(CONTEXT).to_string();
        let alike =
            |other: &&mut ObjectDiff| other.change == change && is_pod(&other.object) && other.diff == diff;
        match found.iter_mut().find(alike).filter(|_| is_pod(name)) {
            Some(first) => first.alike.push(name.clone()),
            None => found.push(ObjectDiff { object: name.clone(), alike: Vec::new(), change, diff }),
        }
    }
    found
}

fn is_pod(object: &str) -> bool {
    object.starts_with("Pod/")
}

impl JobDiff {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        if let Some(words) = &self.refused {
            return writeln!(out, "{HEAD}{}{HEAD:#}: both refuse it: {words}", self.job);
        }
        if self.objects.is_empty() {
            return writeln!(out, "{HEAD}{}{HEAD:#}: {GOOD}no difference{GOOD:#}", self.job);
        }
        for object in &self.objects {
            let also = match object.alike.len() {
                0 => String::new(),
                more => format!(", and {more} more alike"),
            };
            writeln!(out, "{HEAD}--- {}: {}{HEAD:#}", self.job, object.object)?;
            writeln!(out, "{HEAD}+++ {}: {} ({}){also}{HEAD:#}", self.job, object.object, object.change)?;
            for line in object.diff.lines() {
                let style = colour(line);
                writeln!(out, "{style}{line}{style:#}")?;
            }
        }
        Ok(())
    }
}

fn colour(line: &str) -> Style {
    match line.as_bytes().first() {
        Some(b'-') => BAD,
        Some(b'+') => GOOD,
        Some(b'@') => AnsiColor::Cyan.on_default(),
        Some(b'\\') => DIM,
        _ => Style::new(),
    }
}
