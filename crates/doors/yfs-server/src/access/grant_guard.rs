//! A filesystem that is limited to what a grant allows.

use std::sync::Arc;

use async_trait::async_trait;
use thiserror::Error;
use yfs::{Workspace, WorkspaceFs};
use yfs_agent::permissions::{BadRule, MissingLinkHandle, PermissionRules, PermittedFs};
use yfs_engine::path::VPath;
use yfs_vfs::{
    FileSystem, FsCode, FsError, Op,
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

/// Returns the files for an agent, with a label on all changes.
///
/// An agent begins at the root. It sees the way to what it may use, searches from above find what
/// is there, and of the changes of others it gets those of files that it may read. The grant limits
/// it as in [`scoped`]; the rules above that only decide what is shown.
pub(crate) fn for_agent(
    workspace: &Workspace,
    grant: &AccessGrant,
    label: &str,
) -> Result<Arc<dyn FileSystem>, AgentFilesError> {
    showing_way(confined(workspace, grant).labelled(label), grant)
}

/// Returns files that show the way from the root to what a grant covers.
pub(crate) fn showing_way(
    fs: WorkspaceFs,
    grant: &AccessGrant,
) -> Result<Arc<dyn FileSystem>, AgentFilesError> {
    if grant.is_whole() {
        return Ok(guarded(fs, grant));
    }
    let guard = GrantGuard { grant: grant.clone(), shows_way: true };
    let fs = Arc::new(GuardedFs::new(Arc::new(fs.showing_way()), guard));
    let rules = PermissionRules::only_below(std::slice::from_ref(&grant.path))?;
    Ok(Arc::new(PermittedFs::new(fs, rules)?))
}

/// The reason why an agent gets no files.
#[derive(Debug, Error)]
pub(crate) enum AgentFilesError {
    #[error(transparent)]
    Rule(#[from] BadRule),
    #[error(transparent)]
    Handle(#[from] MissingLinkHandle),
}

fn guarded(fs: WorkspaceFs, grant: &AccessGrant) -> Arc<dyn FileSystem> {
    let fs: Arc<dyn FileSystem> = Arc::new(fs);
    if grant.is_whole() && grant.may_write() {
        return fs;
    }
    Arc::new(GuardedFs::new(fs, GrantGuard { grant: grant.clone(), shows_way: false }))
}

/// Returns the files of a workspace that a grant covers, for reading: writes are not checked.
pub(crate) fn confined(workspace: &Workspace, grant: &AccessGrant) -> WorkspaceFs {
    workspace.fs_for(grant.actor.clone()).confined_to(grant.path.clone())
}

/// Rejects calls that a grant does not allow because of their kind or the text of their paths.
#[derive(Debug)]
struct GrantGuard {
    grant: AccessGrant,
    /// Whether the directories above can be described and listed.
    shows_way: bool,
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
        let first = call.path.filter(|_| call.op != Op::Symlink);
        let mut paths = first.into_iter().chain(call.dest);
        let describes = matches!(call.op, Op::Stat | Op::Lstat | Op::Scandir | Op::Realpath);
        let shows_way = self.shows_way && describes;
        paths.all(|path| {
            let path = VPath::parse(path);
            let is_seen = |path: &VPath| {
                self.grant.covers(path) || shows_way && self.grant.path.starts_with(path)
            };
            path.is_ok_and(|path| is_seen(&path))
        })
    }
}
