//! The API server's own record of everything that the operator asked for in all of these tests.

use std::collections::BTreeSet;

use crate::{
    audit, is_long,
    operator::{NAME, NAMESPACE},
    tool::run,
};
use anyhow::{Context as _, Result};
use coxswain_test_support::audit::Entry;
use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

/// What the roles grant and the operator never asks for by itself, with the reason.
const NOT_ASKED_FOR: [(&str, &str, &str, &str); 2] = [
    (
        "kubeflow.org",
        "mpijobs/finalizers",
        "update",
        "the admission plugin OwnerReferencesPermissionEnforcement asks for it where it is on",
    ),
    (
        "batch",
        "jobs/status",
        "patch",
        "Kubernetes before 1.36 keeps the start time of a suspended Job, which must go before it is changed; since then the \
         Job controller clears it (MutableSchedulingDirectivesForSuspendedJobs)",
    ),
];

#[test]
fn no_request_of_the_operator_was_forbidden() -> Result<()> {
    let requests = audit::requests_since(Timestamp::UNIX_EPOCH)?;
    assert!(requests.len() > 100, "only {} requests: is this the right log?", requests.len());
    let forbidden: Vec<_> =
        requests.iter().filter(|request| !request.allowed || request.code == 401).collect();
    assert!(forbidden.is_empty(), "{forbidden:#?}");
    Ok(())
}

/// In the jobs of `demo`, which nothing disturbs: a 404 or 409 would be a request that a look at the caches could
/// have saved.
#[test]
fn in_undisturbed_jobs_every_request_was_answered_well() -> Result<()> {
    let requests = audit::requests_since(Timestamp::UNIX_EPOCH)?;
    let demo: Vec<_> = requests.iter().filter(|request| request.namespace.starts_with("demo-")).collect();
    assert!(!demo.is_empty(), "no request about a namespace demo-*");
    let bad: Vec<_> = demo.iter().filter(|request| request.code >= 400).collect();
    assert!(bad.is_empty(), "{bad:#?}");
    println!("{} requests for the demo's jobs", demo.len());
    Ok(())
}

/// Everything that a job needs to be looked at is in the watches. That the log would show it otherwise, other tests'
/// jobs say: where a name is taken, or a claim is to be read, there are such reads.
#[test]
fn nothing_is_read_one_by_one_in_undisturbed_jobs() -> Result<()> {
    let requests = audit::requests_since(Timestamp::UNIX_EPOCH)?;
    let is_of_demo = |request: &&Entry| request.namespace.starts_with("demo-");
    let is_read = |request: &&Entry| matches!(&*request.verb, "get" | "list");
    let of_jobs =
        requests.iter().filter(|request| !request.namespace.is_empty() && request.namespace != NAMESPACE);
    let (demo, others): (Vec<_>, Vec<_>) = of_jobs.partition(is_of_demo);
    assert!(demo.iter().any(|request| request.verb == "create"), "no job of demo-* is in the log");
    assert!(others.iter().any(is_read), "no read in the whole log: does it hold them?");
    let reads: Vec<_> = demo.into_iter().filter(is_read).collect();
    assert!(reads.is_empty(), "{reads:#?}");
    Ok(())
}

/// What the operator may do that it does in none of these tests, it need not be allowed to do.
#[tokio::test]
async fn every_right_that_the_roles_grant_is_used() -> Result<()> {
    let requests = audit::requests_since(Timestamp::UNIX_EPOCH)?;
    let own = |request: &&Entry| request.namespace == NAMESPACE;
    let everywhere = used(requests.iter().filter(|request| !own(request)));
    let at_home = used(requests.iter().filter(own));

    let of_jobs = granted(&["get", "clusterrole", NAME]).await?;
    let of_its_own = granted(&["-n", NAMESPACE, "get", "role", "mpi-operator-own-namespace"]).await?;

    let excused: BTreeSet<Right> =
        NOT_ASKED_FOR.iter().map(|(group, resource, verb, _)| right(group, resource, verb)).collect();
    let is_tested = |right: &Right| is_long() || !is_of_long_form(right);
    let unused: Vec<&Right> = of_jobs
        .difference(&everywhere)
        .filter(|right| !excused.contains(*right) && is_tested(right))
        .collect();
    assert!(unused.is_empty(), "the ClusterRole grants what no test needs: {unused:#?}");
    let unused: Vec<&Right> = of_its_own.difference(&at_home).collect();
    assert!(unused.is_empty(), "the Role grants what no test needs: {unused:#?}");
    let vain: Vec<&Right> = excused.intersection(&everywhere).collect();
    assert!(vain.is_empty(), "asked for after all: {vain:#?}");
    Ok(())
}

/// Asked for by groups that only the long form of these tests has: under gang scheduling, and of jobs that the MPI Operator
/// began, whose objects are adopted or replaced.
fn is_of_long_form((group, resource, verb): &Right) -> bool {
    matches!(
        (&**group, &**resource, &**verb),
        (_, "podgroups", _)
            | ("scheduling.k8s.io", "priorityclasses", _)
            | ("", "secrets" | "services", "patch")
            | ("batch", "jobs", "delete")
    )
}

/// API group, resource, verb.
type Right = (String, String, String);

fn right(group: &str, resource: &str, verb: &str) -> Right {
    (group.to_owned(), resource.to_owned(), verb.to_owned())
}

fn used<'a>(requests: impl Iterator<Item = &'a Entry>) -> BTreeSet<Right> {
    requests.map(|request| right(&request.group, &request.resource, &request.verb)).collect()
}

/// The rights of a role as it is in the cluster.
async fn granted(role: &[&str]) -> Result<BTreeSet<Right>> {
    let role: Value = serde_json::from_str(&run("kubectl", &[role, &["-o", "json"]].concat()).await?)?;
    let rules = role["rules"].as_array().context("the role has no rules")?;
    let mut rights = BTreeSet::new();
    for rule in rules {
        for group in words(&rule["apiGroups"]) {
            for resource in words(&rule["resources"]) {
                rights.extend(words(&rule["verbs"]).map(|verb| right(group, resource, verb)));
            }
        }
    }
    Ok(rights)
}

fn words(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}
