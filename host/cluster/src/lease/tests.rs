use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use serde_json::json;
use tokio::task::JoinHandle;

use super::*;
use crate::metrics::Metrics;
use coxswain_test_support::api_server::{Fake, Reply};

/// A lease in memory, with an API server's rules.
#[derive(Default)]
struct Server {
    lease: Mutex<Option<Value>>,
    version: AtomicU64,
}

/// One candidate's way to it.
#[derive(Clone, Default)]
struct Way {
    server: Arc<Server>,
    cut: Arc<AtomicBool>,
    slow: Arc<AtomicU64>,
    /// So many answers are 429 with an hour's Retry-After.
    asked_to_wait: Arc<AtomicU64>,
}

fn refused(code: u16) -> Refused {
    Refused { code, reason: String::new(), message: format!("refused with {code}"), retry_after: None }
}

impl Way {
    fn to(server: &Arc<Server>) -> Self {
        Self { server: Arc::clone(server), ..Self::default() }
    }

    async fn travel(&self) -> Result<(), Refused> {
        sleep(Duration::from_millis(self.slow.load(Ordering::Relaxed))).await;
        if self.cut.load(Ordering::Relaxed) {
            sleep(Duration::from_secs(3)).await;
            return Err(refused(0));
        }
        let less = |n: u64| n.checked_sub(1);
        if self.asked_to_wait.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok() {
            return Err(Refused { retry_after: Some(Duration::from_hours(1)), ..refused(429) });
        }
        Ok(())
    }
}

impl Server {
    fn put(&self, mut lease: Value) -> Value {
        let version = self.version.fetch_add(1, Ordering::Relaxed) + 1;
        lease["metadata"]["resourceVersion"] = version.to_string().into();
        *self.lease.lock().unwrap() = Some(lease.clone());
        lease
    }

    fn holder(&self) -> String {
        self.lease.lock().unwrap().as_ref().map(|lease| record::holder(lease).to_owned()).unwrap_or_default()
    }
}

impl Record for Way {
    async fn read(&self) -> Result<Option<Value>, Refused> {
        self.travel().await?;
        Ok(self.server.lease.lock().unwrap().clone())
    }

    async fn create(&self, lease: Value) -> Result<Value, Refused> {
        self.travel().await?;
        if self.server.lease.lock().unwrap().is_some() {
            return Err(refused(409));
        }
        Ok(self.server.put(lease))
    }

    async fn update(&self, lease: Value) -> Result<Value, Refused> {
        self.travel().await?;
        let stored = self.server.lease.lock().unwrap().clone();
        match stored {
            None => Err(refused(404)),
            Some(stored) if stored["metadata"] != lease["metadata"] => Err(refused(409)),
            Some(_) => Ok(self.server.put(lease)),
        }
    }
}

struct Running<R> {
    way: R,
    leadership: Leadership,
    stop: watch::Sender<bool>,
    candidacy: watch::Sender<bool>,
    end: JoinHandle<()>,
}

fn start(server: &Arc<Server>, identity: &str, clock: fn() -> Timestamp) -> Running<Way> {
    start_over(Way::to(server), identity, clock)
}

fn start_over<R: Record + Clone + 'static>(way: R, identity: &str, clock: fn() -> Timestamp) -> Running<R> {
    let leadership = Leadership::default();
    let mut candidate =
        Candidate::new(way.clone(), identity.to_owned(), Timing::default(), leadership.clone());
    candidate.clock = clock;
    let (stop, stopped) = watch::channel(false);
    let (candidacy, is_candidate) = watch::channel(true);
    Running { way, leadership, stop, candidacy, end: tokio::spawn(candidate.run(stopped, is_candidate)) }
}

fn an_hour_ahead() -> Timestamp {
    Timestamp::now() + Duration::from_hours(1)
}

fn an_hour_behind() -> Timestamp {
    Timestamp::now() - Duration::from_hours(1)
}

/// The API server's lease as the operator asks for it.
fn lease_of(client: kube::Client) -> LeaseApi {
    LeaseApi {
        client,
        metrics: Arc::new(Metrics::new().unwrap()),
        limit: Timing::default().answer,
        namespace: "mpi-operator".into(),
        name: "mpi-operator".into(),
    }
}

async fn seconds(n: u64) {
    sleep(Duration::from_secs(n)).await;
}

