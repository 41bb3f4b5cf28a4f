//! The routes, and the headers of every answer.

use std::time::Duration;

use axum::{
    Router,
    extract::{Path, Request, State},
    http::HeaderMap,
    middleware::{Next, from_fn, from_fn_with_state},
    response::Response,
    routing::{any, delete, get, post},
};
use tower_http::timeout::RequestBodyTimeoutLayer;

use crate::{
    artifacts, blobs, collab, dav, events::events, files, grant_stream::under_grant, mcp,
    metrics::StatusLabel, metrics_page::metrics, openapi::openapi, origin::AllowedOrigins,
    peers::peers, people, replicate, serve::ServeOptions, server_state::ServerState, threads,
    tokens, transfers, tree_response::tree, unread_body::drain_unread, upgrade::WebsocketUpgrade,
    web, websocket_session,
};

/// How long a client may pause while it sends a body.
const BODY_LIMIT: Duration = Duration::from_secs(30);

/// Returns the routes.
pub(crate) fn router(app: ServerState, options: &ServeOptions) -> Router {
    let origins = AllowedOrigins::new(&options.origins, options.open);
    let webdav = dav::routes()
        .layer(from_fn_with_state(app.clone(), under_grant))
        .layer(RequestBodyTimeoutLayer::new(BODY_LIMIT));
    let routes = Router::new()
        .route("/", get(web::home))
        .route("/assets/{*path}", get(web::asset))
        .route("/sw.js", get(web::service_worker))
        .route("/healthz", get(async || "ok"))
        .route("/openapi.json", get(openapi))
        .route("/metrics", get(metrics))
        .route("/events", get(events))
        .route("/api/tree", get(tree))
        .route("/api/blobs", post(blobs::post))
        .route("/api/blobs/{hash}", get(blobs::get).put(blobs::put))
        .route("/api/peers", get(peers))
        .route("/api/people", post(people::post))
        .route("/api/tokens", get(tokens::list).post(tokens::make))
        .route("/api/tokens/{id}", delete(tokens::revoke))
        .route("/api/name", post(tokens::take_name))
        .merge(files::routes())
        .merge(threads::routes())
        .merge(artifacts::routes())
        .merge(transfers::routes())
        .route("/mcp", any(mcp::mcp))
        .route("/sync/{guid}", get(sync))
        .route("/collab", get(several))
        .route("/replicate", get(store))
        .layer(from_fn_with_state(app.clone(), under_grant))
        .layer(RequestBodyTimeoutLayer::new(BODY_LIMIT))
        .layer(origins.cors());
    // Outside of what answers the preflights of pages: OPTIONS is a method of WebDAV.
    webdav
        .merge(routes)
        .layer(from_fn(move |headers: HeaderMap, request: Request, next: Next| {
            let origins = origins.clone();
            async move { origins.check(&headers, request, next).await }
        }))
        .layer(from_fn_with_state(app.clone(), count))
        .layer(from_fn(drain_unread))
        .with_state(app)
}

async fn count(State(app): State<ServerState>, request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    let status = u32::from(response.status().as_u16());
    app.metrics.requests.get_or_create(&StatusLabel { status }).inc();
    response
}

async fn sync(
    State(app): State<ServerState>,
    Path(guid): Path<String>,
    upgrade: WebsocketUpgrade,
) -> Response {
    upgrade.serve(move |socket, pass| websocket_session::run(socket, app, guid, pass))
}

async fn several(State(app): State<ServerState>, upgrade: WebsocketUpgrade) -> Response {
    upgrade.serve(move |socket, pass| collab::run(socket, app, pass))
}

async fn store(State(app): State<ServerState>, upgrade: WebsocketUpgrade) -> Response {
    upgrade.serve(move |socket, pass| replicate::run(socket, app, pass))
}

#[cfg(test)]
mod tests;
