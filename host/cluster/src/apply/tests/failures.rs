//! What becomes of writes that fail, are not answered, or may not be sent.

use pretty_assertions::assert_eq;

use super::*;

#[tokio::test(start_paused = true)]
async fn after_a_wave_that_fails_goes_on_what_needs_nothing_of_it() {
    let bench = Bench::new(|fake, asked| match asked.method {
        http::Method::POST if asked.path.ends_with("services") => Reply::refused(422, "Invalid"),
        _ => all_well(fake, asked),
    });
    let config = create(Kind::ConfigMap, "pi-config", Wave::Dependencies);

    let (done, _) = bench
        .apply(vec![create(Kind::Service, "pi", Wave::Dependencies), config, workers(0..3), delete(None)])
        .await;

    let mut lines = bench.fake.lines();
    lines.sort();
    assert_eq!(lines, ["DELETE pi-worker-0", "POST configmaps pi-config", "POST services pi"]);
    assert_eq!((done.created, done.deleted), (1, 1));
    assert_eq!(done.failures[0].reason, FailureReason::Invalid);
}

/// How often this was asked for up to now.
fn times(fake: &Fake, asked: &Asked) -> usize {
    fake.lines().iter().filter(|line| **line == asked.line()).count()
}

#[tokio::test(start_paused = true)]
async fn what_may_pass_by_itself_is_tried_again_in_the_same_reconcile() {
    for status in [429, 500, 502, 503, 504] {
        let bench = Bench::new(move |fake, asked| {
            if times(fake, asked) < 3 { Reply::refused(status, "x") } else { all_well(fake, asked) }
        });

        let (done, left) =
            bench.apply(vec![create(Kind::Service, "pi", Wave::Dependencies), workers(0..20)]).await;

        assert_eq!((done.created, done.failures.len(), left), (21, 0, false), "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_creation_that_was_not_answered_is_found_by_the_next_try() {
    let mut bench = Bench::new(all_well);
    let fake = Fake::default();
    let hangs = fake.clone();
    let client = fake.uneven(
        move |_| Duration::from_millis(if hangs.asked().len() == 1 { 60_000 } else { 20 }),
        occupied(existing(&owners(), &json!({labels::LABEL_JOB: "pi"}))),
    );
    let limiter = ConcurrencyLimiter::new(None, Arc::clone(&bench.metrics));
    bench.rest = Rest::new(client, limiter, Arc::clone(&bench.metrics));

    let (done, _) = bench.apply(vec![create(Kind::Job, "pi-launcher", Wave::Pods)]).await;

    assert_eq!(done.failures, []);
    assert_eq!(fake.lines(), ["POST jobs pi-launcher", "POST jobs pi-launcher", "GET pi-launcher"]);
}

#[tokio::test(start_paused = true)]
async fn one_worker_that_cannot_be_made_does_not_keep_the_others_from_it() {
    let bench = Bench::new(|fake, asked| match &*asked.line() {
        "POST pods pi-worker-0" => Reply::refused(500, "InternalError"),
        "POST pods pi-worker-7" => Reply::refused(409, "AlreadyExists"),
        "GET pi-worker-7" => Reply::ok(existing(&json!([]), &json!({}))),
        _ => all_well(fake, asked),
    });

    let (done, _) = bench.apply(vec![workers(0..50)]).await;

    assert_eq!(done.created, 48);
    let mut failed: Vec<_> = done.failures.iter().map(|failure| &*failure.object.name).collect();
    failed.sort_unstable();
    assert_eq!(failed, ["pi-worker-0", "pi-worker-7"]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_every_worker_is_asked_for_a_few() {
    let bench = Bench::new(|_, _| Reply::refused(500, "InternalError"));

    let (done, _) = bench.apply(vec![workers(0..5000)]).await;

    assert_eq!(done.created, 0);
    assert!(bench.fake.asked().len() < 60, "{} requests", bench.fake.asked().len());
}

#[tokio::test(start_paused = true)]
async fn refusals_are_told_apart() {
    for (status, reason) in [
        (400, FailureReason::Invalid),
        (403, FailureReason::Forbidden),
        (422, FailureReason::Invalid),
        (429, FailureReason::Unavailable),
        (500, FailureReason::Unavailable),
        (503, FailureReason::Unavailable),
    ] {
        let bench = Bench::new(move |_, _| Reply::refused(status, "x"));
        let (done, _) = bench.apply(vec![create(Kind::Service, "pi", Wave::Dependencies)]).await;
        assert_eq!(done.failures[0].reason, reason, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_is_given_up_on() {
    let fake = Fake::default();
    let mut bench = Bench::new(all_well);
    let client = fake.client(Duration::from_hours(1), all_well);
    let limiter = ConcurrencyLimiter::new(None, Arc::clone(&bench.metrics));
    bench.rest = Rest::new(client, limiter, Arc::clone(&bench.metrics));
    let start = Instant::now();

    let (done, _) = bench.apply(vec![create(Kind::Service, "pi", Wave::Dependencies)]).await;

    assert!((20..21).contains(&start.elapsed().as_secs()), "a second try fits into the time");
    assert_eq!(done.failures[0].reason, FailureReason::Unavailable);
    assert_eq!(done.failures[0].message, "no answer within 10 s");
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_does_not_begin_writes_for_ever() {
    let deletes = (0..500).map(|index| Step::Delete {
        object: object(Kind::Pod, &format!("pi-worker-{index}")),
        uid: Uid::from("p"),
        version: None,
    });
    for steps in [vec![workers(0..500)], deletes.collect()] {
        let bench = Bench::at(Some(Rate { qps: 5.0, burst: 10.0 }), all_well);
        let start = Instant::now();

        let (done, left) = bench.apply(steps).await;

        assert!(left, "another reconcile is due");
        assert_eq!(start.elapsed().as_secs(), BUDGET.as_secs());
        let begun = bench.fake.asked().len();
        assert!((105..=111).contains(&begun), "the burst and 20 s at 5 a second, not {begun}");
        assert_eq!((done.created + done.deleted, done.failures.len()), (begun, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_cannot_be_sent_is_no_sign_of_load() {
    let bench = Bench::new(all_well);
    let limit = bench.rest.limiter().limit();

    for _ in 0..10 {
        let call =
            Call::new("Pod", http::Method::GET, "/api/v1/namespaces/team-a/pods/not a path".to_owned());
        let refused = bench.rest.send(Flow::Objects, "team-a/pi", call).await.unwrap_err();
        assert!(!refused.is_transient(), "{refused}");
        tokio::time::sleep(Duration::from_secs(2)).await;
    }

    assert_eq!(bench.rest.limiter().limit(), limit);
    assert_eq!(bench.fake.lines(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn the_servers_word_slows_down_and_a_webhooks_does_not() {
    for (message, halved) in [
        ("the server has asked for the client to try again later", true),
        ("admission webhook \"quota.team-a.example\" denied the request: come back later", false),
    ] {
        let bench = Bench::new(move |_, _| {
            let body = json!({"kind": "Status", "reason": "TooManyRequests", "message": message});
            Reply { body, ..Reply::refused(429, "TooManyRequests") }
        });
        let limit = bench.rest.limiter().limit();

        bench.apply(vec![create(Kind::Service, "pi", Wave::Dependencies)]).await;

        assert_eq!(bench.rest.limiter().limit() < limit, halved, "{message}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_has_lost_the_lease_sends_nothing() {
    let mut bench = Bench::new(all_well);
    bench.rest = bench.rest.while_leading(Leadership::default());

    let (done, _) = bench.apply(vec![create(Kind::Service, "pi", Wave::Dependencies)]).await;

    assert_eq!(done.failures[0].reason, FailureReason::Unavailable);
    assert_eq!(bench.fake.lines(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn what_began_in_one_term_sends_nothing_in_a_later_one() {
    let mut bench = Bench::new(all_well);
    let (leadership, deadline) = (Leadership::default(), Duration::from_secs(10));
    leadership.renewed(Instant::now(), deadline);
    bench.rest = bench.rest.while_leading(leadership.clone()).in_term(leadership.term());
    bench.apply(vec![create(Kind::Service, "pi", Wave::Dependencies)]).await;
    assert_eq!(bench.fake.lines(), ["POST services pi"]);

    leadership.lost();
    leadership.renewed(Instant::now(), deadline);
    assert!(leadership.leads());
    let (done, _) = bench.apply(vec![create(Kind::Service, "po", Wave::Dependencies)]).await;

    assert_eq!(done.failures[0].reason, FailureReason::Unavailable);
    assert_eq!(bench.fake.lines(), ["POST services pi"]);
}
