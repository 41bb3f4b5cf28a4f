//! Files that are no text for a model: images, sounds, documents, and their blocks.

use bytes::Bytes;
use yfs_types::path::VPath;
use yfs_vfs::stat::mime_of;

use crate::tool::ReplyBlock;

/// Reports whether a file is shown as an image, sound or document, by its name.
pub(crate) fn is_media(path: &VPath) -> bool {
    let mime = mime_of(path.file_name().unwrap_or_default());
    let is_document = mime == "application/pdf"
        || mime == "application/vnd.ms-powerpoint"
        || mime.starts_with("application/vnd.openxmlformats-officedocument.presentationml");
    // An SVG is text that a model reads, and what mime tables call video/mp2t is TypeScript.
    let is_text = mime == "image/svg+xml" || mime == "video/vnd.dlna.mpeg-tts";
    let shown = ["image/", "audio/", "video/"].iter().any(|kind| mime.starts_with(kind));
    (shown && !is_text) || is_document
}

/// Returns the block of a file that is not text.
pub(crate) fn media_block(path: &VPath, data: Bytes) -> ReplyBlock {
    let mime = mime_of(path.file_name().unwrap_or_default());
    if mime.starts_with("image/") {
        ReplyBlock::Image { data, mime }
    } else if mime.starts_with("audio/") {
        ReplyBlock::Audio { data, mime }
    } else {
        ReplyBlock::Resource { uri: file_uri(path), data, mime }
    }
}

/// Returns the `file:` URI of a path, percent-encoded.
pub fn file_uri(path: &VPath) -> String {
    let mut uri = String::from("file://");
    for byte in path.as_str().bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                uri.push(char::from(byte));
            }
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}
