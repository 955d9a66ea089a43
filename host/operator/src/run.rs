//! Wiring: the only place that spawns. Every long-lived task's end is the process's end, so that nothing runs on
//! with one leg missing; Kubernetes starts it anew. No answer of the API server, and no silence, ends one of them.

mod election;
mod reconciles;
mod sight;
mod terms;

use std::{future::Future, sync::Arc, time::Duration};

use anyhow::Context;
use coxswain_model::{desired::Gang, status::Event};
use futures::FutureExt;
use kube::Client;
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
    task::{JoinHandle, JoinSet},
    time::Instant,
};

use self::{
    sight::{Kind, Sight},
    terms::{Leading, Terms},
};
use crate::{
    metrics::ReconcileMetrics,
    options::Options,
    queue::{Queue, Settings},
    serve::{self, health::Checks},
};
use coxswain_cluster::{
    client,
    events::{self, Subject},
    index::Shared,
    kinds,
    last_activity::LastActivity,
    leadership::Leadership,
    limiter::ConcurrencyLimiter,
    live::{Claimed, Live},
    metrics::Metrics,
    rest::Rest,
    wake::{Cause, Wake},
    watch::{Watches, Watching},
    world::{self, held},
};
use coxswain_plugins::{self as plugins, Answer, Followed, InCluster, LiveJobs, Plugins, store::Store};

pub use crate::serve::health::Unsynced;

/// Threads that requests and watches share; plugins and key pairs have others. One does some 2 000 requests a second,
/// more than an API server takes; each further one costs memory and wakes the others for nothing.
const WORKERS: usize = 2;

/// How often rows that no watch has confirmed are looked through.
const SWEEP: Duration = Duration::from_secs(1);

/// Runs the operator until it is told to end. An error is why it cannot go on.
pub fn operator(options: Options) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build();
    runtime.context("starting the runtime")?.block_on(run(options))
}

