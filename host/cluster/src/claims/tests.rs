use std::{sync::Arc, time::Duration};

use coxswain_model::job::Verdict;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::*;
use crate::{limiter::ConcurrencyLimiter, metrics::Metrics};
use coxswain_test_support::api_server::{Fake, Reply};

fn job(claims: &Value) -> ValidJob {
    let pod = |claims: &Value| json!({"spec": {"containers": [{"name": "main"}], "resourceClaims": claims}});
    let raw = json!({
        "metadata": {"name": "pi", "namespace": "team-a", "uid": "u"},
        "spec": {"mpiReplicaSpecs": {
            "Launcher": {"template": pod(&json!([]))},
            "Worker": {"replicas": 2, "template": pod(claims)},
        }},
    });
    match ValidJob::parse(&serde_json::from_value(raw).unwrap(), None) {
        Verdict::Valid(job) => *job,
        other => panic!("{other:?}"),
    }
}

fn template() -> Value {
    json!({"spec": {"spec": {"devices": {
        "requests": [{"name": "nic", "exactly": {"deviceClassName": "dranet"}}],
        "config": [{"opaque": {"driver": "dra.net", "parameters": {"interface": {"name": "dranet0"}}}}],
    }}}})
}

/// What is read for these claims from a server that answers so, and which paths were asked for.
async fn ask(claims: Value, answer: fn(&str) -> Reply) -> (Result<Claims, Failed>, Vec<String>) {
    let fake = Fake::default();
    let metrics = Arc::new(Metrics::new().unwrap());
    let client = fake.client(Duration::ZERO, move |_, asked| answer(&asked.path));
    let rest = Rest::new(client, ConcurrencyLimiter::new(None, Arc::clone(&metrics)), metrics);
    let read = read(&rest, &job(&claims), &JobKey::new("team-a", "pi")).await;
    (read, fake.asked().into_iter().map(|asked| asked.path).collect())
}

fn named() -> Value {
    json!([{"name": "nic", "resourceClaimTemplateName": "nic"}])
}

#[tokio::test]
async fn the_template_of_a_claim_tells_classes_and_interface() {
    let (claims, asked) = ask(named(), |_| Reply::ok(template())).await;

    let facts = Facts { classes: vec!["dranet".into()], interface: Some("dranet0".into()) };
    let expected = Claims { facts: [("resourceclaimtemplates/nic".to_owned(), facts)].into(), notes: vec![] };
    assert_eq!(claims.unwrap(), expected);
    assert_eq!(asked, ["/apis/resource.k8s.io/v1/namespaces/team-a/resourceclaimtemplates/nic"]);
}

#[tokio::test]
async fn a_server_with_an_older_version_is_asked_in_that_one() {
    let answer = |path: &str| {
        if path.contains("/v1beta1/") { Reply::ok(template()) } else { Reply::refused(404, "NotFound") }
    };

    let (claims, asked) = ask(json!([{"name": "nic", "resourceClaimName": "shared"}]), answer).await;

    let facts = claims.unwrap().facts;
    assert_eq!(facts["resourceclaims/shared"].interface.as_deref(), Some("dranet0"));
    assert_eq!(asked.len(), 3);
}

#[tokio::test]
async fn a_job_goes_on_without_a_claim_that_is_missing_or_withheld_and_is_told() {
    for (code, word) in [(404, "was not there"), (403, "may not be read")] {
        let answer = if code == 404 {
            |_: &str| Reply::refused(404, "NotFound")
        } else {
            |_: &str| Reply::refused(403, "Forbidden")
        };

        let claims = ask(named(), answer).await.0.unwrap();

        assert_eq!(claims.facts, ClaimFacts::new());
        assert!(claims.notes[0].warning && claims.notes[0].text.contains(word), "{:?}", claims.notes);
    }
}

#[tokio::test]
async fn a_server_that_cannot_answer_is_asked_again_later() {
    assert!(ask(named(), |_| Reply::refused(500, "InternalError")).await.0.is_err());
}

#[tokio::test]
async fn a_job_without_claims_costs_no_request() {
    let (claims, asked) = ask(json!([]), |_| Reply::ok(template())).await;

    assert_eq!((claims.unwrap(), asked.len()), (Claims::default(), 0));
}
