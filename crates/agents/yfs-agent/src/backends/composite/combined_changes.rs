//! The changes of all filesystems as one log.

use futures::future::select_all;
use serde_json::json;
use yfs_types::path::VPath;
use yfs_vfs::{ChangeCursor, ChangeKind, ChangePage, ChangesOptions, FileChange, FsError};

use super::{CompositeFs, PathRoute};

impl CompositeFs {
    pub(super) async fn combined_cursor(&self) -> Result<ChangeCursor, FsError> {
        let mut cursors = Vec::new();
        for route in &self.routes {
            cursors.push(route.fs.cursor().await?);
        }
        Ok(combine(&cursors))
    }

    pub(super) async fn combined_changes(
        &self,
        since: &ChangeCursor,
        options: &ChangesOptions,
    ) -> Result<ChangePage, FsError> {
        let mut cursors = self.split(since)?;
        let page = self.collect(&mut cursors, options.limit).await?;
        let Some(wait) = options.wait.filter(|_| page.events.is_empty() && options.limit > 0)
        else {
            return Ok(page);
        };
        let wait_for_one = ChangesOptions { limit: 1, wait: Some(wait) };
        let waiting = self.routes.iter().zip(&cursors).map(|(route, cursor)| {
            let (fs, options) = (&route.fs, &wait_for_one);
            Box::pin(async move { fs.changes(cursor, options).await.map(drop) })
        });
        select_all(waiting).await.0?;
        self.collect(&mut cursors, options.limit).await
    }

    /// Reads what is available of each log.
    async fn collect(
        &self,
        cursors: &mut [ChangeCursor],
        limit: usize,
    ) -> Result<ChangePage, FsError> {
        let (mut events, mut more) = (Vec::new(), false);
        for (route, cursor) in self.routes.iter().zip(&mut *cursors) {
            let limit = limit - events.len();
            let page = route.fs.changes(cursor, &ChangesOptions { limit, wait: None }).await?;
            events.extend(
                page.events.into_iter().filter_map(|event| self.outer_change(route, event)),
            );
            *cursor = page.next;
            more |= page.more;
        }
        Ok(ChangePage { events, next: combine(cursors), more })
    }

    /// Converts a change, if it is visible: what lies outside of the route's directory, or is
    /// hidden by another prefix, is not.
    fn outer_change(&self, route: &PathRoute, mut event: FileChange) -> Option<FileChange> {
        let visible = |inner: &VPath| {
            let outer = route.outer_path(inner)?;
            let holder = self.routes.iter().find(|route| outer.starts_with(&route.prefix));
            let is_own = holder.is_some_and(|holder| holder.prefix == route.prefix);
            (is_own && outer != route.prefix).then_some(outer)
        };
        event.id = route.outer_id(event.id);
        let path = visible(&event.path);
        if let ChangeKind::Moved { from } = &event.kind {
            match (visible(from), path) {
                (Some(from), Some(path)) => {
                    (event.kind, event.path) = (ChangeKind::Moved { from }, path);
                }
                (Some(from), None) => (event.kind, event.path) = (ChangeKind::Removed, from),
                (None, Some(path)) => (event.kind, event.path) = (ChangeKind::Created, path),
                (None, None) => return None,
            }
        } else {
            event.path = path?;
        }
        Some(event)
    }

    fn split(&self, cursor: &ChangeCursor) -> Result<Vec<ChangeCursor>, FsError> {
        let texts: Option<Vec<String>> = serde_json::from_str(cursor.as_str()).ok();
        let texts = texts.filter(|texts| texts.len() == self.routes.len());
        let texts = texts.ok_or_else(FsError::cursor_lost)?;
        Ok(texts.into_iter().map(ChangeCursor::new).collect())
    }
}

fn combine(cursors: &[ChangeCursor]) -> ChangeCursor {
    let texts: Vec<&str> = cursors.iter().map(ChangeCursor::as_str).collect();
    ChangeCursor::new(json!(texts).to_string())
}
