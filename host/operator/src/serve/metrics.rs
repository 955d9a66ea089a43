//! `/metrics` in Prometheus' text format.

use std::sync::Arc;

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header},
    response::IntoResponse,
    routing::get,
};

use crate::{metrics::ReconcileMetrics, queue::Queue};
use coxswain_cluster::{index::Shared, kinds, limiter::ConcurrencyLimiter, metrics::Metrics};
use coxswain_model::desired::Gang;
use coxswain_plugins::Plugins;

/// What is read when Prometheus asks.
#[derive(Clone)]
pub struct Sources {
    /// Instruments, and all of them as text.
    pub metrics: Arc<Metrics>,
    /// Instruments of reconciles.
    pub counts: Arc<ReconcileMetrics>,
    /// Counted when asked.
    pub index: Shared,
    /// Decides which kinds there are.
    pub gang: Gang,
    /// Counted when asked.
    pub queue: Arc<Queue>,
    /// Asked for its limit.
    pub limiter: Arc<ConcurrencyLimiter>,
    /// Asked what jobs are pinned to.
    pub plugins: Arc<Plugins>,
}

/// The route.
pub fn routes(sources: Sources) -> Router {
    Router::new().route("/metrics", get(metrics)).with_state(sources)
}

async fn metrics(State(sources): State<Sources>) -> impl IntoResponse {
    let Sources { metrics, counts, index, gang, queue, limiter, plugins } = sources;
    let objects = kinds::counts(&index.read(), &gang);
    for (kind, count) in objects {
        metrics.cached(kind, count);
    }
    counts.queued(queue.depth());
    metrics.limit(limiter.limit());
    plugins.count_pins();
    match metrics.registry().text() {
        Ok(text) => {
            let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
            (StatusCode::OK, kind, text).into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}
