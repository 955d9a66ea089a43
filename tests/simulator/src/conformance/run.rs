//! Sends the steps of a group, one after the other.

use std::{collections::BTreeMap, pin::Pin, time::Duration};

use futures::{Stream, StreamExt, stream};
use http::{Method, Request, header};
use http_body_util::BodyExt;
use kube::{Client, client::Body};
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::{
    normal::{self, Names},
    step::Step,
};

/// A server that has not answered by then will not.
const LIMIT: Duration = Duration::from_secs(20);
/// Between two tries of a patient step, and how many there are.
const PAUSE: Duration = Duration::from_millis(200);
const TRIES: usize = 50;

const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

type Events = Pin<Box<dyn Stream<Item = Value> + Send>>;

/// What the server answers, normalised, a value a step.
pub async fn run(client: &Client, steps: &[Step]) -> Vec<Value> {
    let (mut names, mut watches) = (Names::default(), BTreeMap::<String, Events>::new());
    let mut answers = Vec::new();
    for step in steps {
        let answer = timeout(LIMIT, take(client, step, &mut names, &mut watches));
        let mut answer = answer.await.unwrap_or_else(|_| panic!("{:?} was not answered", step.what));
        answer["what"] = step.what.as_str().into();
        answers.push(answer);
    }
    answers
}

async fn take(
    client: &Client,
    step: &Step,
    names: &mut Names,
    watches: &mut BTreeMap<String, Events>,
) -> Value {
    if let Some(told) = &step.told {
        let events = watches.get_mut(&told.by).unwrap_or_else(|| panic!("no watch {:?} is open", told.by));
        let events: Vec<Value> = events.take(told.events).collect().await;
        let compared: Vec<Value> =
            events.iter().map(|event| normal::event(names, event, &step.show)).collect();
        return serde_json::json!({ "events": compared });
    }
    if let Some(name) = &step.watch {
        let response = client.send(request(step, names)).await.expect("an answer");
        let code = response.status().as_u16();
        watches.insert(name.clone(), lines(response.into_body()));
        return serde_json::json!({ "code": code });
    }
    let mut tries = if step.patient { TRIES } else { 1 };
    loop {
        let response = client.send(request(step, names)).await.expect("an answer");
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.expect("a body").to_bytes();
        tries -= 1;
        if code >= 400 && tries > 0 {
            sleep(PAUSE).await;
            continue;
        }
        let json: Value = serde_json::from_slice(&body).unwrap_or_default();
        for (name, pointer) in &step.keep {
            let value = json.pointer(pointer).and_then(Value::as_str);
            let value = value.unwrap_or_else(|| panic!("{:?}: no {pointer} in {json}", step.what));
            names.keep(name, value);
        }
        return normal::answer(names, code, &body, &step.show);
    }
}

fn request(step: &Step, names: &Names) -> Request<Body> {
    let (method, path) = step.request().unwrap_or_else(|| panic!("{:?} sends nothing", step.what));
    let is_list = method == Method::GET
        && step.watch.is_none()
        && step.show.iter().any(|show| show.starts_with("/items"));
    let accept = match (step.metadata_only, is_list) {
        (false, _) => "application/json",
        (true, false) => METADATA,
        (true, true) => METADATA_LIST,
    };
    let body = match &step.body {
        Value::Null => Vec::new(),
        body => names.fill(&body.to_string()).into_bytes(),
    };
    let content = if method == Method::PATCH { step.patch.content() } else { "application/json" };
    Request::builder()
        .method(method)
        .uri(names.fill(path))
        .header(header::ACCEPT, accept)
        .header(header::CONTENT_TYPE, content)
        .body(Body::from(body))
        .unwrap_or_else(|error| panic!("{:?}: {error}", step.what))
}

/// Events, line by line.
fn lines(body: Body) -> Events {
    let frames = Box::pin(body.into_data_stream());
    let events = stream::unfold((frames, Vec::<u8>::new()), |(mut frames, mut bytes)| async move {
        loop {
            if let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
                let rest = bytes.split_off(end + 1);
                let event: Value = serde_json::from_slice(&bytes).expect("an event");
                return Some((event, (frames, rest)));
            }
            bytes.extend_from_slice(&frames.next().await?.ok()?);
        }
    });
    // Bookmarks come when they like.
    Box::pin(events.filter(|event| std::future::ready(event["type"] != "BOOKMARK")))
}
