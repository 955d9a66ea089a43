//! Device claims of a pod template (dynamic resource allocation).

use serde_json::Value;

use super::{at, sizes::too_many, violation::FieldError};
use crate::{claims::Source, names::subdomain_violation, view::ClaimView};

/// Most claims of a pod: what stands behind each is asked for once, and becomes part of the pin.
const CLAIMS: usize = 64;

/// The claims that a pod's spec names. Which device classes they ask for, and how the driver names a network
/// interface, stands in other objects and is filled in from the pin ([`crate::view::JobView::learn`]).
pub(super) fn claims(pod_spec: &Value) -> Vec<ClaimView> {
    let claim = |entry: &Value| {
        let name = at(entry, "/name").as_str()?.to_owned();
        let source = Source::of(entry).map(|source| source.key()).unwrap_or_default();
        Some(ClaimView { name, source, ..ClaimView::default() })
    };
    entries(pod_spec).iter().filter_map(claim).collect()
}

/// The names become part of paths in the API, so they have to be names of objects.
pub(super) fn check(path: &str, pod_spec: &Value, errors: &mut Vec<FieldError>) {
    let entries = entries(pod_spec);
    if entries.len() > CLAIMS {
        errors.push(too_many(path, entries.len(), CLAIMS, "ask for several devices in one claim"));
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
