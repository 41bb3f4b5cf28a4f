//! Paths of URLs and paths of files.
//!
//! A path of a URL that could mean two files is rejected rather than normalized: an escaped slash,
//! a dot segment, a NUL, bytes that are not UTF-8.

use http::{HeaderMap, StatusCode, Uri, header};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use yfs_types::{name::NodeName, path::VPath};

use crate::answer::DavError;

/// The bytes that are escaped in an `href`: all but those that RFC 3986 calls unreserved.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Parses the path of a URL below the prefix.
pub(crate) fn path_of_url(prefix: &str, path: &str) -> Result<VPath, DavError> {
    let rest = path.strip_prefix(prefix).filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let rest = rest.ok_or_else(|| DavError::bad_request("the path is not below this service"))?;
    let mut decoded = String::with_capacity(rest.len() + 1);
    for segment in rest.split('/').filter(|segment| !segment.is_empty()) {
        let name = percent_decode_str(segment).decode_utf8();
        let name = name.map_err(|_| DavError::bad_request("the path is not UTF-8"))?;
        if name == "." || name == ".." || name.contains(['/', '\0']) {
            return Err(DavError::bad_request("the path has a segment that is not a name"));
        }
        decoded.push('/');
        // The Finder decomposes letters; locks and the workspace know composed ones.
        match NodeName::new(&name) {
            Ok(name) => decoded.push_str(name.as_str()),
            Err(_) => decoded.push_str(&name),
        }
    }
    if decoded.is_empty() {
        return Ok(VPath::root());
    }
    VPath::parse(&decoded).map_err(|error| DavError::bad_request(error.to_string()))
}

/// Parses a URL in a header of a request, which must be one of the same server.
pub(crate) fn path_of_header(
    prefix: &str,
    headers: &HeaderMap,
    url: &str,
) -> Result<VPath, DavError> {
    let malformed = || DavError::bad_request("a header has no valid URL");
    let url: Uri = url.parse().map_err(|_| malformed())?;
    if url.authority().is_some() != url.scheme().is_some() {
        return Err(malformed());
    }
    if let (Some(authority), Some(scheme)) = (url.authority(), url.scheme_str()) {
        let default_port = if scheme == "https" { ":443" } else { ":80" };
        let host = |text: &str| text.strip_suffix(default_port).unwrap_or(text).to_lowercase();
        // A proxy may ask by a name of its own; it passes on the name that the client knows.
        let names = [header::HOST.as_str(), "x-forwarded-host"].into_iter();
        let names = names.filter_map(|name| headers.get(name)?.to_str().ok());
        if !names.map(str::trim).any(|name| host(name) == host(authority.as_str())) {
            return Err(DavError::new(StatusCode::BAD_GATEWAY, "the URL is of another server"));
        }
    }
    path_of_url(prefix, url.path())
}

/// Returns the path of a URL. That of a directory ends with a slash.
pub(crate) fn href(prefix: &str, path: &VPath, is_directory: bool) -> String {
    let mut href = prefix.to_owned();
    for name in path.components() {
        href.push('/');
        href.extend(utf8_percent_encode(name, ESCAPED));
    }
    if is_directory {
        href.push('/');
    }
    href
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_one_meaning() {
        let path = |url| path_of_url("/dav", url).map(|path| path.to_string());
        assert_eq!(path("/dav").unwrap(), "/");
        assert_eq!(path("/dav/").unwrap(), "/");
        assert_eq!(path("/dav/a%20b//c/").unwrap(), "/a b/c");
        for composed in ["/dav/%C3%A9", "/dav/e%CC%81"] {
            assert_eq!(path(composed).unwrap(), "/é");
        }
        let long = format!("/dav/{}", "a/".repeat(4_096));
        for bad in [
            "/davy",
            "/x",
            "/dav/..",
            "/dav/a/%2e%2e/b",
            "/dav/.",
            "/dav/a%2fb",
            "/dav/a%00",
            "/dav/%ff",
            &long,
        ] {
            assert_eq!(path(bad).unwrap_err().status(), StatusCode::BAD_REQUEST, "{bad}");
        }
        for text in ["/", "/a b/c", "/é\"<&>'%#?", "/~$x.docx"] {
            let path = VPath::parse(text).unwrap();
            let href = href("/dav", &path, true);
            assert!(href.is_ascii() && !href.contains(['"', '<', '&', '#', '?']), "{href}");
            assert_eq!(path_of_url("/dav", &href).unwrap(), path);
        }
    }

    #[test]
    fn headers_name_this_server() {
        let headers = HeaderMap::from_iter([(header::HOST, "Files.example:80".parse().unwrap())]);
        let path = |url| path_of_header("/dav", &headers, url);
        assert_eq!(path("http://files.example:80/dav/a").unwrap().as_str(), "/a");
        assert_eq!(path("/dav/a").unwrap().as_str(), "/a");
        for (bad, status) in [
            ("http://other.example/dav/a", StatusCode::BAD_GATEWAY),
            ("http://files.example:80@other.example/dav/a", StatusCode::BAD_GATEWAY),
            ("http://files.example:80/api/files/a", StatusCode::BAD_REQUEST),
            ("not a url", StatusCode::BAD_REQUEST),
            ("", StatusCode::BAD_REQUEST),
        ] {
            assert_eq!(path(bad).unwrap_err().status(), status, "{bad}");
        }
    }
}
