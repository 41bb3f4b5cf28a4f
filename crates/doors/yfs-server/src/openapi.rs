//! `GET /openapi.json`: the description of this server, for programs.

use axum::{http::header, response::IntoResponse};

/// The document, in OpenAPI 3.1.
const OPENAPI: &str = include_str!("openapi.json");

/// Answers `GET /openapi.json`.
pub(crate) async fn openapi() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], OPENAPI)
}
