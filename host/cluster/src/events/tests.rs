use pretty_assertions::assert_eq;

use super::*;
use crate::events::pending::QUEUE;
use crate::limiter::ConcurrencyLimiter;
use coxswain_model::api::resource;
use coxswain_test_support::api_server::{Asked, Fake, Reply};

/// Of an answer.
const LATENCY: Duration = Duration::from_millis(5);

fn subject(name: &str) -> Subject {
    Subject {
        api_version: resource::API_VERSION,
        kind: resource::KIND,
        namespace: "team-a".into(),
        name: name.into(),
        uid: format!("uid of {name}"),
        version: "7".into(),
    }
}

fn subject_in(namespace: &str, name: &str) -> Subject {
    let uid = format!("uid of {namespace}/{name}");
    Subject { namespace: namespace.into(), uid, ..subject(name) }
}

fn event(message: &str) -> Event {
    Event { warning: false, reason: "MPIJobRunning".into(), message: message.into() }
}

struct Bench {
    fake: Fake,
    sink: Sink,
    stop: watch::Sender<bool>,
    writer: tokio::task::JoinHandle<()>,
}

fn bench() -> Bench {
    bench_with(|rest| rest)
}

fn bench_with(set: impl FnOnce(Rest) -> Rest) -> Bench {
    uneven_bench(|_| LATENCY, set)
}

/// A bench of a server that takes so long.
fn uneven_bench(
    latency: impl Fn(&Asked) -> Duration + Send + Sync + 'static,
    set: impl FnOnce(Rest) -> Rest,
) -> Bench {
    let fake = Fake::default();
    let metrics = Arc::new(Metrics::new().unwrap());
    let client = fake.uneven(latency, |_, asked| Reply::ok(asked.body.clone()));
    let rest = Rest::new(client, ConcurrencyLimiter::new(None, Arc::clone(&metrics)), Arc::clone(&metrics));
    let (sink, writer) = channel(set(rest), metrics);
    let (stop, stopped) = watch::channel(false);
    Bench { fake, sink, stop, writer: tokio::spawn(writer.run(stopped)) }
}

impl Bench {
    /// Requests about this namespace.
    fn asked_in(&self, namespace: &str) -> usize {
        let path = format!("/namespaces/{namespace}/");
        self.fake.asked().iter().filter(|asked| asked.path.contains(&path)).count()
    }
}

/// Webhooks of namespaces whose names begin so never answer.
fn hangs(asked: &Asked) -> Duration {
    if asked.path.contains("/hanging") { Duration::from_hours(1) } else { LATENCY }
}

#[tokio::test(start_paused = true)]
async fn an_event_looks_as_clients_of_the_mpi_operator_expect() {
    let bench = bench();

    bench.sink.emit(subject("pi"), event("MPIJob team-a/pi is running"));
    tokio::time::sleep(Duration::from_secs(1)).await;

    let asked = bench.fake.asked()[0].clone();
    assert_eq!(asked.path, "/api/v1/namespaces/team-a/events");
    let name = asked.body["metadata"]["name"].as_str().unwrap();
    let hex = name.strip_prefix("pi.").unwrap();
    assert!(hex.len() == 16 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()), "{name}");
    assert_eq!(asked.body["source"], json!({"component": "mpi-job-controller"}));
    assert_eq!(asked.body["reportingComponent"], "mpi-job-controller");
    for unset in ["action", "related", "eventTime", "series"] {
        assert!(asked.body.get(unset).is_none(), "{unset}");
    }
    assert_eq!(
        asked.body["involvedObject"],
        json!({"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "namespace": "team-a", "name": "pi",
            "uid": "uid of pi", "resourceVersion": "7"})
    );
}

#[tokio::test(start_paused = true)]
async fn the_same_event_again_raises_a_count() {
    let bench = bench();

    for _ in 0..3 {
        bench.sink.emit(subject("pi"), event("a"));
    }
    tokio::time::sleep(REPEAT + Duration::from_secs(1)).await;
    bench.sink.emit(subject("pi"), event("a"));
    tokio::time::sleep(Duration::from_secs(1)).await;

    let asked = bench.fake.asked();
    let methods: Vec<&str> = asked.iter().map(|asked| asked.method.as_str()).collect();
    assert_eq!(methods, ["POST", "PATCH", "PATCH", "POST"]);
    assert_eq!(asked[2].body["count"], 3);
    let name = asked[0].body["metadata"]["name"].as_str().unwrap();
    assert!(asked[2].path.ends_with(name), "{}", asked[2].path);
}

#[tokio::test(start_paused = true)]
async fn a_noisy_job_is_cut_short_and_a_quiet_one_is_not() {
    let bench = bench();

    for n in 0..100 {
        bench.sink.emit(subject("noisy"), event(&n.to_string()));
    }
    bench.sink.emit(subject("quiet"), event("a"));
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(bench.fake.asked().len(), 26);

    tokio::time::sleep(REFILL).await;
    for n in 0..100 {
        bench.sink.emit(subject("noisy"), event(&n.to_string()));
    }
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(bench.fake.asked().len(), 27);
}

