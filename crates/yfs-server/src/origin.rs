//! Which web pages may talk to the server: those that it or another server on this machine sent.
//!
//! A browser sends the `Origin` of the page with each WebSocket handshake; other programs send none.
//! Without the check, any website could reach a local server through its visitor's browser. A website
//! that makes its own name point at this machine (DNS rebinding) shows in the `Host`.

use axum::http::{HeaderMap, header};

/// Tells whether a request comes from no page or from a page of this machine, and asks for this
/// machine by a name of its own.
pub(crate) fn is_local(headers: &HeaderMap) -> bool {
    let passes = |name: header::HeaderName, host_of: fn(&str) -> Option<&str>| {
        let Some(value) = headers.get(name) else { return true };
        value.to_str().is_ok_and(|value| host_of(value).is_some_and(is_loopback))
    };
    passes(header::ORIGIN, host_of_origin) && passes(header::HOST, host_of_authority)
}

fn host_of_origin(origin: &str) -> Option<&str> {
    let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"))?;
    host_of_authority(rest)
}

fn host_of_authority(authority: &str) -> Option<&str> {
    match authority.find(']') {
        Some(end) => Some(&authority[..=end]),
        None => authority.split(':').next(),
    }
}

fn is_loopback(host: &str) -> bool {
    matches!(host, "localhost" | "127.0.0.1" | "[::1]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_of_this_machine_pass() {
        let passes = |origin: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ORIGIN, origin.parse().unwrap());
            is_local(&headers)
        };
        assert!(is_local(&HeaderMap::new()));
        assert!(passes("http://localhost:5173"));
        assert!(passes("http://127.0.0.1"));
        assert!(passes("http://[::1]:8080"));
        for origin in [
            "https://example.com",
            "http://localhost.example.com",
            "http://127.0.0.1.example.com",
            "null",
            "file://",
        ] {
            assert!(!passes(origin), "{origin}");
        }
    }

    #[test]
    fn only_names_of_this_machine_are_answered() {
        let passes = |host: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, host.parse().unwrap());
            is_local(&headers)
        };
        assert!(passes("localhost:4680"));
        assert!(passes("[::1]:4680"));
        assert!(!passes("rebound.example.com:4680"));
    }
}