#[tokio::test(start_paused = true)]
async fn of_two_candidates_one_leads_and_the_other_takes_over_when_it_is_silent() {
    let server = Arc::default();
    let a = start(&server, "a", Timestamp::now);
    seconds(5).await;
    let b = start(&server, "b", Timestamp::now);
    seconds(60).await;

    assert!(a.leadership.leads() && !b.leadership.leads());

    // The last renewal was at most 3.3 s ago, and the other notices it within 1.65 s.
    a.end.abort();
    seconds(11).await;
    assert!(!b.leadership.leads(), "the lease of a silent holder runs for 15 s");
    seconds(6).await;
    assert!(b.leadership.leads());
    assert_eq!(server.lease.lock().unwrap().as_ref().unwrap()["spec"]["leaseTransitions"], json!(1));
}

#[tokio::test(start_paused = true)]
async fn skewed_wall_clocks_neither_take_a_lease_nor_keep_it() {
    let server = Arc::default();
    let a = start(&server, "a", an_hour_behind);
    seconds(5).await;
    let b = start(&server, "b", an_hour_ahead);
    seconds(60).await;
    assert!(a.leadership.leads() && !b.leadership.leads(), "b's clock says that a's lease is an hour old");

    a.end.abort();
    seconds(17).await;
    assert!(b.leadership.leads());

    let c = start(&server, "c", an_hour_behind);
    b.end.abort();
    seconds(18).await;
    assert!(c.leadership.leads(), "c's clock says that b's lease ends in two hours");
}

