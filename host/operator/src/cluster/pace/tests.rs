use futures::{StreamExt, stream::FuturesUnordered};
use tokio::time::sleep;

use super::*;

fn pace(rate: Option<Rate>) -> Arc<Pace> {
    let pace = Pace::new(rate, Arc::new(Metrics::new().unwrap()));
    tokio::spawn(Arc::clone(&pace).run());
    pace
}

const OVERLOAD: Answer = Answer::Overload { retry_after: None };

#[tokio::test(start_paused = true)]
async fn the_limit_grows_with_good_answers_and_is_halved_once_by_an_overload() {
    let pace = pace(None);

    for _ in 0..1000 {
        pace.turn(Flow::Pods, "a").await.answered(Answer::Fine);
    }
    assert_eq!(pace.limit(), START + 10);

    for _ in 0..40 {
        pace.turn(Flow::Pods, "a").await.answered(OVERLOAD);
    }
    assert_eq!(pace.limit(), usize::midpoint(START, 10), "one overload, many answers");

    for _ in 0..10 {
        sleep(BETWEEN_CUTS).await;
        pace.turn(Flow::Pods, "a").await.answered(OVERLOAD);
    }
    assert_eq!(pace.limit(), LEAST);

    for _ in 0..100_000 {
        pace.turn(Flow::Pods, "a").await.answered(Answer::Fine);
    }
    assert_eq!(pace.limit(), MOST);
}

#[tokio::test(start_paused = true)]
async fn no_more_than_the_limit_are_under_way() {
    let pace = pace(None);
    let mut held = Vec::new();
    for _ in 0..START {
        held.push(pace.turn(Flow::Pods, "a").await);
    }

    let waiting = tokio::time::timeout(Duration::from_mins(1), pace.turn(Flow::Pods, "a")).await;
    assert!(waiting.is_err());

    held.pop();
    let granted = tokio::time::timeout(Duration::from_millis(1), pace.turn(Flow::Pods, "a")).await;
    assert!(granted.is_ok(), "a turn that nobody waits for any more is not lost");
}

/// Who gets a turn, in order, when `waiters` come while everything is taken.
async fn order(pace: &Arc<Pace>, waiters: &[(Flow, &'static str)]) -> Vec<&'static str> {
    let mut held = Vec::new();
    for _ in 0..START {
        held.push(pace.turn(Flow::Objects, "x").await);
    }
    let mut turns: FuturesUnordered<_> = waiters
        .iter()
        .map(|(flow, holder)| async move {
            drop(pace.turn(*flow, holder).await);
            *holder
        })
        .collect();
    tokio::select! {
        biased;
        _ = turns.next() => panic!("there is no turn left"),
        () = sleep(Duration::from_millis(1)) => {}
    }
    drop(held.pop());
    turns.collect().await
}

#[tokio::test(start_paused = true)]
async fn objects_go_before_pods_and_pods_before_events() {
    let waiters = [(Flow::Events, "event"), (Flow::Pods, "pod"), (Flow::Objects, "object")];

    assert_eq!(order(&pace(None), &waiters).await, ["object", "pod", "event"]);
}

#[tokio::test(start_paused = true)]
async fn a_small_job_does_not_wait_for_a_large_one() {
    let mut waiters = vec![(Flow::Pods, "large"); 1000];
    waiters.extend([(Flow::Pods, "small"); 3]);

    let order = order(&pace(None), &waiters).await;

    let last = order.iter().rposition(|holder| *holder == "small").unwrap();
    assert!(last < 8, "the small job's last turn was number {last}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_for_a_pause_gets_it() {
    let pace = pace(None);
    let start = Instant::now();
    let answer = Answer::Overload { retry_after: Some(Duration::from_secs(5)) };

    pace.turn(Flow::Pods, "a").await.answered(answer);
    pace.turn(Flow::Pods, "a").await.answered(Answer::Fine);

    assert!(start.elapsed() >= Duration::from_secs(5));
    assert!(start.elapsed() < Duration::from_secs(6));
}

#[tokio::test(start_paused = true)]
async fn a_rate_that_the_user_set_is_kept() {
    let pace = pace(Some(Rate { qps: 5.0, burst: 10.0 }));
    let start = Instant::now();

    for _ in 0..60 {
        pace.turn(Flow::Pods, "a").await.answered(Answer::Fine);
    }

    let seconds = start.elapsed().as_secs_f64();
    assert!((9.9..10.2).contains(&seconds), "50 beyond the burst at 5 a second took {seconds} s");
}
