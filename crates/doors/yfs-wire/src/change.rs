//! Changes of the tree and of contents, as `/events` and the Node package's `watch` report them.

use serde::Serialize;
use yfs_types::time::Millis;
use yfs_vfs::{ChangeKind, FileChange};

use crate::{node_kind::NodeKindJson, time::UnixMillis};

/// A change of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[cfg_attr(feature = "schema", ts(rename = "ChangeEvent", concrete(T = UnixMillis)))]
#[cfg_attr(feature = "schema", schemars(rename = "Change"))]
pub struct ChangeJson<T = UnixMillis> {
    /// What happened to the node.
    pub r#type: ChangeType,
    /// The path of the node after the change; of a removed node the path before.
    pub path: String,
    /// The path before, if the node moved.
    pub from: Option<String>,
    /// The id of the node, which moves and renames keep.
    pub id: String,
    /// The kind of the node.
    pub kind: NodeKindJson,
    /// The author, if known.
    pub actor: Option<String>,
    /// The time of the change.
    pub at: T,
}

/// What happened to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub enum ChangeType {
    /// It was created or restored.
    Created,
    /// Its content or its attributes changed.
    Changed,
    /// It has another path.
    Moved,
    /// It was moved to the trash.
    Removed,
}

impl<T: From<Millis>> From<&FileChange> for ChangeJson<T> {
    fn from(change: &FileChange) -> Self {
        let (r#type, from) = match &change.kind {
            ChangeKind::Created => (ChangeType::Created, None),
            ChangeKind::Moved { from } => (ChangeType::Moved, Some(from.to_string())),
            ChangeKind::Removed => (ChangeType::Removed, None),
            _ => (ChangeType::Changed, None),
        };
        Self {
            r#type,
            path: change.path.to_string(),
            from,
            id: change.id.to_string(),
            kind: change.file_kind.into(),
            actor: change.actor.as_ref().map(ToString::to_string),
            at: change.at.into(),
        }
    }
}
