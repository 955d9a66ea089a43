//! One kind at the API server: its pages and its events. Thin: what the answers mean is decided elsewhere.
//!
//! Nothing here waits without a limit, and all limits stand above the client, where every client has them.

use std::{collections::VecDeque, time::Duration};

use bytes::Bytes;
use futures::{Stream, StreamExt};
use http::{Request, Response, header};
use http_body_util::BodyExt;
use kube::{
    Client,
    api::{ListParams, WatchParams},
    client::Body,
};
use tokio::time::{Instant, timeout, timeout_at};

use super::{
    course::Failure,
    cut::{Cut, Cutter, Piece},
    message::{Event, Events, Page, Status},
};
use crate::{kind::Facts, rest::chain};

/// For a page, from the request to its last byte. The API server gives itself a minute for any request.
const PAGE_TIME: Duration = Duration::from_mins(1);
/// For the head of the answer to a watch: it comes at once, also where there is nothing to report.
const OPENING: Duration = Duration::from_secs(30);
/// Beyond the time that the watch was asked to last. A connection that is silent for longer is dead.
const SILENCE: Duration = Duration::from_secs(10);
/// More of a refusal than a Status has.
const LONGEST_REFUSAL: usize = 64 << 10;

/// What is asked about one kind. Cheap enough to clone.
#[derive(Clone)]
pub struct Source {
    client: Client,
    request: kube::core::Request,
    selector: Option<String>,
    metadata_only: bool,
}

impl Source {
    /// Of this kind, in one namespace or in all.
    pub fn of(client: Client, kind: &Facts, namespace: Option<&str>, selector: Option<String>) -> Self {
        let request = kube::core::Request::new(kind.collection(namespace));
        Self { client, request, selector, metadata_only: kind.metadata_only }
    }

    /// The same, asking for metadata alone.
    #[must_use]
    pub fn metadata_only(mut self) -> Self {
        self.metadata_only = true;
        self
    }

    /// One page; `each` gets its items while they arrive.
    pub async fn page(
        &self,
        token: Option<&str>,
        size: u32,
        each: &mut (impl FnMut(Cut) + Send),
    ) -> Result<Page, Failure> {
        let params = ListParams {
            label_selector: self.selector.clone(),
            limit: Some(size),
            continue_token: token.map(str::to_owned),
            ..ListParams::default()
        };
        let request =
            if self.metadata_only { self.request.list_metadata(&params) } else { self.request.list(&params) };
        let reading = async {
            let mut body = self.answer(request).await?;
            let (mut cutter, mut page) = (Cutter::default(), None);
            while let Some(bytes) = body.next().await {
                let mut found = |piece| match piece {
                    Piece::Object(cut) => each(cut),
                    Piece::Around(json) => page = serde_json::from_slice::<Page>(&json).ok(),
                };
                cutter.push(&bytes?, &mut found).map_err(|garbled| no_answer(garbled.to_string()))?;
            }
            page.filter(|page| !page.metadata.resource_version.is_empty())
                .ok_or_else(|| no_answer("the list is not whole"))
        };
        timeout(PAGE_TIME, reading).await.unwrap_or_else(|_| Err(late(PAGE_TIME)))
    }

    /// Opens a watch that is to last for so long.
    pub async fn watch(&self, version: &str, time: Duration) -> Result<Watch, Failure> {
        let seconds = u32::try_from(time.as_secs()).ok();
        let params =
            WatchParams { label_selector: self.selector.clone(), timeout: seconds, ..WatchParams::default() };
        let request = if self.metadata_only {
            self.request.watch_metadata(&params, version)
        } else {
            self.request.watch(&params, version)
        };
        let opening = timeout(OPENING, self.answer(request)).await;
        let body = opening.unwrap_or_else(|_| Err(late(OPENING)))?;
        Ok(Watch {
            body: Box::pin(body),
            cutter: Cutter::default(),
            events: Events::default(),
            ready: VecDeque::new(),
            heard: Instant::now(),
            silence: time + SILENCE,
        })
    }

    /// The body, if the API server does not refuse.
    async fn answer(
        &self,
        request: Result<Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<impl Stream<Item = Result<Bytes, Failure>> + Send + use<>, Failure> {
        let mut request = request.map_err(|error| no_answer(chain(&error)))?;
        // Newer API servers compress each event by itself, which no decoder of a whole stream reads.
        let identity = header::HeaderValue::from_static("identity");
        request.headers_mut().insert(header::ACCEPT_ENCODING, identity);
        let response = self.client.send(request.map(Body::from)).await;
        let response = response.map_err(|error| no_answer(chain(&error)))?;
        if !response.status().is_success() {
            return Err(refusal(response).await);
        }
        let bytes = response.into_body().into_data_stream();
        Ok(bytes.map(|bytes| bytes.map_err(|error| no_answer(chain(&error)))))
    }
}

/// An open watch.
pub struct Watch {
    body: std::pin::Pin<Box<dyn Stream<Item = Result<Bytes, Failure>> + Send>>,
    cutter: Cutter,
    events: Events,
    ready: VecDeque<(Event, Option<String>)>,
    heard: Instant,
    silence: Duration,
}

impl Watch {
    /// The next event and the version that it moves the watch to; nothing at the end. Nothing is lost if it is dropped.
    pub async fn next(&mut self) -> Result<Option<(Event, Option<String>)>, Failure> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            let bytes = timeout_at(self.heard + self.silence, self.body.next()).await;
            let Some(bytes) = bytes.map_err(|_| late(self.silence))? else {
                return Ok(None);
            };
            self.heard = Instant::now();
            let Self { cutter, events, ready, .. } = self;
            cutter
                .push(&bytes?, &mut |piece| ready.extend(events.piece(piece)))
                .map_err(|garbled| no_answer(garbled.to_string()))?;
        }
    }
}

/// What the API server says, or what stands before it: a proxy's page has no Status.
async fn refusal(response: Response<Body>) -> Failure {
    let (head, body) = response.into_parts();
    let retry_after = head.headers.get(header::RETRY_AFTER);
    let retry_after =
        retry_after.and_then(|value| value.to_str().ok()?.parse().ok()).map(Duration::from_secs);
    let mut body = body.into_data_stream();
    let mut text = Vec::new();
    while let Some(Ok(bytes)) = body.next().await {
        text.extend_from_slice(&bytes);
        if text.len() > LONGEST_REFUSAL {
            break;
        }
    }
    let status: Status = serde_json::from_slice(&text).unwrap_or_default();
    Failure::Refused(Box::new(Status { code: head.status.as_u16(), ..status }), retry_after)
}

fn no_answer(what: impl Into<String>) -> Failure {
    Failure::NoAnswer(what.into())
}

fn late(limit: Duration) -> Failure {
    Failure::NoAnswer(format!("no answer within {} s", limit.as_secs()))
}
