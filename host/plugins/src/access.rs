//! Who may use a plugin: the namespaces that its ConfigMap lists, checked at each use.

use std::fmt;

use crate::source::Unusable;

/// Namespaces whose jobs may use a plugin; of a plugin that lists none, all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access(Option<Vec<String>>);

impl Access {
    /// Reads `data.namespaces`: names, separated by commas or white space; one that ends with `*` stands for all that begin
    /// so. An empty text lists none, so that a template with an empty value does not shut everybody out.
    pub fn read(text: &str) -> Result<Self, Unusable> {
        let entries: Vec<String> = text
            .split(|c: char| c == ',' || c.is_whitespace())
            .filter(|entry| !entry.is_empty())
            .map(str::to_owned)
            .collect();
        if let Some(wrong) = entries.iter().find(|entry| !is_entry(entry)) {
            return Err(Unusable(format!(
                "data.namespaces has an entry {wrong:?}: it must be a namespace, or the beginning of one with a * behind it"
            )));
        }
        Ok(Self((!entries.is_empty()).then_some(entries)))
    }

    /// Whether jobs of `namespace` may use it.
    pub fn allows(&self, namespace: &str) -> bool {
        let fits = |entry: &String| match entry.strip_suffix('*') {
            Some(beginning) => namespace.starts_with(beginning),
            None => namespace == entry,
        };
        self.0.as_ref().is_none_or(|entries| entries.iter().any(fits))
    }
}

fn is_entry(entry: &str) -> bool {
    let name = entry.strip_suffix('*').unwrap_or(entry);
    let is_label = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    name.len() <= 63 && name.bytes().all(is_label)
}

/// As [`Access::read`] takes it.
impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.as_deref().unwrap_or_default().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_that_lists_no_namespace_is_for_all() {
        assert!(Access::read(" \n").unwrap().allows("team-a"));
        assert!(Access::default().allows("team-a"));
    }

    #[test]
    fn a_list_allows_its_names_and_beginnings_and_no_other() {
        let access = Access::read("team-a, hpc-*").unwrap();

        assert!(access.allows("team-a") && access.allows("hpc-1"));
        assert!(!access.allows("team-ab") && !access.allows("default"));
        assert_eq!(Access::read(&access.to_string()).unwrap(), access);
    }

    #[test]
    fn an_entry_that_no_namespace_can_have_is_told() {
        let Unusable(why) = Access::read("team-a, Team B").unwrap_err();

        assert!(why.contains(r#""Team""#), "{why}");
    }
}
