//! Uploads that go on after a lost connection, and downloads by the browser itself.

mod archive;
mod byte_stream;
mod downloads;
mod upload_requests;
mod uploads;

pub(crate) use self::{downloads::DownloadTickets, uploads::UploadStore};

use axum::{
    Router,
    extract::DefaultBodyLimit,
    routing::{get, post},
};

use crate::server_state::ServerState;

/// The greatest size of a request body that names paths, in bytes.
const MAX_PATHS_LEN: usize = 1 << 20;

/// Returns the routes.
pub(crate) fn routes() -> Router<ServerState> {
    let upload = get(upload_requests::get).patch(upload_requests::patch);
    let upload = upload.post(upload_requests::finish).delete(upload_requests::delete);
    Router::new()
        .route("/api/uploads", post(upload_requests::create))
        .route("/api/uploads/{id}", upload)
        .route("/api/downloads", post(downloads::create))
        .route("/api/downloads/{id}", get(downloads::get))
        .layer(DefaultBodyLimit::max(MAX_PATHS_LEN))
}

/// Returns an id that cannot be guessed.
fn random_id() -> String {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the operating system has a random source");
    blake3::hash(&bytes).to_hex()[..32].to_owned()
}
