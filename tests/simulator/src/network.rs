//! The way between a client and the server: each request, answer and watch event takes its time, and may be lost.
//!
//! A request is on the agenda from the moment when it is sent. It has its effect whatever becomes of whoever sent it, and
//! whoever sent it may wait for an answer that never comes.

mod fate;
mod stream;

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures::{StreamExt, channel::mpsc};
use http::{Request, Response, header};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use jiff::Timestamp;
use kube::{Client, client::Body};
use tokio::{sync::oneshot, time::Instant};
use tower::{BoxError, Service};

pub use self::fate::{Calm, Fate, How, Weather};
use self::stream::Streams;
use crate::{
    agenda::Agenda,
    dice::Dice,
    server::{Outcome, Server, ask::Raw, rendered},
};

/// Body of an answer.
pub type AnswerBody = UnsyncBoxBody<Bytes, BoxError>;

/// A moment of virtual time 0: when clusters of the simulator are born.
pub const BIRTH: Timestamp = Timestamp::constant(1_767_225_600, 0);

/// Cheap to share.
#[derive(Clone)]
pub struct Network {
    /// At one end.
    pub server: Server,
    /// What is on its way.
    pub agenda: Agenda,
    /// How long it takes.
    pub dice: Dice,
    started: Instant,
    weather: Arc<Mutex<Box<dyn Weather>>>,
    streams: Streams,
    /// Clients of processes that are no more.
    dead: Arc<Mutex<Vec<String>>>,
}

impl Network {
    /// In front of the server. To be made when virtual time begins.
    pub fn new(server: Server, agenda: Agenda, dice: Dice) -> Self {
        let streams = Streams::new(server.clone(), agenda.clone());
        server.observe(Arc::new(streams.clone()));
        Self {
            server,
            agenda,
            dice,
            started: Instant::now(),
            weather: Arc::new(Mutex::new(Box::new(Calm))),
            streams,
            dead: Arc::default(),
        }
    }

    /// The server's wall clock.
    pub fn now(&self) -> Timestamp {
        BIRTH + self.started.elapsed()
    }

    /// From now on requests fare like this.
    pub fn set_weather(&self, weather: impl Weather + 'static) {
        *self.weather.lock().unwrap_or_else(PoisonError::into_inner) = Box::new(weather);
    }

    /// A client; `who` is its name in the trace, and what its fate depends on.
    pub fn client(&self, who: &str) -> Client {
        Client::new(Door { network: self.clone(), who: who.into() }, "default")
    }

    /// Ends every open watch, as a server does that is started anew; then `forgets` what happened.
    pub fn restart(&self, forgets: bool) {
        self.streams.cut("");
        if forgets {
            self.server.state().forget();
        }
    }

    /// Ends the open watches of one client, or of all of them, in which `part` of `who kind` occurs.
    pub fn cut(&self, part: &str) {
        self.streams.cut(part);
    }

    /// Nobody hears any more of the open watches in which `part` of `who kind` occurs, not even that they have ended.
    pub fn silence(&self, part: &str) {
        self.streams.silence(part);
    }

    /// Nothing that this client, or one whose name begins with it, sends from now on arrives, and nothing is told to it.
    /// What it has sent before has its effect.
    pub fn kill(&self, who: &str) {
        self.dead.lock().unwrap_or_else(PoisonError::into_inner).push(who.to_owned());
        self.streams.cut(&format!("{who} "));
    }

