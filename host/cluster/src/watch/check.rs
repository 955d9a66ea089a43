//! The slow comparison of the cache with the API server.
//!
//! A watch is trusted to tell every change. Where one was lost all the same (by a defect here or there, by a cluster that
//! was restored from a backup), nothing else would ever tell: a job that is gone goes on making pods, a pod that is gone
//! blocks its index. So every [`PERIOD`] the metadata of a kind are listed, slowly, and compared.

use std::{collections::HashMap, time::Duration};

use coxswain_model::observed::{Uid, Version};
use futures::future::BoxFuture;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::{
    course::{Ask, Course, Listed},
    cut::Cut,
    source::Source,
};

/// Between two comparisons of one kind; a quarter more or less, so that kinds and replicas spread.
const PERIOD: Duration = Duration::from_mins(10);
/// Metadata of an object are a KiB. In an audit log the number tells these lists from those that a watch begins with.
pub const PAGE: u32 = 500;
/// Between two pages: 100,000 pods take 40 s, and nobody notices.
const BREATH: Duration = Duration::from_millis(200);
/// For all pages. API servers forget the state that a list shows after 5 minutes.
const LONGEST: Duration = Duration::from_mins(5);

/// What exists of a kind, by identity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picture {
    /// Of the list.
    pub version: Version,
    /// The objects that are ours.
    pub objects: HashMap<Uid, Version>,
}

/// How long until the next comparison.
fn pause(dice: f64) -> Duration {
    PERIOD.mul_f64(0.75 + dice.clamp(0.0, 1.0) / 2.0)
}

/// Lists the metadata of a kind. `known` says what an object is, if it is ours. Nothing if it could not be done in time
/// or in one piece: another time will do.
pub async fn picture(
    source: Source,
    known: fn(&Cut) -> Option<(Uid, Version)>,
    dice: fn() -> f64,
) -> Option<Picture> {
    let source = source.metadata_only();
    timeout(LONGEST, list(&source, known, dice)).await.ok().flatten()
}

async fn list(
    source: &Source,
    known: fn(&Cut) -> Option<(Uid, Version)>,
    dice: fn() -> f64,
) -> Option<Picture> {
    let (mut course, mut picture) = (Course::default(), Picture::default());
    loop {
        let Ask::List { token } = course.ask() else { return None };
        if token.is_none() {
            picture.objects.clear();
        }
        let mut each = |object: Cut| picture.objects.extend(known(&object));
        let pause = match source.page(token.as_deref(), PAGE, &mut each).await {
            Ok(page) => match course.page(page.metadata) {
                Listed::More => BREATH,
                Listed::All { version, is_consistent } => {
                    picture.version = Version::from(version.as_str());
                    return is_consistent.then_some(picture);
                }
            },
            Err(failure) => course.failed(&failure, Duration::ZERO, dice()),
        };
        sleep(pause).await;
    }
}

/// Where the cache stands in it.
pub enum Check {
    /// This kind is not compared.
    Never,
    /// Not before then.
    Due(Instant),
    /// The picture is being made.
    Listing(BoxFuture<'static, Option<Picture>>),
    /// It is compared as soon as the watch has reported everything up to its version.
    Waiting(Picture),
}

/// What has happened meanwhile.
pub enum Progress {
    /// It is time to begin.
    Due,
    /// The picture is there, or could not be made.
    Listed(Option<Picture>),
}

impl Check {
    /// The next one, after the usual time.
    pub fn later(dice: f64) -> Self {
        Self::Due(Instant::now() + pause(dice))
    }

    /// Waits until there is something to do. Nothing is lost if it is dropped.
    pub async fn progress(&mut self) -> Progress {
        match self {
            Self::Due(time) => {
                sleep_until(*time).await;
                Progress::Due
            }
            Self::Listing(listing) => Progress::Listed(listing.await),
            Self::Never | Self::Waiting(_) => std::future::pending().await,
        }
    }
}
