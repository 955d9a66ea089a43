//! Device claims of a pod template (dynamic resource allocation).

use std::collections::BTreeSet;

use serde_json::Value;

use super::{group::Group, valid_job::ValidJob, violation::FieldError};
use crate::{claims::Source, json::at, names::subdomain_violation};

/// Most claims of a pod: what stands behind each is asked for once, and becomes part of the pin.
const CLAIMS: usize = 64;

/// The names become part of paths in the API, so they have to be names of objects.
pub(super) fn check(path: &str, pod_spec: &Value, errors: &mut Vec<FieldError>) {
    let entries = entries(pod_spec);
    if entries.len() > CLAIMS {
        errors.push(FieldError::too_many(
            path,
            entries.len(),
            CLAIMS,
            "ask for several devices in one claim",
        ));
        return;
    }
    for (position, entry) in entries.iter().enumerate() {
        for field in ["resourceClaimName", "resourceClaimTemplateName"] {
            let name = entry.get(field).and_then(Value::as_str).filter(|name| !name.is_empty());
            if let Some((name, detail)) = name.and_then(|name| Some((name, subdomain_violation(name)?))) {
                errors.push(FieldError::invalid(format!("{path}[{position}].{field}"), name, detail));
            }
        }
    }
}

fn entries(pod_spec: &Value) -> &[Value] {
    at(pod_spec, "/resourceClaims").as_array().map(Vec::as_slice).unwrap_or_default()
}

impl ValidJob {
    /// The objects that its pods' claims name.
    pub fn claim_sources(&self) -> BTreeSet<Source> {
        let entries = |group: &Group| entries(group.pod_spec()).to_vec();
        self.groups.all().flat_map(entries).filter_map(|entry| Source::of(&entry)).collect()
    }
}
