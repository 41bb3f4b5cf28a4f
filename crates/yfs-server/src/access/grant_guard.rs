//! A filesystem that is limited to what a grant allows.

use std::sync::Arc;

use async_trait::async_trait;
use yfs::{Workspace, WorkspaceFs};
use yfs_vfs::{
    FileSystem, FsCode, FsError,
    guarded_fs::{FsGuard, GuardedCall, GuardedFs},
};

use super::grant::AccessGrant;

/// Returns the files of a workspace on behalf of a grant's actor, within the grant's limits.
///
/// The workspace confines the filesystem: it checks where a path leads under the lock under which
/// it uses it, so that no link or rename in between widens a grant.
pub(crate) fn scoped(workspace: &Workspace, grant: &AccessGrant) -> Arc<dyn FileSystem> {
    guarded(confined(workspace, grant), grant)
}

/// As [`scoped`], with a label on all changes.
pub(crate) fn labelled(
    workspace: &Workspace,
    grant: &AccessGrant,
    label: &str,
) -> Arc<dyn FileSystem> {
    guarded(confined(workspace, grant).labelled(label), grant)
}

fn guarded(fs: WorkspaceFs, grant: &AccessGrant) -> Arc<dyn FileSystem> {
    let fs: Arc<dyn FileSystem> = Arc::new(fs);
    if grant.is_whole() && grant.may_write() {
        return fs;
    }
    Arc::new(GuardedFs::new(fs, GrantGuard { grant: grant.clone() }))
}

/// Returns the files of a workspace that a grant covers, for reading: writes are not checked.
pub(crate) fn confined(workspace: &Workspace, grant: &AccessGrant) -> WorkspaceFs {
    workspace.fs_for(grant.actor.clone()).confined_to(grant.path.clone())
}

/// Rejects calls that a grant does not allow because of their kind or the text of their paths.
#[derive(Debug)]
struct GrantGuard {
    grant: AccessGrant,
}

#[async_trait]
impl FsGuard for GrantGuard {
    async fn check_call(&self, call: &GuardedCall<'_>) -> Result<Option<FsError>, FsError> {
        let is_allowed = (!call.writes || self.grant.may_write()) && self.covers_paths(call);
        if is_allowed { Ok(None) } else { Err(call.refused(FsCode::EACCES)) }
    }
}

impl GrantGuard {
    fn covers_paths(&self, call: &GuardedCall<'_>) -> bool {
        // The first path of a symbolic link is its text, which is not resolved here.
        let first = call.path.filter(|_| call.op != yfs_vfs::Op::Symlink);
        let mut paths = first.into_iter().chain(call.dest);
        paths.all(|path| {
            let path = yfs_engine::path::VPath::parse(path);
            path.is_ok_and(|path| self.grant.covers(&path))
        })
    }
}