#[tokio::test(start_paused = true)]
async fn a_holder_cut_off_stops_writing_before_the_other_starts() {
    let server = Arc::default();
    let a = start(&server, "a", Timestamp::now);
    seconds(5).await;
    let b = start(&server, "b", Timestamp::now);
    seconds(5).await;

    a.way.cut.store(true, Ordering::Relaxed);
    for _ in 0..400 {
        sleep(Duration::from_millis(50)).await;
        assert!(!(a.leadership.leads() && b.leadership.leads()), "two leaders");
    }
    assert!(b.leadership.leads() && a.leadership.term().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_holder_that_was_cut_off_leads_again_in_a_new_term_without_being_started_anew() {
    let server = Arc::default();
    let a = start(&server, "a", Timestamp::now);
    seconds(5).await;
    assert_eq!(a.leadership.term(), Some(1));

    // The API server is frozen for 45 s.
    a.way.cut.store(true, Ordering::Relaxed);
    seconds(6).await;
    assert_eq!(a.leadership.term(), Some(1), "a late renewal ends no term");
    seconds(39).await;
    assert!(a.leadership.term().is_none() && !a.end.is_finished());
    a.way.cut.store(false, Ordering::Relaxed);
    seconds(6).await;

    assert_eq!(a.leadership.term(), Some(2));
    assert!(
        a.leadership.leads_in(2) && !a.leadership.leads_in(1),
        "what began in the first term writes no more"
    );
}

#[tokio::test(start_paused = true)]
async fn who_is_no_candidate_any_more_gives_the_lease_to_one_who_is() {
    let server = Arc::default();
    let a = start(&server, "a", Timestamp::now);
    seconds(5).await;
    let b = start(&server, "b", Timestamp::now);
    seconds(5).await;

    a.candidacy.send_replace(false);
    seconds(2).await;
    assert!(b.leadership.leads() && a.leadership.term().is_none());

    b.candidacy.send_replace(false);
    seconds(60).await;
    assert_eq!(server.holder(), "", "nobody who is no candidate takes it");
    a.candidacy.send_replace(true);
    seconds(2).await;
    assert_eq!(a.leadership.term(), Some(2));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_never_comes_costs_the_lease_and_says_so_at_its_deadline() {
    let server = Arc::default();
    let a = start(&server, "a", Timestamp::now);
    seconds(5).await;

    a.way.slow.store(86_400_000, Ordering::Relaxed);
    seconds(11).await;

    assert!(a.leadership.term().is_none() && !a.leadership.leads());
}

#[tokio::test(start_paused = true)]
async fn a_holder_that_is_asked_to_wait_tries_once_more_before_its_time_is_over() {
    let server = Arc::default();
    let a = start(&server, "a", Timestamp::now);
    seconds(5).await;

    // One renewal is answered with 429 and Retry-After: 3600.
    a.way.asked_to_wait.store(1, Ordering::Relaxed);
    for _ in 0..400 {
        sleep(Duration::from_millis(50)).await;
        assert!(a.leadership.leads());
    }
    assert_eq!(a.leadership.term(), Some(1));
}

#[tokio::test(start_paused = true)]
async fn a_standby_that_is_asked_to_wait_for_an_hour_looks_again_within_seconds() {
    let server = Arc::default();
    let a = start(&server, "a", Timestamp::now);
    seconds(5).await;
    let b = start(&server, "b", Timestamp::now);
    b.way.asked_to_wait.store(1, Ordering::Relaxed);
    seconds(5).await;
    assert_eq!(b.way.asked_to_wait.load(Ordering::Relaxed), 0);

    a.stop.send_replace(true);
    seconds(11).await;

    assert!(b.leadership.leads());
}

#[tokio::test(start_paused = true)]
async fn a_slow_api_server_costs_no_leadership() {
    let fake = Fake::default();
    let client = fake.client(Duration::from_secs(4), |fake, asked| match asked.method {
        http::Method::GET => Reply::refused(404, "NotFound"),
        _ => fake.stored(asked),
    });
    let a = start_over(lease_of(client), "a", Timestamp::now);
    seconds(10).await;

    for _ in 0..1200 {
        sleep(Duration::from_millis(50)).await;
        assert!(a.leadership.leads());
    }
    assert_eq!(a.leadership.term(), Some(1));
}

#[tokio::test(start_paused = true)]
async fn a_holder_renews_over_the_edits_of_others() {
    let server: Arc<Server> = Arc::default();
    let a = start(&server, "a", Timestamp::now);
    seconds(5).await;

    let mut edited = server.lease.lock().unwrap().clone().unwrap();
    edited["metadata"]["annotations"] = json!({"who": "someone"});
    server.put(edited);
    seconds(20).await;

    assert!(a.leadership.leads());
    assert_eq!(server.lease.lock().unwrap().as_ref().unwrap()["metadata"]["annotations"]["who"], "someone");
}

#[tokio::test(start_paused = true)]
async fn a_deleted_lease_is_made_again_and_one_leader_remains() {
    let server: Arc<Server> = Arc::default();
    let a = start(&server, "a", Timestamp::now);
    seconds(5).await;
    let b = start(&server, "b", Timestamp::now);
    seconds(5).await;

    *server.lease.lock().unwrap() = None;
    seconds(5).await;

    assert!(a.leadership.leads() != b.leadership.leads());
    assert_eq!(a.leadership.term().is_none(), b.leadership.leads(), "the one that lost it knows");
}

#[tokio::test(start_paused = true)]
async fn a_lease_given_back_is_taken_within_two_seconds() {
    let server = Arc::default();
    let a = start(&server, "a", Timestamp::now);
    seconds(5).await;
    let b = start(&server, "b", Timestamp::now);
    seconds(5).await;

    a.stop.send_replace(true);
    a.end.await.unwrap();
    assert_eq!(server.holder(), "");
    assert!(!a.leadership.leads());
    seconds(2).await;
    assert!(b.leadership.leads());
}

#[tokio::test(start_paused = true)]
async fn a_process_that_was_stopped_does_not_lead_when_it_goes_on() {
    let leadership = Leadership::default();
    leadership.renewed(Instant::now(), Duration::from_secs(10));
    assert!(leadership.leads());

    tokio::time::advance(Duration::from_secs(11)).await;

    assert!(!leadership.leads());
    assert!(leadership.is_healthy(Duration::from_secs(35)));
    tokio::time::advance(Duration::from_secs(30)).await;
    assert!(!leadership.is_healthy(Duration::from_secs(35)));
}

#[tokio::test(start_paused = true)]
async fn after_an_answer_that_asks_to_wait_the_lease_is_asked_for_again() {
    let fake = Fake::default();
    let client =
        fake.client(Duration::from_millis(5), |fake, asked| match (fake.asked().len(), &asked.method) {
            (1, _) => Reply { retry_after: Some(1), ..Reply::refused(429, "TooManyRequests") },
            (_, &http::Method::GET) => Reply::refused(404, "NotFound"),
            _ => fake.stored(asked),
        });
    let a = start_over(lease_of(client), "a", Timestamp::now);

    seconds(3).await;

    assert!(a.leadership.leads());
}

#[tokio::test(start_paused = true)]
async fn a_request_for_the_lease_has_one_limit_around_all_of_it() {
    let fake = Fake::default();
    let client = fake.client(Duration::from_hours(1), |_, _| Reply::refused(500, "late"));
    let start = Instant::now();

    let refused = lease_of(client).read().await.unwrap_err();

    assert_eq!((refused.code, refused.message.as_str()), (0, "no answer within 5 s"));
    assert_eq!(start.elapsed(), Timing::default().answer);
}
