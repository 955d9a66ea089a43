//! The whole operator over an API server made of a closure, in virtual time.

use std::sync::{
    Mutex,
    atomic::{AtomicBool, Ordering},
};

use http::{Method, Request, Response};
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::sleep;
use tower::service_fn;

use super::*;
use coxswain_cluster::key::JobKey;

/// What the API server is like.
#[derive(Clone, Default)]
struct Server {
    frozen: Arc<AtomicBool>,
    /// Everything but leases is answered with this code, if any.
    refuses: Arc<Mutex<Option<(&'static str, u16)>>>,
    lease: Arc<Mutex<Option<Value>>>,
    writes: Arc<Mutex<Vec<String>>>,
    /// `MPIJob`s that there are.
    jobs: Arc<Mutex<Vec<Value>>>,
}

const LIST: &str = r#"{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[]}"#;

impl Server {
    fn client(&self) -> Client {
        let server = self.clone();
        let service = service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move {
                let (parts, body) = request.into_parts();
                let body: Value =
                    serde_json::from_slice(&body.collect().await?.to_bytes()).unwrap_or_default();
                let path = parts.uri.path().to_owned();
                while server.frozen.load(Ordering::Relaxed) {
                    sleep(Duration::from_millis(100)).await;
                }
                let refused = *server.refuses.lock().unwrap();
                let (status, text) = match refused.filter(|(of, _)| path.contains(of)) {
                    Some((_, code)) => {
                        (code, json!({"kind": "Status", "code": code, "message": "no"}).to_string())
                    }
                    None if path.contains("/leases") => server.lease(&parts.method, body),
                    None if parts.uri.query().unwrap_or_default().contains("watch=") => {
                        return Ok::<_, tower::BoxError>(Response::new(silence()));
                    }
                    None if parts.method == Method::GET && path.ends_with("/mpijobs") => {
                        let mut list: Value = serde_json::from_str(LIST)?;
                        list["items"] = server.jobs.lock().unwrap().clone().into();
                        (200, list.to_string())
                    }
                    None if parts.method == Method::GET => (200, LIST.to_owned()),
                    None => {
                        let what = body.pointer("/message").and_then(Value::as_str).unwrap_or_default();
                        server.writes.lock().unwrap().push(format!("{} {path} {what}", parts.method));
                        (201, body.to_string())
                    }
                };
                Ok(Response::builder().status(status).body(axum::body::Body::from(text))?)
            }
        });
        Client::new(service, "default")
    }

    fn lease(&self, method: &Method, body: Value) -> (u16, String) {
        let mut lease = self.lease.lock().unwrap();
        if *method != Method::GET {
            *lease = Some(body);
        }
        lease.as_ref().map_or((404, "{}".to_owned()), |lease| (200, lease.to_string()))
    }

    fn holder(&self) -> String {
        let lease = self.lease.lock().unwrap();
        let holder = lease
            .as_ref()
            .and_then(|lease| lease.pointer("/spec/holderIdentity")?.as_str().map(str::to_owned));
        holder.unwrap_or_default()
    }

    /// How often a replica told that it became the leader: the second time as a higher count of the first event.
    fn terms(&self) -> usize {
        let reported = |write: &&String| {
            write.contains("became leader") || write.contains("PATCH /api/v1/namespaces/n/events/")
        };
        self.writes.lock().unwrap().iter().filter(reported).count()
    }

    /// How often the user of the invalid job was notified.
    fn verdicts(&self) -> usize {
        self.writes.lock().unwrap().iter().filter(|write| write.contains("/mpijobs/invalid/status")).count()
    }

    fn start(&self) -> JoinHandle<anyhow::Result<()>> {
        let options = Options {
            plugin_dir: "/nonexistent".into(),
            lock_namespace: "n".to_owned(),
            plugin_namespace: "n".to_owned(),
            ..Options::default()
        };
        tokio::spawn(operate(options, self.client(), self.client(), std::future::pending()))
    }
}

