//! Reading files that are not text.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use smol_str::SmolStr;

use super::{ReferencePathInput, allowed_path, worded};
use crate::{
    media::file_uri,
    tool::{ReplyBlock, ToolReply},
    tool_call::ToolCall,
    tool_outcome::{ToolAnswer, ToolFailure, ToolOutcome},
};

records! { results:
/// The result of reading a file that is not text.
pub(super) MediaResult {
    /// The block of the reply.
    content: Vec<Value>,
}
}

pub(super) async fn read_media_file(
    call: ToolCall,
    input: ReferencePathInput,
) -> ToolOutcome<MediaResult> {
    let path = allowed_path(&call, &input.path)?;
    let max_len = call.session().limits().max_media_len;
    let data = worded(&call, &path, call.read(&path).await).await?.data;
    if data.len() as u64 > max_len {
        let text = format!("{path} has {} bytes; the most is {max_len}", data.len());
        return Err(ToolFailure::Refused(text));
    }
    let (mime, encoded) = (mime_of(path.file_name().unwrap_or_default()), STANDARD.encode(&data));
    let kind = mime.split('/').next().unwrap_or_default();
    let (uri, media_type) = (file_uri(&path), SmolStr::new_static(mime));
    let shown = match kind {
        "image" | "audio" => json!({"type": kind, "data": encoded, "mimeType": mime}),
        _ => {
            let resource = json!({"uri": uri, "mimeType": mime, "blob": encoded});
            json!({"type": "resource", "resource": resource})
        }
    };
    let block = match kind {
        "image" => ReplyBlock::Image { data, mime: media_type },
        "audio" => ReplyBlock::Audio { data, mime: media_type },
        _ => ReplyBlock::Resource { uri, data, mime: media_type },
    };
    let reply = ToolReply { blocks: vec![block], ..ToolReply::default() };
    Ok(ToolAnswer::of(reply, &MediaResult { content: vec![shown] }))
}

/// Returns the media type that the reference has for the name of a file.
fn mime_of(name: &str) -> &'static str {
    let name = name.to_ascii_lowercase();
    match name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()) {
        Some((_, "png")) => "image/png",
        Some((_, "jpg" | "jpeg")) => "image/jpeg",
        Some((_, "gif")) => "image/gif",
        Some((_, "webp")) => "image/webp",
        Some((_, "bmp")) => "image/bmp",
        Some((_, "svg")) => "image/svg+xml",
        Some((_, "mp3")) => "audio/mpeg",
        Some((_, "wav")) => "audio/wav",
        Some((_, "ogg")) => "audio/ogg",
        Some((_, "flac")) => "audio/flac",
        _ => "application/octet-stream",
    }
}
