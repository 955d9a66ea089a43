//! What happened, in order: its hash, by which two runs are compared, and its last lines, by which a person reads them.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::time::Instant;

use crate::{
    dice,
    server::{
        Observer,
        ask::Raw,
        state::Answer,
        store::{Change, text},
    },
};

/// Lines that are kept.
const KEPT: usize = 4000;

/// See the module.
pub struct Trace {
    started: Instant,
    lines: Mutex<Lines>,
}

#[derive(Default)]
struct Lines {
    hash: u64,
    last: VecDeque<String>,
}

impl Trace {
    /// From now on.
    pub fn new() -> Self {
        Self { started: Instant::now(), lines: Mutex::default() }
    }

    /// One more line.
    pub fn add(&self, line: &str) {
        let line = format!("{:>10.3} {line}", self.started.elapsed().as_secs_f64());
        let mut lines = self.lock();
        lines.hash = dice::hash(lines.hash, &[&line]);
        lines.last.push_back(line);
        if lines.last.len() > KEPT {
            lines.last.pop_front();
        }
    }

    /// Of all lines so far.
    pub fn hash(&self) -> u64 {
        self.lock().hash
    }

    /// The last ones.
    pub fn lines(&self) -> Vec<String> {
        self.lock().last.iter().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Trace {
    fn default() -> Self {
        Self::new()
    }
}

impl Observer for Trace {
    fn asked(&self, who: &str, raw: &Raw, answer: &Answer) {
        let code = match answer {
            Ok((code, _)) => code.to_string(),
            Err(refusal) => format!("{} {}", refusal.code, refusal.message),
        };
        // Key pairs are the only thing that differs from run to run.
        let is_secret = raw.uri.contains("/secrets");
        let body = if is_secret { String::new() } else { String::from_utf8_lossy(&raw.body).into_owned() };
        self.add(&format!("{who} {} {} -> {code} {body}", raw.method, raw.uri));
    }

    fn changed(&self, who: &str, change: &Change) {
        let object = change.object();
        let what = match (&change.before, &change.after) {
            (None, _) => "made",
            (_, None) => "gone",
            _ => "changed",
        };
        let place = format!("{}/{}", text(object, "namespace"), text(object, "name"));
        let status = if change.after.is_some() { object["status"].to_string() } else { String::new() };
        let version = change.version;
        self.add(&format!("  {who}: {} {place} {what} at {version} {status}", change.kind.kind));
    }
}
