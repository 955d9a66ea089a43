use futures::{StreamExt, stream::FuturesUnordered};
use tokio::time::sleep;

use super::*;

fn limiter(rate: Option<Rate>) -> Arc<ConcurrencyLimiter> {
    let limiter = ConcurrencyLimiter::new(rate, Arc::new(Metrics::new().unwrap()));
    tokio::spawn(Arc::clone(&limiter).run());
    limiter
}

const OVERLOAD: Answer = Answer::Overload { retry_after: None };

#[tokio::test(start_paused = true)]
async fn the_limit_grows_with_good_answers_and_is_halved_once_by_an_overload() {
    let limiter = limiter(None);

    for _ in 0..1000 {
        limiter.acquire(Flow::Pods, "a").await.answered(Answer::Fine);
    }
    assert_eq!(limiter.limit(), START + 10);

    for _ in 0..40 {
        limiter.acquire(Flow::Pods, "a").await.answered(OVERLOAD);
    }
    assert_eq!(limiter.limit(), usize::midpoint(START, 10), "one overload, many answers");

    for _ in 0..10 {
        sleep(BETWEEN_CUTS).await;
        limiter.acquire(Flow::Pods, "a").await.answered(OVERLOAD);
    }
    assert_eq!(limiter.limit(), LEAST);

    for _ in 0..100_000 {
        limiter.acquire(Flow::Pods, "a").await.answered(Answer::Fine);
    }
    assert_eq!(limiter.limit(), MOST);
}

#[tokio::test(start_paused = true)]
async fn no_more_than_the_limit_are_under_way() {
    let limiter = limiter(None);
    let mut held = Vec::new();
    for _ in 0..START {
        held.push(limiter.acquire(Flow::Pods, "a").await);
    }

    let waiting = tokio::time::timeout(Duration::from_mins(1), limiter.acquire(Flow::Pods, "a")).await;
    assert!(waiting.is_err());

    held.pop();
    let granted = tokio::time::timeout(Duration::from_millis(1), limiter.acquire(Flow::Pods, "a")).await;
    assert!(granted.is_ok(), "a turn that nobody waits for any more is not lost");
}

