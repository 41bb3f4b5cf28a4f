//! Extractors of queries and JSON bodies. Their rejections are answered with problem details (RFC
//! 9457), as all other failures are.

use axum::{
    extract::{self, FromRequest, FromRequestParts, Request},
    http::request::Parts,
};
use serde::de::DeserializeOwned;

use crate::problem::HttpProblem;

/// The query of a request.
#[derive(Debug)]
pub(crate) struct QueryParameters<T>(pub(crate) T);

/// The body of a request, from JSON.
#[derive(Debug)]
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for QueryParameters<T> {
    type Rejection = HttpProblem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpProblem> {
        match extract::Query::from_request_parts(parts, state).await {
            Ok(extract::Query(query)) => Ok(Self(query)),
            Err(reason) => Err(HttpProblem::new(reason.status(), reason.body_text())),
        }
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = HttpProblem;

    async fn from_request(request: Request, state: &S) -> Result<Self, HttpProblem> {
        match extract::Json::from_request(request, state).await {
            Ok(extract::Json(body)) => Ok(Self(body)),
            Err(reason) => Err(HttpProblem::new(reason.status(), reason.body_text())),
        }
    }
}
