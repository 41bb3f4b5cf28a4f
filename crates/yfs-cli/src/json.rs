//! The JSON shapes that several commands share. `docs/cli.md` describes them.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use yfs_vfs::{DirEntry, FileKind, Stat, VersionToken, WriteOutcome};

use crate::parse_time;

/// Returns the name of a kind.
pub(crate) fn kind(kind: FileKind) -> &'static str {
    match kind {
        FileKind::File => "file",
        FileKind::Directory => "directory",
        FileKind::Symlink => "symlink",
        _ => "other",
    }
}

/// Describes an entry of a directory.
pub(crate) fn entry(path: &str, entry: &DirEntry) -> Value {
    json!({
        "path": path,
        "name": entry.name.as_str(),
        "id": entry.id.as_str(),
        "kind": kind(entry.kind),
        "size": entry.size,
        "mode": octal(entry.mode),
        "mtime": parse_time::rfc3339(entry.mtime),
    })
}

/// Describes an object.
pub(crate) fn stat(path: &str, stat: &Stat, target: Option<&str>) -> Value {
    let mut value = json!({
        "path": path,
        "id": stat.id.as_str(),
        "kind": kind(stat.kind),
        "size": stat.size,
        "mode": octal(stat.mode),
        "mtime": parse_time::rfc3339(stat.mtime),
        "created": parse_time::rfc3339(stat.created),
        "mime": stat.mime.as_deref(),
        "version": stat.version.as_ref().map(VersionToken::as_str),
        "metadata": stat.metadata,
    });
    if let Some(target) = target {
        value["target"] = target.into();
    }
    value
}

/// Describes the result of a write.
pub(crate) fn written(path: &str, written: &WriteOutcome) -> Value {
    let overlap = |overlap: &yfs_vfs::EditOverlap| {
        let actor = overlap.actor.as_ref().map(ToString::to_string);
        json!({ "offset": overlap.offset, "len": overlap.len, "actor": actor })
    };
    json!({
        "path": path,
        "id": written.id.as_str(),
        "version": written.version.as_ref().map(VersionToken::as_str),
        "merged": written.merged,
        "size": written.size,
        "created": written.created,
        "overlaps": written.overlaps.iter().map(overlap).collect::<Vec<Value>>(),
    })
}

/// Describes content: as `content` if it is UTF-8, otherwise as `base64`.
pub(crate) fn content(path: &str, data: &[u8]) -> Value {
    match std::str::from_utf8(data) {
        Ok(text) => json!({ "path": path, "size": data.len(), "content": text }),
        Err(_) => json!({ "path": path, "size": data.len(), "base64": STANDARD.encode(data) }),
    }
}

/// Formats permission bits as four octal digits.
pub(crate) fn octal(mode: u32) -> String {
    format!("{mode:04o}")
}
