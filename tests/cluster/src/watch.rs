//! Waiting on watches, never longer than a limit, and never silent about what was seen last.

use std::{fmt::Write as _, pin::pin, time::Duration};

use anyhow::{Result, bail};
use futures::TryStreamExt;
use kube::{
    Api, ResourceExt,
    runtime::{
        WatchStreamExt,
        watcher::{self, Event},
    },
};
use tokio::time::{Instant, timeout_at};

use crate::objects::{Object, Objects};

/// Longest text about one object in an error, bytes.
const SHOWN: usize = 1500;

/// Calls `seen` with all objects of the selection at the start and after every change, until it returns something.
/// Errors: what `seen` says, or that `what` did not happen within `limit`, with the last state.
pub async fn until<T>(
    api: &Api<Object>,
    selection: watcher::Config,
    limit: Duration,
    what: &str,
    mut seen: impl FnMut(&Objects) -> Result<Option<T>>,
) -> Result<T> {
    let deadline = Instant::now() + limit;
    let mut stream = pin!(watcher::watcher(api.clone(), selection).default_backoff());
    let mut objects = Objects::new();
    let mut complete = false;
    loop {
        let Ok(event) = timeout_at(deadline, stream.try_next()).await else {
            bail!("not within {} s: {what}. Last seen:\n{}", limit.as_secs(), shown(&objects));
        };
        match event {
            Ok(Some(event)) => complete = fold(&mut objects, event) || complete,
            Ok(None) => bail!("the watch ended while waiting: {what}"),
            // The watcher tries again by itself.
            Err(_) => continue,
        }
        if complete && let Some(found) = seen(&objects)? {
            return Ok(found);
        }
    }
}

/// Fails as soon as `wrong` has something to say, within `span`.
pub async fn never(
    api: &Api<Object>,
    selection: watcher::Config,
    span: Duration,
    mut wrong: impl FnMut(&Objects) -> Option<String>,
) -> Result<()> {
    let what = "something wrong happens";
    let outcome = until(api, selection, span, what, |objects| Ok(wrong(objects))).await;
    match outcome {
        Ok(reason) => bail!(reason),
        // Which is how the span ends well.
        Err(_) => Ok(()),
    }
}

/// Applies one event; true once the objects are all that there are.
fn fold(objects: &mut Objects, event: Event<Object>) -> bool {
    match event {
        Event::Init => objects.clear(),
        Event::InitApply(object) | Event::Apply(object) => drop(objects.insert(object.name_any(), object)),
        Event::Delete(object) => drop(objects.remove(&object.name_any())),
        Event::InitDone => return true,
    }
    false
}

fn shown(objects: &Objects) -> String {
    let mut text = String::new();
    for (name, object) in objects {
        let status = object.data.get("status").unwrap_or(&object.data).to_string();
        let deleting = if object.metadata.deletion_timestamp.is_some() { " (being deleted)" } else { "" };
        let cut = status.char_indices().nth(SHOWN).map_or(status.len(), |(at, _)| at);
        let _ = writeln!(text, "  {name}{deleting}: {}", status.get(..cut).unwrap_or_default());
    }
    if text.is_empty() { "  nothing\n".to_owned() } else { text }
}
