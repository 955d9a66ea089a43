//! `/healthz`, `/healthz/leaderElection` and `/readyz`, with the MPI Operator's words.
//!
//! Healthy: whoever does not lead, and a leader that renews its lease. Ready: who sees all that a leader must see, so that
//! it could lead; a standby is ready too. Who is not says what it does not see, and why.

use std::sync::Arc;

use axum::{
    Router,
    extract::{RawQuery, State},
    http::{StatusCode, header},
    response::IntoResponse,
    routing::get,
};

/// A question with a yes or a no.
pub type Check = Arc<dyn Fn() -> bool + Send + Sync>;

/// What is not seen, and why, one line each.
pub type Unsynced = Arc<dyn Fn() -> Vec<String> + Send + Sync>;

/// The MPI Operator's words.
const WITHHELD: &str = "reason withheld";

/// What the probes ask.
#[derive(Clone)]
pub struct Checks {
    /// The lease is renewed, or is not ours.
    pub leader_election: Check,
    /// What a leader must see and this replica does not.
    pub unsynced: Unsynced,
}

/// The routes.
pub fn routes(checks: Checks) -> Router {
    Router::new()
        .route("/healthz", get(healthz))
        .route("/healthz/leaderElection", get(healthz))
        .route("/readyz", get(readyz))
        .with_state(checks)
}

async fn healthz(State(checks): State<Checks>, RawQuery(query): RawQuery) -> impl IntoResponse {
    let failed = if (checks.leader_election)() { Vec::new() } else { vec![WITHHELD.to_owned()] };
    answer("healthz", "leaderElection", &failed, query.as_deref())
}

async fn readyz(State(checks): State<Checks>, RawQuery(query): RawQuery) -> impl IntoResponse {
    answer("readyz", "watches", &(checks.unsynced)(), query.as_deref())
}

/// `failed` says why the check does not hold, a line each; empty if it does.
fn answer(probe: &str, check: &str, failed: &[String], query: Option<&str>) -> impl IntoResponse + use<> {
    let verbose = query.is_some_and(|query| query.split('&').any(|word| word.starts_with("verbose")));
    let (status, text) = match (failed.is_empty(), verbose) {
        (true, false) => (StatusCode::OK, "ok".to_owned()),
        (true, true) => (StatusCode::OK, format!("[+]{check} ok\n{probe} check passed\n")),
        (false, _) => {
            let mut lines: Vec<_> = failed.iter().map(|why| format!("[-]{check} failed: {why}")).collect();
            lines.push(format!("{probe} check failed\n"));
            (StatusCode::INTERNAL_SERVER_ERROR, lines.join("\n"))
        }
    };
    (status, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text)
}

#[cfg(test)]
mod tests {
    use axum::body;
    use tower::ServiceExt;

    use super::*;

    async fn ask(holds: bool, query: Option<&str>) -> (StatusCode, String) {
        let unsynced = Arc::new(Vec::new);
        let app = routes(Checks { leader_election: Arc::new(move || holds), unsynced });
        fetch(app, "/healthz", query).await
    }

    async fn fetch(app: Router, path: &str, query: Option<&str>) -> (StatusCode, String) {
        let uri = query.map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"));
        let request = http::Request::get(uri).body(body::Body::empty()).unwrap();
        let response = app.oneshot(request).await.unwrap();
        let status = response.status();
        let bytes = body::to_bytes(response.into_body(), 1024).await.unwrap();
        (status, String::from_utf8(bytes.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn probes_answer_in_the_mpi_operators_words() {
        assert_eq!(ask(true, None).await, (StatusCode::OK, "ok".into()));
        assert_eq!(
            ask(true, Some("verbose")).await,
            (StatusCode::OK, "[+]leaderElection ok\nhealthz check passed\n".into())
        );
        assert_eq!(
            ask(false, None).await,
            (
                StatusCode::INTERNAL_SERVER_ERROR,
                "[-]leaderElection failed: reason withheld\nhealthz check failed\n".into()
            )
        );
    }
    #[tokio::test]
    async fn who_is_not_ready_says_what_it_does_not_see() {
        let unsynced = ["MPIJob: it has not been listed yet", "Pod: silent"].map(str::to_owned).to_vec();
        let app = routes(Checks {
            leader_election: Arc::new(|| true),
            unsynced: Arc::new(move || unsynced.clone()),
        });

        let (status, text) = fetch(app, "/readyz", None).await;

        assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(
            text,
            "[-]watches failed: MPIJob: it has not been listed yet\n[-]watches failed: Pod: silent\n\
             readyz check failed\n"
        );
    }
}
