//! The ids of what an operation creates or moves. A record with ids can be taken back later,
//! wherever the objects are then.

use yfs_types::path::VPath;
use yfs_vfs::{FileSystem, FsCode, Op};

use super::{AuditedFile, audited_fs::AuditedFs};

/// What is noted before an operation, to find afterwards what it created or moved.
#[derive(Debug, Default)]
pub(super) struct CreationWatch {
    /// The paths where nothing was, the deepest first, and the position in the record of the one
    /// that is an operand.
    missing: Vec<(VPath, Option<usize>)>,
    /// The object to be moved, and where to.
    moved: Option<(String, VPath)>,
}

impl CreationWatch {
    pub(super) async fn begin(
        fs: &AuditedFs,
        op: Op,
        paths: &[&VPath],
        files: &[AuditedFile],
    ) -> Self {
        let mut watch = Self::default();
        let Some((target, before)) = paths.last().copied().zip(files.last()) else {
            return watch;
        };
        let mut next = match op {
            Op::Mkdir | Op::Symlink | Op::Cp => Some(target.clone()),
            // A file of this name has its directory.
            Op::Write | Op::Append if before.before.is_none() => target.parent(),
            Op::Rename => target.parent(),
            _ => None,
        };
        if op == Op::Rename {
            watch.moved = object_at(fs, paths[0]).await.map(|id| (id, target.clone()));
        }
        while let Some(path) = next.take() {
            match fs.lstat(&path).await {
                Err(error) if matches!(error.code, FsCode::ENOENT | FsCode::ENOTDIR) => {
                    let operand = (path == *target).then_some(files.len() - 1);
                    next = path.parent();
                    watch.missing.push((path, operand));
                }
                _ => (),
            }
        }
        watch
    }

    /// Adds the ids to a record, and the directories that were created for its operands.
    pub(super) async fn finish(self, fs: &AuditedFs, files: &mut Vec<AuditedFile>) {
        if let Some((id, target)) = self.moved
            && let Some(file) = files.last_mut()
        {
            // A file that replaced another one took its id, and is in its history.
            file.object = object_at(fs, &target).await.filter(|now| *now == id);
        }
        for (path, operand) in self.missing {
            let object = object_at(fs, &path).await;
            match operand.and_then(|position| files.get_mut(position)) {
                Some(file) => file.object = object,
                None if object.is_some() => {
                    let path = path.to_string();
                    files.push(AuditedFile { path, before: None, after: None, object });
                }
                None => (),
            }
        }
    }
}

async fn object_at(fs: &AuditedFs, path: &VPath) -> Option<String> {
    Some(fs.lstat(path).await.ok()?.id.to_string())
}
