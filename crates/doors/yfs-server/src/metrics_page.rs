//! The page of metrics.

use std::sync::Arc;

use axum::extract::State;

use crate::{
    metrics::{ServerMetrics, to_gauge},
    peers::count_peers,
    prelude::*,
};

/// The media type of the answer (OpenMetrics 1.0).
const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Answers `GET /metrics`.
pub(crate) async fn metrics(State(app): State<ServerState>, caller: RequestCaller) -> Result {
    caller.needs_whole()?;
    let metrics: &Arc<ServerMetrics> = &app.metrics;
    let (documents, bytes) = app.workspace.documents().usage();
    let stats = app.workspace.store().stats()?;
    metrics.documents.set(to_gauge(documents as u64));
    metrics.document_bytes.set(to_gauge(bytes));
    metrics.log_head.set(to_gauge(stats.head.0));
    metrics.store_bytes.set(to_gauge(stats.file_bytes));
    apart(async { count_peers(&app, metrics) }).await?;
    let text = metrics
        .to_text()
        .map_err(|error| HttpProblem::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
    let response: Response = ([(header::CONTENT_TYPE, MEDIA_TYPE)], text).into_response();
    Ok(response)
}