/// A watch that has nothing to report, and ends after 100 s.
fn silence() -> axum::body::Body {
    let end = futures::stream::once(async {
        sleep(Duration::from_secs(100)).await;
        Ok::<_, std::io::Error>(bytes::Bytes::new())
    });
    axum::body::Body::from_stream(end)
}

async fn minutes(n: u64) {
    sleep(Duration::from_mins(n)).await;
}

async fn becomes_true(what: impl Fn() -> bool) {
    for _ in 0..600 {
        if what() {
            return;
        }
        sleep(Duration::from_millis(100)).await;
    }
    panic!("not within a minute");
}

#[tokio::test(start_paused = true)]
async fn a_cluster_without_the_crd_is_waited_for_and_nobody_leads_meanwhile() {
    let server = Server::default();
    *server.refuses.lock().unwrap() = Some(("/mpijobs", 404));
    let operator = server.start();

    minutes(10).await;
    assert!(!operator.is_finished());
    assert_eq!(server.holder(), "", "a replica that does not see must not hold the lease");

    *server.refuses.lock().unwrap() = None;
    becomes_true(|| server.terms() == 1).await;
    assert!(!operator.is_finished());
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_is_away_at_the_start_ends_nothing() {
    let server = Server::default();
    *server.refuses.lock().unwrap() = Some(("/", 503));
    let operator = server.start();

    minutes(5).await;
    assert!(!operator.is_finished());

    *server.refuses.lock().unwrap() = None;
    becomes_true(|| server.terms() == 1).await;
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_is_frozen_for_45_seconds_costs_a_term_and_no_restart() {
    let server = Server::default();
    let operator = server.start();
    becomes_true(|| server.terms() == 1).await;
    let holder = server.holder();

    server.frozen.store(true, Ordering::Relaxed);
    sleep(Duration::from_secs(45)).await;
    server.frozen.store(false, Ordering::Relaxed);

    becomes_true(|| server.terms() == 2).await;
    assert!(!operator.is_finished());
    assert_eq!(server.holder(), holder, "the same process leads again");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_of_what_concerns_plugins_ends_nothing_and_holds_up_no_leader_for_long() {
    let server = Server::default();
    let metadata = json!({"name": "invalid", "namespace": "team-a", "uid": "u", "resourceVersion": "5"});
    server.jobs.lock().unwrap().push(json!({"metadata": metadata, "spec": {}}));
    let operator = server.start();
    becomes_true(|| server.terms() == 1).await;
    becomes_true(|| server.verdicts() == 1).await;
    server.frozen.store(true, Ordering::Relaxed);
    sleep(Duration::from_secs(20)).await;

    // The next term begins with every request about ConfigMaps refused.
    *server.refuses.lock().unwrap() = Some(("/namespaces/n/configmaps", 429));
    server.frozen.store(false, Ordering::Relaxed);
    becomes_true(|| server.terms() == 2).await;
    let holder = server.holder();
    minutes(2).await;
    assert_eq!(server.verdicts(), 2, "jobs are looked at");
    minutes(10).await;

    assert!(!operator.is_finished());
    assert_eq!((server.terms(), server.holder()), (2, holder), "what serves goes on serving");
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_woken_while_a_renewal_is_late_is_looked_at_when_it_has_come() {
    let metrics = ReconcileMetrics::new(Metrics::new().unwrap().registry()).unwrap();
    let queue = Arc::new(Queue::new(Settings::default(), Arc::new(metrics)));
    let (leadership, deadline) = (Leadership::default(), Duration::from_secs(10));
    let wake = waker(&queue, &leadership, Shared::default());
    let job = JobKey::new("team-a", "pi");
    wake(&job, Cause::Job);
    assert_eq!(queue.depth(), 0, "a standby lets nothing pile up");

    leadership.renewed(Instant::now(), deadline);
    sleep(Duration::from_secs(11)).await;
    assert!(!leadership.leads());
    wake(&job, Cause::Job);

    leadership.renewed(Instant::now(), deadline);
    assert_eq!(queue.depth(), 1);
}
