//! A row of one side of a share, and what of it is passed on.

use std::collections::HashMap;

use yfs_engine::{
    Any,
    hash::ContentHash,
    id::FileId,
    main_doc::MainDoc,
    name::NodeName,
    path::MAX_PATH_LEN,
    table::{FieldTimes, FileRow, PURGE_KEY, REMOVAL_KEYS},
    time::Millis,
    tree::NodeRef,
};

use crate::json_convert::to_json;

/// The beginning of the members of metadata that record renames and moves. Each side has its own:
/// they name former directories.
const RECORD_PREFIX: &str = "was:";

const N_FIELDS: usize = 8;

/// A field of a row that is passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BridgedField {
    Name,
    Parent,
    /// Whether the node is in the trash.
    Trashed,
    /// Size and time of the content.
    Stat,
    Mode,
    Link,
    Blob,
    /// What applications keep in the metadata.
    Meta,
}

/// A hash of each field.
pub(super) type FieldHashes = [u64; N_FIELDS];

/// How the place at which a node is shown follows from its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowPlacement {
    /// It is shown in the directory that its row names.
    AsStored,
    /// Its directory was moved into itself, and the tree shows it elsewhere.
    CycleBroken,
    /// Its directory is unknown.
    Orphaned,
}

/// A row of one side.
#[derive(Debug)]
pub(super) struct BridgedRow {
    pub(super) row: FileRow,
    /// The directory that shows it; `None` for the top of the share.
    pub(super) parent: Option<FileId>,
    pub(super) placement: RowPlacement,
    /// What applications keep in its metadata.
    pub(super) meta: Option<Any>,
    pub(super) hashes: FieldHashes,
}

impl BridgedField {
    pub(super) const ALL: [Self; N_FIELDS] = [
        Self::Name,
        Self::Parent,
        Self::Trashed,
        Self::Stat,
        Self::Mode,
        Self::Link,
        Self::Blob,
        Self::Meta,
    ];

    pub(super) fn bit(self) -> u8 {
        1 << self as u8
    }

    /// Returns when this field was written.
    pub(super) fn time(self, times: &FieldTimes) -> Millis {
        match self {
            Self::Name => times.name,
            Self::Parent => times.parent,
            Self::Trashed => times.trashed,
            Self::Stat => times.stat,
            Self::Mode => times.mode,
            Self::Link => times.link,
            Self::Blob => times.blob,
            Self::Meta => times.meta,
        }
    }
}

impl BridgedRow {
    /// Reads a row; `top` is the directory that is the top of the share, `None` for the root.
    pub(super) fn read(main: &MainDoc, node: NodeRef<'_>, top: Option<&FileId>) -> Option<Self> {
        let row = main.files().get(node.id()?)?.row;
        let shown_in = node.parent().and_then(|parent| parent.id());
        let parent = shown_in.filter(|id| Some(*id) != top).cloned();
        let placement = match node.stored_parent() {
            _ if !node.is_displaced() => RowPlacement::AsStored,
            Some(stored) if main.tree().node(stored).is_some_and(|node| node.is_directory()) => {
                RowPlacement::CycleBroken
            }
            _ => RowPlacement::Orphaned,
        };
        let meta = application_meta(row.meta.as_ref());
        let hashes = hash_fields(&row, parent.as_ref(), meta.as_ref());
        Some(Self { row, parent, placement, meta, hashes })
    }

    /// Reports whether the name, and the target of a link, are those that a local write may store.
    pub(super) fn is_well_formed(&self) -> bool {
        self.has_valid_name() && self.has_valid_link()
    }

    pub(super) fn has_valid_name(&self) -> bool {
        NodeName::new(&self.row.name).is_ok()
    }

    pub(super) fn has_valid_link(&self) -> bool {
        self.row.link.as_ref().is_none_or(|target| {
            (1..=MAX_PATH_LEN).contains(&target.len()) && !target.contains('\0')
        })
    }
}

/// Returns what applications keep in the metadata of a row.
fn application_meta(meta: Option<&Any>) -> Option<Any> {
    let Any::Map(members) = meta? else { return None };
    let is_kept = |name: &str| {
        !name.starts_with(RECORD_PREFIX) && name != PURGE_KEY && !REMOVAL_KEYS.contains(&name)
    };
    let kept = members.iter().filter(|(name, _)| is_kept(name));
    let kept: HashMap<String, Any> =
        kept.map(|(name, value)| (name.clone(), value.clone())).collect();
    (!kept.is_empty()).then(|| Any::from(kept))
}

fn hash_fields(row: &FileRow, parent: Option<&FileId>, meta: Option<&Any>) -> FieldHashes {
    let mut stat = row.size.to_le_bytes().to_vec();
    stat.extend(row.updated_at.0.to_le_bytes());
    let blob = row.blob.map(|blob| {
        let mut bytes = blob.hash.as_bytes().to_vec();
        bytes.extend(blob.size.to_le_bytes());
        bytes
    });
    [
        hash(row.name.as_bytes()),
        parent.map_or(0, |id| hash(id.as_str().as_bytes())),
        u64::from(row.trashed_at.is_some()),
        hash(&stat),
        row.mode.map_or(0, |mode| u64::from(mode) + 1),
        row.link.as_ref().map_or(0, |target| hash(target.as_bytes())),
        blob.map_or(0, |bytes| hash(&bytes)),
        meta.map_or(0, |meta| hash(to_json(meta).to_string().as_bytes())),
    ]
}

fn hash(bytes: &[u8]) -> u64 {
    let hash = ContentHash::of(bytes);
    let first = hash.as_bytes().first_chunk::<8>().expect("a hash has 32 bytes");
    u64::from_le_bytes(*first)
}
