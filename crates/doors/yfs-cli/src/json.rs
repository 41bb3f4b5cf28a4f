//! The JSON of nodes and contents for shells: times by RFC 3339, modes in octal. `docs/cli.md`
//! describes all shapes.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::Serialize;
use serde_json::{Value, json};
use yfs_vfs::{DirEntry, FileKind, Stat};
use yfs_wire::{EntryJson, NodeKindJson, OctalMode, Rfc3339Time, StatJson};

/// Returns the name of a kind.
pub(crate) fn kind(kind: FileKind) -> &'static str {
    NodeKindJson::from(kind).as_str()
}

/// Describes an entry of a directory.
pub(crate) fn entry(path: &str, entry: &DirEntry) -> Value {
    value(&EntryJson::<Rfc3339Time, OctalMode>::new(path, entry))
}

/// Describes a node.
pub(crate) fn stat(path: &str, stat: &Stat, target: Option<&str>) -> Value {
    let described = StatJson::<Rfc3339Time, OctalMode>::new(path, stat);
    value(&StatJson { target: target.map(str::to_owned), ..described })
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
    OctalMode::from(mode).0
}

/// Converts an answer to JSON.
pub(crate) fn value(answer: &impl Serialize) -> Value {
    serde_json::to_value(answer).expect("strings and numbers are JSON")
}

/// Converts an answer to JSON and adds members to it.
pub(crate) fn with(answer: &impl Serialize, more: Value) -> Value {
    let mut value = value(answer);
    if let (Value::Object(members), Value::Object(more)) = (&mut value, more) {
        members.extend(more);
    }
    value
}
