//! Settings as plugins take them.

use std::collections::BTreeMap;

use coxswain_model::view::Setting;

/// In the order of their keys.
pub fn as_settings(given: &BTreeMap<String, String>) -> Vec<Setting> {
    given.iter().map(|(key, value)| Setting { key: key.clone(), value: value.clone() }).collect()
}
