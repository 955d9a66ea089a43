//! What watching costs, without TLS and HTTP: `cargo bench -p coxswain-cluster --bench watch`.
//!
//! Events of pods, from bytes to rows; then a start: 5,000 jobs and 45,000 pods in pages of which one in a hundred fails.
//! Seconds are this thread's own computing, so that what else the machine does hardly counts; the start's pauses are given
//! beside it.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program for people that may fail"
)]

use std::{
    convert::Infallible,
    fs,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::body::Body;
use coxswain_cluster::{
    events, index::Shared, last_activity::LastActivity, leadership::Leadership, limiter::ConcurrencyLimiter,
    metrics::Metrics, rest::Rest, watch::Watches,
};
use coxswain_model::desired::Gang;
use futures::{StreamExt as _, stream};
use http::{Request, Response};
use kube::Client;
use serde_json::{Value, json};
use tokio::{runtime, time::Instant};
use tower::service_fn;

#[global_allocator]
static HEAP: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const EVENTS: u64 = 20_000;
const JOBS: u64 = 5_000;
const PODS: u64 = 45_000;
const PAGE: u64 = 100;
/// What TLS hands over at once.
const CHUNK: usize = 16 << 10;

fn main() {
    let runtime = runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(watched());
    runtime.block_on(started());
}

/// Events of the pods of a job of 1,000, again and again.
async fn watched() {
    let bytes: Vec<u8> = (0..EVENTS).flat_map(|n| event(n % 1_000, EVENTS + n)).collect();
    println!("{} bytes an event", bytes.len() / EVENTS as usize);
    let bytes = bytes::Bytes::from(bytes);
    let watches = watches();
    let client = client(move |query| {
        if !query.contains("watch=true") {
            return page(&[], "");
        }
        let chunks: Vec<_> = bytes.chunks(CHUNK).map(|chunk| bytes.slice_ref(chunk)).collect();
        let sent = stream::iter(chunks.into_iter().map(Ok::<_, Infallible>));
        Response::new(Body::from_stream(sent.chain(stream::pending())))
    });
    let index = watches.index.clone();
    let begin = computed();
    run(&watches, &client, "Pod", || {
        let index = index.read();
        let last = index.pods.jobs().next().and_then(|job| index.pods.of(job).last());
        last.is_some_and(|pod| pod.version.0 == 2 * EVENTS - 1)
    })
    .await;
    println!("{:.1} us an event", (computed() - begin) * 1e6 / EVENTS as f64);
}

/// All pods and jobs are listed.
async fn started() {
    let jobs: Vec<Value> = (0..JOBS).map(job).collect();
    let asked = Arc::new(AtomicU64::new(0));
    let client = client(move |query| {
        if query.contains("watch=true") {
            return Response::new(Body::from_stream(stream::pending::<Result<bytes::Bytes, Infallible>>()));
        }
        if asked.fetch_add(1, Ordering::Relaxed) % 100 == 99 {
            return Response::builder()
                .status(500)
                .body(Body::from("etcdserver: request timed out"))
                .unwrap();
        }
        let from = parameter(query, "continue").map_or(0, |token| token.parse().unwrap());
        let is_pods = query.contains("operator-name");
        let all = if is_pods { PODS } else { JOBS };
        let next = (from + PAGE).min(all);
        let token = if next < all { next.to_string() } else { String::new() };
        let items: Vec<Value> = if is_pods {
            (from..next).map(|n| pod(n, n + 1)).collect()
        } else {
            jobs.iter().skip(from as usize).take(PAGE as usize).cloned().collect()
        };
        page(&items, &token)
    });
    for kind in ["MPIJob", "Pod"] {
        let watches = watches();
        let (began, before) = (Instant::now(), computed());
        let index = watches.index.clone();
        let all = if kind == "Pod" { PODS } else { JOBS };
        run(&watches, &client, kind, || {
            let index = index.read();
            (if kind == "Pod" { index.pods.count() } else { index.jobs.count() }) as u64 == all
        })
        .await;
        let (took, computed) = (began.elapsed().as_secs_f64(), computed() - before);
        println!(
            "{all} objects of {kind} listed in {took:.1} s, {computed:.1} s of computing, the server's included"
        );
    }
}

/// Runs one kind's watch until something holds.
async fn run(watches: &Watches, client: &Client, kind: &str, holds: impl Fn() -> bool) {
    let watching =
        watches.all(client, &Gang::Off).into_iter().find(|watching| watching.kind == kind).unwrap();
    let task = tokio::spawn(watching.task);
    while !holds() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    task.abort();
}

fn watches() -> Watches {
    let metrics = Arc::new(Metrics::new().unwrap());
    let nobody = client(|_| Response::builder().status(500).body(Body::empty()).unwrap());
    let rest = Rest::new(nobody, ConcurrencyLimiter::new(None, Arc::clone(&metrics)), Arc::clone(&metrics));
    let (events, _) = events::channel(rest, Arc::clone(&metrics));
    Watches {
        index: Shared::default(),
        wake: Arc::new(|_, _| {}),
        metrics,
        namespace: None,
        last_activity: LastActivity::default(),
        events,
        leadership: Leadership::default(),
    }
}

fn client(answer: impl Fn(&str) -> Response<Body> + Send + Sync + 'static) -> Client {
    let answer = Arc::new(answer);
    let service = service_fn(move |request: Request<kube::client::Body>| {
        let answer = answer(request.uri().query().unwrap_or_default());
        async move { Ok::<_, tower::BoxError>(answer) }
    });
    Client::new(service, "default")
}

fn parameter<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

fn page(items: &[Value], token: &str) -> Response<Body> {
    let list = json!({"metadata": {"resourceVersion": "1", "continue": token}, "items": items}).to_string();
    let chunks: Vec<_> = list.as_bytes().chunks(CHUNK).map(<[u8]>::to_vec).collect();
    Response::new(Body::from_stream(stream::iter(chunks.into_iter().map(Ok::<_, Infallible>))))
}

fn event(worker: u64, version: u64) -> Vec<u8> {
    format!("{}\n", json!({"type": "MODIFIED", "object": pod(worker, version)})).into_bytes()
}

fn job(n: u64) -> Value {
    let container = json!({"name": "main", "image": "registry.example/team/image:1",
        "command": ["mpirun", "/app"], "env": environment()});
    let template = json!({"spec": {"containers": [container]}});
    json!({
        "metadata": {"name": format!("job-{n}"), "namespace": "team-a", "resourceVersion": "1", "generation": 1,
            "uid": format!("{n:08x}-1111-4000-8000-000000000000"), "managedFields": managed()},
        "spec": {"slotsPerWorker": 1, "mpiReplicaSpecs": {
            "Launcher": {"replicas": 1, "template": template},
            "Worker": {"replicas": 9, "template": template},
        }},
        "status": {"conditions": [{"type": "Running", "status": "True", "reason": "MPIJobRunning"}]},
    })
}

/// As the API server sends one that runs, its managed fields included.
fn pod(n: u64, version: u64) -> Value {
    let job = n / 1_000;
    let condition = |kind: &str| {
        json!({"type": kind, "status": "True", "lastProbeTime": null, "observedGeneration": 1,
            "lastTransitionTime": "2026-01-01T00:00:01Z"})
    };
    let conditions = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"]
        .map(condition)
        .to_vec();
    json!({
        "kind": "Pod", "apiVersion": "v1",
        "metadata": {
            "name": format!("job-{job}-worker-{}", n % 1_000), "namespace": "team-a",
            "uid": format!("{n:08x}-0000-4000-8000-00000000{:04x}", n % 0xffff),
            "resourceVersion": version.to_string(), "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {
                "training.kubeflow.org/job-name": format!("job-{job}"),
                "training.kubeflow.org/job-role": "worker",
                "training.kubeflow.org/operator-name": "mpi-operator",
                "training.kubeflow.org/replica-index": (n % 1_000).to_string(),
                "training.kubeflow.org/replica-type": "worker",
            },
            "annotations": {"coxswain.dev/x": "y".repeat(100)},
            "ownerReferences": [{"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "controller": true,
                "blockOwnerDeletion": true, "name": format!("job-{job}"),
                "uid": format!("{job:08x}-1111-4000-8000-000000000000")}],
            "managedFields": managed(),
        },
        "spec": {
            "containers": [{"name": "main", "image": "registry.example/team/image:1", "env": environment(),
                "command": ["/usr/sbin/sshd"], "args": ["-De"], "terminationMessagePolicy": "File",
                "volumeMounts": [{"name": "ssh", "mountPath": "/root/.ssh"}, {"name": "token",
                    "readOnly": true, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}]}],
            "hostname": format!("job-{job}-worker-{}", n % 1_000), "subdomain": format!("job-{job}"),
            "restartPolicy": "Never", "dnsPolicy": "ClusterFirst", "nodeName": "node7",
            "schedulerName": "default-scheduler", "tolerations": [
                {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"},
                {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}],
        },
        "status": {
            "phase": "Running", "podIP": "10.244.1.17", "hostIP": "10.0.0.7",
            "podIPs": [{"ip": "10.244.1.17"}], "startTime": "2026-01-01T00:00:01Z", "qosClass": "BestEffort",
            "conditions": conditions,
            "containerStatuses": [{"name": "main", "ready": true, "restartCount": 0, "started": true,
                "image": "registry.example/team/image:1", "state": {"running": {"startedAt": "2026-01-01T00:00:02Z"}}}],
        },
    })
}

fn environment() -> Value {
    (0..8).map(|n| json!({"name": format!("SETTING_{n}"), "value": "x".repeat(20)})).collect()
}

fn managed() -> Value {
    let fields: serde_json::Map<String, Value> = (0..25)
        .map(|n| {
            (format!("f:field{n}"), json!({".": {}, "f:name": {}, "k:{\"name\":\"main\"}": {"f:value": {}}}))
        })
        .collect();
    json!([{"manager": "coxswain", "operation": "Update", "apiVersion": "v1", "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": {"f:labels": fields}}}])
}

/// Seconds that this thread has computed.
fn computed() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let nanoseconds: f64 = text.split_ascii_whitespace().next().unwrap().parse().unwrap();
    nanoseconds / 1e9
}
