//! The API server's audit log, followed while it is written: who asked for what, when, and what the answer was.
//!
//! It is the bench's clock and its counter at once: both the operator and the plain client are timed where their
//! requests arrive, so that neither a watch nor a probe stands between.

use std::{
    collections::HashMap,
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context as _, Result, bail};
use coxswain_test_support::audit::{Entry, seconds};

/// How long the follower sleeps at the end of the file.
const PAUSE: Duration = Duration::from_millis(2);
/// How often a condition is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// Whose request it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// The operator under test.
    Operator,
    /// The plain client, which also submits the jobs.
    Plain,
}

/// Only lists of the comparison have pages of this size.
const COMPARES: &str = "limit=500";

/// The user names of both.
const OPERATOR: &str = "system:serviceaccount:mpi-operator:mpi-operator";
const PLAIN: &str = "system:serviceaccount:bench:plain";

/// One answered request.
#[derive(Clone, Debug)]
pub struct Request {
    /// Whose.
    pub who: Who,
    /// create, update, patch, delete, get, list, watch; compare for the list by which the operator compares its cache
    /// with the API server now and then.
    pub verb: Box<str>,
    /// For example `pods` or `mpijobs/status`.
    pub kind: Box<str>,
    /// HTTP status of the answer.
    pub code: u16,
    /// When the API server got it, in seconds since 1970.
    pub received: f64,
    /// When it had answered.
    pub answered: f64,
}

impl Request {
    /// Changes something.
    pub fn writes(&self) -> bool {
        !matches!(&*self.verb, "get" | "list" | "watch" | "compare")
    }

    /// The operator's.
    pub fn ours(&self) -> bool {
        self.who == Who::Operator
    }
}

/// The requests so far, by namespace; those without one are under the empty name.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<HashMap<Box<str>, Vec<Request>>>>);

impl Log {
    /// Follows the file from its beginning, in a thread of its own, as long as the process runs.
    pub fn follow(path: &Path) -> Result<Self> {
        let file = File::open(path).with_context(|| format!("reading the audit log {}", path.display()))?;
        let log = Self::default();
        let follower = log.clone();
        std::thread::spawn(move || follower.read(BufReader::with_capacity(1 << 20, file)));
        Ok(log)
    }

    fn read(&self, mut file: BufReader<File>) {
        let mut line = Vec::new();
        loop {
            // A line may come in halves.
            match file.read_until(b'\n', &mut line) {
                Ok(_) if line.ends_with(b"\n") => {
                    if let Some((namespace, request)) = parse(&line) {
                        self.lock().entry(namespace).or_default().push(request);
                    }
                    line.clear();
                }
                _ => std::thread::sleep(PAUSE),
            }
        }
    }

    /// Looks at the requests that concern a namespace.
    pub fn with<T>(&self, namespace: &str, look: impl FnOnce(&[Request]) -> T) -> T {
        look(self.lock().get(namespace).map_or(&[], Vec::as_slice))
    }

    /// A copy of them.
    pub fn of(&self, namespace: &str) -> Vec<Request> {
        self.with(namespace, <[Request]>::to_vec)
    }

    /// Waits until the requests of a namespace show something.
    pub async fn until<T>(
        &self,
        namespace: &str,
        limit: Duration,
        what: &str,
        mut look: impl FnMut(&[Request]) -> Option<T>,
    ) -> Result<T> {
        let begin = now();
        loop {
            if let Some(found) = self.with(namespace, &mut look) {
                return Ok(found);
            }
            if now() - begin > limit.as_secs_f64() {
                bail!("not within {} s: {what}", limit.as_secs());
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Waits until the operator has asked for nothing in a namespace for so long.
    pub async fn quiet(&self, namespace: &str, silence: Duration, limit: Duration) -> Result<()> {
        let begin = now();
        self.until(namespace, limit, "the operator is silent", |requests| {
            let last = requests.iter().filter(|r| r.ours()).map(|r| r.answered).fold(begin, f64::max);
            (now() - last > silence.as_secs_f64()).then_some(())
        })
        .await
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, Vec<Request>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Seconds since 1970.
pub fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

fn parse(line: &[u8]) -> Option<(Box<str>, Request)> {
    let entry = Entry::read(line)?;
    let who = match &*entry.user {
        OPERATOR => Who::Operator,
        PLAIN => Who::Plain,
        _ => return None,
    };
    let compares = entry.verb == "list" && entry.uri.contains(COMPARES);
    let request = Request {
        who,
        verb: if compares { "compare".into() } else { entry.verb.into() },
        kind: entry.resource.into(),
        code: entry.code,
        received: seconds(entry.received),
        answered: seconds(entry.answered),
    };
    Some((entry.namespace.into(), request))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_operator_is_read_and_others_are_not() {
        let line = |user: &str, uri: &str| {
            format!(
                r#"{{"stage":"ResponseComplete","verb":"list","user":{{"username":"{user}"}},"requestURI":"{uri}",
                "objectRef":{{"resource":"pods","namespace":"n"}},"responseStatus":{{"code":200}},
                "requestReceivedTimestamp":"2026-01-01T00:00:00.250000Z","stageTimestamp":"2026-01-01T00:00:00.500000Z"}}"#
            )
        };
        let (namespace, request) = parse(line(OPERATOR, "/api/v1/pods?limit=100").as_bytes()).unwrap();
        assert_eq!((&*namespace, &*request.kind, &*request.verb), ("n", "pods", "list"));
        assert!(!request.writes() && request.ours());
        let (_, compares) = parse(line(OPERATOR, "/api/v1/pods?limit=500").as_bytes()).unwrap();
        assert_eq!(&*compares.verb, "compare");
        assert!(parse(line("system:serviceaccount:kube-system:job-controller", "").as_bytes()).is_none());
    }
}
