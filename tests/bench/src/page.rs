//! The report as a page of one file: plots, the table of aims, what was measured where.

use std::fmt::Write as _;

use anyhow::Result;
use plotters::style::RGBColor;

use crate::{
    aims::Aim,
    measure::{Measured, Size},
    plot::{Plot, Series, number},
    published::MPI_OPERATOR as MPI,
    tally::Tally,
};

const STYLE: &str = "
:root { color-scheme: light dark; --ink: light-dark(#1c2127, #e6e9ec); --dim: light-dark(#68737d, #9aa5af);
  --line: light-dark(#dde2e6, #353c43); --met: light-dark(#2f8132, #7bc77e); --missed: light-dark(#b3541e, #f0a070); }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); max-width: 1180px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; } p, figcaption { color: var(--dim); }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(460px, 1fr)); gap: 1.5rem; }
svg { width: 100%; height: auto; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .35rem .8rem .35rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-weight: 600; white-space: nowrap; } .met { color: var(--met); } .missed { color: var(--missed); font-weight: 600; }
";

/// Colours that can be read on light and on dark pages, and told apart without red and green.
const OURS: RGBColor = RGBColor(45, 125, 215);
const RAW: RGBColor = RGBColor(70, 160, 75);
const MPI_AS_SHIPPED: RGBColor = RGBColor(210, 110, 50);
const MPI_TUNED: RGBColor = RGBColor(175, 145, 30);

/// All of it.
pub fn page(measured: &Measured, aims: &[Aim]) -> Result<String> {
    let machine = &measured.machine;
    let bare: Vec<String> = measured.bare_pods.iter().map(|rate| number(*rate)).collect();
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width\">\n<title>Coxswain: speed, memory and requests</title>\n<style>{STYLE}</style>\n\
         <h1>Coxswain {}: speed, memory and requests</h1>\n<p>{}, {} cores ({}), load {:.1} when it began. A control plane of \
         Kubernetes on one machine with fake nodes; medians of rounds by turns with a plain client that makes the same \
         objects over 64 connections. Bare pods by that client: {} creates a second. Figures of the MPI Operator 0.8.2 were \
         measured apart, on another machine with 4 cores.</p>\n",
        escaped(&machine.version),
        escaped(&machine.started),
        machine.cores,
        escaped(&machine.processor),
        machine.load,
        bare.join(", ")
    );
    html.push_str("<h2>Over size</h2>\n<div class=\"plots\">\n");
    for plot in plots(measured) {
        html.push_str("<figure>");
        html.push_str(&plot.svg()?);
        html.push_str("</figure>\n");
    }
    html.push_str("</div>\n<h2>Aims</h2>\n<div class=\"scroll\">\n");
    html.push_str(&aims_table(aims));
    html.push_str("</div>\n<h2>Requests of one round</h2>\n<div class=\"scroll\">\n");
    html.push_str(&requests(&measured.sizes));
    Ok(html + "</div>\n")
}

type Points = Vec<(f64, f64)>;

fn plots(measured: &Measured) -> Vec<Plot> {
    let mut plots = times(measured);
    plots.extend(amounts(measured));
    plots
}

/// Figures of one job over its workers.
fn one(measured: &Measured, figure: impl Fn(&Size) -> f64) -> Points {
    let sizes = measured.sizes.iter().filter(|size| size.jobs == 1);
    sizes.map(|size| (f64::from(size.workers), figure(size))).collect()
}

/// Figures of jobs of 8 workers over their number.
fn many(measured: &Measured, figure: impl Fn(&Size) -> f64) -> Points {
    let sizes = measured.sizes.iter().filter(|size| size.workers == 8);
    sizes.map(|size| (f64::from(size.jobs), figure(size))).collect()
}

fn ours(points: Points) -> Series {
    Series { name: "Coxswain", colour: OURS, points }
}

fn raw(points: Points) -> Series {
    Series { name: "plain client (ceiling)", colour: RAW, points }
}

fn mpi(points: &[(f64, f64)]) -> Series {
    Series { name: "MPI Operator", colour: MPI_AS_SHIPPED, points: points.to_vec() }
}

fn tuned(points: &[(f64, f64)]) -> Series {
    Series { name: "MPI Operator, tuned", colour: MPI_TUNED, points: points.to_vec() }
}

fn times(measured: &Measured) -> Vec<Plot> {
    let plot = |title, x, series| Plot { title, x, y: "seconds", logarithmic: true, series };
    let objects = |size: &Size| size.ours(|t| t.objects);
    let raw_objects = |size: &Size| size.raw(|t| t.objects);
    vec![
        plot(
            "One job: until all objects exist",
            "workers",
            vec![
                ours(one(measured, objects)),
                raw(one(measured, raw_objects)),
                mpi(MPI.objects_default),
                tuned(MPI.objects_tuned),
            ],
        ),
        plot(
            "Jobs of 8 at once: until all objects exist",
            "jobs",
            vec![
                ours(many(measured, objects)),
                raw(many(measured, raw_objects)),
                mpi(MPI.jobs_default),
                tuned(MPI.jobs_tuned),
            ],
        ),
        plot(
            "One job: from the first to the last deleted worker",
            "workers",
            vec![
                ours(one(measured, |size| size.ours(|t| t.deletes))),
                raw(one(measured, |size| size.raw(|t| t.deletes))),
            ],
        ),
    ]
}

fn amounts(measured: &Measured) -> Vec<Plot> {
    let plot = |title, x, y, logarithmic, series| Plot { title, x, y, logarithmic, series };
    let writes = |size: &Size| {
        let all = |tally: &Tally| (tally.writes() + tally.events()) as f64;
        size.spent(|spent| all(&spent.to_running) + all(&spent.to_end)) / f64::from(size.jobs)
    };
    let memory: Points = measured.memory.iter().map(|memory| (memory.pods as f64, memory.fresh)).collect();
    let mut cpu: Points =
        measured.sizes.iter().map(|size| (size.all_workers(), size.cpu_per_worker())).collect();
    cpu.sort_by(|a, b| a.0.total_cmp(&b.0));
    vec![
        plot(
            "Writes in the life of one job, events included",
            "workers",
            "writes",
            true,
            vec![ours(one(measured, writes)), tuned(MPI.writes)],
        ),
        plot("Resident memory", "pods", "MB", false, vec![ours(memory), mpi(MPI.memory)]),
        plot(
            "Computing for each worker, brought up and removed",
            "workers of all jobs",
            "ms",
            true,
            vec![ours(cpu)],
        ),
    ]
}

fn aims_table(aims: &[Aim]) -> String {
    let mut html = "<table><tr><th>Scenario<th>MPI Operator 0.8.2<th>Aim<th>Measured<th></tr>\n".to_owned();
    for aim in aims {
        let (class, mark) = match aim.met {
            Some(true) => ("met", "met"),
            Some(false) => ("missed", "missed"),
            None => ("", ""),
        };
        let measured = aim.measured.as_deref().unwrap_or("not in this run");
        let cells = [aim.scenario, aim.upstream, aim.target, measured].map(escaped);
        let _ = writeln!(html, "<tr><td>{}<td class=\"{class}\">{mark}</tr>", cells.join("<td>"));
    }
    html + "</table>\n"
}

fn requests(sizes: &[Size]) -> String {
    let mut html =
        "<table><tr><th>Jobs × workers<th>Until all run<th>From there to the end</tr>\n".to_owned();
    for size in sizes {
        let Some(last) = size.operator.last() else { continue };
        let cells = [size.name(), last.spent.to_running.to_string(), last.spent.to_end.to_string()];
        let _ = writeln!(html, "<tr><td>{}</tr>", cells.map(|cell| escaped(&cell)).join("<td>"));
    }
    html + "</table>\n"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
