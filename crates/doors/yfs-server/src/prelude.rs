//! The names that nearly every handler uses.

pub(crate) use axum::{
    Json,
    extract::Path,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

pub(crate) use crate::{
    caller::{RequestCaller, apart, path_of},
    extract::{JsonBody, QueryParameters},
    problem::{HttpProblem, Result},
    server_state::ServerState,
};
