//! Wiring: the only place that spawns. Every long-lived task's end is the process's end, so that nothing runs on
//! with one leg missing; Kubernetes starts it anew. No answer of the API server, and no silence, ends one of them.

mod client;
mod election;
mod passes;
mod sight;
mod terms;

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

use self::{
    sight::{Kind, Sight},
    terms::{Leading, Terms},
};
use crate::{
    cluster::{
        Wake, events,
        index::Shared,
        last_seen::LastSeen,
        lease::Standing,
        live::{Claimed, Live},
        pace::Pace,
        rest::Rest,
        watch::{Synced, Watches},
    },
    flags::Flags,
    log,
    metrics::Metrics,
    plugins::{self, Answer, Followed, InCluster, LiveJobs, Plugins, Rules, Trust, state::Store},
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
    // The lease has connections of its own, so that no burst of creates stands before a renewal.
    let (client, for_lease) = (client::new(&flags).await?, client::new(&flags).await?);
    operate(flags, client, for_lease).await
}

/// Ends with an error only where the configuration, or a task, is broken: whatever the API server answers.
async fn operate(flags: Flags, client: Client, for_lease: Client) -> anyhow::Result<()> {
    let metrics = Arc::new(Metrics::new().context("setting up metrics")?);
    let namespace = Some(flags.namespace.clone()).filter(|namespace| !namespace.is_empty());
    metrics.looks_at(namespace.as_deref());

    let standing = Standing::default();
    let at_once = flags.threadiness.unwrap_or(Settings::default().at_once);
    let settings = Settings { at_once, ..Settings::default() };
    let queue = Arc::new(Queue::new(settings, Arc::clone(&metrics)));
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
        last_seen: LastSeen::default(),
        events: live.events.clone(),
        standing: standing.clone(),
    };
    let mut kinds = start_watches(&mut tasks, &watches, &client, &flags.gang());
    let (plugins, plugins_ready) = start_plugins(&mut tasks, &flags, &client, &live, &kinds, &watches)?;
    kinds.push(Kind { name: plugins::KIND, listed: plugins_ready, is_vital: false });
    let sight = Sight::new(kinds, watches.last_seen.clone());
    tasks.spawn("sweep", sweep(watches));
    serve(&mut tasks, &flags, &sight, &standing, &live, &queue, &plugins).await?;

    let mut stages = Stages::default();
    let candidate = election::candidate(&flags, for_lease, standing.clone(), &metrics);
    let identity = candidate.identity().to_owned();
    let (candidacy, is_candidate) = watch::channel(false);
    stages.start("leader election", |stop| candidate.run(stop, is_candidate));
    stages.start("events", |stop| writer.run(stop));
    let work = Leading { live, plugins, queue, flags, identity };
    stages.start("terms", |stop| Terms { sight, standing, candidacy, work }.run(stop));

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

/// Standbys let nothing pile up; whoever becomes leader looks at all jobs. A leader whose renewal is late takes note: only
/// writing waits for it.
fn waker(queue: &Arc<Queue>, standing: &Standing, index: Shared) -> Wake {
    let (queue, standing) = (Arc::clone(queue), standing.clone());
    Arc::new(move |job, cause| {
        if standing.term().is_some() {
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
fn start_watches(tasks: &mut Tasks, watches: &Watches, client: &Client, gang: &Gang) -> Vec<Kind> {
    let mut kinds = Vec::new();
    let mut channel = |name| -> Synced {
        let (sender, listed) = watch::channel(false);
        kinds.push(Kind { name, listed, is_vital: true });
        sender
    };
    let w = || watches.clone();
    tasks.spawn("watch MPIJobs", w().jobs(client.clone(), channel("MPIJob")));
    tasks.spawn("watch Pods", w().pods(client.clone(), channel("Pod")));
    tasks.spawn("watch Services", w().services(client.clone(), channel("Service")));
    tasks.spawn("watch EndpointSlices", w().slices(client.clone(), channel("EndpointSlice")));
    tasks.spawn("watch ConfigMaps", w().configs(client.clone(), channel("ConfigMap")));
    tasks.spawn("watch Secrets", w().secrets(client.clone(), channel("Secret")));
    tasks.spawn("watch Jobs", w().launchers(client.clone(), channel("Job")));
    if *gang != Gang::Off {
        tasks.spawn("watch PriorityClasses", w().priorities(client.clone(), channel("PriorityClass")));
    }
    match gang {
        Gang::Off => {}
        Gang::Volcano => {
            tasks.spawn("watch PodGroups", w().volcano_groups(client.clone(), channel("PodGroup")));
        }
        Gang::SchedulerPlugins(_) => {
            tasks.spawn("watch PodGroups", w().coscheduling_groups(client.clone(), channel("PodGroup")));
        }
    }
    kinds
}

/// Loads the image's plugins and follows the ConfigMaps. The receiver turns true once those that are there have been
/// looked at.
fn start_plugins(
    tasks: &mut Tasks,
    flags: &Flags,
    client: &Client,
    live: &Live,
    kinds: &[Kind],
    watches: &Watches,
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
    let synced = kinds.iter().map(|kind| kind.listed.clone()).collect();
    let cluster = InCluster {
        store: Store::new(client.clone(), &namespace),
        jobs: LiveJobs { index: live.index.clone(), gang: flags.gang(), synced },
        standing: watches.standing.clone(),
    };
    let (plugins, turns) = Plugins::in_cluster(rules, cluster, live.metrics.registry())?;
    let plugins = Arc::new(plugins);
    let (ready, is_ready) = watch::channel(false);
    let (following, client, live) = (Arc::clone(&plugins), client.clone(), live.clone());
    let (last_seen, metrics) = (watches.last_seen.clone(), Arc::clone(&watches.metrics));
    let floor = flags.plugin_dir.clone();
    tasks.spawn("watch plugins", async move {
        // Beside everything else: on a busy node it takes longer than the kubelet waits for an answer to its probes.
        if let Err(error) = following.load_floor(&floor).await {
            tracing::error!(error = format!("{error:#}"), "loading the plugins of --plugin-dir");
            return;
        }
        let tell = |answer: Answer| live.plugin_answered(&namespace, answer);
        let followed = Followed { client, namespace: &namespace, last_seen, metrics };
        plugins::follow(following, followed, turns, ready, tell).await;
    });
    tasks.spawn("collect plugins", Arc::clone(&plugins).collect());
    Ok((plugins, is_ready))
}

/// Lets the index drop what no watch has confirmed, and what DNS has forgotten.
async fn sweep(watches: Watches) {
    loop {
        tokio::time::sleep(SWEEP).await;
        watches.report();
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
    sight: &Sight,
    standing: &Standing,
    live: &Live,
    queue: &Arc<Queue>,
    plugins: &Arc<Plugins>,
) -> anyhow::Result<()> {
    if flags.health_port != 0 {
        let (sight, standing) = (sight.clone(), standing.clone());
        let checks = serve::health::Checks {
            leader_election: Arc::new(move || standing.is_healthy(election::UNHEALTHY)),
            unseen: Arc::new(move || sight.unseen().iter().map(ToString::to_string).collect()),
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

#[cfg(test)]
mod tests;