/// Who gets a turn, in order, when `waiters` come while everything is taken.
async fn order(limiter: &Arc<ConcurrencyLimiter>, waiters: &[(Flow, &'static str)]) -> Vec<&'static str> {
    let mut held = Vec::new();
    for _ in 0..START {
        held.push(limiter.acquire(Flow::Objects, "team/x").await);
    }
    let mut queue: FuturesUnordered<_> = waiters
        .iter()
        .map(|(flow, holder)| async move {
            drop(limiter.acquire(*flow, holder).await);
            *holder
        })
        .collect();
    tokio::select! {
        biased;
        _ = queue.next() => panic!("there is no permit left"),
        () = sleep(Duration::from_millis(1)) => {}
    }
    drop(held.pop());
    queue.collect().await
}

#[tokio::test(start_paused = true)]
async fn objects_go_before_pods_and_pods_before_events() {
    let waiters = [(Flow::Events, "team/event"), (Flow::Pods, "team/pod"), (Flow::Objects, "team/object")];

    assert_eq!(order(&limiter(None), &waiters).await, ["team/object", "team/pod", "team/event"]);
}

#[tokio::test(start_paused = true)]
async fn a_small_job_does_not_wait_for_a_large_one() {
    let mut waiters = vec![(Flow::Pods, "team/large"); 1000];
    waiters.extend([(Flow::Pods, "team/small"); 3]);

    let order = order(&limiter(None), &waiters).await;

    let last = order.iter().rposition(|holder| *holder == "team/small").unwrap();
    assert!(last < 8, "the small job's last turn was number {last}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_for_a_pause_gets_it() {
    let limiter = limiter(None);
    let start = Instant::now();
    let answer = Answer::Overload { retry_after: Some(Duration::from_secs(5)) };

    limiter.acquire(Flow::Pods, "a").await.answered(answer);
    limiter.acquire(Flow::Pods, "a").await.answered(Answer::Fine);

    assert!(start.elapsed() >= Duration::from_secs(5));
    assert!(start.elapsed() < Duration::from_secs(6));
}

#[tokio::test(start_paused = true)]
async fn a_rate_that_the_user_set_is_kept() {
    let limiter = limiter(Some(Rate { qps: 5.0, burst: 10.0 }));
    let start = Instant::now();

    for _ in 0..60 {
        limiter.acquire(Flow::Pods, "a").await.answered(Answer::Fine);
    }

    let seconds = start.elapsed().as_secs_f64();
    assert!((9.9..10.2).contains(&seconds), "50 beyond the burst at 5 a second took {seconds} s");
}

#[tokio::test(start_paused = true)]
async fn a_namespace_does_not_wait_for_the_many_jobs_of_another() {
    let large: Vec<&'static str> =
        (0..20).map(|job| &*Box::leak(format!("team/{job}").into_boxed_str())).collect();
    let limiter = limiter(None);
    let mut held = Vec::new();
    for _ in 0..START {
        held.push(limiter.acquire(Flow::Pods, "team/0").await);
    }
    for other in 0..START / 3 {
        held.push(limiter.acquire(Flow::Pods, &format!("other-{other}/x")).await);
    }
    let mut waiters: FuturesUnordered<_> = (0..1000)
        .map(|number| large[number % large.len()])
        .chain(["small/a"; 3])
        .map(|holder| {
            let limiter = Arc::clone(&limiter);
            async move {
                drop(limiter.acquire(Flow::Pods, holder).await);
                holder
            }
        })
        .collect();
    tokio::select! {
        biased;
        _ = waiters.next() => panic!("there is no permit left"),
        () = sleep(Duration::from_millis(1)) => {}
    }

    held.clear();

    let order: Vec<&str> = waiters.collect().await;
    let last = order.iter().rposition(|holder| *holder == "small/a").unwrap();
    assert!(last < 100, "the small namespace's last turn was number {last}");
}

#[tokio::test(start_paused = true)]
async fn who_comes_after_a_namespace_that_holds_all_finds_room() {
    let limiter = limiter(None);
    let mut held = Vec::new();
    for _ in 0..START {
        held.push(limiter.acquire(Flow::Pods, "large/a").await);
    }
    let wait = |holder: &'static str| {
        tokio::time::timeout(Duration::from_secs(1), limiter.acquire(Flow::Pods, holder))
    };

    assert!(wait("large/b").await.is_err(), "alone it has the limit");
    for holder in ["b/x", "c/x", "d/x"] {
        held.push(wait(holder).await.expect(holder));
    }
}

/// So many requests of `holder` begin.
async fn begin(limiter: &Arc<ConcurrencyLimiter>, holder: &str, count: usize) -> Vec<Permit> {
    let mut held = Vec::new();
    for _ in 0..count {
        let permit = tokio::time::timeout(Duration::from_secs(1), limiter.acquire(Flow::Pods, holder)).await;
        held.extend(permit.ok());
    }
    held
}

const SILENT: Answer = Answer::Silent { read: false };

#[tokio::test(start_paused = true)]
async fn a_namespace_that_is_not_answered_shrinks_alone() {
    let limiter = limiter(None);
    let hanging = begin(&limiter, "bad/a", 30).await;
    sleep(Duration::from_secs(10)).await;
    for _ in 0..5 {
        limiter.acquire(Flow::Pods, "good/a").await.answered(Answer::Fine);
    }

    for permit in hanging {
        permit.answered(SILENT);
    }

    assert_eq!(limiter.limit(), START, "the server answers the others");
    assert_eq!(begin(&limiter, "bad/b", 10).await.len(), 1);
    assert_eq!(begin(&limiter, "good/b", 40).await.len(), 40);
    let status = limiter.acquire(Flow::Objects, "bad/a");
    assert!(
        tokio::time::timeout(Duration::from_secs(1), status).await.is_ok(),
        "pods hang, nothing else does"
    );

    for _ in 0..20 {
        limiter.acquire(Flow::Pods, "bad/b").await.answered(Answer::Fine);
    }
    assert!(begin(&limiter, "bad/b", 30).await.len() >= 20, "answers give it back what it had");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_answers_nobody_is_asked_for_less() {
    let limiter = limiter(None);
    let (one, other) = (begin(&limiter, "a/x", 5).await, begin(&limiter, "b/x", 5).await);
    sleep(Duration::from_secs(10)).await;

    for permit in one.into_iter().chain(other) {
        permit.answered(SILENT);
    }
    assert_eq!(limiter.limit(), START / 2);

    sleep(BETWEEN_CUTS).await;
    limiter.acquire(Flow::Objects, "c/x").await.answered(Answer::Silent { read: true });
    assert_eq!(limiter.limit(), START / 4, "webhooks do not see reads");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_was_not_sent_says_nothing() {
    let limiter = limiter(None);

    drop(limiter.acquire(Flow::Pods, "a/x").await);

    assert_eq!(limiter.limit(), START);
    assert_eq!(begin(&limiter, "a/x", 30).await.len(), 30);
}
