//! `coxswain plugin list` and `coxswain plugin status NAME`: what the cluster runs.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use anstyle::Style;
use anyhow::{Result, bail};
use clap::Args;
use coxswain_model::pin::Digest;

use super::{
    decide::Place,
    format::Format,
    status::{PluginStatus, State, gather::gather, statuses_of},
};
use crate::tool::table::{BAD, Cell, DIM, GOOD, HEAD, Table, WARN};

/// Jobs of one component that `status` names; JSON names all.
const NAMED: usize = 20;

/// Arguments of `list`.
#[derive(Debug, Args)]
pub struct List {
    #[command(flatten)]
    place: Place,
    /// Form of the output.
    #[arg(long, short, value_enum, default_value_t)]
    output: Format,
}

/// Arguments of `status`.
#[derive(Debug, Args)]
pub struct Status {
    /// The plugin.
    name: String,
    #[command(flatten)]
    place: Place,
    /// Form of the output.
    #[arg(long, short, value_enum, default_value_t)]
    output: Format,
}

/// A line for each plugin.
pub async fn list(arguments: List) -> Result<ExitCode> {
    let all = statuses_of(&gather(&arguments.place.namespace).await?);
    let mut out = anstream::stdout().lock();
    match arguments.output {
        Format::Json => writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?,
        Format::Text if all.is_empty() => {
            let namespace = &arguments.place.namespace;
            writeln!(out, "namespace {namespace} has no plugins; -n names another one")?;
        }
        Format::Text => table(&all).write(0, &mut out)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Everything about one; exit code 1 if it does not serve.
pub async fn status(arguments: Status) -> Result<ExitCode> {
    let Status { name, place, output } = arguments;
    let all = statuses_of(&gather(&place.namespace).await?);
    let known: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
    let Some(one) = all.iter().find(|one| one.name == name) else {
        bail!("namespace {} has no plugin {name}; there are: {}", place.namespace, known.join(", "));
    };
    let mut out = anstream::stdout().lock();
    match output {
        Format::Json => writeln!(out, "{}", serde_json::to_string_pretty(one)?)?,
        Format::Text => one.write(&mut out)?,
    }
    Ok(if one.active.is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn table(all: &[PluginStatus]) -> Table {
    let mut table = Table::new(["NAME", "KIND", "VERSION", "DIGEST", "STATE", "JOBS", "FAULTS", "SERVES"]);
    for one in all {
        let about = one.active.as_ref().and_then(|active| active.about.clone()).unwrap_or_default();
        let digest = one.active.as_ref().map(|active| active.digest.short()).unwrap_or_default();
        let jobs = one.pinned.as_ref().map(|all| all.iter().map(|pinned| pinned.jobs.len()).sum());
        let faults = one.faults.as_ref().map(Vec::len);
        let style = if faults > Some(0) { BAD } else { Style::new() };
        table.push([
            one.name.clone().into(),
            about.kinds.join(",").into(),
            about.version.into(),
            digest.into(),
            one.state.cell(),
            count(jobs).into(),
            Cell::styled(count(faults), style),
            about.serves.join(",").into(),
        ]);
    }
    table
}

fn count(number: Option<usize>) -> String {
    number.map_or_else(|| "?".to_owned(), |number| number.to_string())
}

impl State {
    fn cell(self) -> Cell {
        let (words, style) = match self {
            Self::Active => ("active", GOOD),
            Self::Image => ("active (image)", GOOD),
            Self::RolledBack => ("rolled back", WARN),
            Self::Held => ("held", WARN),
            Self::Refused => ("refused", BAD),
            Self::Conflict => ("conflict", BAD),
            Self::Unread => ("not read yet", WARN),
            Self::Gone => ("gone", DIM),
        };
        Cell::styled(words, style)
    }
}

impl PluginStatus {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let mut line = |key: &str, value: &str| match value {
            "" => Ok(()),
            value => writeln!(out, "{HEAD}{key:<11}{HEAD:#} {value}"),
        };
        line("plugin", &self.name)?;
        let Cell { text, style } = self.state.cell();
        line("state", &format!("{style}{text}{style:#}"))?;
        line("why", self.why.as_deref().unwrap_or_default())?;
        if let Some(active) = &self.active {
            let about = active.about.clone().unwrap_or_default();
            line("serves", &format!("{} sha256:{}", about.version, active.digest))?;
            line("summary", &about.summary)?;
            line("kind", &about.kinds.join(", "))?;
            line("for", &about.serves.join(", "))?;
            for (key, value) in &active.settings {
                line("setting", &format!("{key}: {value}"))?;
            }
        }
        line("namespaces", &self.namespaces)?;
        line("config map", &self.config_maps.join(", "))?;
        let requested = self.requested.as_ref().filter(|requested| Some(*requested) != self.serving());
        line("asks for", &requested.map(|digest| format!("sha256:{digest}")).unwrap_or_default())?;
        for served in &self.earlier {
            line("before", &format!("sha256:{}", served.digest))?;
        }
        for refusal in &self.refused {
            line("refused", &format!("sha256:{}: {}", refusal.digest.short(), refusal.why))?;
        }
        self.write_jobs(out)
    }

    fn serving(&self) -> Option<&Digest> {
        self.active.as_ref().map(|active| &active.digest)
    }

    fn write_jobs(&self, out: &mut impl Write) -> io::Result<()> {
        for pinned in self.pinned.iter().flatten() {
            let now = if self.serving() == Some(&pinned.digest) { "" } else { ", which no new job gets" };
            let many = pinned.jobs.len();
            writeln!(out, "{HEAD}{:<11}{HEAD:#} {many} by sha256:{}{now}", "jobs", pinned.digest.short())?;
            for job in pinned.jobs.iter().take(NAMED) {
                writeln!(out, "            {job}")?;
            }
            if many > NAMED {
                writeln!(out, "            {DIM}and {} more (-o json names them){DIM:#}", many - NAMED)?;
            }
        }
        for fault in self.faults.iter().flatten() {
            writeln!(out, "{BAD}{:<11}{BAD:#} on {}: {}", "fault", fault.job, fault.message)?;
        }
        Ok(())
    }
}
