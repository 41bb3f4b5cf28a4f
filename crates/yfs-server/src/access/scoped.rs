//! A filesystem as a grant lets it be seen.

use std::sync::Arc;

use async_trait::async_trait;
use yfs::Workspace;
use yfs_engine::path::VPath;
use yfs_vfs::{
    FileSystem, FsCode, FsError, Op,
    guarded::{Call, Guard, Guarded},
};

use super::grant::Grant;

/// Returns the files of a workspace on behalf of whoever a grant names, within its limits.
pub(crate) fn scoped(workspace: &Workspace, grant: &Grant) -> Arc<dyn FileSystem> {
    let fs: Arc<dyn FileSystem> = Arc::new(workspace.fs_for(grant.actor.clone()));
    if grant.is_whole() && grant.may_write() {
        return fs;
    }
    Arc::new(Guarded::new(fs.clone(), Limits { fs, grant: grant.clone() }))
}

/// Refuses what a grant does not allow.
#[derive(Debug)]
struct Limits {
    fs: Arc<dyn FileSystem>,
    grant: Grant,
}

#[async_trait]
impl Guard for Limits {
    async fn pass(&self, call: &Call<'_>) -> Result<Option<FsError>, FsError> {
        let refused = || Err(call.refused(FsCode::EACCES));
        if call.writes && !self.grant.may_write() {
            return refused();
        }
        // Of a link that is made the first is not a path but a text, which leads nowhere by itself.
        let path = if call.op == Op::Symlink { None } else { call.path };
        for path in path.into_iter().chain(call.dest) {
            if !self.is_within(path, takes_links_as_themselves(call.op)).await {
                return refused();
            }
        }
        Ok(None)
    }
}

fn takes_links_as_themselves(op: Op) -> bool {
    matches!(op, Op::Lstat | Op::Rm | Op::Readlink | Op::Rename | Op::Cp | Op::Symlink | Op::Link)
}

impl Limits {
    /// Tells whether a path is inside, by its text and by where its links lead; of a link at its end only
    /// where it lies, if it is taken `as_itself`.
    async fn is_within(&self, path: &str, as_itself: bool) -> bool {
        if self.grant.is_whole() {
            return true;
        }
        let Ok(path) = VPath::parse(path) else { return false };
        if !self.grant.covers(&path) {
            return false;
        }
        let parent = path.parent().filter(|parent| as_itself && self.grant.covers(parent));
        // What is not there yet is where the last directory above it that is.
        let mut at = Some(parent.unwrap_or(path));
        while let Some(path) = at {
            match self.fs.realpath(&path).await {
                Ok(real) => return self.grant.covers(&real),
                Err(error) if error.code == FsCode::ENOENT && !self.is_link(&path).await => {
                    at = path.parent().filter(|parent| self.grant.covers(parent));
                }
                Err(_) => return false,
            }
        }
        // The folder of the grant does not exist yet.
        true
    }

    async fn is_link(&self, path: &VPath) -> bool {
        self.fs.lstat(path).await.is_ok()
    }
}