    fn is_dead(&self, who: &str) -> bool {
        let client = who.split(' ').next().unwrap_or_default();
        self.dead.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|dead| dead == client)
    }

    /// Lets watches in whose `who kind` this part occurs lag behind by so much, from now on.
    pub fn lag(&self, part: &str, lag: Duration) {
        self.streams.lag(part, lag);
    }

    fn send(&self, who: Arc<str>, raw: Raw) -> oneshot::Receiver<Response<AnswerBody>> {
        let (answer, answered) = oneshot::channel();
        let fate = {
            let mut weather = self.weather.lock().unwrap_or_else(PoisonError::into_inner);
            weather.fate(&self.dice, Instant::now(), &who, &raw)
        };
        let network = self.clone();
        self.agenda.after(fate.there, move || network.arrived(&who, &raw, fate, answer));
        answered
    }

    fn arrived(&self, who: &Arc<str>, raw: &Raw, fate: Fate, answer: oneshot::Sender<Response<AnswerBody>>) {
        match fate.how {
            How::Answered => {
                let response = self.perform(who, raw);
                self.deliver(fate.back, response, answer);
            }
            How::Refused { code, reason, retry_after } => {
                self.deliver(fate.back, refusal(code, reason, retry_after), answer);
            }
            How::AnsweredWith { code, reason } => {
                drop(self.perform(who, raw));
                self.deliver(fate.back, refusal(code, reason, None), answer);
            }
            // The connection ends: whoever waits learns it from the sender's end.
            How::Reset { has_effect } => {
                if has_effect {
                    drop(self.perform(who, raw));
                }
                self.agenda.after(fate.back, move || drop(answer));
            }
            How::Silence { has_effect } => {
                if has_effect {
                    drop(self.perform(who, raw));
                }
                // Longer than any client waits.
                self.agenda.after(Duration::from_hours(24), move || drop(answer));
            }
        }
    }

    fn perform(&self, who: &Arc<str>, raw: &Raw) -> Response<AnswerBody> {
        match self.server.request(who, self.now(), raw) {
            Outcome::Whole(answer) => {
                let (code, body) = rendered(&answer);
                whole(code, "application/json", serde_json::to_vec(&body).expect("JSON"))
            }
            Outcome::Watch(interest, events) => {
                let body = self.streams.open(who, *interest, events, raw);
                let frames = body.map(|bytes: Result<Bytes, BoxError>| bytes.map(Frame::data));
                response(200, "application/json")
                    .body(BodyExt::boxed_unsync(StreamBody::new(frames)))
                    .expect("a response")
            }
        }
    }

    fn deliver(
        &self,
        pause: Duration,
        response: Response<AnswerBody>,
        answer: oneshot::Sender<Response<AnswerBody>>,
    ) {
        self.agenda.after(pause, move || drop(answer.send(response)));
    }
}

fn response(code: u16, content: &str) -> http::response::Builder {
    Response::builder().status(code).header(header::CONTENT_TYPE, content)
}

fn whole(code: u16, content: &str, body: Vec<u8>) -> Response<AnswerBody> {
    let body = Full::new(Bytes::from(body)).map_err(|never| match never {});
    response(code, content).body(body.boxed_unsync()).expect("a response")
}

/// Of a server in distress.
fn refusal(code: u16, reason: &'static str, retry_after: Option<Duration>) -> Response<AnswerBody> {
    let refusal = crate::server::status::failure(code, reason, "simulated");
    let body = serde_json::to_vec(&crate::server::status::body(&refusal)).expect("JSON");
    let mut response = whole(code, "application/json", body);
    if let Some(pause) = retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, pause.as_secs().into());
    }
    response
}

/// The frames of a watch's body.
type Frames = mpsc::UnboundedReceiver<Result<Bytes, BoxError>>;

/// What stands behind a client.
struct Door {
    network: Network,
    who: Arc<str>,
}

impl Service<Request<Body>> for Door {
    type Response = Response<AnswerBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (network, who) = (self.network.clone(), Arc::clone(&self.who));
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let body = body.collect_bytes().await?.to_vec();
            let text = |name: header::HeaderName| {
                head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
            };
            let raw = Raw {
                method: head.method.clone(),
                uri: head.uri.path_and_query().map(ToString::to_string).unwrap_or_default(),
                accept: text(header::ACCEPT),
                content: text(header::CONTENT_TYPE),
                body,
            };
            if network.is_dead(&who) {
                return std::future::pending().await;
            }
            let answered = network.send(who, raw);
            answered.await.map_err(|_| "connection reset by peer (simulated)".into())
        })
    }
}
