//! HTTP for probes and for Prometheus.

pub mod health;
pub mod metrics;

use std::net::{Ipv6Addr, SocketAddr};

use anyhow::Context;
use axum::Router;
use tokio::net::TcpListener;

/// A socket on all addresses (IPv4 and IPv6 where the host has both, else IPv4).
pub async fn listen(port: u16) -> anyhow::Result<TcpListener> {
    let doing = || format!("listening on port {port}");
    match TcpListener::bind(SocketAddr::from((Ipv6Addr::UNSPECIFIED, port))).await {
        Ok(listener) => Ok(listener),
        Err(_) => TcpListener::bind(("0.0.0.0", port)).await.with_context(doing),
    }
}

/// Serves until the process ends.
pub async fn serve(listener: TcpListener, routes: Router) {
    if let Err(error) = axum::serve(listener, routes).await {
        tracing::error!(%error, "serving HTTP");
    }
}
