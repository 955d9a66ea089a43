//! `/healthz`, `/healthz/leaderElection` and `/readyz`, with the MPI Operator's words.
//!
//! Healthy: whoever does not lead, and a leader that renews its lease. Ready: once the watches have listed all;
//! a standby is ready too.

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

/// What the probes ask.
#[derive(Clone)]
pub struct Checks {
    /// The lease is renewed, or is not ours.
    pub leader_election: Check,
    /// The watches have listed all.
    pub synced: Check,
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
    answer("healthz", "leaderElection", (checks.leader_election)(), query.as_deref())
}

async fn readyz(State(checks): State<Checks>, RawQuery(query): RawQuery) -> impl IntoResponse {
    answer("readyz", "watches", (checks.synced)(), query.as_deref())
}

fn answer(probe: &str, check: &str, holds: bool, query: Option<&str>) -> impl IntoResponse + use<> {
    let verbose = query.is_some_and(|query| query.split('&').any(|word| word.starts_with("verbose")));
    let (status, text) = match (holds, verbose) {
        (true, false) => (StatusCode::OK, "ok".to_owned()),
        (true, true) => (StatusCode::OK, format!("[+]{check} ok\n{probe} check passed\n")),
        (false, _) => (
            StatusCode::INTERNAL_SERVER_ERROR,
            format!("[-]{check} failed: reason withheld\n{probe} check failed\n"),
        ),
    };
    (status, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text)
}

#[cfg(test)]
mod tests {
    use axum::body;

    use super::*;

    async fn ask(holds: bool, query: Option<&str>) -> (StatusCode, String) {
        let response = answer("healthz", "leaderElection", holds, query).into_response();
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
}
