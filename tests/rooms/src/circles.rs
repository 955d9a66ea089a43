//! Files that need each other in a circle, and the lines that make it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use crate::arrows::Arrow;

/// Files each of which needs, through others, all of them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Circle {
    /// Sorted.
    pub files: BTreeSet<String>,
    /// All arrows between them.
    pub arrows: Vec<Arrow>,
}

impl fmt::Display for Circle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} files form a circle:", self.files.len())?;
        let pair = |one: &Arrow, other: &Arrow| one.from == other.from && one.to == other.to;
        for lines in self.arrows.chunk_by(pair) {
            let Some((first, more)) = lines.split_first() else { continue };
            write!(f, "\n  {first}")?;
            if !more.is_empty() {
                write!(f, ", also {}", texts(more))?;
            }
        }
        Ok(())
    }
}

/// `13: crate::a::Thing, 14: a::f`.
fn texts(arrows: &[Arrow]) -> String {
    let one = |arrow: &Arrow| format!("{}: {}", arrow.line, arrow.path);
    arrows.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The circles among these arrows; no file is in two.
pub(crate) fn of(arrows: &BTreeSet<Arrow>) -> Vec<Circle> {
    let mut next: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for arrow in arrows {
        next.entry(&arrow.from).or_default().insert(&arrow.to);
    }
    let needed: BTreeMap<&str, BTreeSet<&str>> =
        next.keys().map(|file| (*file, reachable(&next, file))).collect();
    let needs = |from: &str, to: &str| needed.get(from).is_some_and(|files| files.contains(to));
    let groups: BTreeSet<BTreeSet<&str>> = needed
        .iter()
        .filter(|(file, needed)| needed.contains(*file))
        .map(|(file, needed)| needed.iter().copied().filter(|other| needs(other, file)).collect())
        .collect();
    let circle = |files: BTreeSet<&str>| Circle {
        arrows: arrows
            .iter()
            .filter(|arrow| files.contains(arrow.from.as_str()) && files.contains(arrow.to.as_str()))
            .cloned()
            .collect(),
        files: files.into_iter().map(str::to_owned).collect(),
    };
    groups.into_iter().map(circle).collect()
}

/// What `start` needs, directly or through others; itself only if it is in a circle.
fn reachable<'a>(next: &BTreeMap<&'a str, BTreeSet<&'a str>>, start: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut left: Vec<&str> = vec![start];
    while let Some(file) = left.pop() {
        for to in next.get(file).into_iter().flatten() {
            if reached.insert(*to) {
                left.push(to);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests;
