//! The operator's two replicas: begun anew, asked whether they are ready, killed, counted.

use std::{collections::BTreeMap, time::Duration};

use crate::{
    Object, Operator,
    objects::{condition, field, text},
    operator::{HEALTH, restarts},
    process::Process,
};
use anyhow::{Context as _, Result, ensure};
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt as _;
use tokio::time::{Instant, sleep};

use super::probe;

/// Replicas of a deployment that has a standby.
const REPLICAS: u32 = 2;
/// How often something is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// Longest that one may take to be ready, or the standby to lead.
pub(super) const RECOVERY: Duration = Duration::from_secs(30);

/// Both, as they were when a test began.
pub(super) struct Replicas {
    operator: Operator,
    pods: Vec<Object>,
    killed: Option<String>,
}

impl Replicas {
    /// Two new pods, so that no test pays for what another did to them: the kubelet makes those wait that end often.
    pub(super) async fn renew() -> Result<Self> {
        let operator = Operator::connect().await?;
        operator.scale(REPLICAS).await?;
        let old = operator.pods().await?;
        for pod in &old {
            operator.delete(&pod.name_any(), true).await?;
        }
        let pods = loop {
            let pods = operator.ready(REPLICAS as usize).await?;
            if pods.iter().all(|pod| old.iter().all(|old| old.uid() != pod.uid())) {
                break pods;
            }
            sleep(LOOK).await;
        };
        operator
            .leader_until("one leads", |holder| pods.iter().any(|pod| holds(pod, holder)).then_some(()))
            .await?;
        Ok(Self { operator, pods, killed: None })
    }

    /// Kills the process of the one that leads.
    pub(super) async fn kill_leader(&mut self, leader: &str) -> Result<()> {
        let pod = self.pods.iter().find(|pod| holds(pod, leader));
        let pod = pod.with_context(|| format!("{leader:?} leads, which is no pod of the test"))?;
        Process::of_operator(pod)?.kill().await?;
        self.killed = Some(pod.name_any());
        Ok(())
    }

    /// Who leads.
    pub(super) async fn leader(&self) -> Result<String> {
        self.operator.leader().await
    }

    /// Waits until somebody else than `before` leads; returns how long after `since` that was, and who it is.
    pub(super) async fn next_leader(&self, before: &str, since: Instant) -> Result<(Duration, String)> {
        loop {
            // Answers are late or missing while the fault lasts, but not those to tests.
            if let Ok(holder) = self.operator.leader().await
                && !holder.is_empty()
                && holder != before
            {
                return Ok((since.elapsed(), holder));
            }
            ensure!(since.elapsed() < RECOVERY, "nobody leads instead of {before} after {RECOVERY:?}");
            sleep(LOOK).await;
        }
    }

    /// Waits until both say that they are ready; returns how long after `since` that was.
    pub(super) async fn ready(&self, since: Instant) -> Result<Duration> {
        loop {
            let mut said = BTreeMap::new();
            for pod in &self.pods {
                said.insert(pod.name_any(), probe::ask(text(pod, "/status/podIP"), HEALTH, "/readyz").await);
            }
            if said.values().all(Result::is_ok) {
                return Ok(since.elapsed());
            }
            ensure!(since.elapsed() < RECOVERY, "not ready after {RECOVERY:?}: {said:?}");
            sleep(LOOK).await;
        }
    }

    /// Fails unless the pods are the same as at the beginning, and their processes but for the one that was killed.
    pub(super) async fn none_has_ended(&self) -> Result<()> {
        let now = self.operator.ready(REPLICAS as usize).await?;
        for pod in &now {
            let name = pod.name_any();
            ensure!(self.pods.iter().any(|before| before.uid() == pod.uid()), "{name} is another pod");
            let (found, expected) = (restarts(pod), i64::from(self.killed.as_ref() == Some(&name)));
            let last = pod.data.pointer("/status/containerStatuses/0/lastState");
            ensure!(found == expected, "{name} was restarted {found} times, not {expected}: {last:?}");
        }
        Ok(())
    }

    /// Fails if one has ever had more memory than it has asked for. Returns the most of both, in bytes.
    pub(super) fn peak_memory(&self) -> Result<u64> {
        let mut most = 0;
        for pod in &self.pods {
            let asked = text(pod, "/spec/containers/0/resources/requests/memory");
            let asked = asked.strip_suffix("Mi").and_then(|count| count.parse::<u64>().ok());
            let asked =
                asked.with_context(|| format!("what {} asks for is not in Mi", pod.name_any()))? << 20;
            let peak = Process::of_operator(pod)?.peak_memory()?;
            println!("{}: {} MiB at most", pod.name_any(), peak >> 20);
            ensure!(peak < asked, "{} has had {peak} bytes, and asks for {asked}", pod.name_any());
            most = most.max(peak);
        }
        Ok(most)
    }

    /// From the start of each container until its pod was Ready, the longer one. Kubernetes tells times in seconds.
    pub(super) fn start(&self) -> Result<Duration> {
        let mut longest = Duration::ZERO;
        for pod in &self.pods {
            let time = |text: &str| text.parse::<Timestamp>().with_context(|| format!("the time {text:?}"));
            let started = time(text(pod, "/status/containerStatuses/0/state/running/startedAt"))?;
            let ready = condition(pod, "Ready");
            let ready = time(ready.map_or("", |condition| field(condition, "lastTransitionTime")))?;
            longest = longest.max(Duration::try_from(ready.duration_since(started)).unwrap_or_default());
        }
        Ok(longest)
    }
}

fn holds(pod: &Object, holder: &str) -> bool {
    holder.starts_with(&pod.name_any())
}
