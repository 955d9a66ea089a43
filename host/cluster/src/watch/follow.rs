//! Lists a kind and watches it, for ever: the loop between what is asked ([`super::course`]), who asks
//! ([`super::source`]) and what is made of the answers ([`Folds`]).

use std::{sync::Arc, time::Duration};

use coxswain_model::observed::{Uid, Version};
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use super::{
    check::{Check, Picture, Progress, picture},
    course::{Ask, Course, Failure, Listed},
    cut::Cut,
    message::Event,
    source::{Source, Watch},
};
use crate::{last_activity::LastActivity, metrics::Metrics, world};

/// Objects a page while listing.
const PAGE: u32 = 100;
/// How long a watch is asked to last, and by how much longer at most. Its end is how a dead connection shows, so it
/// bounds how long a kind may be unseen without anybody's knowing.
const WATCH: Duration = Duration::from_mins(2);
const LONGER: Duration = Duration::from_secs(30);

/// Becomes true once a kind has been listed.
pub type Synced = watch::Sender<bool>;

/// What is made of a kind's objects. The index behind it is never locked between two calls.
pub trait Folds: Send {
    /// Whether what is made of them is compared with the API server now and then.
    const IS_CHECKED: bool;

    /// A list begins. What stands stays until it is complete.
    fn listing(&mut self);
    /// One object of it. May come twice.
    fn listed(&mut self, object: &Cut);
    /// That was all of them, at this version.
    fn listed_all(&mut self, version: Version);
    /// An object is, or is other than before.
    fn shown(&mut self, object: &Cut);
    /// An object is no more.
    fn ended(&mut self, object: &Cut);

    /// An object of ours by its metadata alone.
    fn known(object: &Cut) -> Option<(Uid, Version)>;
    /// A comparison begins, or was given up.
    fn checking(&mut self, begins: bool);
    /// Compares with what the API server had at a version that the watch has passed. True if only a list mends it.
    fn check(&mut self, picture: &Picture) -> bool;
}

/// One kind.
pub struct Follow<F> {
    /// Its name in log and metrics.
    pub kind: &'static str,
    /// Asked.
    pub source: Source,
    /// What it reports to.
    pub folds: F,
    /// Turns true once all has been listed.
    pub synced: Synced,
    /// Notified of signs of life.
    pub last_activity: LastActivity,
    /// Counts events.
    pub metrics: Arc<Metrics>,
}

impl<F: Folds> Follow<F> {
    /// Never returns.
    pub async fn run(mut self) {
        self.last_activity.begin(self.kind);
        let mut course = Course::default();
        let mut check = Check::Never;
        loop {
            let pause = match course.ask().clone() {
                Ask::List { token } => {
                    if !matches!(check, Check::Never | Check::Due(_)) {
                        self.folds.checking(false);
                    }
                    if F::IS_CHECKED {
                        check = Check::later(dice());
                    }
                    let (pause, is_consistent) = self.list(&mut course, token.as_deref()).await;
                    if F::IS_CHECKED && !is_consistent {
                        check = Check::Due(Instant::now());
                    }
                    pause
                }
                Ask::Watch { version } => self.watch(&mut course, &mut check, &version).await,
            };
            sleep(pause).await;
        }
    }

    /// One page. How long to pause, and whether what has been listed is of one piece.
    async fn list(&mut self, course: &mut Course, token: Option<&str>) -> (Duration, bool) {
        if token.is_none() {
            self.metrics.watch_event(self.kind, "list");
            self.folds.listing();
        }
        let Self { kind, source, folds, metrics, .. } = self;
        let mut each = |object: Cut| {
            metrics.watch_event(kind, "listed");
            folds.listed(&object);
        };
        let page = match source.page(token, PAGE, &mut each).await {
            Ok(page) => page,
            Err(failure) => return (self.failed(course, &failure, Duration::ZERO), true),
        };
        self.last_activity.heard(self.kind);
        let Listed::All { version, is_consistent } = course.page(page.metadata) else {
            return (Duration::ZERO, true);
        };
        self.metrics.watch_event(self.kind, "listed_all");
        self.folds.listed_all(Version::from(version.as_str()));
        self.synced.send_replace(true);
        (Duration::ZERO, is_consistent)
    }

