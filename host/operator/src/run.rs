//! Wiring: the only place that spawns. Every long-lived task's end is the process's end, so that nothing runs on
//! with one leg missing; Kubernetes starts it anew.

mod client;
mod passes;

use std::{future::Future, process::ExitCode, sync::Arc, time::Duration};

use anyhow::Context;
use coxswain_model::desired::Gang;
use kube::Client;
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
    task::JoinSet,
    time::Instant,
};

use crate::{
    cluster::{
        events,
        index::Shared,
        key::JobKey,
        live::Live,
        pace::Pace,
        rest::Rest,
        watch::{Synced, Watches},
    },
    flags::Flags,
    log,
    metrics::Metrics,
    queue::{Cause, Queue, Settings},
    serve,
};

/// How often rows that no watch has confirmed are looked through.
const SWEEP: Duration = Duration::from_secs(1);

/// Runs the operator until it is told to end (success) or cannot go on (failure).
pub fn operator(flags: Flags) -> ExitCode {
    let result = log::start(flags.log_format, flags.verbosity).and_then(|()| {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
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

    let pace = Pace::new(flags.api_rate(), Arc::clone(&metrics));
    let rest = Rest::new(client.clone(), Arc::clone(&pace), Arc::clone(&metrics));
    let queue = Arc::new(Queue::new(Settings::default(), Arc::clone(&metrics)));
    let wake: Arc<dyn Fn(&JobKey, Cause) + Send + Sync> = {
        let queue = Arc::clone(&queue);
        Arc::new(move |job, cause| queue.wake(job, cause))
    };
    let (sink, writer) = events::channel(rest.clone(), Arc::clone(&metrics));
    let index = Shared::default();
    let live = Live {
        rest,
        index: index.clone(),
        events: sink,
        metrics: Arc::clone(&metrics),
        wake: Arc::clone(&wake),
    };

    let mut tasks = Tasks(JoinSet::new());
    let (stop, stopped) = watch::channel(false);
    tasks.spawn("pace", pace.run());
    let watches = Watches { index: index.clone(), wake, metrics: Arc::clone(&metrics), namespace };
    let synced = start_watches(&mut tasks, &watches, &client, &flags.gang());
    tasks.spawn("sweep", sweep(watches));
    serve(&mut tasks, &flags, &synced, &live, &queue).await?;

    let mut events_written = JoinSet::new();
    events_written.spawn(writer.run(stopped.clone()));
    let mut passes = JoinSet::new();
    let work = passes::Passes::new(live, queue, metrics, &flags);
    passes.spawn(async move {
        all_synced(synced).await;
        work.run(stopped).await;
    });

    let end = tokio::select! {
        biased;
        () = told_to_end() => Ok(()),
        error = tasks.first_end() => Err(error),
        Some(end) = passes.join_next() => Err(anyhow::anyhow!("the passes have ended: {end:?}")),
        Some(end) = events_written.join_next() => Err(anyhow::anyhow!("the events have ended: {end:?}")),
    };
    tracing::info!("stopping");
    stop.send_replace(true);
    passes.join_all().await;
    events_written.join_all().await;
    end
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
    tasks.spawn("watch ConfigMaps", w().configs(client.clone(), channel()));
    tasks.spawn("watch Secrets", w().secrets(client.clone(), channel()));
    tasks.spawn("watch Jobs", w().launchers(client.clone(), channel()));
    match gang {
        Gang::Off => {}
        Gang::Volcano => tasks.spawn("watch PodGroups", w().volcano_groups(client.clone(), channel())),
        Gang::SchedulerPlugins(_) => {
            tasks.spawn("watch PodGroups", w().coscheduling_groups(client.clone(), channel()));
        }
    }
    synced
}

async fn all_synced(synced: Vec<watch::Receiver<bool>>) {
    let start = Instant::now();
    for mut kind in synced {
        // A watch that has ended ends the process elsewhere.
        let _ = kind.wait_for(|synced| *synced).await;
    }
    tracing::info!(seconds = start.elapsed().as_secs_f64(), "watches have listed all");
}

/// Lets the index drop what no watch has confirmed.
async fn sweep(watches: Watches) {
    loop {
        tokio::time::sleep(SWEEP).await;
        let jobs = watches.index.write().expire(Instant::now());
        for job in &jobs {
            (watches.wake)(job, Cause::Other);
        }
    }
}

async fn serve(
    tasks: &mut Tasks,
    flags: &Flags,
    synced: &[watch::Receiver<bool>],
    live: &Live,
    queue: &Arc<Queue>,
) -> anyhow::Result<()> {
    if flags.health_port != 0 {
        let synced = synced.to_vec();
        let checks = serve::health::Checks {
            leader_election: Arc::new(|| true),
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
