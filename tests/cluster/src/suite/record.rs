//! The API server's own record of everything that the operator asked for in all of these tests.

use crate::audit;
use anyhow::Result;
use k8s_openapi::jiff::Timestamp;

#[test]
fn no_request_of_the_operator_was_forbidden() -> Result<()> {
    let requests = audit::requests_since(Timestamp::UNIX_EPOCH)?;
    assert!(requests.len() > 100, "only {} requests: is this the right log?", requests.len());
    let forbidden: Vec<_> =
        requests.iter().filter(|request| !request.allowed || request.code == 401).collect();
    assert!(forbidden.is_empty(), "{forbidden:#?}");
    Ok(())
}

/// In the ten jobs of `demo`, which nothing disturbs: a 404 or 409 would be a request that a look at the caches could
/// have saved.
#[test]
fn in_undisturbed_jobs_every_request_was_answered_well() -> Result<()> {
    let requests = audit::requests_since(Timestamp::UNIX_EPOCH)?;
    let demo: Vec<_> = requests.iter().filter(|request| request.namespace.starts_with("demo-")).collect();
    assert!(!demo.is_empty(), "no request about a namespace demo-*");
    let bad: Vec<_> = demo.iter().filter(|request| request.code >= 400).collect();
    assert!(bad.is_empty(), "{bad:#?}");
    println!("{} requests for ten jobs", demo.len());
    Ok(())
}

/// Everything that a job needs to be looked at is in the watches.
#[test]
fn nothing_is_read_one_by_one_in_undisturbed_jobs() -> Result<()> {
    let requests = audit::requests_since(Timestamp::UNIX_EPOCH)?;
    let reads: Vec<_> = requests
        .iter()
        .filter(|request| request.namespace.starts_with("demo-") && matches!(&*request.verb, "get" | "list"))
        .collect();
    assert!(reads.is_empty(), "{reads:#?}");
    Ok(())
}
