//! Device claims of a pod template (dynamic resource allocation).

use serde_json::Value;

use super::at;
use crate::view::ClaimView;

/// The claims that a pod's spec names. Which device classes they ask for, and how the driver names a network
/// interface, stands in other objects (`ResourceClaimTemplate`, `ResourceClaim`): those fields stay empty here,
/// because a view is a function of the job alone.
pub(super) fn claims(pod_spec: &Value) -> Vec<ClaimView> {
    let entries = at(pod_spec, "/resourceClaims").as_array().map(Vec::as_slice).unwrap_or_default();
    entries
        .iter()
        .filter_map(|entry| at(entry, "/name").as_str())
        .map(|name| ClaimView { name: name.to_owned(), ..ClaimView::default() })
        .collect()
}
