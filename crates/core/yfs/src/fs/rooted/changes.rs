//! The changes below a directory.

use std::time::Instant;

use yfs_engine::path::VPath;
use yfs_vfs::{
    ChangeCursor, ChangeKind, ChangePage, ChangesOptions, FileChange, FileSystem, FsError,
};

use super::RootedFs;

impl RootedFs {
    /// Returns the changes below the directory. What is moved in was created, and what is moved out
    /// was removed.
    pub(super) async fn changes_below(
        &self,
        since: &ChangeCursor,
        options: &ChangesOptions,
    ) -> Result<ChangePage, FsError> {
        let deadline = options.wait.and_then(|wait| Instant::now().checked_add(wait));
        let mut since = since.clone();
        loop {
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            let wait = left.filter(|left| !left.is_zero());
            let mut page = self.fs.changes(&since, &ChangesOptions { wait, ..*options }).await?;
            let base = self.directory_path();
            let visible = |event| visible_change(base.as_ref()?, event);
            page.events = page.events.into_iter().filter_map(visible).collect();
            let is_over = wait.is_none() && !page.more;
            if !page.events.is_empty() || is_over || options.limit == 0 {
                return Ok(page);
            }
            since = page.next;
        }
    }
}

/// Converts a change, if it is visible below the directory.
fn visible_change(base: &VPath, mut event: FileChange) -> Option<FileChange> {
    let outer = |inner: &VPath| {
        let below = inner.relative_to(base).filter(|below| !below.is_empty())?;
        VPath::parse(&format!("/{below}")).ok()
    };
    let path = outer(&event.path);
    let from = match &event.kind {
        ChangeKind::Moved { from } => Some(outer(from)),
        _ => None,
    };
    (event.kind, event.path) = match (from, path) {
        (None, path) => (event.kind, path?),
        (Some(Some(from)), Some(path)) => (ChangeKind::Moved { from }, path),
        (Some(Some(from)), None) => (ChangeKind::Removed, from),
        (Some(None), Some(path)) => (ChangeKind::Created, path),
        (Some(None), None) => return None,
    };
    Some(event)
}
