//! URIs of files: `file:` and a path, percent-encoded (RFC 3986, RFC 8089).

use yfs_types::path::VPath;

pub use yfs_agent::file_uri;

/// Returns the path of a URI, or `None` if it is not the URI of a local file.
pub fn path_of_uri(uri: &str) -> Option<VPath> {
    let (scheme, rest) = uri.split_once(':')?;
    let rest = rest.strip_prefix("//").filter(|_| scheme.eq_ignore_ascii_case("file"))?;
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    if !rest.starts_with('/') {
        return None;
    }
    let mut bytes = Vec::with_capacity(rest.len());
    let mut chars = rest.bytes();
    while let Some(byte) = chars.next() {
        bytes.push(match byte {
            b'%' => hex_digit(chars.next()?)? << 4 | hex_digit(chars.next()?)?,
            b'?' | b'#' => return None,
            byte => byte,
        });
    }
    VPath::parse(std::str::from_utf8(&bytes).ok()?).ok()
}

fn hex_digit(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| digit.try_into().ok())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_path_survives_its_uri() {
        let path = VPath::parse("/a b/100%/é#?.md").unwrap();
        let uri = file_uri(&path);
        expect!["file:///a%20b/100%25/%C3%A9%23%3F.md"].assert_eq(&uri);
        assert_eq!(path_of_uri(&uri), Some(path));
    }

    #[test]
    fn other_uris_are_no_files() {
        for uri in ["/a", "http://h/a", "file:a", "file://h/a", "file:///a%2", "file:///%ff", "x"] {
            assert_eq!(path_of_uri(uri), None, "{uri}");
        }
        assert_eq!(path_of_uri("FILE://localhost/a"), VPath::parse("/a").ok());
    }
}
