//! The web application at `/`, and a short guide for programs that ask for no page.

use axum::{
    extract::Path,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use yfs_web::WebFile;

use crate::{files::unchanged, problem::HttpProblem};

/// What the page may load: its own files, and contents of the workspace and of the web as images.
const POLICY: &str = "default-src 'self'; connect-src 'self' ws: wss:; img-src 'self' blob: data: \
                      https: http:; media-src blob:; frame-src blob:; object-src 'none'; \
                      style-src 'self' 'unsafe-inline'; worker-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

/// What a browser sees if the program was built without the application.
const MISSING: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>yfs</title>\
                       <p>This yfs was built without the web editor, because Node.js and npm were \
                       not found. Install both and build again, or set YFS_WEB_DIST to a bundle.";

/// Answers `GET /`.
pub(crate) async fn home(headers: HeaderMap) -> Response {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    if !accept.is_some_and(|accept| accept.contains("text/html")) {
        return include_str!("home.txt").into_response();
    }
    match yfs_web::file("index.html") {
        Some(page) => respond(&page, &headers),
        None => ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], MISSING).into_response(),
    }
}

/// Answers `GET /assets/{path}`.
pub(crate) async fn asset(Path(path): Path<String>, headers: HeaderMap) -> Response {
    match yfs_web::file(&format!("assets/{path}")) {
        Some(file) => respond(&file, &headers),
        None => HttpProblem::new(StatusCode::NOT_FOUND, "no such file").into_response(),
    }
}

/// Answers `GET /sw.js`: the worker that serves the page while the server is away. Its scope is the
/// directory that it comes from.
pub(crate) async fn service_worker(headers: HeaderMap) -> Response {
    match yfs_web::file("sw.js") {
        Some(file) => respond(&file, &headers),
        None => HttpProblem::new(StatusCode::NOT_FOUND, "no such file").into_response(),
    }
}

fn respond(file: &WebFile, headers: &HeaderMap) -> Response {
    let accepted = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    let takes_brotli = accepted.is_some_and(|accepted| {
        accepted.split(',').any(|coding| coding.split(';').next() == Some("br"))
            || accepted.split(", ").any(|coding| coding == "br")
    });
    let brotli = file.brotli.filter(|_| takes_brotli);
    let is_unchanged = unchanged(headers, file.etag);
    let mut response = match is_unchanged {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => brotli.unwrap_or(file.content).into_response(),
    };
    let set = response.headers_mut();
    if !is_unchanged {
        set.insert(header::CONTENT_TYPE, HeaderValue::from_static(file.content_type));
        if brotli.is_some() {
            set.insert(header::CONTENT_ENCODING, HeaderValue::from_static("br"));
        }
    }
    set.insert(header::ETAG, HeaderValue::from_static(file.etag));
    set.insert(header::VARY, HeaderValue::from_static("accept, accept-encoding"));
    let age = if file.is_immutable { "public, max-age=31536000, immutable" } else { "no-cache" };
    set.insert(header::CACHE_CONTROL, HeaderValue::from_static(age));
    set.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    set.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // The token is in the fragment of the link, which no request has; the path is in none either.
    set.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}