/// Long-lived tasks by name.
struct Tasks(JoinSet<&'static str>);

impl Tasks {
    fn spawn(&mut self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        self.0.spawn(held(async move {
            task.await;
            name
        }));
    }

    /// The name of the first one to end, which none should.
    async fn first_end(&mut self) -> anyhow::Error {
        match self.0.join_next().await {
            Some(Ok(name)) => anyhow::anyhow!("the task {name:?} has ended"),
            Some(Err(error)) => anyhow::Error::new(error).context("running a task"),
            None => anyhow::anyhow!("there is nothing to do"),
        }
    }
}

async fn run(options: Options) -> anyhow::Result<()> {
    // The lease has connections of its own, so that no burst of creates stands before a renewal.
    let (client, for_lease) =
        (client::new(&options.api_server).await?, client::new(&options.api_server).await?);
    operate(options, client, for_lease, termination_signal()).await
}

/// The operator between these clients, until `termination_signal`. Ends with an error only where the configuration, or a task, is
/// broken: whatever the API server answers. If it is dropped, all of it ends at once, as a process that is killed.
pub async fn operate(
    options: Options,
    client: Client,
    for_lease: Client,
    termination_signal: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    let metrics = Arc::new(Metrics::new().context("setting up metrics")?);
    let counts = ReconcileMetrics::new(metrics.registry()).context("setting up metrics")?;
    let (counts, namespace) = (Arc::new(counts), options.namespace.clone());
    counts.looks_at(namespace.as_deref());

    let leadership = Leadership::default();
    let at_once = options.at_once.unwrap_or(Settings::default().at_once);
    let settings = Settings { at_once, ..Settings::default() };
    let queue = Arc::new(Queue::new(settings, Arc::clone(&counts)));
    let limiter = ConcurrencyLimiter::new(options.api_rate, Arc::clone(&metrics));
    let rest = Rest::new(client.clone(), Arc::clone(&limiter), Arc::clone(&metrics));
    let (live, writer) = live(rest.while_leading(leadership.clone()), &queue, &leadership, &metrics);

    let mut tasks = Tasks(JoinSet::new());
    tasks.spawn("limiter", limiter.run());
    let watches = Watches {
        index: live.index.clone(),
        wake: Arc::clone(&live.wake),
        metrics: Arc::clone(&metrics),
        namespace,
        last_activity: LastActivity::default(),
        events: live.events.clone(),
        leadership: leadership.clone(),
    };
    let mut kinds = start_watches(&mut tasks, &watches, &client, &options.gang);
    let (plugins, plugins_ready) = start_plugins(&mut tasks, &options, &client, &live, &kinds, &watches)?;
    kinds.push(Kind { name: plugins::KIND, listed: plugins_ready, is_vital: false });
    let sight = Sight::new(kinds, watches.last_activity.clone());
    tasks.spawn("sweep", sweep(watches, options.gang.clone()));
    serve_health(&mut tasks, options.health_port, checks(&sight, &leadership)).await?;
    let sources = serve::metrics::Sources {
        metrics: Arc::clone(&live.metrics),
        counts: Arc::clone(&counts),
        index: live.index.clone(),
        gang: options.gang.clone(),
        queue: Arc::clone(&queue),
        limiter: Arc::clone(live.rest.limiter()),
        plugins: Arc::clone(&plugins),
    };
    serve_metrics(&mut tasks, options.monitoring_port, sources).await?;

    let mut stages = Stages::default();
    let candidate = election::candidate(&options.lock_namespace, for_lease, leadership.clone(), &metrics);
    let identity = candidate.identity().to_owned();
    let (candidacy, is_candidate) = watch::channel(false);
    stages.start("leader election", |stop| candidate.run(stop, is_candidate));
    stages.start("events", |stop| writer.run(stop));
    let work = Leading { live, plugins, queue, metrics: counts, options, identity };
    stages.start("terms", |stop| Terms { sight, leadership, candidacy, work }.run(stop));

    let end = tokio::select! {
        biased;
        () = termination_signal => Ok(()),
        error = tasks.first_end() => Err(error),
        error = stages.first_end() => Err(error),
    };
    tracing::info!("stopping");
    stages.stop().await;
    end
}

/// The cluster as reconciles see it, and what writes their events.
fn live(
    rest: Rest,
    queue: &Arc<Queue>,
    leadership: &Leadership,
    metrics: &Arc<Metrics>,
) -> (Live, events::Writer) {
    let (events, writer) = events::channel(rest.clone(), Arc::clone(metrics));
    let index = Shared::default();
    world::show(&index);
    let wake = waker(queue, leadership, index.clone());
    let metrics = Arc::clone(metrics);
    (Live { rest, index, events, metrics, wake, claimed: Claimed::default() }, writer)
}

/// Standbys let nothing pile up; whoever becomes leader looks at all jobs. A leader whose renewal is late takes note: only
/// writing waits for it.
fn waker(queue: &Arc<Queue>, leadership: &Leadership, index: Shared) -> Wake {
    let (queue, leadership) = (Arc::clone(queue), leadership.clone());
    Arc::new(move |job, cause| {
        if leadership.term().is_some() {
            let pods = index.read().pods.of(job).len();
            queue.wake(job, cause, pods);
        }
    })
}

/// Tasks that end in order when the process does: the last one started first.
#[derive(Default)]
struct Stages(Vec<(&'static str, watch::Sender<bool>, JoinHandle<()>)>);

impl Stages {
    fn start<F>(&mut self, name: &'static str, task: impl FnOnce(watch::Receiver<bool>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (stop, stopped) = watch::channel(false);
        self.0.push((name, stop, tokio::spawn(held(task(stopped)))));
    }

    /// The name of the first one to end before it was told to.
    async fn first_end(&mut self) -> anyhow::Error {
        let ends = self.0.iter_mut().map(|(name, _, task)| task.map(|end| (*name, end)));
        match futures::future::select_all(ends).await.0 {
            (name, Ok(())) => anyhow::anyhow!("the task {name:?} has ended"),
            (name, Err(error)) => anyhow::Error::new(error).context(format!("running the task {name:?}")),
        }
    }

    /// Stops each and waits for it. Each bounds its own end.
    async fn stop(mut self) {
        for (_, stop, task) in self.0.iter_mut().rev() {
            stop.send_replace(true);
            if !task.is_finished() {
                let _ = task.await;
            }
        }
    }
}

impl Drop for Stages {
    fn drop(&mut self) {
        self.0.iter().for_each(|(_, _, task)| task.abort());
    }
}

/// One task a kind. Returns, for each, whether it has listed all.
fn start_watches(tasks: &mut Tasks, watches: &Watches, client: &Client, gang: &Gang) -> Vec<Kind> {
    let start = |Watching { kind, listed, task }| {
        tasks.spawn(kind, task);
        Kind { name: kind, listed, is_vital: true }
    };
    watches.all(client, gang).into_iter().map(start).collect()
}

/// Loads the image's plugins and follows the ConfigMaps. The receiver turns true once those that are there have been
/// looked at.
fn start_plugins(
    tasks: &mut Tasks,
    options: &Options,
    client: &Client,
    live: &Live,
    kinds: &[Kind],
    watches: &Watches,
) -> anyhow::Result<(Arc<Plugins>, watch::Receiver<bool>)> {
    let namespace = options.plugin_namespace.clone();
    let synced = kinds.iter().map(|kind| kind.listed.clone()).collect();
    let cluster = InCluster {
        store: Store::new(client.clone(), &namespace),
        jobs: LiveJobs { index: live.index.clone(), gang: options.gang.clone(), synced },
        leadership: watches.leadership.clone(),
    };
    let (plugins, reviews) = Plugins::in_cluster(options.rules.clone(), cluster, live.metrics.registry())?;
    let plugins = Arc::new(plugins);
    let (ready, is_ready) = watch::channel(false);
    let (following, client, live) = (Arc::clone(&plugins), client.clone(), live.clone());
    let (last_activity, metrics) = (watches.last_activity.clone(), Arc::clone(&watches.metrics));
    let bundled = options.plugin_dir.clone();
    tasks.spawn("watch plugins", async move {
        // Beside everything else: on a busy node it takes longer than the kubelet waits for an answer to its probes.
        if let Err(error) = following.load_bundled(&bundled).await {
            tracing::error!(error = format!("{error:#}"), "loading the plugins of --plugin-dir");
            return;
        }
        let emit = |answer: Answer| emit_for_plugin(&live, &namespace, answer);
        let followed = Followed { client, namespace: &namespace, last_activity, metrics };
        plugins::follow(following, followed, reviews, ready, emit).await;
    });
    tasks.spawn("collect plugins", Arc::clone(&plugins).collect());
    Ok((plugins, is_ready))
}

/// Reports on a plugin's ConfigMap what became of it, and has the jobs looked at that may have waited for this plugin.
fn emit_for_plugin(live: &Live, namespace: &str, answer: Answer) {
    let subject = Subject {
        api_version: "v1",
        kind: "ConfigMap",
        namespace: namespace.to_owned(),
        name: answer.name,
        uid: answer.uid,
        version: String::new(),
    };
    let Answer { warning, concerned, reason, message, .. } = answer;
    live.events.emit(subject, Event { warning, reason: reason.to_owned(), message });
    for job in &concerned {
        (live.wake)(job, Cause::Other);
    }
}

/// Lets the index drop what no watch has confirmed, and what DNS has forgotten.
async fn sweep(watches: Watches, gang: Gang) {
    loop {
        tokio::time::sleep(SWEEP).await;
        watches.report();
        let jobs = {
            let mut index = watches.index.write();
            index.launcher_exits.expire(world::now());
            kinds::expire(&mut index, &gang, Instant::now())
        };
        for job in &jobs {
            (watches.wake)(job, Cause::Other);
        }
    }
}

/// What the probes ask, and whoever looks at this process from outside.
fn checks(sight: &Sight, leadership: &Leadership) -> Checks {
    let (sight, leadership) = (sight.clone(), leadership.clone());
    let unsynced: Unsynced = Arc::new(move || sight.unsynced().iter().map(ToString::to_string).collect());
    world::show(&unsynced);
    Checks { leader_election: Arc::new(move || leadership.is_healthy(election::UNHEALTHY)), unsynced }
}

/// `/healthz` and `/readyz`; port 0 is none.
async fn serve_health(tasks: &mut Tasks, port: u16, checks: Checks) -> anyhow::Result<()> {
    if port == 0 {
        return Ok(());
    }
    let listener = serve::listen(port).await?;
    tasks.spawn("health", serve::serve(listener, serve::health::routes(checks)));
    Ok(())
}

/// `/metrics`; port 0 is none.
async fn serve_metrics(tasks: &mut Tasks, port: u16, sources: serve::metrics::Sources) -> anyhow::Result<()> {
    if port == 0 {
        return Ok(());
    }
    let listener = serve::listen(port).await?;
    tasks.spawn("metrics", serve::serve(listener, serve::metrics::routes(sources)));
    Ok(())
}

/// SIGTERM from Kubernetes, SIGINT from a terminal.
async fn termination_signal() {
    let (Ok(mut terminate), Ok(mut interrupt)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

#[cfg(test)]
mod tests;
