use std::sync::Mutex;

use super::*;
use crate::run::sight::Kind;
use coxswain_cluster::last_activity::LastActivity;

const DEADLINE: Duration = Duration::from_secs(10);

/// Notes which terms began and ended.
#[derive(Clone, Default)]
struct Noted(Arc<Mutex<Vec<String>>>);

impl Noted {
    fn note(&self, what: String) {
        self.0.lock().unwrap().push(what);
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Work for Noted {
    async fn lead(&self, term: u64, mut grace: watch::Receiver<Option<Duration>>) {
        self.note(format!("{term} begins"));
        let left = grace.wait_for(Option::is_some).await.unwrap().unwrap();
        self.note(format!("{term} ends within {} s", left.as_secs()));
    }
}

struct Replica {
    leadership: Leadership,
    listed: watch::Sender<bool>,
    last_activity: LastActivity,
    candidacy: watch::Receiver<bool>,
    noted: Noted,
    stop: watch::Sender<bool>,
    running: tokio::task::JoinHandle<()>,
}

fn replica() -> Replica {
    let (listed, is_listed) = watch::channel(false);
    let last_activity = LastActivity::default();
    last_activity.begin("Pod");
    let sight =
        Sight::new(vec![Kind { name: "Pod", listed: is_listed, is_vital: true }], last_activity.clone());
    let (leadership, noted) = (Leadership::default(), Noted::default());
    let (candidacy, is_candidate) = watch::channel(false);
    let terms = Terms { sight, leadership: leadership.clone(), candidacy, work: noted.clone() };
    let (stop, stopped) = watch::channel(false);
    let running = tokio::spawn(terms.run(stopped));
    Replica { leadership, listed, last_activity, candidacy: is_candidate, noted, stop, running }
}

impl Replica {
    fn is_candidate(&self) -> bool {
        *self.candidacy.borrow()
    }

    fn takes_the_lease(&self) {
        self.leadership.renewed(Instant::now(), DEADLINE);
    }
}

async fn seconds(n: u64) {
    sleep(Duration::from_secs(n)).await;
}

#[tokio::test(start_paused = true)]
async fn nobody_is_a_candidate_before_all_is_listed() {
    let replica = replica();
    seconds(600).await;
    assert!(!replica.is_candidate());

    replica.last_activity.heard("Pod");
    replica.listed.send_replace(true);
    seconds(2).await;

    assert!(replica.is_candidate());
}

#[tokio::test(start_paused = true)]
async fn a_lost_lease_ends_one_term_and_the_next_begins_without_a_restart() {
    let replica = replica();
    replica.listed.send_replace(true);
    seconds(2).await;

    replica.takes_the_lease();
    seconds(1).await;
    replica.leadership.lost();
    seconds(1).await;
    assert!(replica.is_candidate(), "it may lead again at once");
    replica.takes_the_lease();
    seconds(1).await;

    assert_eq!(replica.noted.all(), ["1 begins", "1 ends within 0 s", "2 begins"]);
    assert!(!replica.running.is_finished());
}

#[tokio::test(start_paused = true)]
async fn who_sees_no_more_ends_its_term_in_order_and_gives_the_lease_up() {
    let replica = replica();
    replica.listed.send_replace(true);
    seconds(2).await;
    replica.takes_the_lease();
    seconds(1).await;

    replica.last_activity.failed("Pod", "refused".to_owned());
    seconds(59).await;
    assert!(replica.is_candidate(), "what is away for less than a minute costs no lease");
    replica.last_activity.failed("Pod", "refused".to_owned());
    seconds(3).await;

    assert!(!replica.is_candidate());
    assert_eq!(replica.noted.all(), ["1 begins", "1 ends within 10 s"]);
}

#[tokio::test(start_paused = true)]
async fn who_keeps_losing_sight_stays_away_from_the_lease_for_longer_each_time() {
    let replica = replica();
    replica.listed.send_replace(true);
    let mut away = Vec::new();
    for _ in 0..8 {
        let since = Instant::now();
        while !replica.is_candidate() {
            replica.last_activity.heard("Pod");
            sleep(Duration::from_millis(100)).await;
        }
        away.push(since.elapsed().as_secs());
        replica.takes_the_lease();
        seconds(1).await;
        replica.last_activity.failed("Pod", "refused".to_owned());
        replica.candidacy.clone().wait_for(|is_candidate| !is_candidate).await.unwrap();
        replica.leadership.lost();
    }

    assert_eq!(away[1..], [10, 20, 40, 80, 160, 300, 300]);
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_told_to_end_ends_its_term_first() {
    let replica = replica();
    replica.listed.send_replace(true);
    seconds(2).await;
    replica.takes_the_lease();
    seconds(1).await;

    replica.stop.send_replace(true);
    replica.running.await.unwrap();

    assert_eq!(replica.noted.all(), ["1 begins", "1 ends within 10 s"]);
}
