//! Settings: declared once as a table, checked with words that help, then read without further errors.
//!
//! The host merges a plugin's declared defaults, the cluster's values and the job's, so a plugin sees one list.

mod spelling;
mod value;

use alloc::{string::String, vec::Vec};

use crate::{
    plan, shell,
    types::{Failure, Setting, SettingKind, Violation},
};

/// What values of a setting look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any one line.
    Text,
    /// `true` or `false`.
    Flag,
    /// A whole number between the two, both included.
    Number(u64, u64),
    /// A time such as `90s`, `10m` or `1h30m`.
    Duration,
    /// Words as a shell reads them.
    Words,
    /// One of these.
    OneOf(&'static [&'static str]),
}

/// One row of a plugin's table of settings.
#[derive(Clone, Copy, Debug)]
pub struct Declared {
    /// Lower case with dashes.
    pub key: &'static str,
    /// What values look like.
    pub kind: Kind,
    /// Used where nobody sets it.
    pub default: &'static str,
    /// One line for people.
    pub summary: &'static str,
}

/// The table for [`crate::types`]' descriptor.
pub fn kinds(table: &[Declared]) -> Vec<SettingKind> {
    table
        .iter()
        .map(|row| SettingKind {
            key: row.key.into(),
            default: Some(row.default.into()),
            summary: row.summary.into(),
        })
        .collect()
}

/// Everything that is wrong with `settings`; the path of a violation is the key.
pub fn check(table: &[Declared], settings: &[Setting]) -> Vec<Violation> {
    let wrong = |setting: &Setting| {
        let text = match table.iter().find(|row| row.key == setting.key) {
            Some(row) => value::complaint(row.kind, &setting.value)?,
            None => spelling::unknown(&setting.key, table),
        };
        Some(plan::violation(setting.key.clone(), text))
    };
    settings.iter().filter_map(wrong).collect()
}

/// Checked settings. Keys that the table does not declare read as empty, `false` and 0.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    table: &'a [Declared],
    given: &'a [Setting],
}

impl<'a> Settings<'a> {
    /// Checks all of `given`.
    ///
    /// # Errors
    ///
    /// `invalid` with every violation.
    pub fn parse(table: &'a [Declared], given: &'a [Setting]) -> Result<Self, Failure> {
        let violations = check(table, given);
        if violations.is_empty() { Ok(Self { table, given }) } else { Err(Failure::Invalid(violations)) }
    }

    /// The value as text.
    pub fn text(&self, key: &str) -> &'a str {
        let given = self.given.iter().find(|setting| setting.key == key).map(|setting| &*setting.value);
        let default = || self.table.iter().find(|row| row.key == key).map(|row| row.default);
        given.or_else(default).unwrap_or_default()
    }

    /// A [`Kind::Flag`].
    pub fn flag(&self, key: &str) -> bool {
        self.text(key) == value::TRUE
    }

    /// A [`Kind::Number`].
    pub fn number(&self, key: &str) -> u64 {
        self.text(key).parse().unwrap_or_default()
    }

    /// A [`Kind::Duration`] in seconds.
    pub fn seconds(&self, key: &str) -> u64 {
        value::seconds(self.text(key)).unwrap_or_default()
    }

    /// [`Kind::Words`].
    pub fn words(&self, key: &str) -> Vec<String> {
        shell::split(self.text(key)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
