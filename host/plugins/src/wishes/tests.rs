use coxswain_test_support::api_server::{Asked, Fake, Reply};
use std::sync::atomic::{AtomicBool, Ordering};

use coxswain_model::desired::Gang;
use serde_json::json;
use tokio::time::{Instant, timeout};

use super::*;
use crate::{InCluster, LiveJobs, Rules, state::Store};
use coxswain_cluster::{index::Shared, metrics::Metrics, standing::Standing};

/// Plugins of a cluster that answers so, and the follower's task.
fn follower(
    answer: impl Fn(&Fake, &Asked) -> Reply + Send + Sync + 'static,
) -> (Arc<Plugins>, Standing, watch::Receiver<bool>, tokio::task::JoinHandle<()>) {
    let client = Fake::default().client(Duration::from_millis(5), answer);
    let standing = Standing::default();
    let cluster = InCluster {
        store: Store::new(client.clone(), "mpi-operator"),
        jobs: LiveJobs { index: Shared::default(), gang: Gang::Off, synced: Vec::new() },
        standing: standing.clone(),
    };
    let metrics = Metrics::new().unwrap();
    let (plugins, turns) = Plugins::in_cluster(Rules::default(), cluster, metrics.registry()).unwrap();
    let plugins = Arc::new(plugins);
    let (ready, is_ready) = watch::channel(false);
    let following = Arc::clone(&plugins);
    let task =
        tokio::spawn(async move { follow(following, client, turns, "mpi-operator", ready, drop).await });
    (plugins, standing, is_ready, task)
}

fn nothing() -> Reply {
    Reply::ok(
        json!({"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {"resourceVersion": "7"}, "items": []}),
    )
}

#[tokio::test(start_paused = true)]
async fn refused_lists_are_tried_again_until_the_plugins_are_known() {
    let refusals = [503, 429, 500, 410, 403, 504];
    let (_, _, mut ready, task) = follower(move |fake, _| {
        let code = refusals.get(fake.asked().len() - 1);
        code.map_or_else(nothing, |code| Reply::refused(*code, "Refused"))
    });

    timeout(Duration::from_mins(5), ready.wait_for(|ready| *ready)).await.unwrap().unwrap();

    assert!(!task.is_finished());
}

#[tokio::test(start_paused = true)]
async fn who_becomes_leader_while_everything_is_refused_leads_within_a_minute() {
    let refuses = Arc::new(AtomicBool::new(false));
    let refusing = Arc::clone(&refuses);
    let (plugins, standing, mut ready, task) = follower(move |_, _| {
        if refusing.load(Ordering::Relaxed) { Reply::refused(500, "InternalError") } else { nothing() }
    });
    timeout(Duration::from_mins(5), ready.wait_for(|ready| *ready)).await.unwrap().unwrap();

    refuses.store(true, Ordering::Relaxed);
    standing.renewed(Instant::now(), Duration::from_hours(1));
    timeout(Duration::from_mins(1), plugins.lead(1)).await.unwrap();
    assert!(plugins.leads() && !task.is_finished());

    plugins.follow_only();
    assert!(!plugins.leads());
    plugins.lead_from_now(1);
    standing.lost();
    standing.renewed(Instant::now(), Duration::from_hours(1));
    assert!(
        standing.leads() && !plugins.leads(),
        "what was taken over in one term is not written in the next"
    );
}
