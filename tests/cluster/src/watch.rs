//! Waiting on watches, never longer than a limit, and never silent about what was seen last.

use std::{fmt::Write as _, pin::pin, time::Duration};

use anyhow::{Context as _, Result, bail};
use futures::TryStreamExt;
use kube::{
    Api, ResourceExt,
    api::ListParams,
    runtime::{
        WatchStreamExt,
        watcher::{self, Event},
    },
};
use tokio::time::{Instant, timeout_at};

use crate::objects::{Object, Objects};

/// How far a watch may lag behind a list.
const CATCHING_UP: Duration = Duration::from_secs(10);

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

/// Fails as soon as `wrong` has something to say, within `span`; also if it could not have been seen: a list at the end is
/// told to `wrong`, too, and the watch has to show what it shows.
pub async fn never(
    api: &Api<Object>,
    selection: watcher::Config,
    span: Duration,
    mut wrong: impl FnMut(&Objects) -> Option<String>,
) -> Result<()> {
    let listing = ListParams {
        label_selector: selection.label_selector.clone(),
        field_selector: selection.field_selector.clone(),
        ..ListParams::default()
    };
    let mut end = Instant::now() + span;
    let mut stream = pin!(watcher::watcher(api.clone(), selection).default_backoff());
    let (mut objects, mut complete) = (Objects::new(), false);
    let mut left: Option<Objects> = None;
    loop {
        match timeout_at(end, stream.try_next()).await {
            Ok(Ok(Some(event))) => {
                if let (Event::Delete(object), Some(left)) = (&event, &mut left) {
                    left.remove(&object.name_any());
                }
                let begins = matches!(event, Event::Init);
                complete = fold(&mut objects, event) || (complete && !begins);
            }
            Ok(Ok(None)) => bail!("the watch has ended, and what came then was not seen"),
            // The watcher tries again by itself.
            Ok(Err(_)) => {}
            Err(_) if left.is_none() => {
                let listed = api.list(&listing).await.context("listing at the end")?;
                left = Some(listed.into_iter().map(|object| (object.name_any(), object)).collect());
                end = Instant::now() + CATCHING_UP;
            }
            Err(_) => bail!("the watch is dead: it does not show what a list shows"),
        }
        let seen = complete.then_some(&objects).into_iter().chain(&left);
        if let Some(reason) = seen.into_iter().find_map(&mut wrong) {
            bail!(reason);
        }
        if complete && left.as_ref().is_some_and(|left| shows(&objects, left)) {
            return Ok(());
        }
    }
}

/// The watch has come to where the list was.
fn shows(watched: &Objects, listed: &Objects) -> bool {
    let version =
        |object: &Object| -> Option<u64> { object.metadata.resource_version.as_ref()?.parse().ok() };
    listed
        .iter()
        .all(|(name, object)| watched.get(name).is_some_and(|known| version(known) >= version(object)))
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_watch_that_is_behind_a_list_proves_nothing() {
        let pods = |pods: &[(&str, &str)]| -> Objects {
            let pod = |(name, version): &(&str, &str)| {
                let pod = json!({"metadata": {"name": name, "resourceVersion": version}});
                ((*name).to_owned(), serde_json::from_value(pod).unwrap())
            };
            pods.iter().map(pod).collect()
        };

        let listed = pods(&[("a", "7"), ("b", "12")]);

        assert!(shows(&pods(&[("a", "7"), ("b", "12")]), &listed));
        assert!(shows(&pods(&[("a", "9"), ("b", "100"), ("c", "1")]), &listed));
        assert!(!shows(&pods(&[("a", "7")]), &listed), "one is missing");
        assert!(!shows(&pods(&[("a", "7"), ("b", "9")]), &listed), "a change is missing");
    }
}
