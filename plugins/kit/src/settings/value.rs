//! Single values: what is wrong with one, and what a duration means.

use alloc::{format, string::String};

use super::Kind;
use crate::shell;

pub const TRUE: &str = "true";
const FALSE: &str = "false";

/// What is wrong with `value`, and what would be right; nothing if it is fine.
pub fn complaint(kind: Kind, value: &str) -> Option<String> {
    if value.chars().any(char::is_control) {
        return Some("must be one line without control characters".into());
    }
    match kind {
        Kind::Text => None,
        Kind::Flag => (value != TRUE && value != FALSE)
            .then(|| format!("must be \"true\" or \"false\", not \"{value}\"")),
        Kind::Number(least, most) => match value.parse::<u64>() {
            Ok(number) if (least..=most).contains(&number) => None,
            _ => Some(format!("must be a whole number from {least} to {most}, not \"{value}\"")),
        },
        Kind::Duration => seconds(value)
            .is_none()
            .then(|| format!("must be a time such as 90s, 10m or 1h30m, not \"{value}\"")),
        Kind::Words => shell::split(value).err().map(|wrong| format!("\"{value}\" {wrong}")),
        Kind::OneOf(choices) => (!choices.contains(&value))
            .then(|| format!("must be one of {}, not \"{value}\"", choices.join(", "))),
    }
}

/// Seconds of `90s`, `10m`, `1h30m`. Units in any order, each number a whole one; a bare `0` is fine.
pub fn seconds(value: &str) -> Option<u64> {
    if value == "0" {
        return Some(0);
    }
    let (mut total, mut rest) = (0_u64, value);
    while !rest.is_empty() {
        let (number, tail) = rest.split_at_checked(rest.find(|c: char| !c.is_ascii_digit())?)?;
        let unit = match tail.chars().next()? {
            's' => 1,
            'm' => 60,
            'h' => 3600,
            _ => return None,
        };
        total = total.checked_add(number.parse::<u64>().ok()?.checked_mul(unit)?)?;
        rest = tail.get(1..)?;
    }
    (!value.is_empty()).then_some(total)
}
