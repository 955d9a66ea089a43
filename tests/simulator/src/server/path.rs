//! What a path names.

use super::kind::{KINDS, Kind};

/// An object, or all of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// What.
    pub kind: &'static Kind,
    /// Where; nothing for all namespaces, and for what is in none.
    pub namespace: Option<String>,
    /// Which; nothing for all.
    pub name: Option<String>,
    /// `status` is the only one.
    pub is_status: bool,
}

/// Versions of groups that no server of today has.
const NOT_SERVED: [&str; 2] = ["/apis/resource.k8s.io/v1beta2/", "/apis/resource.k8s.io/v1beta1/"];

/// The target; nothing where a server answers that it has no such path.
pub fn parse(path: &str) -> Option<Target> {
    if NOT_SERVED.iter().any(|prefix| path.starts_with(prefix)) {
        return None;
    }
    let target = known(path);
    assert!(target.is_some(), "the simulated API server does not know the path {path:?}");
    target
}

fn known(path: &str) -> Option<Target> {
    let mut parts = path.strip_prefix('/')?.split('/');
    let group = match parts.next()? {
        "api" => "",
        "apis" => parts.next()?,
        _ => return None,
    };
    let version = parts.next()?;
    let rest: Vec<&str> = parts.collect();
    let (namespace, plural, rest) = match rest.as_slice() {
        ["namespaces", namespace, plural, rest @ ..] if *plural != "status" => {
            (Some((*namespace).to_owned()), *plural, rest)
        }
        [plural, rest @ ..] => (None, *plural, rest),
        [] => return None,
    };
    let kind = KINDS
        .into_iter()
        .find(|kind| kind.plural == plural && kind.group == group && kind.version == version)?;
    let (name, is_status) = match rest {
        [] => (None, false),
        [name] => (Some((*name).to_owned()), false),
        [name, "status"] if kind.has_status => (Some((*name).to_owned()), true),
        _ => return None,
    };
    Some(Target { kind, namespace, name, is_status })
}

#[cfg(test)]
mod tests {
    use super::{super::kind, *};

    #[test]
    fn paths_name_objects_collections_and_their_status() {
        let pods = parse("/api/v1/namespaces/a/pods").unwrap();
        assert_eq!((pods.kind, pods.namespace.as_deref(), pods.name), (&kind::POD, Some("a"), None));

        let all = parse("/apis/kubeflow.org/v2beta1/mpijobs").unwrap();
        assert_eq!((all.kind, all.namespace), (&kind::MPI_JOB, None));

        let status = parse("/apis/batch/v1/namespaces/a/jobs/pi-launcher/status").unwrap();
        assert_eq!(
            (status.kind, status.name.as_deref(), status.is_status),
            (&kind::JOB, Some("pi-launcher"), true)
        );

        let namespace = parse("/api/v1/namespaces/a").unwrap();
        assert_eq!((namespace.kind, namespace.name.as_deref()), (&kind::NAMESPACE, Some("a")));
        assert_eq!(parse("/apis/resource.k8s.io/v1beta1/namespaces/a/resourceclaims/x"), None);
    }

    #[test]
    #[should_panic(expected = "does not know the path")]
    fn a_path_that_is_not_known_ends_the_run() {
        parse("/apis/apps/v1/deployments");
    }
}
