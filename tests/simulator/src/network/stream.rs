//! Open watches: each lags behind the server by a time of its own, is told of versions now and then, and ends.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use futures::channel::mpsc;
use serde_json::Value;
use tokio::time::Instant;

use super::Frames;
use crate::{
    agenda::Agenda,
    server::{Observer, Server, ask::Raw, store::Change, watch::Interest},
};

/// What an API server's watch lags behind by when nothing is wrong.
const LAG: Duration = Duration::from_millis(2);
/// Between two bookmarks.
const BOOKMARKS: Duration = Duration::from_mins(1);

type Sender = mpsc::UnboundedSender<Result<Bytes, tower::BoxError>>;

/// All of them. Cheap to share.
#[derive(Clone)]
pub struct Streams {
    server: Server,
    agenda: Agenda,
    open: Arc<Mutex<Open>>,
}

#[derive(Default)]
struct Open {
    streams: BTreeMap<u64, Stream>,
    opened: u64,
    lags: Vec<(String, Duration)>,
}

struct Stream {
    /// `who kind`.
    name: String,
    interest: Interest,
    sender: Sender,
    /// Nothing comes before this, so that events stay in order whatever the lag.
    last: Instant,
    /// Nothing comes any more, not even its end.
    is_silent: bool,
}

impl Streams {
    /// Of this server.
    pub fn new(server: Server, agenda: Agenda) -> Self {
        Self { server, agenda, open: Arc::default() }
    }

    /// Opens one, which begins with these events.
    pub fn open(&self, who: &str, interest: Interest, events: Vec<Value>, raw: &Raw) -> Frames {
        let (sender, frames) = mpsc::unbounded();
        let time = seconds(raw);
        let bookmarks = interest.bookmarks;
        let id = {
            let mut open = self.lock();
            open.opened += 1;
            let id = open.opened;
            let name = format!("{who} {}", interest.kind().kind);
            open.streams
                .insert(id, Stream { name, interest, sender, last: Instant::now(), is_silent: false });
            id
        };
        let has_failed = events.iter().any(|event| event["type"] == "ERROR");
        for event in events {
            self.tell(id, &event);
        }
        if has_failed {
            self.end(id);
            return frames;
        }
        let this = self.clone();
        self.agenda.after(time, move || this.end(id));
        if bookmarks {
            self.bookmark_later(id);
        }
        frames
    }

    /// Ends those in whose name this occurs, in the middle of whatever they were telling.
    pub fn cut(&self, part: &str) {
        self.lock().streams.retain(|_, stream| !stream.name.contains(part));
    }

    /// Of those in whose name this occurs, nobody hears any more, not even that they have ended.
    pub fn silence(&self, part: &str) {
        let mut open = self.lock();
        let streams = open.streams.values_mut();
        streams.filter(|stream| stream.name.contains(part)).for_each(|stream| stream.is_silent = true);
    }

    /// Those in whose name this occurs lag behind so far.
    pub fn lag(&self, part: &str, lag: Duration) {
        let mut open = self.lock();
        open.lags.retain(|(other, _)| other != part);
        open.lags.push((part.to_owned(), lag));
    }

    fn bookmark_later(&self, id: u64) {
        let this = self.clone();
        self.agenda.after(BOOKMARKS, move || {
            let version = this.server.state().store.version();
            let event = this.lock().streams.get(&id).map(|stream| stream.interest.bookmark(version));
            if let Some(event) = event {
                this.tell(id, &event);
                this.bookmark_later(id);
            }
        });
    }

    /// Puts an event on its way.
    fn tell(&self, id: u64, event: &Value) {
        let mut open = self.lock();
        let Open { streams, lags, .. } = &mut *open;
        let Some(stream) = streams.get_mut(&id) else { return };
        if stream.sender.is_closed() {
            streams.remove(&id);
            return;
        }
        let lag = lags.iter().rev().find(|(part, _)| stream.name.contains(part)).map_or(LAG, |(_, lag)| *lag);
        stream.last = stream.last.max(Instant::now() + lag);
        let mut line = serde_json::to_vec(event).expect("JSON");
        line.push(b'\n');
        let this = self.clone();
        self.agenda.at(stream.last, move || {
            // A stream that was cut tells nothing more, also not what was on its way.
            if let Some(stream) = this.lock().streams.get(&id).filter(|stream| !stream.is_silent) {
                let _ = stream.sender.unbounded_send(Ok(Bytes::from(line)));
            }
        });
    }

    /// Ends one when what it was told is there.
    fn end(&self, id: u64) {
        let heard = self.lock().streams.get(&id).filter(|stream| !stream.is_silent).map(|stream| stream.last);
        let Some(last) = heard else { return };
        let this = self.clone();
        self.agenda.at(last.max(Instant::now()), move || drop(this.lock().streams.remove(&id)));
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Streams {
    fn changed(&self, _: &str, change: &Change) {
        let events: Vec<(u64, Value)> = {
            let state = self.server.state();
            let open = self.lock();
            let event =
                |(id, stream): (&u64, &Stream)| Some((*id, stream.interest.event(&state.store, change)?));
            open.streams.iter().filter_map(event).collect()
        };
        for (id, event) in events {
            self.tell(id, &event);
        }
    }
}

/// How long the watch is to last.
fn seconds(raw: &Raw) -> Duration {
    let (_, after) = raw.uri.split_once("timeoutSeconds=").unwrap_or_default();
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().map_or(Duration::from_mins(30), Duration::from_secs)
}
