//! Jobs that run, and jobs that come: one every 50 ms, of the three implementations by turns.

use std::{ops::Range, time::Duration};

use anyhow::{Context as _, Result};
use coxswain_test_support::job::Job;
use http::Method;
use serde_json::{Value, json};
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{MissedTickBehavior, interval},
};

use super::{LIVE, NEW, builds::PLUGINS};
use crate::{
    api::{Api, JSON, MERGE_PATCH},
    job::IMAGE,
    setting::Setting,
};

/// 20 a second.
const EVERY: Duration = Duration::from_millis(50);

/// A user with many jobs.
pub struct Load(Api);

/// Jobs that come until [`Coming::end`].
pub struct Coming {
    stop: watch::Sender<bool>,
    submitter: JoinHandle<Result<usize>>,
}

/// Name of a job that runs all the time.
pub fn live_name(index: u32) -> String {
    format!("live-{index:03}")
}

impl Load {
    /// A client of its own.
    pub async fn of(setting: &Setting) -> Result<Self> {
        Ok(Self(setting.plain().await?))
    }

    /// Submits those that run all the time.
    pub async fn submit_live(&self, count: u32) -> Result<()> {
        for index in 0..count {
            submit(&self.0, LIVE, &live_name(index), index, 2).await?;
        }
        Ok(())
    }

    /// Gives some of these a third worker.
    pub async fn scale(&self, jobs: Range<u32>) -> Result<()> {
        for index in jobs {
            let path = format!("/apis/kubeflow.org/v2beta1/namespaces/{LIVE}/mpijobs/{}", live_name(index));
            let change = json!({"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": 3}}}});
            self.0.send(Method::PATCH, &path, MERGE_PATCH, change.to_string()).await?;
        }
        Ok(())
    }

    /// Lets jobs come from now on.
    pub fn begin(&self) -> Coming {
        let (stop, stopped) = watch::channel(false);
        let api = self.0.clone();
        let submitter = tokio::spawn(async move {
            let mut ticks = interval(EVERY);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let mut count: u32 = 0;
            while !*stopped.borrow() {
                ticks.tick().await;
                submit(&api, NEW, &format!("new-{count:05}"), count, 1).await?;
                count += 1;
            }
            Ok(count as usize)
        });
        Coming { stop, submitter }
    }
}

impl Coming {
    /// Says how many came.
    pub async fn end(self) -> Result<usize> {
        self.stop.send_replace(true);
        self.submitter.await.context("submitting jobs")?
    }
}

async fn submit(api: &Api, namespace: &str, name: &str, index: u32, workers: u32) -> Result<()> {
    let path = format!("/apis/kubeflow.org/v2beta1/namespaces/{namespace}/mpijobs");
    api.send(Method::POST, &path, JSON, job(name, index, workers).to_string()).await.map(drop)
}

fn job(name: &str, index: u32, workers: u32) -> Value {
    let implementation = PLUGINS[index as usize % PLUGINS.len()].implementation;
    let job = Job::new(name, workers)
        .containers("image", IMAGE)
        .launcher_container("command", json!(["mpirun", "/home/mpiuser/pi"]))
        .set("/spec/mpiImplementation", implementation)
        .set("/spec/slotsPerWorker", 1);
    job.manifest().clone()
}
