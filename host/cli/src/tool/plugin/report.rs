//! What `coxswain plugin check` found: for people, and as JSON.

use std::io::{self, Write};

use anstyle::Style;
use coxswain_model::plan::Descriptor;
use serde::Serialize;

use crate::tool::table::{BAD, Cell, DIM, GOOD, HEAD, Table, WARN};

/// Everything that was found.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// As it was named.
    pub file: String,
    /// The plugin's name.
    pub name: String,
    /// Bytes of the component.
    pub size: usize,
    /// Bytes in a ConfigMap where it is packed.
    pub packed: usize,
    /// sha256, 64 hex digits.
    pub digest: String,
    /// What it says of itself, if it can be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<About>,
    /// In the order in which they were made.
    pub checks: Vec<Check>,
    /// By number of hosts.
    pub costs: Vec<Cost>,
    /// What the operator would report to users of its jobs: its own notes, and capability requests that were not granted.
    pub notes: Vec<String>,
    /// All checks passed.
    pub passed: bool,
}

/// What a plugin says of itself.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the contract's own words")]
pub struct About {
    pub version: String,
    pub summary: String,
    /// `launcher`, `tuner`.
    pub exports: Vec<&'static str>,
    pub serves: Vec<String>,
    pub settings: Vec<Declared>,
    pub reads_env: Vec<String>,
    pub writes_env: Vec<String>,
    pub reads_annotations: Vec<String>,
}

/// A setting that it declares.
#[derive(Debug, Serialize)]
#[allow(missing_docs, reason = "the contract's own words")]
pub struct Declared {
    pub key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    pub summary: String,
}

/// One thing that must be so.
#[derive(Debug, Serialize)]
pub struct Check {
    /// What was looked at.
    pub name: &'static str,
    /// It is so.
    pub passed: bool,
    /// In a line.
    pub says: String,
    /// Each thing that is not so.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
    /// What is worth knowing and no failure.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// What one call costs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Cost {
    /// Workers of the job.
    pub hosts: u32,
    /// As the contract spells it.
    pub function: &'static str,
    /// Instructions; the same on every machine.
    pub fuel: u64,
    /// Instructions allowed.
    pub budget: u64,
    /// Bytes of text in the result.
    pub output_bytes: usize,
    /// On this machine, this time.
    pub microseconds: u64,
}

impl About {
    /// Of a descriptor and what the component exports.
    pub fn of(descriptor: &Descriptor, exports: Vec<&'static str>) -> Self {
        let Descriptor { version, summary, serves, reads_env, writes_env, reads_annotations, .. } =
            descriptor.clone();
        let settings = descriptor.settings.iter().map(|kind| Declared {
            key: kind.key.clone(),
            default: kind.default.clone(),
            summary: kind.summary.clone(),
        });
        let settings = settings.collect();
        Self { version, summary, exports, serves, settings, reads_env, writes_env, reads_annotations }
    }
}

impl Check {
    /// Passed if nothing failed.
    pub fn of(name: &'static str, says: impl Into<String>, failures: Vec<String>) -> Self {
        Self { name, passed: failures.is_empty(), says: says.into(), failures, remarks: Vec::new() }
    }

    /// With things that are no failures.
    #[must_use]
    pub fn with_remarks(self, remarks: Vec<String>) -> Self {
        Self { remarks, ..self }
    }
}

impl Report {
    /// One more check.
    pub fn push(&mut self, check: Check) {
        self.checks.push(check);
        self.passed = self.checks.iter().all(|check| check.passed);
    }

    /// For people.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let version = self.about.as_ref().map(|about| about.version.as_str()).unwrap_or_default();
        writeln!(out, "{HEAD}{} {version}{HEAD:#}", self.name)?;
        self.write_about(out)?;
        for check in &self.checks {
            check.write(out)?;
        }
        self.write_costs(out)?;
        if !self.notes.is_empty() {
            writeln!(out, "{HEAD}It would report to its users{HEAD:#}")?;
            lines(out, &self.notes, Style::new())?;
        }
        let (style, words) = if self.passed {
            (GOOD, "It may serve.")
        } else {
            (BAD, "It must not serve: mend what failed above.")
        };
        writeln!(out, "{style}{words}{style:#}")
    }

    fn write_about(&self, out: &mut impl Write) -> io::Result<()> {
        let mut line = |key: &str, value: &str| match value {
            "" => Ok(()),
            value => writeln!(out, "  {DIM}{key:<10}{DIM:#} {value}"),
        };
        if let Some(about) = &self.about {
            line("summary", &about.summary)?;
        }
        line("file", &format!("{}, {} bytes, packed {}", self.file, self.size, self.packed))?;
        line("digest", &format!("sha256:{}", self.digest))?;
        let Some(about) = &self.about else { return Ok(()) };
        line("exports", &about.exports.join(", "))?;
        line("serves", &about.serves.join(", "))?;
        line("reads", &[about.reads_env.as_slice(), &about.reads_annotations].concat().join(", "))?;
        line("sets", &about.writes_env.join(", "))?;
        for setting in &about.settings {
            let default = setting.default.as_ref().map(|value| format!(" = {value:?}")).unwrap_or_default();
            line("setting", &format!("{}{default}: {}", setting.key, setting.summary))?;
        }
        Ok(())
    }

    fn write_costs(&self, out: &mut impl Write) -> io::Result<()> {
        if self.costs.is_empty() {
            return Ok(());
        }
        let mut table = Table::new(["HOSTS", "FUNCTION", "FUEL", "OF ALLOWED", "OUTPUT", "TIME"]);
        for cost in &self.costs {
            let share = cost.fuel.saturating_mul(1000) / cost.budget.max(1);
            let style = if share > 500 { BAD } else { Style::new() };
            table.push([
                cost.hosts.to_string().into(),
                cost.function.into(),
                cost.fuel.to_string().into(),
                Cell::styled(format!("{}.{} %", share / 10, share % 10), style),
                format!("{} B", cost.output_bytes).into(),
                Cell::styled(format!("{} µs", cost.microseconds), DIM),
            ]);
        }
        table.write(2, out)
    }
}

impl Check {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let (style, mark) = if self.passed { (GOOD, "ok  ") } else { (BAD, "FAIL") };
        writeln!(out, "{style}{mark}{style:#} {HEAD}{:<12}{HEAD:#} {}", self.name, self.says)?;
        lines(out, &self.failures, BAD)?;
        lines(out, &self.remarks, WARN)
    }
}

/// The first of them: a plugin that fails once often fails everywhere. JSON has them all.
fn lines(out: &mut impl Write, lines: &[String], style: Style) -> io::Result<()> {
    const MOST: usize = 8;
    for line in lines.iter().take(MOST) {
        writeln!(out, "       {style}-{style:#} {line}")?;
    }
    match lines.len().saturating_sub(MOST) {
        0 => Ok(()),
        more => writeln!(out, "       {style}-{style:#} and {more} more (-o json shows them)"),
    }
}
