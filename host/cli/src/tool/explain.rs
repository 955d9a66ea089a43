//! Who set what in a job's pods, for people and as JSON.

use std::io::{self, Write};

use coxswain_model::{
    explain::{Claim, Explained, Item, OPERATOR, USER},
    pin::PinnedPlugin,
};
use serde_json::json;

use super::{
    rendering::Rendering,
    table::{Cell, DIM, GOOD, Table, WARN},
};

/// Longest value in a table, characters.
const MOST: usize = 60;

/// One document.
pub fn json(rendering: &Rendering, out: &mut impl Write) -> io::Result<()> {
    let document = json!({
        "job": rendering.job.key(),
        "pin": rendering.pin,
        "explained": rendering.explain(),
    });
    writeln!(out, "{document:#}")
}

/// A line for each thing.
pub fn table(rendering: &Rendering, out: &mut impl Write) -> io::Result<()> {
    let one = |pinned: &PinnedPlugin| format!("{} (sha256:{})", pinned.name, pinned.digest.short());
    let chain: Vec<String> = rendering.pin.plugins().map(one).collect();
    writeln!(out, "{}: rendered by {}", rendering.job.key(), chain.join(", then "))?;
    let mut table = Table::new(["GROUP", "WHAT", "NAME", "VALUE", "SET BY", "INSTEAD OF"]);
    for one in rendering.explain() {
        table.push([
            one.group.into(),
            word(one.item).into(),
            one.name.clone().into(),
            value(&one),
            author(&one),
            over(&one).into(),
        ]);
    }
    table.write(0, out)
}

fn word(item: Item) -> &'static str {
    match item {
        Item::Variable => "variable",
        Item::File => "file",
        Item::Port => "port",
        Item::Command => "command",
        Item::PrefixCommand => "prefix",
        Item::Capability => "capability",
    }
}

fn value(one: &Explained) -> Cell {
    match &one.is {
        Some(claim) => shown(one.item, claim).into(),
        None => Cell::styled("not granted", WARN),
    }
}

fn author(one: &Explained) -> Cell {
    match &one.is {
        Some(claim) if claim.by == USER || claim.by == OPERATOR => Cell::styled(claim.by.clone(), DIM),
        Some(claim) => Cell::styled(claim.by.clone(), GOOD),
        None => "".into(),
    }
}

fn over(one: &Explained) -> String {
    let claim = |claim: &Claim| format!("{}: {}", claim.by, shown(one.item, claim));
    one.over.iter().map(claim).collect::<Vec<_>>().join("; ")
}

/// One line that fits; of a file only how large it is.
fn shown(item: Item, claim: &Claim) -> String {
    if item == Item::File && claim.by != USER {
        return format!("{} bytes", claim.value.len());
    }
    let text: String = claim.value.chars().take(MOST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.len() < claim.value.len() { format!("{text}…") } else { text }
}
