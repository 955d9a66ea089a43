//! Texts that DNS and the API take for names.

use std::fmt;

/// Longest DNS label.
pub const MAX_LABEL: usize = 63;
/// Longest DNS subdomain.
pub const MAX_SUBDOMAIN: usize = 253;

/// Why a text is no DNS-1035 label; `Display` uses the API machinery's own words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidLabel {
    /// Over [`MAX_LABEL`] characters.
    TooLong,
    /// Not `[a-z]([-a-z0-9]*[a-z0-9])?`.
    Malformed,
}

impl fmt::Display for InvalidLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLong => "must be no more than 63 characters",
            Self::Malformed => {
                "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
                 alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', \
                 regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
            }
        })
    }
}

/// Every reason why `text` is no DNS-1035 label, in the API machinery's order; empty if it is one.
pub fn label_violations(text: &str) -> Vec<InvalidLabel> {
    let mut found = Vec::new();
    if text.len() > MAX_LABEL {
        found.push(InvalidLabel::TooLong);
    }
    let alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let well_formed = text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.ends_with(alphanumeric)
        && text.chars().all(|c| alphanumeric(c) || c == '-');
    if !well_formed {
        found.push(InvalidLabel::Malformed);
    }
    found
}

/// Why `text` names no object of the kinds whose names are DNS-1123 subdomains, in the API machinery's words; none if
/// it may. What passes is one segment of a path and needs no escape.
pub fn subdomain_violation(text: &str) -> Option<&'static str> {
    let alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let well_formed = |part: &str| {
        part.starts_with(alphanumeric)
            && part.ends_with(alphanumeric)
            && part.chars().all(|c| alphanumeric(c) || c == '-')
    };
    if text.len() > MAX_SUBDOMAIN {
        return Some("must be no more than 253 characters");
    }
    (!text.split('.').all(well_formed)).then_some(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start \
         and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
         '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_refused_for_length_and_for_form() {
        assert!(label_violations("pi-worker-0").is_empty());
        assert_eq!(label_violations("1pi"), [InvalidLabel::Malformed]);
        assert_eq!(label_violations("pi-"), [InvalidLabel::Malformed]);
        assert_eq!(label_violations(""), [InvalidLabel::Malformed]);
        assert_eq!(label_violations(&"a".repeat(64)), [InvalidLabel::TooLong]);
        assert_eq!(label_violations(&"A".repeat(64)), [InvalidLabel::TooLong, InvalidLabel::Malformed]);
    }

    #[test]
    fn a_subdomain_is_one_segment_of_a_path() {
        for name in ["nic", "a.b-c.d", "0", &"a".repeat(253)] {
            assert_eq!(subdomain_violation(name), None, "{name}");
        }
        for name in
            ["", ".", "..", "../x", "a/b", "a..b", "-a", "a-", "A", "a b", "a%2fb", "a?b", "a#b", "ä", "a\n"]
        {
            assert!(subdomain_violation(name).is_some(), "{name}");
        }
        assert_eq!(subdomain_violation(&"a".repeat(254)), Some("must be no more than 253 characters"));
    }
}
