//! Ids of directories that are derived from their place.
//!
//! Two peers that both make `src` in the same place, by `mkdir` or by importing the same
//! repository, thus make the same row. Files never get such ids: two contents would share one
//! document.

use crate::{
    id::{FileId, WorkspaceId},
    name::NodeName,
};

use super::{NodeRef, TreeIndex};

/// Derives the id of a directory from its workspace, the directory that contains it, and its name.
///
/// The digest is BLAKE3 over `yfs folder`, the workspace, `in` or nothing for the root, the parent
/// or nothing, and the name, each as its length in 4 little-endian bytes and its bytes; then `salt`
/// in 4 little-endian bytes. Its first 16 bytes make the id (see [`FileId::from_bytes`]).
pub(crate) fn derive_directory_id(
    workspace: &WorkspaceId,
    parent: Option<&FileId>,
    name: &NodeName,
    salt: u32,
) -> FileId {
    let mut hasher = blake3::Hasher::new();
    let mut text = |text: &str| {
        let len = u32::try_from(text.len()).expect("ids and names are short");
        hasher.update(&len.to_le_bytes()).update(text.as_bytes());
    };
    text("yfs folder");
    text(workspace.as_str());
    text(if parent.is_some() { "in" } else { "" });
    text(parent.map_or("", FileId::as_str));
    text(name.as_str());
    hasher.update(&salt.to_le_bytes());
    let mut bytes = [0; 16];
    hasher.finalize_xof().fill(&mut bytes);
    FileId::from_bytes(bytes)
}

impl TreeIndex {
    /// Returns the id for a new directory, and the directory that already has it, if that is still
    /// in the place where it was made.
    ///
    /// The salt rises while a directory of that id is known to be renamed, moved or trashed.
    pub fn directory_id_for_creation(
        &self,
        parent: Option<&FileId>,
        name: &NodeName,
    ) -> (FileId, Option<NodeRef<'_>>) {
        for salt in 0.. {
            let id = derive_directory_id(&self.workspace, parent, name, salt);
            let Some(node) = self.node(&id) else { return (id, None) };
            if !node.is_trashed()
                && node.is_directory()
                && node.stored_name() == name.as_str()
                && node.stored_parent() == parent
                && !self.is_detached(node.slot())
            {
                return (id, Some(node));
            }
        }
        unreachable!("there are fewer directories than salts")
    }
}
