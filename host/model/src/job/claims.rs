//! Device claims of a pod template (dynamic resource allocation).

use serde_json::Value;

use super::at;
use crate::{claims::Source, view::ClaimView};

/// The claims that a pod's spec names. Which device classes they ask for, and how the driver names a network
/// interface, stands in other objects and is filled in from the pin ([`crate::view::JobView::learn`]).
pub(super) fn claims(pod_spec: &Value) -> Vec<ClaimView> {
    let entries = at(pod_spec, "/resourceClaims").as_array().map(Vec::as_slice).unwrap_or_default();
    let claim = |entry: &Value| {
        let name = at(entry, "/name").as_str()?.to_owned();
        let source = Source::of(entry).map(|source| source.key()).unwrap_or_default();
        Some(ClaimView { name, source, ..ClaimView::default() })
    };
    entries.iter().filter_map(claim).collect()
}
