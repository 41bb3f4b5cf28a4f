//! Damaged blobs: the files that have them, and the directory beside the workspace, which may still
//! have their bytes.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    path::{Path, PathBuf},
};

use yfs::workspace::damaged_blobs::BlobUse;
use yfs_engine::hash::ContentHash;
use yfs_store::CheckReport;
use yfs_vfs::name_escaping::HostRules;

use crate::{discover, errors::write_stderr, prelude::*};

/// The damaged blobs of a workspace, with the files that have each of them.
pub(super) struct DamagedBlobs {
    uses: BTreeMap<ContentHash, BTreeSet<BlobUse>>,
}

impl DamagedBlobs {
    /// Finds the files that have the blobs that a check reported.
    pub(super) fn find(workspace: &Workspace, report: &CheckReport) -> Result<Self> {
        let damaged: BTreeSet<_> =
            report.problems.iter().filter_map(|problem| problem.blob).collect();
        let mut uses = workspace.maintenance().uses_of_blobs(&damaged)?;
        for hash in damaged {
            uses.entry(hash).or_default();
        }
        Ok(Self { uses })
    }

    /// Returns the paths of the files that have a blob, for people.
    pub(super) fn describe(&self, hash: &ContentHash) -> Vec<String> {
        let describe = |BlobUse { path, is_current, .. }: &BlobUse| match is_current {
            true => path.clone(),
            false => format!("{path} (an earlier version)"),
        };
        self.uses.get(hash).into_iter().flatten().map(describe).collect()
    }

    /// Replaces the damaged bytes by those of the directory beside the workspace. What it no longer
    /// has counts as missing, so that `yfs sync` requests it.
    pub(super) fn mend(&self, workspace: &Workspace, context: &mut CommandContext) -> Result {
        let directory = directory_of(&context.file()?);
        let mut left = BTreeSet::new();
        for (hash, uses) in &self.uses {
            let on_host = uses.iter().filter(|user| user.is_current);
            let on_host = on_host.filter_map(|user| host_path(directory.as_deref()?, &user.path));
            match mend_from(workspace, hash, on_host)? {
                Some(file) => {
                    let file = context.out.safe(&file.display().to_string()).into_owned();
                    context.remark(&format!("blob {hash}: taken from {file}"));
                }
                None => {
                    left.insert(*hash);
                    for path in self.describe(hash) {
                        let path = context.out.safe(&path).into_owned();
                        write_stderr(&format!("{path}: still cannot be read"));
                    }
                }
            }
        }
        Ok(workspace.maintenance().note_damaged_blobs(&left)?)
    }
}

/// Takes the content of a blob from the first file that has it, and returns that file.
fn mend_from(
    workspace: &Workspace,
    hash: &ContentHash,
    files: impl Iterator<Item = PathBuf>,
) -> Result<Option<PathBuf>> {
    for path in files {
        let Ok(mut file) = File::open(&path) else { continue };
        if workspace.maintenance().mend_blob(hash, &mut file)? {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// Returns the directory that contains the workspace of a file.
fn directory_of(file: &Path) -> Option<PathBuf> {
    let file = file.canonicalize().ok()?;
    file.parent().filter(|dir| dir.ends_with(discover::DIR))?.parent().map(Path::to_owned)
}

/// Returns the path of the host for a path of the workspace.
fn host_path(directory: &Path, path: &str) -> Option<PathBuf> {
    let host_name = |name| HostRules::default().to_host(name, &|_| false);
    let relative: PathBuf =
        path.strip_prefix('/')?.split('/').map(host_name).collect::<Option<_>>()?;
    Some(directory.join(relative)).filter(|path| path.is_file())
}
