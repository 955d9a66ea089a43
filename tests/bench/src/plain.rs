//! The plain client: makes the objects that the operator would make, over several connections and as fast as the API
//! server takes them. Nothing is decided, watched or retried. What it reaches is what the operator is compared with.

use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use http::Method;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::{
    api::{Api, JSON, MERGE_PATCH},
    job::{self, Rendered, Shape},
};

/// Requests under way at once, each on a connection of its own.
pub const IN_FLIGHT: usize = 64;

/// Requests within the bound.
#[derive(Clone)]
pub struct Plain {
    api: Api,
    turns: Arc<Semaphore>,
}

impl Plain {
    /// Over this client.
    pub fn new(api: Api) -> Self {
        Self { api, turns: Arc::new(Semaphore::new(IN_FLIGHT)) }
    }

    async fn send(&self, method: Method, path: &str, content: &str, body: String) -> Result<Vec<u8>> {
        let _turn = self.turns.acquire().await?;
        self.api.send(method, path, content, body).await
    }

    /// Submits the jobs, as a user does who has them all ready.
    pub async fn submit(&self, shape: Shape, namespace: &str) -> Result<()> {
        let all = (0..shape.jobs).map(|index| self.submit_one(shape.manifest(namespace, index), namespace));
        all_of(all).await
    }

    /// Submits one job; the answer is its uid.
    async fn submit_one(&self, manifest: Value, namespace: &str) -> Result<String> {
        let path = format!("/apis/kubeflow.org/v2beta1/namespaces/{namespace}/mpijobs");
        let body = self.send(Method::POST, &path, JSON, manifest.to_string()).await?;
        let created: Value = serde_json::from_slice(&body)?;
        let uid = created.pointer("/metadata/uid").and_then(Value::as_str);
        uid.map(str::to_owned).context("a job has no uid")
    }

    /// Submits the jobs and makes their objects and two statuses each, every job's as soon as it is there.
    pub async fn make(&self, shape: Shape, namespace: &str, rendered: &Rendered) -> Result<()> {
        let all = (0..shape.jobs).map(|index| async move {
            let uid = self.submit_one(shape.manifest(namespace, index), namespace).await?;
            let name = job::name(index);
            let objects = rendered.templates().iter().map(|template| {
                let (path, body) = template.filled(namespace, &name, &uid);
                async move { self.send(Method::POST, &path, JSON, body).await }
            });
            let (objects, statuses) = tokio::join!(all_of(objects), self.statuses(namespace, &name));
            objects.and(statuses)
        });
        all_of(all).await
    }

    async fn statuses(&self, namespace: &str, name: &str) -> Result<()> {
        let path = format!("/apis/kubeflow.org/v2beta1/namespaces/{namespace}/mpijobs/{name}/status");
        for reason in ["MPIJobCreated", "MPIJobRunning"] {
            let condition = json!({"type": "Created", "status": "True", "reason": reason,
                "message": format!("MPIJob {namespace}/{name} is created."),
                "lastUpdateTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z"});
            let status = json!({"status": {"conditions": [condition], "startTime": "2026-01-01T00:00:00Z"}});
            self.send(Method::PATCH, &path, MERGE_PATCH, status.to_string()).await?;
        }
        Ok(())
    }

    /// Deletes all workers.
    pub async fn delete_workers(&self, shape: Shape, namespace: &str) -> Result<()> {
        let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"});
        let options = &options.to_string();
        let pods = (0..shape.jobs).flat_map(|index| (0..shape.workers).map(move |worker| (index, worker)));
        let all = pods.map(|(index, worker)| async move {
            let name = job::name(index);
            let path = format!("/api/v1/namespaces/{namespace}/pods/{name}-worker-{worker}");
            self.send(Method::DELETE, &path, JSON, options.clone()).await
        });
        all_of(all).await
    }

    /// Creates pods that belong to nothing and have one container: the most that the bed does.
    pub async fn bare_pods(&self, namespace: &str, count: u32) -> Result<()> {
        let path = &format!("/api/v1/namespaces/{namespace}/pods");
        let all = (0..count).map(|index| async move {
            let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("bare-{index}")},
                "spec": {"containers": [{"name": "main", "image": "registry.example/team/image:1"}]}});
            self.send(Method::POST, path, JSON, pod.to_string()).await
        });
        all_of(all).await
    }
}

/// Runs all at once, as far as there are turns; the first failure is the answer.
async fn all_of<T>(all: impl Iterator<Item = impl Future<Output = Result<T>>>) -> Result<()> {
    let futures: Vec<_> = all.collect();
    if futures.is_empty() {
        bail!("there is nothing to send");
    }
    let count = futures.len();
    stream::iter(futures).buffer_unordered(count).try_for_each(|_| async { Ok(()) }).await
}
