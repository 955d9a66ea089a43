//! Looking behind a job's device claims.

use coxswain_model::{
    claims::{ClaimFacts, Facts, Source},
    job::ValidJob,
    plan::Note,
};
use http::Method;

use crate::{
    failed::Failed,
    key::JobKey,
    limiter::Flow,
    rest::{Call, Rest},
};

/// Versions of `resource.k8s.io` that Kubernetes 1.33 and later serve, newest first. What is read is in all of them.
const VERSIONS: [&str; 3] = ["v1", "v1beta2", "v1beta1"];

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// Of those that could be read.
    pub facts: ClaimFacts,
    /// About the others: the job goes on without.
    pub notes: Vec<Note>,
}

/// Reads every object that the job's claims name.
pub async fn read(rest: &Rest, job: &ValidJob, key: &JobKey) -> Result<Claims, Failed> {
    let mut claims = Claims::default();
    for source in job.claim_sources() {
        match facts(rest, &source, key).await? {
            Ok(facts) => {
                claims.facts.insert(source.key(), facts);
            }
            Err(why) => claims.notes.push(Note { by: "operator".to_owned(), warning: true, text: why }),
        }
    }
    Ok(claims)
}

/// The facts, or why there are none.
async fn facts(rest: &Rest, source: &Source, key: &JobKey) -> Result<Result<Facts, String>, Failed> {
    let without = |why: &str| {
        format!("{} {why}: plugins see neither device classes nor interface of that claim", source.key())
    };
    for version in VERSIONS {
        let path = format!("/apis/resource.k8s.io/{version}/namespaces/{}/{}", key.namespace, source.key());
        let call = Call::new(source.kind(), Method::GET, path);
        match rest.send(Flow::Objects, &key.to_string(), call).await {
            Ok(body) => {
                let object = serde_json::from_slice(&body).unwrap_or_default();
                return Ok(Ok(Facts::read(&object)));
            }
            // The object or the whole version.
            Err(refused) if refused.code == 404 => {}
            Err(refused) if refused.code == 403 => {
                return Ok(Err(without("may not be read by the operator (its role lacks it)")));
            }
            Err(refused) => {
                return Err(Failed::refused(refused, format!("reading {} of {key}", source.key())));
            }
        }
    }
    Ok(Err(without("was not there when the job was pinned")))
}

#[cfg(test)]
mod tests;
