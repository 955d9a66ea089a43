//! One test's namespace: what it creates there, waits for there, and reads there.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, ListParams, LogParams, Patch, PatchParams, PostParams},
    runtime::watcher,
};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::{
    job::Job,
    objects::{self, Kind, Object, Objects, condition, field, has, labelled, number, text},
    watch,
};

/// Long enough for a job of seconds beside others on two cores.
pub const LIMIT: Duration = Duration::from_mins(2);
const JOB_NAME: &str = "training.kubeflow.org/job-name";
const ROLE: &str = "training.kubeflow.org/job-role";

/// A namespace of its own.
pub struct Space {
    client: Client,
    name: String,
}

/// One core/v1 event on an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Normal or Warning.
    pub kind: String,
    /// In one word.
    pub reason: String,
    /// For people.
    pub message: String,
}

impl Space {
    /// Makes a namespace whose name starts with `theme`.
    pub async fn new(theme: &str) -> Result<Self> {
        let client = Client::try_default().await.context("connecting; KUBECONFIG must name a cluster")?;
        // The API server makes the name up and tries again if there is one such: tests start at the same moment.
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "generateName": format!("{theme}-") } });
        let api: Api<Object> = Api::all_with(client.clone(), &Kind::Namespace.resource());
        let namespace = api.create(&PostParams::default(), &serde_json::from_value(namespace)?).await;
        let name = namespace.context("creating namespace")?.name_any();
        Ok(Self { client, name })
    }

    /// Removes the namespace, without waiting for the end of it. A test that fails leaves it to be looked at.
    pub async fn remove(self) -> Result<()> {
        let api: Api<Object> = Api::all_with(self.client.clone(), &Kind::Namespace.resource());
        api.delete(&self.name, &DeleteParams::default()).await.context("deleting namespace")?;
        Ok(())
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The objects of a kind in it.
    pub fn api(&self, kind: Kind) -> Api<Object> {
        Api::namespaced_with(self.client.clone(), &self.name, &kind.resource())
    }

    /// Creates a job.
    pub async fn create(&self, job: &Job) -> Result<Object> {
        let object = serde_json::from_value(job.manifest().clone())?;
        let created = self.api(Kind::MpiJob).create(&PostParams::default(), &object).await;
        created.with_context(|| format!("creating MPIJob {}", job.name()))
    }

    /// Merges into an object.
    pub async fn patch(&self, kind: Kind, name: &str, patch: Value) -> Result<()> {
        let patched = self.api(kind).patch(name, &PatchParams::default(), &Patch::Merge(patch)).await;
        patched.map(drop).with_context(|| format!("patching {kind:?} {name}"))
    }

    /// Deletes an object as kubectl does.
    pub async fn delete(&self, kind: Kind, name: &str) -> Result<()> {
        let deleted = self.api(kind).delete(name, &DeleteParams::background()).await;
        deleted.map(drop).with_context(|| format!("deleting {kind:?} {name}"))
    }

    /// One object.
    pub async fn read(&self, kind: Kind, name: &str) -> Result<Object> {
        self.api(kind).get(name).await.with_context(|| format!("reading {kind:?} {name}"))
    }

    /// All objects of a kind.
    pub async fn all(&self, kind: Kind) -> Result<Objects> {
        let listed =
            self.api(kind).list(&ListParams::default()).await.with_context(|| format!("listing {kind:?}"))?;
        Ok(listed.items.into_iter().map(|object| (object.name_any(), object)).collect())
    }

    /// Waits for something about one object; it counts as absent while it does not exist.
    pub async fn until<T>(
        &self,
        kind: Kind,
        name: &str,
        what: &str,
        mut seen: impl FnMut(&Object) -> Result<Option<T>>,
    ) -> Result<T> {
        let selection = watcher::Config::default().fields(&format!("metadata.name={name}"));
        let what = format!("{kind:?} {}/{name}: {what}", self.name);
        let one = |objects: &Objects| objects.get(name).map_or(Ok(None), &mut seen);
        watch::until(&self.api(kind), selection, LIMIT, &what, one).await
    }

    /// Waits for something about the pods of a job, within `limit`.
    pub async fn pods_until<T>(
        &self,
        job: &str,
        limit: Duration,
        what: &str,
        mut seen: impl FnMut(&Objects) -> Option<T>,
    ) -> Result<T> {
        let what = format!("pods of {}/{job}: {what}", self.name);
        watch::until(&self.api(Kind::Pod), pods_of(job), limit, &what, |pods| Ok(seen(pods))).await
    }

    /// Fails if `wrong` finds something about the pods of a job within `span`.
    pub async fn pods_never(
        &self,
        job: &str,
        span: Duration,
        wrong: impl FnMut(&Objects) -> Option<String>,
    ) -> Result<()> {
        watch::never(&self.api(Kind::Pod), pods_of(job), span, wrong).await
    }

    /// Waits until a condition of a job has that status; returns its message.
    pub async fn condition(&self, job: &str, kind: &str, status: &str) -> Result<String> {
        self.until(Kind::MpiJob, job, &format!("{kind}={status}"), |object| {
            let found = condition(object, kind).filter(|_| has(object, kind, status));
            Ok(found.map(|condition| field(condition, "message").to_owned()))
        })
        .await
    }

    /// Waits until all workers of a job run.
    pub async fn workers_run(&self, job: &str, count: usize) -> Result<()> {
        self.pods_until(job, LIMIT, &format!("{count} workers run"), |pods| {
            let running = workers(pods).into_iter().filter(|pod| objects::running(pod)).count();
            (running == count).then_some(())
        })
        .await
    }

    /// Waits until the launcher of a job runs; returns its pod's name.
    pub async fn launcher_runs(&self, job: &str) -> Result<String> {
        self.pods_until(job, LIMIT, "the launcher runs", |pods| {
            launchers(pods).into_iter().find(|pod| objects::running(pod)).map(ResourceExt::name_any)
        })
        .await
    }

    /// Waits until a job has succeeded, within `limit`; one that fails is not waited for.
    pub async fn succeeds_within(&self, job: &str, limit: Duration) -> Result<()> {
        let selection = watcher::Config::default().fields(&format!("metadata.name={job}"));
        let what = format!("MPIJob {}/{job}: Succeeded", self.name);
        let outcome = watch::until(&self.api(Kind::MpiJob), selection, limit, &what, |objects| {
            let Some(object) = objects.get(job) else { return Ok(None) };
            ensure!(!has(object, "Failed", "True"), "{}/{job} has failed: {}", self.name, object.data);
            Ok(has(object, "Succeeded", "True").then_some(()))
        })
        .await;
        match outcome {
            Ok(()) => Ok(()),
            Err(error) => Err(error.context(self.told_by_launcher(job).await)),
        }
    }

    /// The same, within the usual limit.
    pub async fn succeeds(&self, job: &str) -> Result<()> {
        self.succeeds_within(job, LIMIT).await
    }

    /// Ends the launcher of [`Job::open_ended`] well.
    pub async fn finish(&self, job: &str) -> Result<()> {
        let launcher = self.launcher_runs(job).await?;
        match self.exec(&launcher, &["touch", "/tmp/done"]).await {
            // The container ended before the command in it was over: that is what it is there for.
            Err(error) if error.to_string().contains("exit code 137") => Ok(()),
            done => done.map(drop),
        }
    }

    /// Runs a command in a pod's first container and returns what it printed.
    pub async fn exec(&self, pod: &str, command: &[&str]) -> Result<String> {
        let words = ["--namespace", &self.name, "exec", pod, "--"];
        let output =
            Command::new("kubectl").args(words).args(command).output().await.context("starting kubectl")?;
        if !output.status.success() {
            bail!("{command:?} in pod {pod}: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// The output of the launcher's only pod.
    pub async fn output(&self, job: &str) -> Result<String> {
        let pods = self.all(Kind::Pod).await?;
        let of_job = labelled(&pods, JOB_NAME, job);
        let launchers: Vec<String> =
            of_job.into_iter().filter(|pod| role(pod) == "launcher").map(ResourceExt::name_any).collect();
        let [pod] = &*launchers else { bail!("{}/{job}: launcher pods {launchers:?}, not one", self.name) };
        let api: Api<k8s_openapi::api::core::v1::Pod> = Api::namespaced(self.client.clone(), &self.name);
        api.logs(pod, &LogParams::default()).await.with_context(|| format!("reading the log of pod {pod}"))
    }

    /// Fails unless the job printed pi and each of its ranks ran on a worker of its own. A job whose ranks all stay
    /// in the launcher's pod succeeds like any other.
    pub async fn ran_on_workers(&self, job: &str, count: usize) -> Result<()> {
        self.ran_on(job, (0..count).map(|index| format!("{job}-worker-{index}")).collect()).await
    }

    /// Fails unless the output has pi and each of the hosts executed one rank, and no other.
    pub async fn ran_on(&self, job: &str, expected: BTreeSet<String>) -> Result<()> {
        let output = self.output(job).await?;
        ensure!(output.contains("pi is approximately 3.14159"), "{job} did not print pi:\n{output}");
        let hosts: Vec<&str> = output.lines().filter_map(|line| Some(line.split_once(" on ")?.1)).collect();
        let seen: BTreeSet<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        ensure!(
            hosts.len() == expected.len() && seen == expected,
            "{job}: a rank on each of {expected:?}, not on {hosts:?}"
        );
        Ok(())
    }

    /// Fails if the launcher of a job was started more than once.
    pub async fn launcher_started_once(&self, job: &str) -> Result<()> {
        let pods = self.all(Kind::Pod).await?;
        let of_job = labelled(&pods, JOB_NAME, job);
        let starts: i64 = of_job
            .into_iter()
            .filter(|pod| role(pod) == "launcher")
            .map(|pod| 1 + number(pod, "/status/containerStatuses/0/restartCount"))
            .sum();
        ensure!(starts == 1, "{}/{job}: its launcher was started {starts} times", self.name);
        Ok(())
    }

    /// The events on an object of that name, oldest first.
    pub async fn said(&self, about: &str) -> Result<Vec<Said>> {
        Ok(said(&self.all(Kind::Event).await?, about))
    }

    /// Waits for an event on an object of that name.
    pub async fn hears(&self, about: &str, reason: &str) -> Result<Said> {
        let selection = watcher::Config::default().fields(&format!("involvedObject.name={about}"));
        let what = format!("event {reason} on {}/{about}", self.name);
        watch::until(&self.api(Kind::Event), selection, LIMIT, &what, |events| {
            Ok(said(events, about).into_iter().find(|said| said.reason == reason))
        })
        .await
    }

    /// `KIND/NAME` to resourceVersion of everything that belongs to jobs here, events included.
    pub async fn versions(&self) -> Result<BTreeMap<String, String>> {
        let mut versions = BTreeMap::new();
        for kind in
            [Kind::MpiJob, Kind::Job, Kind::Pod, Kind::ConfigMap, Kind::Secret, Kind::Service, Kind::Event]
        {
            for (name, object) in self.all(kind).await? {
                versions.insert(format!("{kind:?}/{name}"), object.resource_version().unwrap_or_default());
            }
        }
        Ok(versions)
    }

    async fn told_by_launcher(&self, job: &str) -> String {
        let output = self.output(job).await.unwrap_or_else(|error| format!("{error:#}"));
        format!("output of the launcher of {job}:\n{output}")
    }
}

/// Pods of a job, launcher and workers.
fn pods_of(job: &str) -> watcher::Config {
    watcher::Config::default().labels(&format!("{JOB_NAME}={job}"))
}

fn role(pod: &Object) -> &str {
    pod.metadata.labels.as_ref().and_then(|labels| labels.get(ROLE)).map_or("", String::as_str)
}

/// The workers among the pods of a job.
pub fn workers(pods: &Objects) -> Vec<&Object> {
    labelled(pods, ROLE, "worker")
}

/// The launcher's pods among the pods of a job.
pub fn launchers(pods: &Objects) -> Vec<&Object> {
    labelled(pods, ROLE, "launcher")
}

fn said(events: &Objects, about: &str) -> Vec<Said> {
    let on = |event: &&Object| text(event, "/involvedObject/name") == about;
    let mut found: Vec<&Object> = events.values().filter(on).collect();
    found.sort_by_key(|event| event.creation_timestamp());
    let one = |event: &Object| Said {
        kind: text(event, "/type").to_owned(),
        reason: text(event, "/reason").to_owned(),
        message: text(event, "/message").to_owned(),
    };
    found.into_iter().map(one).collect()
}
