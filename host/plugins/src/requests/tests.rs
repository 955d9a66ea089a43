use coxswain_test_support::api_server::{Asked, Fake, Reply};
use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use coxswain_model::desired::Gang;
use serde_json::json;
use tokio::time::{Instant, timeout};

use super::*;
use crate::{InCluster, LiveJobs, Rules, store::Store};
use coxswain_cluster::{index::Shared, leadership::Leadership, metrics::Metrics};

/// A follower of the plugin ConfigMaps of a cluster.
struct Follower {
    plugins: Arc<Plugins>,
    leadership: Leadership,
    ready: watch::Receiver<bool>,
    last_activity: LastActivity,
    /// Reasons of the events.
    emitted: Arc<Mutex<Vec<String>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Follower {
    async fn is_ready(&mut self) {
        timeout(Duration::from_mins(5), self.ready.wait_for(|ready| *ready)).await.unwrap().unwrap();
    }

    fn emitted(&self) -> Vec<String> {
        self.emitted.lock().unwrap().clone()
    }
}

/// Of a cluster that answers so.
fn follower(answer: impl Fn(&Fake, &Asked) -> Reply + Send + Sync + 'static) -> Follower {
    uneven(|_| Duration::from_millis(5), answer)
}

/// The same, where answers take so long.
fn uneven(
    latency: impl Fn(&Asked) -> Duration + Send + Sync + 'static,
    answer: impl Fn(&Fake, &Asked) -> Reply + Send + Sync + 'static,
) -> Follower {
    let client = Fake::default().uneven(latency, answer);
    let leadership = Leadership::default();
    let cluster = InCluster {
        store: Store::new(client.clone(), "mpi-operator"),
        jobs: LiveJobs { index: Shared::default(), gang: Gang::Off, synced: Vec::new() },
        leadership: leadership.clone(),
    };
    let metrics = Arc::new(Metrics::new().unwrap());
    let (plugins, reviews) = Plugins::in_cluster(Rules::default(), cluster, metrics.registry()).unwrap();
    let plugins = Arc::new(plugins);
    let (sender, ready) = watch::channel(false);
    let (last_activity, emitted) = (LastActivity::default(), Arc::<Mutex<Vec<String>>>::default());
    let (following, observed, emitting) = (Arc::clone(&plugins), last_activity.clone(), Arc::clone(&emitted));
    let task = tokio::spawn(async move {
        let followed = Followed { client, namespace: "mpi-operator", last_activity: observed, metrics };
        let emit =
            |answer: Answer| emitting.lock().unwrap().push(format!("{} {}", answer.name, answer.reason));
        follow(following, followed, reviews, sender, emit).await;
    });
    Follower { plugins, leadership, ready, last_activity, emitted, task }
}

/// A ConfigMap without a component, so that its request is refused.
fn map(name: &str, version: u64) -> serde_json::Value {
    let metadata = json!({
        "name": name, "namespace": "mpi-operator", "uid": format!("uid of {name}"),
        "resourceVersion": version.to_string(), "labels": { (LABEL_PLUGIN): name },
    });
    json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata})
}

fn nothing() -> Reply {
    Reply::ok(
        json!({"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {"resourceVersion": "7"}, "items": []}),
    )
}

#[tokio::test(start_paused = true)]
async fn refused_lists_are_tried_again_until_the_plugins_are_known() {
    let refusals = [503, 429, 500, 410, 403, 504];
    let mut follower = follower(move |fake, _| {
        let code = refusals.get(fake.asked().len() - 1);
        code.map_or_else(nothing, |code| Reply::refused(*code, "Refused"))
    });

    follower.is_ready().await;

    assert!(!follower.task.is_finished());
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_never_opened_is_asked_for_again() {
    let opened = AtomicBool::new(false);
    let hangs_at_first = move |asked: &Asked| {
        let is_first = asked.watches() && !opened.swap(true, Ordering::Relaxed);
        if is_first { Duration::from_hours(1) } else { Duration::from_millis(5) }
    };
    let mut follower = uneven(hangs_at_first, |_, asked| {
        if !asked.watches() {
            return nothing();
        }
        Reply::ok(json!({"type": "ADDED", "object": map("openmpi", 8)}))
    });
    follower.is_ready().await;

    sleep(Duration::from_secs(20)).await;
    assert!(follower.last_activity.age(KIND).unwrap() > Duration::from_secs(15), "it shows");
    sleep(Duration::from_secs(40)).await;

    assert_eq!(follower.emitted(), ["openmpi PluginRefused"]);
    assert!(!follower.task.is_finished());
}

#[tokio::test(start_paused = true)]
async fn what_a_list_does_not_name_any_more_is_gone_and_what_comes_behind_it_is_not() {
    let lists = Mutex::new(0_u64);
    let mut follower = follower(move |_, asked| {
        if asked.query.contains("resourceVersion=20") && asked.watches() {
            return Reply::ok(json!({"type": "ADDED", "object": map("late", 21)}));
        }
        if asked.watches() {
            return Reply::refused(410, "Expired");
        }
        // What an earlier process left is asked for, too.
        if !asked.query.contains("labelSelector=coxswain.dev%2Fplugin&") {
            return nothing();
        }
        let mut lists = lists.lock().unwrap();
        *lists += 1;
        let (version, items) = match *lists {
            1 => (7, vec![map("first", 5), map("other", 6)]),
            2 => (20, vec![map("other", 6)]),
            _ => (30, vec![map("other", 6), map("late", 21), map("first", 25)]),
        };
        let metadata = json!({"resourceVersion": version.to_string()});
        Reply::ok(json!({"kind": "ConfigMapList", "apiVersion": "v1", "metadata": metadata, "items": items}))
    });
    follower.is_ready().await;

    sleep(Duration::from_mins(1)).await;

    let refused = ["first", "other", "late", "first"].map(|name| format!("{name} PluginRefused"));
    assert_eq!(follower.emitted(), refused, "each once, and again after it was gone");
}

#[tokio::test(start_paused = true)]
async fn who_becomes_leader_while_everything_is_refused_leads_within_a_minute() {
    let refuses = Arc::new(AtomicBool::new(false));
    let refusing = Arc::clone(&refuses);
    let mut follower = follower(move |_, _| {
        if refusing.load(Ordering::Relaxed) { Reply::refused(500, "InternalError") } else { nothing() }
    });
    follower.is_ready().await;
    let Follower { plugins, leadership, task, .. } = follower;

    refuses.store(true, Ordering::Relaxed);
    leadership.renewed(Instant::now(), Duration::from_hours(1));
    timeout(Duration::from_mins(1), plugins.lead(1)).await.unwrap();
    assert!(plugins.leads() && !task.is_finished());

    plugins.follow_only();
    assert!(!plugins.leads());
    plugins.lead_from_now(1);
    leadership.lost();
    leadership.renewed(Instant::now(), Duration::from_hours(1));
    assert!(
        leadership.leads() && !plugins.leads(),
        "what was taken over in one term is not written in the next"
    );
}
