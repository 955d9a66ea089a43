//! A webhook for the pods of one namespace that accepts connections and says nothing: its jobs wait, others do not.

use std::time::Duration;

use crate::{
    Space, bed,
    objects::{Kind, has},
    tool::run_in_shell,
    watch,
};
use anyhow::{Result, ensure};
use kube::runtime::watcher;
use serde_json::json;
use tokio::{
    net::TcpListener,
    task::JoinHandle,
    time::{Instant, sleep},
};

use super::{
    Sizes,
    load::{all, fake, submit},
    replicas::Replicas,
};

/// Jobs whose pods the webhook is asked about.
const HANGING: u32 = 30;
/// Jobs of somebody else.
const OTHERS: u32 = 20;
/// Longer than the operator waits for an answer: it has been disappointed before the others come, and asks for nothing any
/// more that hung in the round before.
const WAIT: Duration = Duration::from_secs(15);
const LIMIT: Duration = Duration::from_mins(2);
/// How much longer the others may take.
const RATIO: f64 = 1.5;

/// When jobs ran after they were submitted, in seconds, in this order.
type Starts = Vec<f64>;

/// Whom the API server asks in vain, until this is dropped.
struct Webhook {
    namespace: String,
    silence: JoinHandle<()>,
}

impl Webhook {
    /// For the pods of this namespace.
    async fn hang(namespace: &str) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let silence = tokio::spawn(async move {
            let mut open = Vec::new();
            while let Ok((connection, _)) = listener.accept().await {
                open.push(connection);
            }
        });
        let configuration = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": { "name": namespace },
            "webhooks": [{
                "name": "silent.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "failurePolicy": "Fail", "timeoutSeconds": 30,
                "clientConfig": { "url": format!("https://{address}/") },
                "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": namespace } },
                "rules": [{
                    "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"],
                }],
            }],
        });
        run_in_shell(&format!("kubectl create -f - <<'END'\n{configuration}\nEND")).await?;
        Ok(Self { namespace: namespace.to_owned(), silence })
    }

    async fn remove(self) -> Result<()> {
        self.silence.abort();
        run_in_shell(&format!("kubectl delete validatingwebhookconfiguration {}", self.namespace))
            .await
            .map(drop)
    }
}

/// Submits the jobs of somebody who has nothing to do with a webhook.
async fn others(theme: &str) -> Result<Starts> {
    let space = Space::new(theme).await?;
    let began = Instant::now();
    submit(&space, (0..OTHERS).map(|index| fake(&format!("job-{index}"))).collect()).await?;
    let mut starts = Starts::new();
    let what = format!("all jobs of {} run", space.name());
    watch::until(&space.api(Kind::MpiJob), watcher::Config::default(), LIMIT, &what, |jobs| {
        let running = jobs.values().filter(|job| has(job, "Running", "True")).count();
        starts.resize(running.max(starts.len()), began.elapsed().as_secs_f64());
        Ok((starts.len() == OTHERS as usize).then_some(()))
    })
    .await?;
    bed::end_launchers(space.name()).await?;
    all(&space, LIMIT, OTHERS as usize, "Succeeded").await?;
    remove(space).await?;
    Ok(starts)
}

/// One round on a cluster where nothing else happens.
async fn alone() -> Result<Starts> {
    // As long as the others come after the webhook: what the round before has left is over.
    sleep(WAIT).await;
    others("alone").await
}

/// The same beside jobs that wait for the webhook.
async fn disturbed() -> Result<Starts> {
    let space = Space::new("hanging").await?;
    let webhook = Webhook::hang(space.name()).await?;
    submit(&space, (0..HANGING).map(|index| fake(&format!("job-{index}"))).collect()).await?;
    sleep(WAIT).await;
    let starts = others("disturbed").await;
    let pods = space.all(Kind::Pod).await?.len();
    webhook.remove().await?;
    remove(space).await?;
    ensure!(pods == 0, "{pods} pods exist that the webhook has not seen");
    starts
}

/// Until its jobs are gone, so that they cost the next round nothing.
async fn remove(space: Space) -> Result<()> {
    let (jobs, what) = (space.api(Kind::MpiJob), format!("the jobs of {} are gone", space.name()));
    space.remove().await?;
    watch::until(&jobs, watcher::Config::default(), LIMIT, &what, |jobs| Ok(jobs.is_empty().then_some(())))
        .await
}

fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

#[tokio::test]
async fn a_webhook_that_hangs_in_one_namespace_delays_no_other() -> Result<()> {
    let replicas = Replicas::renew().await?;
    // The first jobs of a new process pay for what it does once, and would make any disturbance look small.
    others("warm-up").await?;
    let (mut by_themselves, mut beside) = (Vec::new(), Vec::new());
    for _ in 0..Sizes::chosen().rounds {
        by_themselves.push(alone().await?);
        beside.push(disturbed().await?);
    }
    replicas.none_has_ended().await?;
    let middle = |starts: &Starts| median(starts.iter().copied());
    let slowest = |starts: &Starts| starts.last().copied().unwrap_or(f64::NAN);
    let of = |what: fn(&Starts) -> f64, rounds: &[Starts]| rounds.iter().map(what).collect::<Vec<_>>();
    for (what, one) in [("median", middle as fn(&Starts) -> f64), ("slowest", slowest)] {
        let (alone, disturbed) = (of(one, &by_themselves), of(one, &beside));
        println!(
            "{what} of {OTHERS} jobs, s, by round: {alone:.2?} alone, {disturbed:.2?} beside {HANGING} that hang"
        );
        let (alone, disturbed) = (median(alone), median(disturbed));
        // Not the other way round: of a figure that is none, nothing holds.
        ensure!(disturbed <= RATIO * alone, "{what}: {disturbed:.2} s is over {RATIO} times {alone:.2} s");
    }
    Ok(())
}
