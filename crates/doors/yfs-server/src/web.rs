//! The web application at `/`, and a short guide for programs that ask for no page.

use std::borrow::Cow;

use axum::{
    extract::Path,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use yfs_dav::conditions::unchanged;
use yfs_web::{EmbeddedContent, WebFile};

use crate::problem::HttpProblem;

/// What the page may load, beside its connections: its own files, and contents of the workspace and
/// of the web as images.
const POLICY: &str = "default-src 'self'; img-src 'self' blob: data: https:; media-src blob:; \
                      frame-src blob:; object-src 'none'; \
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

/// Returns the policy of the page that was asked for at a host: it connects to this host only. Some
/// browsers do not count a WebSocket of the same host as the same origin.
fn policy(headers: &HeaderMap) -> HeaderValue {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-.:[]".contains(char);
    let host = host.filter(|host| !host.is_empty() && host.chars().all(is_plain));
    let sockets = host.map_or_else(String::new, |host| format!(" ws://{host} wss://{host}"));
    let policy = format!("{POLICY}; connect-src 'self'{sockets}");
    HeaderValue::from_str(&policy).expect("the host was checked")
}

/// Returns the form of a content that a client accepts, and its coding.
fn accepted_form(
    file: &WebFile,
    headers: &HeaderMap,
) -> (Cow<'static, [u8]>, Option<&'static str>) {
    let accepted = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    let accepts = |coding: &str| {
        let mut codings = accepted.into_iter().flat_map(|codings| codings.split(','));
        codings.any(|one| {
            let (name, weight) = one.split_once(';').unwrap_or((one, ""));
            // RFC 9110, 12.5.3: a weight of 0 rejects a coding.
            let weight = weight.trim().trim_start_matches("q=");
            name.trim().eq_ignore_ascii_case(coding) && weight.parse() != Ok(0.0)
        })
    };
    match file.content {
        EmbeddedContent::Brotli(brotli) if accepts("br") => (brotli.into(), Some("br")),
        content => match accepts("gzip").then(|| file.gzip()).flatten() {
            Some(gzip) => (gzip.into(), Some("gzip")),
            None => (content.plain(), None),
        },
    }
}

fn respond(file: &WebFile, headers: &HeaderMap) -> Response {
    let is_unchanged = unchanged(headers, file.etag);
    let mut response = match is_unchanged {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => {
            let (content, coding) = accepted_form(file, headers);
            let coding = coding.map(|coding| [(header::CONTENT_ENCODING, coding)]);
            (coding, content).into_response()
        }
    };
    let set = response.headers_mut();
    if !is_unchanged {
        set.insert(header::CONTENT_TYPE, HeaderValue::from_static(file.content_type));
    }
    set.insert(header::ETAG, HeaderValue::from_static(file.etag));
    set.insert(header::VARY, HeaderValue::from_static("accept, accept-encoding"));
    let age = if file.is_immutable { "public, max-age=31536000, immutable" } else { "no-cache" };
    set.insert(header::CACHE_CONTROL, HeaderValue::from_static(age));
    set.insert(header::CONTENT_SECURITY_POLICY, policy(headers));
    set.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // The token is in the fragment of the link, which no request has; the path is in none either.
    set.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_gets_the_form_that_it_accepts() {
        let Some(file) = yfs_web::file("index.html") else { return };
        let EmbeddedContent::Brotli(brotli) = file.content else { panic!("it is compressed") };
        let gzip = file.gzip().expect("it can be compressed");
        let form_for = |accepted: Option<&'static str>| {
            let value = accepted.map(HeaderValue::from_static);
            let headers = value.map(|value| (header::ACCEPT_ENCODING, value)).into_iter().collect();
            accepted_form(&file, &headers)
        };
        for codings in ["br", "gzip, deflate, br, zstd", "gzip;q=1.0,BR;q=0.5"] {
            assert_eq!(form_for(Some(codings)), (brotli.into(), Some("br")), "{codings}");
        }
        for codings in ["gzip", "deflate,gzip", "br;q=0, gzip", "brotli, gzip;q=0.1"] {
            assert_eq!(form_for(Some(codings)), (gzip.into(), Some("gzip")), "{codings}");
        }
        for codings in [None, Some(""), Some("identity"), Some("gzip;q=0"), Some("gzip; q=0.000")] {
            assert_eq!(form_for(codings), (file.content.plain(), None), "{codings:?}");
        }
    }

    /// The page could connect to any host by a WebSocket.
    #[test]
    fn the_page_connects_to_its_own_host_only() {
        let connects = |host: &'static str| {
            let headers = [(header::HOST, HeaderValue::from_static(host))].into_iter().collect();
            let policy = policy(&headers);
            let policy = policy.to_str().unwrap();
            policy.split("; ").find(|part| part.starts_with("connect-src")).unwrap().to_owned()
        };
        let own = "connect-src 'self' ws://files.example:81 wss://files.example:81";
        assert_eq!(connects("files.example:81"), own);
        assert_eq!(connects("[::1]:4680"), "connect-src 'self' ws://[::1]:4680 wss://[::1]:4680");
        for host in ["", "a b", "a; img-src *", "*", "a/*", "a,b"] {
            assert_eq!(connects(host), "connect-src 'self'", "{host:?}");
        }
        assert!(!POLICY.contains("http:") && !POLICY.contains("ws:"));
    }
}
