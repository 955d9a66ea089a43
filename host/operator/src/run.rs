//! Wiring: the only place that spawns. Every long-lived task's end is the process's end, so that nothing runs on
//! with one leg missing; Kubernetes starts it anew.

mod client;
mod election;
mod passes;

use std::{future::Future, process::ExitCode, sync::Arc, time::Duration};

use anyhow::Context;
use coxswain_model::{desired::Gang, policy::ClusterPolicy};
use futures::FutureExt;
use jiff::Timestamp;
use kube::Client;
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
    task::{JoinHandle, JoinSet},
    time::Instant,
};

use self::passes::Passes;
use crate::{
    cluster::{
        Wake, events,
        index::Shared,
        lease::Standing,
        live::{Claimed, Live},
        pace::Pace,
        rest::Rest,
        watch::{Synced, Watches},
    },
    flags::Flags,
    log,
    metrics::Metrics,
    plugins::{self, Answer, InCluster, LiveJobs, Plugins, Rules, Trust, state::Store},
    queue::{Cause, Queue, Settings},
    serve,
};

/// Threads that requests and watches share; plugins and key pairs have others. One does some 2 000 requests a second,
/// more than an API server takes; each further one costs memory and wakes the others for nothing.
const WORKERS: usize = 2;

/// How often rows that no watch has confirmed are looked through.
const SWEEP: Duration = Duration::from_secs(1);

/// Runs the operator until it is told to end (success) or cannot go on (failure).
pub fn operator(flags: Flags) -> ExitCode {
    let result = log::start(flags.log_format, flags.verbosity).and_then(|()| {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build();
        runtime.context("starting the runtime")?.block_on(run(flags))
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(error = format!("{error:#}"), "ending");
            ExitCode::FAILURE
        }
    }
}

