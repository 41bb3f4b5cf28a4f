//! The media type of a content, by its first bytes and its name.

use smol_str::SmolStr;
use yfs_vfs::stat::mime_of;

/// The first bytes of a content that decide its type.
pub(crate) const HEAD_LEN: usize = 8 << 10;

/// The type of bytes that nothing is known of.
pub(crate) const UNKNOWN: &str = "application/octet-stream";

/// Types of containers, which the name tells apart better than the first bytes: a document of an
/// office program is a zip archive.
const CONTAINERS: [&str; 4] =
    ["application/zip", "application/gzip", "application/x-ole-storage", "text/xml"];

/// Returns the media type of a content: by its first bytes if they are those of a binary format,
/// else by its name, else plain text if it is UTF-8.
pub fn detect_media_type(name: &str, head: &[u8]) -> SmolStr {
    let head = &head[..head.len().min(HEAD_LEN)];
    let by_name = mime_of(name);
    let by_content = infer::get(head).map(|kind| kind.mime_type());
    match by_content {
        // Formats of text, such as HTML and shell scripts, are guessed; the name states them.
        Some(mime) if by_name != UNKNOWN && (CONTAINERS.contains(&mime) || is_text(mime)) => {
            by_name
        }
        Some(mime) => mime.into(),
        None if by_name != UNKNOWN => by_name,
        None if is_utf8(head) => "text/plain".into(),
        None => UNKNOWN.into(),
    }
}

fn is_text(mime: &str) -> bool {
    mime.starts_with("text/")
}

/// Reports whether bytes are the beginning of a text.
fn is_utf8(head: &[u8]) -> bool {
    let text = match std::str::from_utf8(head) {
        Ok(_) => head,
        // The last character may be cut.
        Err(error) if error.error_len().is_none() => &head[..error.valid_up_to()],
        Err(_) => return false,
    };
    !head.is_empty() && !text.contains(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_decides_for_binary_formats_and_names_for_texts() {
        let png = b"\x89PNG\r\n\x1a\n";
        let cases: [(&str, &[u8], &str); 9] = [
            ("photo", png, "image/png"),
            ("photo.txt", png, "image/png"),
            ("config.json", b"{}", "application/json"),
            ("notes", "gr\u{f6}\u{df}e".as_bytes(), "text/plain"),
            ("cut", b"abc\xc3", "text/plain"),
            ("data", b"\0\x01\x02", "application/octet-stream"),
            ("empty", b"", "application/octet-stream"),
            ("page.html", b"<!DOCTYPE html>", "text/html"),
            (
                "slides.pptx",
                b"PK\x03\x04",
                "application/vnd.openxmlformats-officedocument.presentationml.presentation",
            ),
        ];
        for (name, head, expected) in cases {
            assert_eq!(detect_media_type(name, head), expected, "{name}");
        }
    }
}
