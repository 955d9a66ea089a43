//! Rules for declared container ports.

use super::findings::{Findings, edits};
use crate::plan::{Change, Plan, Port};

/// Lowest port: those below need a privilege that no plugin can give.
const MIN_PORT: u16 = 1024;
/// Most ports of one role.
const MAX_PORTS: usize = 16;
/// Longest IANA service name, which a port's name must be.
const MAX_NAME: usize = 15;

/// The ports of one role; a later one of the same name wins.
pub(super) fn grant(role: &str, plan: &Plan, found: &mut Findings) -> Vec<Port> {
    let mut granted: Vec<(&str, Port)> = Vec::new();
    for (by, change) in edits(plan, role) {
        let Change::Port(port) = change else { continue };
        check(by, port, found);
        match granted.iter_mut().find(|(_, first)| first.name == port.name) {
            Some(first) => *first = (by, port.clone()),
            None => granted.push((by, port.clone())),
        }
    }
    for (position, (by, port)) in granted.iter().enumerate() {
        if let Some((_, other)) = granted.iter().take(position).find(|(_, other)| other.number == port.number)
        {
            let text = format!("port {} is taken by {:?}: choose another number", port.number, other.name);
            found.refuse(by, &format!("ports[{}]", port.name), text);
        }
    }
    if let Some((by, _)) = granted.get(MAX_PORTS) {
        found.refuse(by, "ports", format!("{} ports: at most {MAX_PORTS} are allowed", granted.len()));
    }
    granted.into_iter().map(|(_, port)| port).collect()
}

fn check(by: &str, port: &Port, found: &mut Findings) {
    let item = format!("ports[{}]", port.name);
    if port.number < MIN_PORT {
        found.refuse(by, &item, format!("port {}: must be {MIN_PORT} to 65535", port.number));
    }
    let name = port.name.as_str();
    let well_formed = name.len() <= MAX_NAME
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
        && name.contains(|c: char| c.is_ascii_lowercase())
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--");
    if !well_formed {
        let text = format!("a name has lower case letters, digits and single '-' inside, at most {MAX_NAME}");
        found.refuse(by, &item, text);
    }
}