/// Long-lived tasks by name.
struct Tasks(JoinSet<&'static str>);

impl Tasks {
    fn spawn(&mut self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        self.0.spawn(async move {
            task.await;
            name
        });
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

async fn run(flags: Flags) -> anyhow::Result<()> {
    tracing::info!(version = env!("CARGO_PKG_VERSION"), ?flags, "starting");
    let metrics = Arc::new(Metrics::new().context("setting up metrics")?);
    let client = client::new(&flags).await?;
    let namespace = Some(flags.namespace.clone()).filter(|namespace| !namespace.is_empty());
    client::find_crd(&client, namespace.as_deref()).await?;

    let standing = Standing::default();
    let queue = Arc::new(Queue::new(Settings::default(), Arc::clone(&metrics)));
    let pace = Pace::new(flags.api_rate(), Arc::clone(&metrics));
    let rest =
        Rest::new(client.clone(), Arc::clone(&pace), Arc::clone(&metrics)).while_leading(standing.clone());
    let (sink, writer) = events::channel(rest.clone(), Arc::clone(&metrics));
    let index = Shared::default();
    let live = Live {
        rest,
        index: index.clone(),
        events: sink,
        metrics: Arc::clone(&metrics),
        wake: waker(&queue, &standing, index),
        claimed: Claimed::default(),
    };

    let mut tasks = Tasks(JoinSet::new());
    tasks.spawn("pace", pace.run());
    let watches = Watches {
        index: live.index.clone(),
        wake: Arc::clone(&live.wake),
        metrics: Arc::clone(&metrics),
        namespace,
    };
    let mut synced = start_watches(&mut tasks, &watches, &client, &flags.gang());
    let (plugins, plugins_ready) =
        start_plugins(&mut tasks, &flags, &client, &live, &synced, &standing).await?;
    synced.push(plugins_ready);
    tasks.spawn("sweep", sweep(watches));
    serve(&mut tasks, &flags, &synced, &standing, &live, &queue, &plugins).await?;

    let mut stages = Stages::default();
    let candidate = election::candidate(&flags, standing.clone(), &metrics).await?;
    let identity = candidate.identity().to_owned();
    stages.start("leader election", |stop| candidate.run(stop).map(drop));
    stages.start("events", |stop| writer.run(stop));
    let passes = Passes::new(live.clone(), Arc::clone(&plugins), queue, &flags);
    let term = election::Term { standing, identity, lock_namespace: flags.lock_namespace, live };
    stages.start("passes", |stop| lead(stop, synced, term, plugins, passes));

    let end = tokio::select! {
        biased;
        () = told_to_end() => Ok(()),
        error = tasks.first_end() => Err(error),
        error = stages.first_end() => Err(error),
    };
    tracing::info!("stopping");
    stages.stop().await;
    end
}

/// Waits for caches and lease, then runs passes.
async fn lead(
    mut stop: watch::Receiver<bool>,
    synced: Vec<watch::Receiver<bool>>,
    term: election::Term,
    plugins: Arc<Plugins>,
    passes: Passes,
) {
    tokio::select! {
        biased;
        _ = stop.wait_for(|stop| *stop) => return,
        () = all_synced(synced) => {}
    }
    if !term.begin(&mut stop).await {
        return;
    }
    if let Err(error) = plugins.lead().await {
        tracing::error!(error = format!("{error:#}"), "keeping copies of the plugins");
        return;
    }
    passes.run(stop).await;
    term.end();
}

/// Standbys let nothing pile up; whoever becomes leader looks at all jobs.
fn waker(queue: &Arc<Queue>, standing: &Standing, index: Shared) -> Wake {
    let (queue, standing) = (Arc::clone(queue), standing.clone());
    Arc::new(move |job, cause| {
        if standing.leads() {
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
        self.0.push((name, stop, tokio::spawn(task(stopped))));
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
    async fn stop(self) {
        for (_, stop, task) in self.0.into_iter().rev() {
            stop.send_replace(true);
            if !task.is_finished() {
                let _ = task.await;
            }
        }
    }
}

/// One task a kind. Returns, for each, whether it has listed all.
fn start_watches(
    tasks: &mut Tasks,
    watches: &Watches,
    client: &Client,
    gang: &Gang,
) -> Vec<watch::Receiver<bool>> {
    let mut synced = Vec::new();
    let mut channel = || -> Synced {
        let (sender, receiver) = watch::channel(false);
        synced.push(receiver);
        sender
    };
    let w = || watches.clone();
    tasks.spawn("watch MPIJobs", w().jobs(client.clone(), channel()));
    tasks.spawn("watch Pods", w().pods(client.clone(), channel()));
    tasks.spawn("watch Services", w().services(client.clone(), channel()));
    tasks.spawn("watch EndpointSlices", w().slices(client.clone(), channel()));
    tasks.spawn("watch ConfigMaps", w().configs(client.clone(), channel()));
    tasks.spawn("watch Secrets", w().secrets(client.clone(), channel()));
    tasks.spawn("watch Jobs", w().launchers(client.clone(), channel()));
    if *gang != Gang::Off {
        tasks.spawn("watch PriorityClasses", w().priorities(client.clone(), channel()));
    }
    match gang {
        Gang::Off => {}
        Gang::Volcano => tasks.spawn("watch PodGroups", w().volcano_groups(client.clone(), channel())),
        Gang::SchedulerPlugins(_) => {
            tasks.spawn("watch PodGroups", w().coscheduling_groups(client.clone(), channel()));
        }
    }
    synced
}

/// Loads the image's plugins and follows the ConfigMaps. The receiver turns true once those that are there have been
/// looked at.
async fn start_plugins(
    tasks: &mut Tasks,
    flags: &Flags,
    client: &Client,
    live: &Live,
    synced: &[watch::Receiver<bool>],
    standing: &Standing,
) -> anyhow::Result<(Arc<Plugins>, watch::Receiver<bool>)> {
    let namespace = flags.plugins().to_owned();
    let keys = flags.plugin_keys.as_deref().map(|file| {
        std::fs::read_to_string(file).with_context(|| format!("reading --plugin-keys {}", file.display()))
    });
    let rules = Rules {
        tuners: flags.tuners.clone(),
        cluster_domain: flags.domain().map(Into::into),
        policy: ClusterPolicy { wants: flags.allow_wants.clone(), ..ClusterPolicy::default() },
        trust: Trust::new(flags.plugin_signatures, keys.transpose()?.as_deref())?,
    };
    let cluster = InCluster {
        store: Store::new(client.clone(), &namespace),
        jobs: LiveJobs { index: live.index.clone(), gang: flags.gang(), synced: synced.to_vec() },
        standing: standing.clone(),
    };
    let (plugins, turns) = Plugins::in_cluster(rules, cluster, live.metrics.registry())?;
    let plugins = Arc::new(plugins);
    plugins.load_floor(&flags.plugin_dir).await?;
    let (ready, is_ready) = watch::channel(false);
    let (following, client, live) = (Arc::clone(&plugins), client.clone(), live.clone());
    tasks.spawn("watch plugins", async move {
        let tell = |answer: Answer| live.plugin_answered(&namespace, answer);
        if let Err(error) = plugins::follow(following, client, turns, &namespace, ready, tell).await {
            tracing::error!(error = format!("{error:#}"), "following plugin ConfigMaps");
        }
    });
    tasks.spawn("collect plugins", Arc::clone(&plugins).collect());
    Ok((plugins, is_ready))
}

async fn all_synced(synced: Vec<watch::Receiver<bool>>) {
    let start = Instant::now();
    for mut kind in synced {
        // A watch that has ended ends the process elsewhere.
        let _ = kind.wait_for(|synced| *synced).await;
    }
    tracing::info!(seconds = start.elapsed().as_secs_f64(), "watches have listed all");
}

/// Lets the index drop what no watch has confirmed, and what DNS has forgotten.
async fn sweep(watches: Watches) {
    loop {
        tokio::time::sleep(SWEEP).await;
        let jobs = {
            let mut index = watches.index.write();
            index.departures.expire(Timestamp::now());
            index.expire(Instant::now())
        };
        for job in &jobs {
            (watches.wake)(job, Cause::Other);
        }
    }
}

async fn serve(
    tasks: &mut Tasks,
    flags: &Flags,
    synced: &[watch::Receiver<bool>],
    standing: &Standing,
    live: &Live,
    queue: &Arc<Queue>,
    plugins: &Arc<Plugins>,
) -> anyhow::Result<()> {
    if flags.health_port != 0 {
        let (synced, standing) = (synced.to_vec(), standing.clone());
        let checks = serve::health::Checks {
            leader_election: Arc::new(move || standing.is_healthy(election::UNHEALTHY)),
            synced: Arc::new(move || synced.iter().all(|kind| *kind.borrow())),
        };
        let listener = serve::listen(flags.health_port).await?;
        tasks.spawn("health", serve::serve(listener, serve::health::routes(checks)));
    }
    if flags.monitoring_port != 0 {
        let sources = serve::metrics::Sources {
            metrics: Arc::clone(&live.metrics),
            index: live.index.clone(),
            queue: Arc::clone(queue),
            pace: Arc::clone(live.rest.pace()),
            plugins: Arc::clone(plugins),
        };
        let listener = serve::listen(flags.monitoring_port).await?;
        tasks.spawn("metrics", serve::serve(listener, serve::metrics::routes(sources)));
    }
    Ok(())
}

/// SIGTERM from Kubernetes, SIGINT from a terminal.
async fn told_to_end() {
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