#[tokio::test(start_paused = true)]
async fn more_events_than_can_wait_are_dropped_and_nobody_waits() {
    let bench = bench();

    for n in 0..2 * QUEUE {
        bench.sink.emit(subject(&n.to_string()), event("a"));
    }
    tokio::time::sleep(Duration::from_mins(10)).await;

    assert_eq!(bench.fake.asked().len(), QUEUE);
}

#[tokio::test(start_paused = true)]
async fn what_waits_when_the_process_ends_is_still_written() {
    let bench = bench();
    for n in 0..50 {
        bench.sink.emit(subject(&n.to_string()), event("a"));
    }

    bench.stop.send_replace(true);
    bench.writer.await.unwrap();

    assert_eq!(bench.fake.asked().len(), 50);
}

#[tokio::test(start_paused = true)]
async fn an_event_of_one_term_is_not_written_in_the_next() {
    let leadership = Leadership::default();
    let bench = bench_with(|rest| rest.while_leading(leadership.clone()));
    let begin = || leadership.renewed(Instant::now(), Duration::from_secs(10));

    bench.sink.emit(subject("pi"), event("told by a standby"));
    begin();
    bench.sink.emit(subject("pi"), event("told in the first term"));
    leadership.lost();
    begin();
    bench.sink.emit(subject("pi"), event("told in the second term"));
    tokio::time::sleep(Duration::from_secs(1)).await;

    let messages: Vec<_> =
        bench.fake.asked().into_iter().map(|asked| asked.body["message"].clone()).collect();
    assert_eq!(messages, ["told in the second term"]);
}

#[tokio::test(start_paused = true)]
async fn a_namespace_whose_events_are_never_answered_delays_nobody_elses() {
    let bench = uneven_bench(hangs, |rest| rest);
    for n in 0..50 {
        bench.sink.emit(subject_in("hanging", &n.to_string()), event("a"));
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    for n in 0..50 {
        bench.sink.emit(subject_in("team-b", &n.to_string()), event("a"));
    }

    tokio::time::sleep(Duration::from_secs(1)).await;

    assert_eq!(bench.asked_in("team-b"), 50);
    assert!(bench.asked_in("hanging") <= 8, "{} of them hang", bench.asked_in("hanging"));
    assert!(bench.fake.most() <= 16, "{} at once", bench.fake.most());
}

#[tokio::test(start_paused = true)]
async fn many_such_namespaces_delay_nobody_elses_once_they_are_known() {
    let bench = uneven_bench(hangs, |rest| rest);
    for n in 0..400 {
        bench.sink.emit(subject_in(&format!("hanging-{}", n % 10), &n.to_string()), event("a"));
    }
    // Where nobody at all is answered it is the API server that is silent.
    for n in 0..60 {
        bench.sink.emit(subject_in("team-c", &n.to_string()), event("a"));
        tokio::time::sleep(Duration::from_secs(1)).await;
    }

    for n in 0..50 {
        bench.sink.emit(subject_in("team-b", &n.to_string()), event("a"));
    }
    tokio::time::sleep(Duration::from_secs(1)).await;

    assert_eq!(bench.asked_in("team-b"), 50);
}

#[tokio::test(start_paused = true)]
async fn events_of_one_object_are_written_in_the_order_in_which_they_were_told() {
    let slow_first =
        |asked: &Asked| if asked.body["message"] == "0" { Duration::from_secs(5) } else { LATENCY };
    let bench = uneven_bench(slow_first, |rest| rest);
    for n in 0..5 {
        bench.sink.emit(subject("pi"), event(&n.to_string()));
    }
    bench.sink.emit(subject("other"), event("beside"));

    tokio::time::sleep(Duration::from_secs(10)).await;

    let messages: Vec<_> =
        bench.fake.asked().into_iter().map(|asked| asked.body["message"].clone()).collect();
    assert_eq!(messages, ["0", "beside", "1", "2", "3", "4"]);
    assert_eq!(bench.fake.most(), 2, "an object's next event waits for the answer to the one before");
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_fills_the_queue_loses_its_own_events() {
    let bench = uneven_bench(hangs, |rest| rest);
    for n in 0..2 * QUEUE {
        bench.sink.emit(subject_in("hanging", &n.to_string()), event("a"));
    }
    tokio::time::sleep(Duration::from_secs(1)).await;

    for n in 0..50 {
        bench.sink.emit(subject_in("team-b", &n.to_string()), event("a"));
    }
    tokio::time::sleep(Duration::from_secs(1)).await;

    assert_eq!(bench.asked_in("team-b"), 50);
}
