//! An API server made of a closure, for tests of what is sent and of what its answers mean.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use kube::{Client, client::Body};
use serde_json::{Value, json};
use tokio::time::{Duration, sleep};
use tower::service_fn;

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Its method.
    pub method: Method,
    /// Without the query.
    pub path: String,
    /// Of the URL.
    pub query: String,
    /// `Accept`.
    pub accept: String,
    /// `Content-Type`.
    pub content: String,
    /// JSON; null without one.
    pub body: Value,
}

impl Asked {
    /// It opens a watch.
    pub fn watches(&self) -> bool {
        self.query.contains("watch=true")
    }

    /// `POST /api/v1/…/pods pi-worker-0`: method, last part of the path and name in the body.
    pub fn line(&self) -> String {
        let last = self.path.rsplit('/').next().unwrap_or_default();
        let name = self.body.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        format!("{} {last} {name}", self.method).trim_end().to_owned()
    }
}

/// What is answered.
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// JSON.
    pub body: Value,
    /// `Retry-After` in seconds.
    pub retry_after: Option<u64>,
}

impl Reply {
    /// 200.
    pub fn ok(body: Value) -> Self {
        Self { status: 200, body, retry_after: None }
    }

    /// A Status in the API server's form.
    pub fn refused(status: u16, reason: &str) -> Self {
        let message = format!("refused: {reason}");
        Self {
            status,
            body: json!({"kind": "Status", "reason": reason, "message": message}),
            retry_after: None,
        }
    }
}

/// See the module.
#[derive(Clone, Default)]
pub struct Fake {
    asked: Arc<Mutex<Vec<Asked>>>,
    under_way: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    versions: Arc<AtomicUsize>,
}

impl Fake {
    /// A client of a server that takes `latency` and then answers with `answer`.
    pub fn client(
        &self,
        latency: Duration,
        answer: impl Fn(&Fake, &Asked) -> Reply + Send + Sync + 'static,
    ) -> Client {
        self.uneven(move |_| latency, answer)
    }

    /// The same, where how long it takes depends on the request.
    pub fn uneven(
        &self,
        latency: impl Fn(&Asked) -> Duration + Send + Sync + 'static,
        answer: impl Fn(&Fake, &Asked) -> Reply + Send + Sync + 'static,
    ) -> Client {
        let (fake, answer, latency) = (self.clone(), Arc::new(answer), Arc::new(latency));
        let service = service_fn(move |request: Request<Body>| {
            let (fake, answer, latency) = (fake.clone(), Arc::clone(&answer), Arc::clone(&latency));
            async move {
                let (parts, body) = request.into_parts();
                let bytes = body.collect().await?.to_bytes();
                let header = |name: &str| {
                    parts.headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default().to_owned()
                };
                let asked = Asked {
                    accept: header("accept"),
                    content: header("content-type"),
                    method: parts.method,
                    path: parts.uri.path().to_owned(),
                    query: parts.uri.query().unwrap_or_default().to_owned(),
                    body: serde_json::from_slice(&bytes).unwrap_or_default(),
                };
                fake.asked.lock().unwrap().push(asked.clone());
                let now = fake.under_way.fetch_add(1, Ordering::SeqCst) + 1;
                fake.most.fetch_max(now, Ordering::SeqCst);
                sleep(latency(&asked)).await;
                let reply = answer(&fake, &asked);
                fake.under_way.fetch_sub(1, Ordering::SeqCst);
                let mut response = Response::builder().status(StatusCode::from_u16(reply.status).unwrap());
                if let Some(seconds) = reply.retry_after {
                    response = response.header("retry-after", seconds);
                }
                Ok::<_, tower::BoxError>(
                    response.body(Body::from(reply.body.to_string().into_bytes())).unwrap(),
                )
            }
        });
        Client::new(service, "default")
    }

    /// All requests so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// [`Asked::line`] of all.
    pub fn lines(&self) -> Vec<String> {
        self.asked().iter().map(Asked::line).collect()
    }

    /// The most requests that were under way at once.
    pub fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }

    /// The object of a POST as stored: with uid and version.
    pub fn stored(&self, asked: &Asked) -> Reply {
        let version = self.versions.fetch_add(1, Ordering::SeqCst) + 100;
        let mut object = asked.body.clone();
        object["metadata"]["uid"] = format!("uid-{version}").into();
        object["metadata"]["resourceVersion"] = version.to_string().into();
        Reply { status: 201, body: object, retry_after: None }
    }
}
