//! The files that macOS puts beside others: `._name` and `.DS_Store`.
//!
//! They say how a Finder shows a directory, and hold the attributes of files that a server has no
//! place for. They stay in memory for the credential that wrote them, and never reach the
//! workspace.

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use yfs_types::{path::VPath, time::Millis};

/// The bytes and the number of files that one credential may have, and the credentials that do.
const MAX_BYTES: usize = 2 << 20;
const MAX_FILES: usize = 4_096;
const MAX_CREDENTIALS: usize = 64;

/// What a file takes beside its content, in bytes.
const FILE_COST: usize = 256;

/// A file that is held in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SideFile {
    pub(crate) content: Bytes,
    pub(crate) mtime: Millis,
    number: u64,
}

/// The files of all credentials.
#[derive(Debug, Default)]
pub(crate) struct SideFiles {
    by_credential: HashMap<Arc<str>, HashMap<VPath, SideFile>>,
    /// The credentials, the longest unused first.
    order: Vec<Arc<str>>,
    n_written: u64,
}

/// Reports whether a path names such a file.
pub(crate) fn is_side_file(path: &VPath) -> bool {
    path.file_name().is_some_and(|name| {
        name == ".DS_Store" || name.strip_prefix("._").is_some_and(|rest| !rest.is_empty())
    })
}

impl SideFiles {
    /// Returns a file.
    pub(crate) fn get(&self, credential: &str, path: &VPath) -> Option<SideFile> {
        self.by_credential.get(credential)?.get(path).cloned()
    }

    /// Keeps a file, and returns whether it is new; `None` if it is too large. Older ones make
    /// room.
    pub(crate) fn put(
        &mut self,
        credential: &Arc<str>,
        path: &VPath,
        content: &[u8],
        mtime: Millis,
    ) -> Option<bool> {
        if content.len() + FILE_COST > MAX_BYTES {
            return None;
        }
        self.touch(credential);
        self.n_written += 1;
        let files = self.by_credential.entry(credential.clone()).or_default();
        let content = Bytes::copy_from_slice(content);
        let file = SideFile { content, mtime, number: self.n_written };
        let is_new = files.insert(path.clone(), file).is_none();
        while files.len() > MAX_FILES || n_bytes(files) > MAX_BYTES {
            let oldest = files.iter().min_by_key(|(_, file)| file.number);
            let Some(oldest) = oldest.map(|(path, _)| path.clone()) else { break };
            files.remove(&oldest);
        }
        Some(is_new)
    }

    /// Drops a file, and returns it.
    pub(crate) fn remove(&mut self, credential: &str, path: &VPath) -> Option<SideFile> {
        self.by_credential.get_mut(credential)?.remove(path)
    }

    fn touch(&mut self, credential: &Arc<str>) {
        self.order.retain(|other| other != credential);
        self.order.push(credential.clone());
        if self.order.len() > MAX_CREDENTIALS {
            let oldest = self.order.remove(0);
            self.by_credential.remove(&oldest);
        }
    }
}

fn n_bytes(files: &HashMap<VPath, SideFile>) -> usize {
    files.values().map(|file| file.content.len() + FILE_COST).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn side_files_are_bounded() {
        let mut files = SideFiles::default();
        let path = |n: usize| VPath::parse(&format!("/._{n}")).unwrap();
        let ana: Arc<str> = "ana".into();
        let content = vec![0; MAX_BYTES / 4];
        for n in 0..8 {
            assert_eq!(files.put(&ana, &path(n), &content, Millis(0)), Some(true));
        }
        assert!(files.get("ana", &path(0)).is_none() && files.get("ana", &path(7)).is_some());
        assert!(files.get("bob", &path(7)).is_none());
        assert_eq!(files.put(&ana, &path(9), &vec![0; MAX_BYTES], Millis(0)), None);
        for n in 0..MAX_CREDENTIALS {
            files.put(&format!("{n}").into(), &path(n), b"", Millis(0));
        }
        assert_eq!(files.by_credential.len(), MAX_CREDENTIALS);
        assert!(files.get("ana", &path(7)).is_none());
    }

    #[test]
    fn names_of_side_files() {
        for (path, expected) in
            [("/a/._b", true), ("/.DS_Store", true), ("/._", false), ("/.a", false), ("/", false)]
        {
            assert_eq!(is_side_file(&VPath::parse(path).unwrap()), expected, "{path}");
        }
    }
}
