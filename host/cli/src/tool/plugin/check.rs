//! `coxswain plugin check FILE`: everything that a component has to pass before it serves, and what it costs.
//!
//! In: a component, optionally settings and vectors. Out: a report; exit code 1 if the component must not serve.

use std::{
    io::Write as _,
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::{Context as _, Result};
use clap::Args;
use coxswain_model::{plan::Note, policy::ClusterPolicy};
use coxswain_sandbox::{Call, Compiler, Function, Observer, Plugin, Sandbox};

use super::{
    component::{Component, Named},
    format::Format,
    report::{About, Check, Cost, Report},
};
use coxswain_plugins::{
    probes::{self, Probed},
    source,
    trial::{self, Trial, Tried},
    vectors::{self, Vectors},
};

/// Sizes of jobs for which the fuel is reported.
const SIZES: [u32; 4] = [1, 64, 1024, 10_000];

/// Arguments of `plugin check`.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    named: Named,
    /// Form of the output.
    #[arg(long, short, value_enum, default_value_t)]
    output: Format,
}

/// Checks and reports.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let report = report(&arguments.named.read()?)?;
    let mut out = anstream::stdout().lock();
    match arguments.output {
        Format::Text => report.write(&mut out)?,
        Format::Json => writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?,
    }
    Ok(if report.passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What was called, in order.
#[derive(Clone, Default)]
struct Calls(Arc<Mutex<Vec<Cost>>>);

impl Calls {
    fn observer(&self) -> Observer {
        let calls = self.clone();
        Arc::new(move |call: &Call<'_>| {
            let cost = Cost {
                hosts: 0,
                function: call.function.name(),
                fuel: call.fuel,
                budget: call.budget,
                output_bytes: call.output_bytes,
                microseconds: u64::try_from(call.elapsed.as_micros()).unwrap_or(u64::MAX),
            };
            calls.0.lock().unwrap_or_else(PoisonError::into_inner).push(cost);
        })
    }

    fn take(&self) -> Vec<Cost> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn report(component: &Component) -> Result<Report> {
    let calls = Calls::default();
    let sandbox = Sandbox::with(Compiler::Here, calls.observer()).context("starting the plugin sandbox")?;
    let mut report = Report {
        file: component.file.clone(),
        name: component.name.clone(),
        size: component.bytes.len(),
        packed: source::pack(&component.bytes)?.len(),
        digest: component.digest.to_string(),
        ..Report::default()
    };
    let plugin = match component.load(&sandbox) {
        Ok(plugin) => plugin,
        Err(refused) => {
            let says = format!("the operator would refuse it ({})", refused.reason());
            report.push(Check::of("load", says, vec![refused.to_string()]));
            return Ok(report);
        }
    };
    let exports = [("launcher", plugin.is_launcher()), ("tuner", plugin.is_tuner())];
    let exports = exports.into_iter().filter(|(_, is)| *is).map(|(name, _)| name).collect();
    report.about = Some(About::of(plugin.descriptor(), exports));
    report.push(Check::of(
        "load",
        "imports nothing that can be called, compiles, describes itself",
        Vec::new(),
    ));

    let policy = ClusterPolicy::default();
    let probed = probes::probe(&plugin, &component.settings, &policy);
    probe_checks(&mut report, &probed);
    calls.take();
    let (check, costs) = fuel(&plugin, component, &policy, &calls);
    report.push(check);
    report.costs = costs;
    if let Some(vectors) = &component.vectors {
        report.push(vector_check(&plugin, vectors, &policy));
    }
    Ok(report)
}

/// The probes told as what they show: that it does not break, that it is steady, that it asks for nothing forbidden.
fn probe_checks(report: &mut Report, probed: &[Probed]) {
    let failed = |which: fn(&Tried) -> bool| -> Vec<String> {
        probed.iter().filter(|probed| which(&probed.tried)).filter_map(Probed::failure).collect()
    };
    let refused = probed.iter().filter_map(|probed| match &probed.tried {
        Tried::Refused(why) => Some(format!("refuses {}: {why}", probed.name)),
        _ => None,
    });
    let refused: Vec<String> = refused.collect();
    let served = probed.iter().filter(|probed| matches!(probed.tried, Tried::Granted(_))).count();
    let says = format!("{} jobs, {served} of them served", probed.len());
    let broken = failed(|tried| matches!(tried, Tried::Broken(_)));
    report.push(Check::of("probes", says, broken).with_remarks(refused));
    let unsteady = failed(|tried| matches!(tried, Tried::Unsteady));
    report.push(Check::of("determinism", "asked twice, it answers the same", unsteady));
    let forbidden = failed(|tried| matches!(tried, Tried::Forbidden(_)));
    report.push(Check::of("policy", "asks for nothing that plugins may not have", forbidden));
    for note in probed.iter().flat_map(|probed| notes(&probed.tried)) {
        if !report.notes.contains(&note.text) {
            report.notes.push(note.text.clone());
        }
    }
}

fn notes(tried: &Tried) -> &[Note] {
    match tried {
        Tried::Granted(result) => &result.1.notes,
        _ => &[],
    }
}

/// Every size twice: the second time must cost the same. More than half of what is allowed is too much: a newer engine
/// may count differently.
fn fuel(plugin: &Plugin, component: &Component, policy: &ClusterPolicy, calls: &Calls) -> (Check, Vec<Cost>) {
    let (mut failures, mut remarks, mut costs) = (Vec::new(), Vec::new(), Vec::new());
    for hosts in SIZES {
        let object = probes::sample(probes::implementation(plugin), hosts);
        let job = match trial::job(object) {
            Ok(job) => job,
            Err(why) => {
                failures.push(format!("{hosts} hosts: {why}"));
                continue;
            }
        };
        let view = trial::view(&job);
        for (_, so_far) in probes::roles(plugin, &view) {
            let given = &component.settings;
            let trial = Trial { plugin, given, policy, job: &job, view: view.clone(), so_far };
            match trial.run() {
                Tried::Granted(_) => {}
                Tried::Broken(how) => failures.push(format!("{hosts} hosts: {how}")),
                Tried::Unsteady => failures.push(format!("{hosts} hosts: {}", trial::UNSTEADY)),
                Tried::Refused(why) => remarks.push(format!("refuses {hosts} hosts: {why}")),
                Tried::Forbidden(violations) => {
                    failures.push(format!("{hosts} hosts: {}", trial::words(&violations)));
                }
            }
            let mut called = calls.take();
            called.retain(|cost| cost.function != Function::CheckSettings.name());
            let second = called.split_off(called.len() / 2);
            for (once, again) in called.into_iter().zip(second) {
                if once.fuel != again.fuel {
                    let (function, once, again) = (once.function, once.fuel, again.fuel);
                    failures
                        .push(format!("{hosts} hosts: {function} took {once} and then {again} instructions"));
                }
                if once.fuel > once.budget / 2 {
                    let Cost { function, fuel, budget, .. } = once;
                    failures.push(format!("{hosts} hosts: {function} takes {fuel} of {budget} instructions"));
                }
                dearest(&mut costs, Cost { hosts, ..once });
            }
        }
    }
    let says =
        format!("at most half of what is allowed, for up to {} hosts", SIZES.into_iter().max().unwrap_or(0));
    (Check::of("fuel", says, failures).with_remarks(remarks), costs)
}

/// `follow` is called before the hosts are up and after: what costs more counts.
fn dearest(costs: &mut Vec<Cost>, new: Cost) {
    match costs.iter_mut().find(|old| (old.hosts, old.function) == (new.hosts, new.function)) {
        Some(old) if old.fuel < new.fuel => *old = new,
        Some(_) => {}
        None => costs.push(new),
    }
}

fn vector_check(plugin: &Plugin, vectors: &Vectors, policy: &ClusterPolicy) -> Check {
    let failures = vectors::check(plugin, vectors, policy);
    Check::of("vectors", format!("{} of its author's", vectors.len()), failures)
}