    /// One watch, from its opening to its end. How long to pause.
    async fn watch(&mut self, course: &mut Course, check: &mut Check, version: &str) -> Duration {
        let mut watch = match self.source.watch(version, WATCH + LONGER.mul_f64(dice())).await {
            Ok(watch) => watch,
            Err(failure) => return self.failed(course, &failure, Duration::ZERO),
        };
        self.last_activity.heard(self.kind);
        let opened = Instant::now();
        let mut position = Version::from(version);
        loop {
            match next(&mut watch, check).await {
                Next::Event(Ok(Some((event, version)))) => {
                    self.last_activity.heard(self.kind);
                    if let Event::Error(status) = event {
                        let failure = Failure::Refused(Box::new(status), None);
                        return self.failed(course, &failure, opened.elapsed());
                    }
                    self.fold(&event);
                    if let Some(version) = version {
                        position = Version::from(version.as_str());
                        course.moved(version);
                    }
                }
                Next::Event(Ok(None)) => return course.ended(opened.elapsed(), dice()),
                Next::Event(Err(failure)) => return self.failed(course, &failure, opened.elapsed()),
                Next::Check(Progress::Due) => {
                    self.folds.checking(true);
                    *check = Check::Listing(Box::pin(picture(self.source.clone(), F::known, dice)));
                }
                Next::Check(Progress::Listed(Some(picture))) => *check = Check::Waiting(picture),
                Next::Check(Progress::Listed(None)) => {
                    tracing::debug!(kind = self.kind, "the cache could not be compared with the API server");
                    self.folds.checking(false);
                    *check = Check::later(dice());
                }
            }
            if let Check::Waiting(picture) = check
                && position >= picture.version
            {
                let has_to_list = self.folds.check(picture);
                *check = Check::later(dice());
                if has_to_list {
                    course.list_anew();
                    return Duration::ZERO;
                }
            }
        }
    }

    fn fold(&mut self, event: &Event) {
        let label = match event {
            Event::Shown(object) => {
                self.folds.shown(object);
                "apply"
            }
            Event::Ended(object) => {
                self.folds.ended(object);
                "delete"
            }
            Event::Bookmark => "bookmark",
            Event::Error(_) | Event::Other => return,
        };
        self.metrics.watch_event(self.kind, label);
    }

    fn failed(&self, course: &mut Course, failure: &Failure, after: Duration) -> Duration {
        self.metrics.watch_event(self.kind, "error");
        let hint = hint(course.ask(), failure);
        let pause = course.failed(failure, after, dice());
        let (kind, error, pause_seconds) = (self.kind, words(failure), pause.as_secs_f64());
        tracing::warn!(kind, error, hint, pause_seconds, "watching");
        self.last_activity.failed(kind, format!("{error}; {hint}"));
        pause
    }
}

/// What comes first.
enum Next {
    Event(Result<Option<(Event, Option<String>)>, Failure>),
    Check(Progress),
}

async fn next(watch: &mut Watch, check: &mut Check) -> Next {
    tokio::select! {
        biased;
        event = watch.next() => Next::Event(event),
        progress = check.progress() => Next::Check(progress),
    }
}

fn words(failure: &Failure) -> String {
    match failure {
        Failure::NoAnswer(words) => words.clone(),
        Failure::Refused(status, _) if status.message.is_empty() => {
            format!("the API server answered {}", status.code)
        }
        Failure::Refused(status, _) => format!("{} ({})", status.message, status.code),
    }
}

/// What a person can do about it.
fn hint(ask: &Ask, failure: &Failure) -> &'static str {
    let Failure::Refused(status, _) = failure else { return "it is tried again" };
    match (ask, status.code) {
        (Ask::List { .. }, 404) => {
            "the cluster does not know this kind: install its CRD (PodGroups come with the gang scheduler; those of Kubernetes' own \
             with the feature gate GenericWorkload of API server, controller manager and scheduler, and the API server's \
             --runtime-config=scheduling.k8s.io/v1beta1=true), or leave out --gang-scheduling"
        }
        (_, 401 | 403) => {
            "the operator's ServiceAccount may not list and watch this kind: apply its ClusterRole"
        }
        _ => "it is tried again",
    }
}

/// From 0 to 1.
fn dice() -> f64 {
    world::random()
}
