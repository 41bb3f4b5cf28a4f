//! Saves by renames that keep the identity of a file.
//!
//! Office writes a document under a temporary name, renames the old document to another temporary
//! name, and gives the new one its name. Taken by the letter, the name then belongs to a new file
//! without a history, and those who have the old one open write into a file that is deleted next.
//! So the old file gets its name back, a copy stays where it went, and the new content is written
//! into it.

use tokio::time::Instant;
use yfs_types::path::VPath;
use yfs_vfs::{CopyOptions, FsError, MoveOptions, Stat};

use crate::service::DavCall;

impl DavCall<'_> {
    /// Remembers that a file was renamed, if its new name looks like that of a copy to keep.
    pub(super) fn note_rename(&self, from: &VPath, to: &VPath, stat: &Stat) {
        if stat.is_file() && to.file_name().is_some_and(is_backup_name) {
            let mut memory = self.service.memory.lock();
            let client = &self.caller.client;
            memory.note_rename(client, from, to, stat.id.clone(), Instant::now());
        }
    }

    /// Gives a path the file back that this client has renamed away from it, if nothing is there,
    /// and leaves a copy where it went. Returns the file.
    pub(super) async fn restore_renamed(&self, path: &VPath) -> Result<Option<Stat>, FsError> {
        let now = Instant::now();
        let renamed = self.service.memory.lock().renamed_from(&self.caller.client, path, now);
        let Some(renamed) = renamed else { return Ok(None) };
        let fs = &self.caller.fs;
        let there = self.find(&renamed.to).await?;
        if there.is_none_or(|stat| stat.id != renamed.id) || self.find(path).await?.is_some() {
            return Ok(None);
        }
        let options = MoveOptions { replace: false, parents: false };
        fs.mv(&renamed.to, path, &options).await?;
        let options = CopyOptions { recursive: false, replace: false, parents: false };
        fs.cp(path, &renamed.to, &options).await?;
        self.find(path).await
    }

    /// Reports whether this client made a file a short time ago.
    pub(super) fn has_created(&self, stat: &Stat) -> bool {
        let memory = self.service.memory.lock();
        memory.has_created(&self.caller.client, &stat.id, Instant::now())
    }
}

/// Reports whether programs give such names to what they replace.
fn is_backup_name(name: &str) -> bool {
    let ends = [".tmp", ".bak", "~"].iter().any(|end| {
        let start = name.len().checked_sub(end.len()).and_then(|at| name.get(at..));
        start.is_some_and(|rest| rest.eq_ignore_ascii_case(end))
    });
    ends || name.starts_with(['~', '.']) || name.contains(".sb-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_copies_to_keep() {
        for name in
            ["~WRL0001.tmp", "A1B2C3D4.TMP", "a.txt~", ".a.txt.swp", "a.txt.bak", "~$a.docx"]
        {
            assert!(is_backup_name(name), "{name}");
        }
        for name in ["a.txt", "notes.md", "é", "tmp", "a~b.txt"] {
            assert!(!is_backup_name(name), "{name}");
        }
    }
}
