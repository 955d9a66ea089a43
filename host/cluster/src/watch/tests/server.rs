//! An API server for watches: lists and streams by closure, in virtual time.
#![allow(clippy::unnecessary_wraps, reason = "an answer that never comes is one, too")]

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::body::Body;
use futures::{Stream, StreamExt, stream};
use http::{Request, Response};
use kube::Client;
use serde_json::{Value, json};
use tokio::time::Instant;
use tower::service_fn;

pub type Answer = Response<Body>;

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Asked {
    pub at: Instant,
    pub query: String,
}

impl Asked {
    pub fn watches(&self) -> bool {
        self.query.contains("watch=true")
    }

    /// For a comparison with the cache.
    pub fn compares(&self) -> bool {
        self.query.contains("limit=500")
    }

    /// A parameter of the query.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
    }
}

/// See the module.
#[derive(Clone, Default)]
pub struct Server(Arc<Mutex<Vec<Asked>>>);

impl Server {
    /// A client of a server that answers so; `None` never comes.
    pub fn client(&self, answer: impl Fn(&Asked) -> Option<Answer> + Send + Sync + 'static) -> Client {
        let (server, answer) = (self.clone(), Arc::new(answer));
        let service = service_fn(move |request: Request<kube::client::Body>| {
            let (server, answer) = (server.clone(), Arc::clone(&answer));
            async move {
                let query = request.uri().query().unwrap_or_default().to_owned();
                let asked = Asked { at: Instant::now(), query };
                server.0.lock().unwrap().push(asked.clone());
                tokio::time::sleep(Duration::from_millis(5)).await;
                match answer(&asked) {
                    Some(answer) => Ok::<_, tower::BoxError>(answer),
                    None => std::future::pending().await,
                }
            }
        });
        Client::new(service, "default")
    }

    /// All requests so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.0.lock().unwrap().clone()
    }
}

/// A whole answer.
pub fn text(status: u16, text: impl Into<Body>) -> Option<Answer> {
    Some(Response::builder().status(status).body(text.into()).unwrap())
}

/// A Status.
pub fn refused(status: u16, reason: &str) -> Option<Answer> {
    text(status, json!({"kind": "Status", "code": status, "reason": reason, "message": "no"}).to_string())
}

/// A page of a list.
pub fn page(version: u64, token: &str, items: &[String]) -> Option<Answer> {
    let meta = json!({"resourceVersion": version.to_string(), "continue": token});
    let items = items.join(",");
    text(200, format!(r#"{{"kind":"MPIJobList","metadata":{meta},"items":[{items}]}}"#))
}

/// The events of a watch, which then says nothing more.
pub fn events(lines: impl Stream<Item = String> + Send + 'static) -> Option<Answer> {
    let lines = lines.chain(stream::pending()).map(|line| Ok::<_, Infallible>(line + "\n"));
    Some(Response::new(Body::from_stream(lines)))
}

/// A watch that says nothing.
pub fn silence() -> Option<Answer> {
    events(stream::empty())
}

/// A line of a watch.
pub fn event(kind: &str, object: &str) -> String {
    format!(r#"{{"type":"{kind}","object":{object}}}"#)
}

/// As an API server tells that nothing has happened up to a version.
pub fn bookmark(version: u64) -> String {
    event("BOOKMARK", &json!({"metadata": {"resourceVersion": version.to_string()}}).to_string())
}

/// An `MPIJob`; its uid ends with `number`.
pub fn job(name: &str, number: u64, version: u64) -> String {
    templated(name, number, version, &json!({"spec": {"containers": []}}))
}

/// The same with this template.
pub fn templated(name: &str, number: u64, version: u64, template: &Value) -> String {
    let job = json!({
        "metadata": {
            "name": name,
            "namespace": "team-a",
            "uid": format!("00000000-0000-0000-0000-{number:012}"),
            "resourceVersion": version.to_string(),
        },
        "spec": {"mpiReplicaSpecs": {"Worker": {"replicas": 1, "template": template}}},
    });
    job.to_string()
}

/// The same, nested so deep that nobody can decode it.
pub fn deep(name: &str, number: u64, version: u64) -> String {
    let nested = format!("{}0{}", "{\"a\":".repeat(200), "}".repeat(200));
    templated(name, number, version, &json!("DEEP")).replace("\"DEEP\"", &nested)
}
