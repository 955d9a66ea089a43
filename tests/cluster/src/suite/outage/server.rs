//! The API server is gone, frozen, slow, overloaded, or ends its watches, while jobs run and come: the operator's
//! processes go on, every job ends, and nothing is made twice.

use std::time::Duration;

use crate::bed;
use anyhow::{Result, ensure};
use kube::Client;
use tokio::time::{Instant, sleep, timeout};

use super::{
    Sizes,
    load::{Load, Outcome},
    replicas::Replicas,
};

/// What is done to the API server, or to its answers to the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Gone,
    Frozen,
    Slow,
    Refused,
    Cut,
}

impl Fault {
    async fn begin(self, sizes: Sizes) -> Result<()> {
        match self {
            Self::Gone => bed::stop_server().await,
            Self::Frozen => bed::freeze_server().await,
            Self::Slow => bed::spoil("delay=2s").await,
            Self::Refused => bed::spoil("refuse=0.5").await,
            Self::Cut => bed::spoil(&format!("cut={}s", sizes.watch.as_secs())).await,
        }
    }

    async fn end(self) -> Result<()> {
        match self {
            Self::Gone => bed::start_server().await,
            Self::Frozen => bed::thaw_server().await,
            Self::Slow | Self::Refused | Self::Cut => bed::spoil("").await,
        }
    }

    fn span(self, sizes: Sizes) -> Duration {
        match self {
            Self::Gone => sizes.gone,
            Self::Frozen => sizes.frozen,
            Self::Slow => sizes.slow,
            Self::Refused => sizes.refused,
            Self::Cut => sizes.cut,
        }
    }

    /// Under which name the proxy counts what it has done.
    fn count(self) -> Option<&'static str> {
        match self {
            Self::Gone | Self::Frozen => None,
            Self::Slow => Some("delayed"),
            Self::Refused => Some("refused"),
            Self::Cut => Some("cut"),
        }
    }

    /// Nobody gets an answer while it lasts.
    fn is_total(self) -> bool {
        self.count().is_none()
    }
}

/// Fails on what must not happen while the fault is there and afterwards. The next test finds none.
async fn endure(fault: Fault) -> Result<()> {
    let sizes = Sizes::chosen();
    let endured = endure_with(fault, sizes).await;
    if endured.is_err() {
        // Unless it has ended already.
        let _ = fault.end().await;
    }
    endured
}

async fn endure_with(fault: Fault, sizes: Sizes) -> Result<()> {
    let span = fault.span(sizes);
    let mut replicas = Replicas::renew().await?;
    let load = Load::start(&format!("{fault:?}").to_lowercase(), sizes).await?;
    let leader = replicas.leader().await?;
    let before = spoilt(fault).await?;

    fault.begin(sizes).await?;
    sleep(span / 2).await;
    let kills = sizes.kills || fault == Fault::Gone;
    if kills {
        // Who led while it could be seen, leads no more if its lease has run out: that one is killed nevertheless.
        let leads = if fault.is_total() { leader.clone() } else { replicas.leader().await? };
        replicas.kill_leader(&leads).await?;
        let killed = Instant::now();
        if fault.is_total() {
            sleep(span / 2).await;
        } else {
            let (after, who) = replicas.next_leader(&leads, killed).await?;
            println!("{fault:?}: {who} leads {:.1} s after {leads} was killed", after.as_secs_f64());
            sleep((span / 2).saturating_sub(killed.elapsed())).await;
        }
    } else {
        sleep(span / 2).await;
    }
    let hits = spoilt(fault).await? - before;
    let answers = first_answer();
    let (ended, answered) = tokio::join!(fault.end(), answers);
    ended?;
    let answered = answered?;

    let ready = replicas.ready(answered).await?;
    println!("{fault:?}: both are ready {:.1} s after the end", ready.as_secs_f64());
    if kills && fault.is_total() {
        let (after, who) = replicas.next_leader(&leader, answered).await?;
        println!("{fault:?}: {who} leads {:.1} s after the first answer", after.as_secs_f64());
    }
    let Outcome { jobs, ended } = load.end().await?;
    println!(
        "{fault:?}: {hits} answers spoilt; the last of {jobs} jobs ended after {:.1} s",
        ended.as_secs_f64()
    );
    replicas.none_has_ended().await?;
    // Or nothing was endured.
    ensure!(fault.is_total() || hits > 0, "no answer was spoilt");
    Ok(())
}

async fn spoilt(fault: Fault) -> Result<u64> {
    match fault.count() {
        Some(count) => bed::spoilt(count).await,
        None => Ok(0),
    }
}

/// When the API server answers anything, to whoever asks it straight.
async fn first_answer() -> Result<Instant> {
    let client = Client::try_default().await?;
    while !matches!(timeout(Duration::from_secs(1), client.apiserver_version()).await, Ok(Ok(_))) {
        sleep(Duration::from_millis(100)).await;
    }
    Ok(Instant::now())
}

#[tokio::test]
async fn an_api_server_that_is_gone_for_a_while_ends_nothing() -> Result<()> {
    endure(Fault::Gone).await
}

#[tokio::test]
async fn an_api_server_that_is_frozen_ends_nothing() -> Result<()> {
    endure(Fault::Frozen).await
}

#[tokio::test]
async fn an_api_server_that_is_slow_ends_nothing() -> Result<()> {
    endure(Fault::Slow).await
}

#[tokio::test]
async fn an_api_server_that_refuses_half_of_everything_ends_nothing() -> Result<()> {
    endure(Fault::Refused).await
}

#[tokio::test]
async fn watches_that_end_again_and_again_end_nothing_else() -> Result<()> {
    endure(Fault::Cut).await
}
