//! Settings of plugins: as an administrator writes them, and as plugins take them.

use std::collections::BTreeMap;

use coxswain_model::view::Setting;

/// Reads `data.settings`, a YAML mapping from keys to scalars. A scalar stays the text that was written: `yes`, `1.10` and
/// `0x1F` reach the plugin so, quotes and comments do not. A key without a value is set to the empty text.
pub fn parse(text: &str) -> Result<BTreeMap<String, String>, String> {
    let settings: Option<BTreeMap<String, Option<String>>> =
        serde_saphyr::from_str(text).map_err(|error| {
            format!("data.settings must be YAML, one `key: value` a line, each key once: {error}")
        })?;
    Ok(settings.into_iter().flatten().map(|(key, value)| (key, value.unwrap_or_default())).collect())
}

/// In the order of their keys.
pub fn as_settings(given: &BTreeMap<String, String>) -> Vec<Setting> {
    given.iter().map(|(key, value)| Setting { key: key.clone(), value: value.clone() }).collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn read(text: &str) -> Vec<(String, String)> {
        parse(text).unwrap().into_iter().collect()
    }

    fn pair(key: &str, value: &str) -> (String, String) {
        (key.to_owned(), value.to_owned())
    }

    #[test]
    fn settings_are_yaml_and_comments_are_no_part_of_a_value() {
        let text =
            "# ours\nssh-args: \"-o X=1\"\ntree-spawn: false # until the upgrade\nhcas: mlx5_0:1,mlx5_1:1\n";

        assert_eq!(
            read(text),
            [pair("hcas", "mlx5_0:1,mlx5_1:1"), pair("ssh-args", "-o X=1"), pair("tree-spawn", "false")]
        );
    }

    #[test]
    fn a_scalar_is_the_text_that_was_written() {
        let text = "a: 1.10\nb: 0x1F\nc: yes\nd: 007\ne: 'null'\nf:\ng: >-\n  two\n  lines\n";

        assert_eq!(
            read(text),
            [
                pair("a", "1.10"),
                pair("b", "0x1F"),
                pair("c", "yes"),
                pair("d", "007"),
                pair("e", "null"),
                pair("f", ""),
                pair("g", "two lines"),
            ]
        );
    }

    #[test]
    fn nothing_is_no_settings() {
        assert_eq!(read(""), []);
        assert_eq!(read("# none yet\n"), []);
    }

    #[test]
    fn what_is_no_mapping_of_scalars_is_refused_with_its_place() {
        for (text, place) in [
            ("a: 1\nb", "line 2"),
            ("a: 1\na: 2", "line 2"),
            ("a: 1\nb: [1, 2]", "line 2"),
            ("a:\n  b: 1", "line 2"),
            ("- a", "line 1"),
        ] {
            let why = parse(text).unwrap_err();
            assert!(why.starts_with("data.settings must be YAML") && why.contains(place), "{text:?}: {why}");
        }
    }
}
