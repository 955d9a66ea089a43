//! The report for the terminal.

use std::fmt::Write as _;

use crate::{
    aims::Aim,
    measure::{Measured, Size},
};

/// All of it.
pub fn report(measured: &Measured, aims: &[Aim]) -> String {
    let mut text = String::new();
    if !measured.bare_pods.is_empty() {
        let each: Vec<String> = measured.bare_pods.iter().map(|rate| format!("{rate:.0}")).collect();
        let _ = writeln!(text, "Bare pods by the plain client: {} creates a second\n", each.join(", "));
    }
    text += &columns(&sizes(&measured.sizes));
    text.push('\n');
    text += &columns(&aims_table(aims));
    text
}

fn sizes(sizes: &[Size]) -> Vec<Vec<String>> {
    let head = [
        "jobs × workers",
        "objects s",
        "raw",
        "ratio",
        "running s",
        "raw",
        "deletes s",
        "raw",
        "ratio",
        "writes/job",
        "events/job",
        "404+409",
        "CPU ms/worker",
        "peak MB",
    ];
    let rows = sizes.iter().map(|size| {
        let (objects, raw_objects) = (size.ours(|t| t.objects), size.raw(|t| t.objects));
        let (deletes, raw_deletes) = (size.ours(|t| t.deletes), size.raw(|t| t.deletes));
        let jobs = f64::from(size.jobs);
        let writes = size.spent(|s| (s.to_running.writes() + s.to_end.writes()) as f64) / jobs;
        let events = size.spent(|s| (s.to_running.events() + s.to_end.events()) as f64) / jobs;
        vec![
            size.name(),
            format!("{objects:.3}"),
            format!("{raw_objects:.3}"),
            format!("{:.2}", objects / raw_objects),
            format!("{:.3}", size.ours(|t| t.running)),
            format!("{:.3}", size.raw(|t| t.running)),
            format!("{deletes:.3}"),
            format!("{raw_deletes:.3}"),
            format!("{:.2}", deletes / raw_deletes),
            format!("{writes:.1}"),
            format!("{events:.1}"),
            size.most(|s| s.to_running.misses() + s.to_end.misses()).to_string(),
            format!("{:.2}", size.cpu_per_worker()),
            format!("{:.0}", size.spent(|s| s.peak)),
        ]
    });
    std::iter::once(head.map(str::to_owned).to_vec()).chain(rows).collect()
}

fn aims_table(aims: &[Aim]) -> Vec<Vec<String>> {
    let head = ["", "scenario", "MPI Operator 0.8.2", "aim", "measured"].map(str::to_owned).to_vec();
    let rows = aims.iter().map(|aim| {
        let mark = match aim.met {
            Some(true) => "met",
            Some(false) => "MISSED",
            None => "",
        };
        let measured = aim.measured.clone().unwrap_or_else(|| "not in this run".to_owned());
        vec![
            mark.to_owned(),
            aim.scenario.to_owned(),
            aim.upstream.to_owned(),
            aim.target.to_owned(),
            measured,
        ]
    });
    std::iter::once(head).chain(rows).collect()
}

/// Left-aligned columns as wide as their widest cell.
fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or_default()
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        let line = cells.collect::<Vec<_>>().join("  ");
        text += line.trim_end();
        text.push('\n');
    }
    text
}
