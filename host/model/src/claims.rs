//! What the objects behind a pod's device claims say (dynamic resource allocation): a job names them, plugins get to
//! see what is in them.
//!
//! They are read once, when the job is pinned, and what they said then is part of the pin: templates of claims cannot
//! be changed, but deleted and made anew.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::json::at;

/// The object that describes a claim, in the job's namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// `ResourceClaimTemplate` of that name: every pod gets a claim of its own.
    Template(String),
    /// `ResourceClaim` of that name, shared.
    Claim(String),
}

/// What plugins get to see of a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize, Serialize)]
pub struct Facts {
    /// Device class of each request, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<String>,
    /// Interface names that the driver is told to give the devices, with commas between them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
}

/// Facts by [`Source::key`].
pub type ClaimFacts = BTreeMap<String, Facts>;

impl Source {
    /// The object that an entry of a pod's `resourceClaims` names.
    pub(crate) fn of(entry: &Value) -> Option<Self> {
        let named =
            |field: &str| at(entry, field).as_str().filter(|name| !name.is_empty()).map(str::to_owned);
        let template = named("/resourceClaimTemplateName").map(Self::Template);
        template.or_else(|| named("/resourceClaimName").map(Self::Claim))
    }

    /// `resourceclaimtemplates/NAME` or `resourceclaims/NAME`: the end of its path in the API, too.
    pub fn key(&self) -> String {
        match self {
            Self::Template(name) => format!("resourceclaimtemplates/{name}"),
            Self::Claim(name) => format!("resourceclaims/{name}"),
        }
    }

    /// Its kind in the API.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Template(_) => "ResourceClaimTemplate",
            Self::Claim(_) => "ResourceClaim",
        }
    }

    /// The source that `object`, a manifest, is; none if it is of another kind.
    pub fn described_by(object: &Value) -> Option<Self> {
        let name = at(object, "/metadata/name").as_str()?.to_owned();
        match at(object, "/kind").as_str()? {
            "ResourceClaimTemplate" => Some(Self::Template(name)),
            "ResourceClaim" => Some(Self::Claim(name)),
            _ => None,
        }
    }
}

impl Facts {
    /// Reads a `ResourceClaimTemplate` or `ResourceClaim` of any version of `resource.k8s.io`.
    pub fn read(object: &Value) -> Self {
        let devices = match at(object, "/spec/spec/devices") {
            Value::Null => at(object, "/spec/devices"),
            of_template => of_template,
        };
        let list = |field: &str| at(devices, field).as_array().map(Vec::as_slice).unwrap_or_default();
        let interfaces: Vec<&str> =
            list("/config").iter().filter_map(|config| at(config, INTERFACE).as_str()).collect();
        Self {
            classes: list("/requests").iter().flat_map(classes).collect(),
            interface: Some(interfaces.join(",")).filter(|names| !names.is_empty()),
        }
    }
}

/// Where a driver of network devices is told the name of an interface.
const INTERFACE: &str = "/opaque/parameters/interface/name";

/// `exactly` in v1 and v1beta2, the request itself in v1beta1, alternatives in `firstAvailable`.
fn classes(request: &Value) -> Vec<String> {
    let class = |of: &Value| at(of, "/deviceClassName").as_str().map(str::to_owned);
    let alternatives = at(request, "/firstAvailable").as_array().map(Vec::as_slice).unwrap_or_default();
    let one = class(at(request, "/exactly")).or_else(|| class(request));
    one.into_iter().chain(alternatives.iter().filter_map(class)).collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_manifest_says_which_source_it_is() {
        let described = |kind: &str| {
            Source::described_by(&json!({"kind": kind, "metadata": {"name": "gpus"}}))
                .map(|source| source.key())
        };

        assert_eq!(described("ResourceClaimTemplate").as_deref(), Some("resourceclaimtemplates/gpus"));
        assert_eq!(described("ResourceClaim").as_deref(), Some("resourceclaims/gpus"));
        assert_eq!(described("DeviceClass"), None);
    }

    fn read(devices: &Value) -> (Facts, Facts) {
        let template = json!({"kind": "ResourceClaimTemplate", "spec": {"spec": {"devices": devices}}});
        let claim = json!({"kind": "ResourceClaim", "spec": {"devices": devices}});
        (Facts::read(&template), Facts::read(&claim))
    }

    #[test]
    fn classes_are_read_in_every_version_of_the_api() {
        let expected = Facts { classes: vec!["nic".into(), "gpu".into()], interface: None };
        for requests in [
            json!([{"exactly": {"deviceClassName": "nic"}}, {"exactly": {"deviceClassName": "gpu"}}]),
            json!([{"deviceClassName": "nic"}, {"deviceClassName": "gpu"}]),
            json!([{"firstAvailable": [{"deviceClassName": "nic"}, {"deviceClassName": "gpu"}]}]),
        ] {
            let (template, claim) = read(&json!({"requests": requests}));

            assert_eq!((&template, &claim), (&expected, &expected));
        }
    }

    #[test]
    fn interface_names_of_several_devices_are_joined() {
        let named = |name: &str| json!({"opaque": {"driver": "dra.net", "parameters": {"interface": {"name": name}}}});
        let other = json!({"opaque": {"driver": "gpu.nvidia.com", "parameters": {"sharing": {}}}});

        let (one, _) = read(&json!({"config": [other, named("dranet0")]}));
        let (two, _) = read(&json!({"config": [named("dranet0"), named("dranet1")]}));

        assert_eq!(one.interface.as_deref(), Some("dranet0"));
        assert_eq!(two.interface.as_deref(), Some("dranet0,dranet1"));
        assert_eq!(Facts::read(&json!({"spec": "what"})), Facts::default());
    }

    #[test]
    fn config_at_the_wrong_level_says_nothing_as_the_api_server_drops_it() {
        let config =
            json!([{"opaque": {"driver": "dra.net", "parameters": {"interface": {"name": "dranet0"}}}}]);
        let wrong =
            json!({"kind": "ResourceClaimTemplate", "spec": {"spec": {"devices": {}}, "config": config}});

        assert_eq!(Facts::read(&wrong), Facts::default());
    }
}
