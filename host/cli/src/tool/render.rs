//! `coxswain render JOB.yaml`: every object of a job, made by the same code as in the operator; with `--explain` who
//! set what in its pods.

use std::{
    collections::BTreeMap,
    io::{self, Write},
    path::PathBuf,
};

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};

use super::{
    explain,
    rendering::{self, Around, Rendering},
};

/// Arguments of `render`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The job, YAML or JSON; `-` reads standard input. Beside it may stand the `ResourceClaimTemplate` or
    /// `ResourceClaim` that its pods' claims name; other objects are passed over.
    job: PathBuf,
    /// Launcher plugin that renders it, a component file. Without it, the plugins of --plugin-dir serve as in
    /// the operator.
    #[arg(long, value_name = "FILE")]
    plugin: Option<PathBuf>,
    #[command(flatten)]
    around: Around,
    /// Print who set each variable, file, port and command of the pods, and what it replaced, in place of the objects.
    #[arg(long)]
    explain: bool,
    /// Form of the output.
    #[arg(long, short, value_enum, default_value_t = Format::Yaml)]
    output: Format,
}

/// Form of the output.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// One document an object; a table for --explain.
    Yaml,
    /// One line an object; one document for --explain.
    Json,
}

/// Renders and prints. What the plugins remark goes to standard error, and what of the job's annotations has no effect.
pub async fn run(arguments: Arguments) -> Result<()> {
    let rendering = rendering(&arguments).await?;
    for note in &rendering.granted.notes {
        eprintln!("{}: {}: {}", if note.warning { "warning" } else { "note" }, note.by, note.text);
    }
    for text in &rendering.ignored {
        eprintln!("warning: {text}");
    }
    if arguments.explain {
        let mut out = anstream::stdout().lock();
        return match arguments.output {
            Format::Yaml => explain::table(&rendering, &mut out),
            Format::Json => explain::json(&rendering, &mut out),
        }
        .context("writing the explanation");
    }
    let mut out = io::BufWriter::new(io::stdout().lock());
    for object in rendering.objects()? {
        match arguments.output {
            Format::Yaml => write!(out, "---\n{}", serde_saphyr::to_string(&object)?)?,
            Format::Json => writeln!(out, "{object}")?,
        }
    }
    out.flush().context("writing the objects")
}

async fn rendering(arguments: &Arguments) -> Result<Rendering> {
    let (mut job, claims) = arguments.around.job(&arguments.job)?;
    let plugins = arguments.around.plugins().await?;
    if let Some(file) = &arguments.plugin {
        let plugin = rendering::load(&plugins, file, None, BTreeMap::new()).await?;
        job = job.with_plugin(Some(plugin.name()));
    } else {
        arguments.around.load_bundled(&plugins).await?;
    }
    match Rendering::of(job, claims, &plugins).await? {
        Ok(rendering) => Ok(rendering),
        Err(render_error) => bail!(rendering::words(&render_error)),
    }
}
