use std::{sync::Mutex, time::Duration};

use futures::stream;
use pretty_assertions::assert_eq;
use tokio::time::{Instant, sleep, timeout};

use self::server::{Answer, Asked, Server, bookmark, deep, event, events, job, page, refused, silence, text};
use super::*;
use crate::{events, key::JobKey, limiter::ConcurrencyLimiter, rest::Rest};
use coxswain_test_support::api_server as fake;

mod server;

/// Longer than any single limit, and shorter than two of them with their pauses.
const SOON: Duration = Duration::from_secs(100);

/// A watch of `MPIJobs` against a server.
struct Bench {
    server: Server,
    watches: Watches,
    synced: watch::Receiver<bool>,
    woken: Arc<Mutex<Vec<JobKey>>>,
    task: tokio::task::JoinHandle<()>,
}

fn bench(answer: impl Fn(&Asked) -> Option<Answer> + Send + Sync + 'static) -> Bench {
    let server = Server::default();
    let client = server.client(answer);
    let metrics = Arc::new(Metrics::new().unwrap());
    let nobody = fake::Fake::default().client(Duration::ZERO, |_, _| fake::Reply::refused(500, ""));
    let rest = Rest::new(nobody, ConcurrencyLimiter::new(None, Arc::clone(&metrics)), Arc::clone(&metrics));
    let (sink, _) = events::channel(rest, Arc::clone(&metrics));
    let woken = Arc::<Mutex<Vec<JobKey>>>::default();
    let reported = Arc::clone(&woken);
    let watches = Watches {
        index: Shared::default(),
        wake: Arc::new(move |job, _| reported.lock().unwrap().push(job.clone())),
        metrics,
        namespace: None,
        last_activity: LastActivity::default(),
        events: sink,
        leadership: Leadership::default(),
    };
    let jobs = watches.all(&client, &Gang::Off).into_iter().find(|watching| watching.kind == "MPIJob");
    let Watching { listed: synced, task, .. } = jobs.unwrap();
    Bench { server, watches, synced, woken, task: tokio::spawn(task) }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Bench {
    async fn lists_all_within(&mut self, limit: Duration) {
        timeout(limit, self.synced.wait_for(|synced| *synced)).await.expect("it lists all").unwrap();
    }

    /// The jobs that reconciles see.
    fn jobs(&self) -> Vec<String> {
        let index = self.watches.index.read();
        let mut jobs: Vec<String> = index
            .jobs
            .jobs()
            .filter(|key| index.job(key).is_some())
            .map(|key| key.name.to_string())
            .collect();
        jobs.sort();
        jobs
    }

    fn metric(&self, line: &str) -> bool {
        self.watches.report();
        self.watches.metrics.registry().text().unwrap().lines().any(|other| other == line)
    }

    fn woken(&self) -> Vec<String> {
        let woken = std::mem::take(&mut *self.woken.lock().unwrap());
        woken.iter().map(|key| key.name.to_string()).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_that_cannot_be_decoded_hides_no_other_and_is_looked_at_again() {
    let mut bench = bench(|asked| {
        if asked.compares() {
            return page(30, "", &[deep("poison", 1, 10), job("good", 2, 11)]);
        }
        if !asked.watches() {
            return page(20, "", &[deep("poison", 1, 10), job("good", 2, 11)]);
        }
        events(stream::unfold(0, |step| async move {
            sleep(Duration::from_secs(10)).await;
            let line = match step {
                0 => event("ADDED", &deep("worse", 3, 21)),
                1 => event("MODIFIED", &job("poison", 1, 22)),
                2 => event("DELETED", &deep("worse", 3, 23)),
                _ => return None,
            };
            Some((line, step + 1))
        }))
    });

    bench.lists_all_within(Duration::from_secs(5)).await;
    assert_eq!(bench.jobs(), ["good"]);
    assert!(bench.metric(r#"coxswain_objects_set_aside{kind="MPIJob"} 1"#));
    let (subject, reported) = bench.watches.index.write().aside.unreported().remove(0);
    assert_eq!((&*subject.name, &*subject.namespace, &*subject.version), ("poison", "team-a", "10"));
    assert_eq!(subject.uid, "00000000-0000-0000-0000-000000000001");
    assert!(reported.warning && reported.message.contains("levels deep"), "{reported:?}");
    bench.woken();

    sleep(Duration::from_secs(11)).await;
    assert_eq!(bench.jobs(), ["good"]);
    assert!(bench.metric(r#"coxswain_objects_set_aside{kind="MPIJob"} 2"#));
    sleep(Duration::from_secs(20)).await;
    assert_eq!((bench.jobs(), bench.woken()), (vec!["good".into(), "poison".into()], vec!["poison".into()]));
    assert!(bench.metric(r#"coxswain_objects_set_aside{kind="MPIJob"} 0"#));
    assert!(bench.metric(r#"coxswain_objects_set_aside_total{kind="MPIJob"} 2"#));
}

#[tokio::test(start_paused = true)]
async fn a_job_that_can_no_longer_be_decoded_is_not_taken_for_deleted() {
    let lists = Arc::new(Mutex::new(0));
    let mut bench = bench(move |asked| {
        if asked.watches() {
            let is_first = asked.parameter("resourceVersion") == Some("20");
            return if is_first {
                events(stream::iter([event("MODIFIED", &deep("pi", 1, 21)), bookmark(22)]))
            } else {
                refused(410, "Expired")
            };
        }
        *lists.lock().unwrap() += 1;
        if *lists.lock().unwrap() == 1 {
            page(20, "", &[job("pi", 1, 10)])
        } else {
            page(40, "", &[deep("pi", 1, 21)])
        }
    });

    bench.lists_all_within(Duration::from_secs(5)).await;
    sleep(Duration::from_secs(5)).await;
    let row_stays = |bench: &Bench| bench.watches.index.read().jobs.of(&JobKey::new("team-a", "pi")).len();
    assert_eq!((bench.jobs(), row_stays(&bench)), (Vec::new(), 1), "nobody works with what is out of date");

    // The watch ends, the next one is refused, and a list follows.
    sleep(Duration::from_mins(4)).await;
    let lists = bench.server.asked().iter().filter(|asked| !asked.watches() && !asked.compares()).count();
    assert!(lists >= 2, "{:#?}", bench.server.asked());
    assert_eq!((bench.jobs(), row_stays(&bench)), (Vec::new(), 1));
}

#[tokio::test(start_paused = true)]
async fn a_list_of_450_pages_ends_although_one_in_a_hundred_fails() {
    const PAGES: u64 = 450;
    let count = Mutex::new(0_u64);
    let mut bench = bench(move |asked| {
        if asked.watches() {
            return silence();
        }
        let mut count = count.lock().unwrap();
        *count += 1;
        if (*count).is_multiple_of(100) {
            return text(500, "etcdserver: request timed out");
        }
        let number = asked.parameter("continue").map_or(0, |token| token.parse().unwrap());
        let token = if number + 1 < PAGES { (number + 1).to_string() } else { String::new() };
        page(1000, &token, &[job(&format!("job-{number}"), number, number + 1)])
    });

    // The answers take 5 ms each here, 2.3 s in all; the rest are pauses.
    bench.lists_all_within(Duration::from_millis(2_600)).await;

    assert_eq!(bench.jobs().len(), 450);
    assert!(bench.server.asked().len() <= 456, "{} requests", bench.server.asked().len());
}

#[tokio::test(start_paused = true)]
async fn lists_that_fail_are_asked_for_ever_more_rarely() {
    let mut bench = bench(|asked| {
        // A first page always comes, a second one never does, and no token helps.
        if asked.parameter("continue").is_some() { refused(410, "Expired") } else { page(10, "next", &[]) }
    });

    let listed = timeout(Duration::from_mins(10), bench.synced.wait_for(|synced| *synced)).await;

    assert!(listed.is_err());
    assert!(bench.server.asked().len() < 2 * 100, "{} requests in 10 minutes", bench.server.asked().len());
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_refused_with_410_is_followed_by_a_list() {
    let lists = Mutex::new(0);
    let mut bench = bench(move |asked| match asked.parameter("resourceVersion") {
        Some("20") => refused(410, "Expired"),
        Some(_) => silence(),
        None => {
            let mut lists = lists.lock().unwrap();
            *lists += 1;
            page(10 + *lists * 10, "", &[job(&format!("job-{lists}"), *lists, 10 + *lists)])
        }
    });
    bench.lists_all_within(Duration::from_secs(5)).await;

    sleep(SOON).await;

    // The first list is of version 20.
    assert_eq!(bench.jobs(), ["job-2"]);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_never_answered_is_asked_for_again() {
    let first = Mutex::new(true);
    let mut bench = bench(move |asked| {
        if asked.watches() {
            return silence();
        }
        if std::mem::take(&mut *first.lock().unwrap()) { None } else { page(20, "", &[job("pi", 1, 10)]) }
    });

    bench.lists_all_within(SOON).await;

    assert_eq!(bench.jobs(), ["pi"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_never_opened_is_asked_for_again() {
    let first = Mutex::new(true);
    let mut bench = bench(move |asked| {
        if !asked.watches() {
            return page(20, "", &[]);
        }
        if std::mem::take(&mut *first.lock().unwrap()) {
            return None;
        }
        events(stream::iter([event("ADDED", &job("pi", 1, 21))]))
    });
    bench.lists_all_within(Duration::from_secs(5)).await;

    sleep(SOON).await;

    assert_eq!(bench.jobs(), ["pi"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_has_gone_silent_is_opened_again_where_it_was() {
    let first = Mutex::new(true);
    let mut bench = bench(move |asked| {
        if !asked.watches() {
            return page(20, "", &[]);
        }
        if std::mem::take(&mut *first.lock().unwrap()) {
            return events(stream::iter([bookmark(25)]));
        }
        assert_eq!(asked.parameter("resourceVersion"), Some("25"));
        events(stream::iter([event("ADDED", &job("pi", 1, 26))]))
    });
    bench.lists_all_within(Duration::from_secs(5)).await;
    assert!(bench.watches.last_activity.age("MPIJob").unwrap() < Duration::from_secs(1));

    sleep(Duration::from_mins(1)).await;
    assert!(bench.watches.last_activity.age("MPIJob").unwrap() > Duration::from_secs(55));
    sleep(Duration::from_secs(110)).await;

    assert_eq!(bench.jobs(), ["pi"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_cut_all_the_time_is_opened_at_once_if_it_told_something() {
    let version = Mutex::new(20);
    let mut bench = bench(move |asked| {
        if !asked.watches() {
            return page(20, "", &[]);
        }
        let mut version = version.lock().unwrap();
        *version += 1;
        text(200, event("ADDED", &job(&format!("job-{version}"), *version, *version)))
    });
    bench.lists_all_within(Duration::from_secs(5)).await;

    sleep(Duration::from_secs(10)).await;

    let watches = bench.server.asked().iter().filter(|asked| asked.watches()).count();
    assert!((10..60).contains(&watches), "{watches} watches in 10 s");
    assert!(bench.jobs().len() >= watches - 1);
}

/// What the server has, beyond what its watch reports.
#[derive(Clone, Default)]
struct Stored(Arc<Mutex<(u64, Vec<String>)>>);

impl Stored {
    fn set(&self, version: u64, jobs: &[String]) {
        *self.0.lock().unwrap() = (version, jobs.to_vec());
    }

    /// Lists what there is; the watch reports versions alone.
    fn answer(&self, asked: &Asked) -> Option<Answer> {
        let (version, jobs) = self.0.lock().unwrap().clone();
        if !asked.watches() {
            return page(version, "", &jobs);
        }
        let stored = self.clone();
        events(stream::unfold(stored, |stored| async move {
            sleep(Duration::from_mins(1)).await;
            let version = stored.0.lock().unwrap().0;
            Some((bookmark(version), stored))
        }))
    }
}

#[tokio::test(start_paused = true)]
async fn ghosts_and_lost_changes_are_found_without_the_watch() {
    let stored = Stored::default();
    stored.set(20, &[job("ghost", 1, 10), job("changed", 2, 11), job("same", 3, 12)]);
    let server = stored.clone();
    let mut bench = bench(move |asked| server.answer(asked));
    bench.lists_all_within(Duration::from_secs(5)).await;
    bench.woken();

    stored.set(30, &[job("changed", 2, 25), job("same", 3, 12), job("new", 4, 26)]);
    sleep(Duration::from_mins(15)).await;

    assert_eq!(bench.jobs(), ["changed", "new", "same"]);
    let mut woken = bench.woken();
    woken.sort();
    assert_eq!(woken, ["ghost", "new"], "of what is the same but for its version nobody is woken");
    assert!(bench.metric(r#"coxswain_cache_repairs_total{kind="MPIJob"} 3"#));
}

#[tokio::test(start_paused = true)]
async fn a_cache_that_is_right_costs_a_list_of_metadata_in_a_while_and_nothing_else() {
    let stored = Stored::default();
    stored.set(20, &[job("pi", 1, 10), job("other", 2, 11)]);
    let server = stored.clone();
    let mut bench = bench(move |asked| server.answer(asked));
    bench.lists_all_within(Duration::from_secs(5)).await;
    let start = Instant::now();

    sleep(Duration::from_hours(1)).await;

    let asked = bench.server.asked();
    let since = asked.iter().filter(|asked| asked.at > start && !asked.watches());
    let (compared, listed): (Vec<&Asked>, Vec<&Asked>) = since.partition(|asked| asked.compares());
    assert!(listed.is_empty(), "{listed:#?}");
    assert!((4..=8).contains(&compared.len()), "{} comparisons in an hour", compared.len());
    let watches = asked.iter().filter(|asked| asked.watches()).count();
    assert!(watches <= 31, "{watches} watches in an hour");
    assert!(bench.metric(r#"coxswain_cache_repairs_total{kind="MPIJob"} 0"#));
}
