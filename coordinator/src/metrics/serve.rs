//! `/metrics`, `/healthz` and `/readyz` over HTTP, for Prometheus and for probes.

use super::Metrics;
use anyhow::Context as _;
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::routing::get;
use std::net::SocketAddr;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tower::limit::GlobalConcurrencyLimitLayer;

/// Others wait. A scrape of a large fleet costs some milliseconds.
const CONCURRENT_SCRAPES: usize = 8;

pub async fn bind(listen: SocketAddr) -> anyhow::Result<TcpListener> {
    let listener = crate::listener::bind(listen).await.with_context(|| {
        format!("cannot listen on {listen} for metrics; choose another address with --metrics-listen HOST:PORT")
    })?;
    tracing::info!(address = %listener.local_addr()?, "serving metrics");
    Ok(listener)
}

pub async fn serve(listener: TcpListener, metrics: Metrics, ending: CancellationToken) -> anyhow::Result<()> {
    let router = Router::new()
        .route("/metrics", get(scrape))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .with_state(metrics)
        .layer(GlobalConcurrencyLimitLayer::new(CONCURRENT_SCRAPES));
    let serving = axum::serve(listener, router).with_graceful_shutdown(ending.clone().cancelled_owned());
    tokio::select! {
        served = serving => served.context("the metrics server failed"),
        // Connections that are kept open delay nothing.
        () = ending.cancelled() => Ok(()),
    }
}

async fn scrape(State(metrics): State<Metrics>) -> ([(header::HeaderName, &'static str); 1], String) {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], metrics.text())
}

async fn ready(State(metrics): State<Metrics>) -> (StatusCode, &'static str) {
    if metrics.ready() {
        (StatusCode::OK, "leads or is on standby\n")
    } else {
        (
            StatusCode::SERVICE_UNAVAILABLE,
            "does not know the fleet yet, or is ending\n",
        )
    }
}
