//! Single values: what is wrong with one, and what a duration means.

use alloc::string::String;

use super::Kind;
use crate::{decimal, shell};

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
            .then(|| ["must be \"true\" or \"false\", not \"", value, "\""].concat()),
        Kind::Number(least, most) => match value.parse::<u64>() {
            Ok(number) if (least..=most).contains(&number) => None,
            _ => {
                let (least, most) = (decimal::of(least), decimal::of(most));
                Some(
                    ["must be a whole number from ", &least, " to ", &most, ", not \"", value, "\""].concat(),
                )
            }
        },
        Kind::Duration => seconds(value)
            .is_none()
            .then(|| ["must be a time such as 90s, 10m or 1h30m, not \"", value, "\""].concat()),
        Kind::Words => shell::split(value).err().map(|wrong| ["\"", value, "\" ", wrong].concat()),
        Kind::OneOf(choices) => (!choices.contains(&value))
            .then(|| ["must be one of ", &choices.join(", "), ", not \"", value, "\""].concat()),
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
