//! Which web pages may send requests to the server: pages from this machine, and pages from the
//! origins that its owner named.
//!
//! A browser sends the `Origin` of the page with each WebSocket handshake; other programs send
//! none. Without the check, any website could reach a local server through its visitor's browser.
//! If a website makes its own name resolve to this machine (DNS rebinding), the `Host` header shows
//! that name; it is checked where the server asks for no token.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderValue, StatusCode, header, uri::Authority},
    middleware::Next,
    response::{IntoResponse, Response},
};
use tower_http::cors::{AllowHeaders, AllowMethods, AllowOrigin, CorsLayer};

use crate::problem::HttpProblem;

/// How long a browser may cache the permissions.
const PREFLIGHT_AGE: Duration = Duration::from_secs(600);

/// The origins whose pages may send requests.
#[derive(Debug, Clone)]
pub(crate) struct AllowedOrigins {
    named: Arc<[String]>,
    /// Whether the `Host` of a request must name this machine.
    local_host_only: bool,
}

impl AllowedOrigins {
    pub(crate) fn new(named: &[String], local_host_only: bool) -> Self {
        let named = named.iter().map(|origin| origin.trim_end_matches('/').to_owned());
        Self { named: named.collect(), local_host_only }
    }

    /// Rejects requests from pages of other origins.
    pub(crate) async fn check(
        &self,
        headers: &HeaderMap,
        request: Request,
        next: Next,
    ) -> Response {
        let authority = request.uri().authority().map(Authority::as_str);
        let is_read = request.method().is_safe();
        if self.allows(headers) && self.allows_host(authority) && (is_read || is_intended(headers))
        {
            return next.run(request).await;
        }
        HttpProblem::new(StatusCode::FORBIDDEN, "pages of this origin have no access")
            .into_response()
    }

    /// Adds the headers that let a browser show answers to permitted pages. A page of this machine
    /// or of a named origin may use every method and every header that another program may.
    pub(crate) fn cors(&self) -> CorsLayer {
        let origins = self.clone();
        let allowed = move |origin: &HeaderValue, _: &_| origins.allows_origin(origin);
        CorsLayer::new()
            .allow_origin(AllowOrigin::predicate(allowed))
            .allow_methods(AllowMethods::mirror_request())
            .allow_headers(AllowHeaders::mirror_request())
            .allow_private_network(true)
            .expose_headers([
                header::ACCEPT_RANGES,
                header::ALLOW,
                header::CONTENT_RANGE,
                header::ETAG,
                header::LAST_MODIFIED,
            ])
            .max_age(PREFLIGHT_AGE)
    }

    fn allows(&self, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(header::HOST).iter();
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let host = hosts.next().map(|host| host.to_str().unwrap_or_default());
        origins.all(|origin| self.allows_origin(origin))
            && self.allows_host(host)
            && hosts.next().is_none()
    }

    /// Reports whether a request may name the server by this host.
    fn allows_host(&self, host: Option<&str>) -> bool {
        let is_local = |host| host_of_authority(host).is_some_and(is_loopback);
        !self.local_host_only || host.is_none_or(is_local)
    }

    fn allows_origin(&self, origin: &HeaderValue) -> bool {
        let Ok(origin) = origin.to_str() else { return false };
        let is_named = self.named.iter().any(|named| named.eq_ignore_ascii_case(origin));
        is_named || host_of_origin(origin).is_some_and(is_loopback)
    }
}

fn host_of_origin(origin: &str) -> Option<&str> {
    let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"))?;
    host_of_authority(rest)
}

/// Returns the host, unless its suffix is not a port.
fn host_of_authority(authority: &str) -> Option<&str> {
    let end = match authority.find(']') {
        Some(end) => end + 1,
        None => authority.find(':').unwrap_or(authority.len()),
    };
    let (host, rest) = authority.split_at(end);
    let is_port = |port: &str| {
        port.starts_with(|first: char| first.is_ascii_digit()) && port.parse::<u16>().is_ok()
    };
    let is_whole = rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port);
    is_whole.then_some(host)
}

/// Reports whether the browser does not declare the page of a request that changes the workspace to
/// be of another site. A request with an `Origin` is checked by that.
fn is_intended(headers: &HeaderMap) -> bool {
    let is_cross = headers.get("sec-fetch-site").is_some_and(|site| site == "cross-site");
    !is_cross || headers.contains_key(header::ORIGIN)
}

fn is_loopback(host: &str) -> bool {
    matches!(host, "localhost" | "127.0.0.1" | "[::1]")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(origins: &AllowedOrigins, name: header::HeaderName, value: &str) -> bool {
        origins.allows(&HeaderMap::from_iter([(name, value.parse().unwrap())]))
    }

    #[test]
    fn only_pages_of_this_machine_and_of_named_origins_pass() {
        let origins = AllowedOrigins::new(&["https://docs.example.com/".to_owned()], false);
        let passes = |origin| allows(&origins, header::ORIGIN, origin);
        assert!(origins.allows(&HeaderMap::new()));
        assert!(passes("http://localhost:5173"));
        assert!(passes("http://127.0.0.1"));
        assert!(passes("http://[::1]:8080"));
        assert!(passes("https://docs.example.com"));
        for origin in [
            "https://example.com",
            "http://docs.example.com",
            "http://localhost.example.com",
            "http://127.0.0.1.example.com",
            "http://[::1].example.com",
            "http://[::1]example.com",
            "http://localhost@example.com",
            "http://localhost:80@example.com",
            "https://localhost:99999",
            "http://localhost:",
            "null",
            "file://",
        ] {
            assert!(!passes(origin), "{origin}");
        }
    }

    #[test]
    fn an_open_server_answers_only_to_names_of_this_machine() {
        let open = AllowedOrigins::new(&[], true);
        let passes = |host| allows(&open, header::HOST, host);
        assert!(passes("localhost:4680"));
        assert!(passes("[::1]:4680"));
        for host in ["rebound.example.com:4680", "[::1].example.com", "[::1]x", "localhost:x@y", ""]
        {
            assert!(!passes(host), "{host}");
        }
        let two = [(header::HOST, "localhost"), (header::HOST, "example.com")];
        let mut headers = HeaderMap::new();
        for (name, value) in two {
            headers.append(name, value.parse().unwrap());
        }
        assert!(!open.allows(&headers));
        assert!(open.allows_host(None) && !open.allows_host(Some("example.com")));
        let closed = AllowedOrigins::new(&[], false);
        assert!(allows(&closed, header::HOST, "files.example.com"));
    }
}
