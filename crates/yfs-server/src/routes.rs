//! What is where, and what every answer has.

use axum::{
    Router,
    extract::{DefaultBodyLimit, Path, Request, State, WebSocketUpgrade, ws::WebSocket},
    http::{HeaderMap, Uri, header},
    middleware::{Next, from_fn, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::{get, post},
};

use crate::{
    access::token_protocol,
    blobs, collab,
    entry::Pass,
    events::events,
    files,
    metrics::{Answered, metrics},
    openapi::openapi,
    origin::Origins,
    replicate,
    serve::{App, ServeOptions},
    session,
    tree::tree,
};

/// The greatest size of one WebSocket message, in bytes. A first sync of a large table is an honest 18 MB.
const MAX_MESSAGE_LEN: usize = 64 << 20;

/// How much of a WebSocket is read at once, in bytes; every connection holds that much.
const READ_BUFFER_LEN: usize = 4 << 10;

/// The greatest size of a blob in a request, in bytes.
const MAX_BLOB_LEN: usize = 1 << 30;

/// Returns the routes.
pub(crate) fn router(app: App, options: &ServeOptions) -> Router {
    let origins = Origins::new(&options.origins, options.open);
    let blob = get(blobs::get).put(blobs::put).layer(DefaultBodyLimit::max(MAX_BLOB_LEN));
    let blobs = post(blobs::post).layer(DefaultBodyLimit::max(MAX_BLOB_LEN));
    Router::new()
        .route("/", get(home))
        .route("/healthz", get(async || "ok"))
        .route("/openapi.json", get(openapi))
        .route("/metrics", get(metrics))
        .route("/events", get(events))
        .route("/api/tree", get(tree))
        .route("/api/blobs", blobs)
        .route("/api/blobs/{hash}", blob)
        .merge(files::routes())
        .route("/sync/{guid}", get(sync))
        .route("/collab", get(collab_))
        .route("/replicate", get(replicate_))
        .layer(origins.cors())
        .layer(from_fn(move |headers: HeaderMap, request: Request, next: Next| {
            let origins = origins.clone();
            async move { origins.check(&headers, request, next).await }
        }))
        .layer(from_fn_with_state(app.clone(), count))
        .with_state(app)
}

async fn home() -> &'static str {
    include_str!("home.txt")
}

async fn count(State(app): State<App>, request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    let status = u32::from(response.status().as_u16());
    app.metrics.requests.get_or_create(&Answered { status }).inc();
    response
}

async fn sync(
    State(app): State<App>,
    Path(guid): Path<String>,
    headers: HeaderMap,
    uri: Uri,
    upgrade: WebSocketUpgrade,
) -> Response {
    let pass = Pass::of_request(&headers, &uri);
    upgraded(&headers, upgrade, move |socket| session::run(socket, app, guid, pass))
}

async fn collab_(
    State(app): State<App>,
    headers: HeaderMap,
    uri: Uri,
    upgrade: WebSocketUpgrade,
) -> Response {
    let pass = Pass::of_request(&headers, &uri);
    upgraded(&headers, upgrade, move |socket| collab::run(socket, app, pass))
}

async fn replicate_(
    State(app): State<App>,
    headers: HeaderMap,
    uri: Uri,
    upgrade: WebSocketUpgrade,
) -> Response {
    let pass = Pass::of_request(&headers, &uri);
    upgraded(&headers, upgrade, move |socket| replicate::run(socket, app, pass))
}

fn upgraded<F: Future<Output = ()> + Send + 'static>(
    headers: &HeaderMap,
    upgrade: WebSocketUpgrade,
    serve: impl FnOnce(WebSocket) -> F + Send + 'static,
) -> Response {
    let upgrade = upgrade.max_message_size(MAX_MESSAGE_LEN).max_frame_size(MAX_MESSAGE_LEN);
    let upgrade = upgrade.read_buffer_size(READ_BUFFER_LEN).write_buffer_size(0);
    let protocol = token_protocol(headers).map(str::to_owned);
    let mut response = upgrade.protocols(protocol).on_upgrade(serve).into_response();
    // The answer must not carry the token into logs of what is between.
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-store"));
    response
}
