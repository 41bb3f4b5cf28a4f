//! Listing and searching what the rules let read.
//!
//! Where no rule can restrict anything below the root of a search, the backend searches, with its
//! indexes. Otherwise the search reads through this filesystem, so that limits and counts consider
//! only what the caller may read.

use yfs_types::path::VPath;
use yfs_vfs::{
    ChangeKind, ChangePage, DirEntry, FileChange, FileKind, FileSystem, FsError, GlobQuery,
    GlobResult, GrepQuery, GrepResult, Op, TreeTotals, WalkEntry, WalkOptions, walk,
};

use super::{
    admission::AccessNeed,
    lookup::CheckedPath,
    permitted_fs::PermittedFs,
    rules::{AccessKind, RuleMode},
};

/// The purpose of a search, which decides how objects appear that need a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SearchPurpose {
    /// Names are listed; directories that need a question appear empty.
    Names,
    /// Contents are read; objects that need a question are left out.
    Contents,
}

impl PermittedFs {
    pub(super) async fn list_permitted(&self, path: &VPath) -> Result<Vec<DirEntry>, FsError> {
        if self.purpose.is_some() {
            let checked = self.check_path(Op::Scandir, path, true).await?;
            let is_root = self.granted_root() == Some(&checked.real);
            if !is_root && self.mode_of(AccessKind::Read, &checked) == RuleMode::Interrupt {
                return Ok(Vec::new());
            }
        }
        let admission = self.admit(Op::Scandir, &[AccessNeed::read(path)]).await?;
        let checked = admission.paths.first().expect("a call has a need");
        let entries = self.handle().readdir(&checked.real).await;
        let mut entries =
            entries.map_err(|error| FsError { path: Some(path.as_str().into()), ..error })?;
        entries.retain(|entry| self.shows(checked, entry));
        Ok(entries)
    }

    /// Reports whether an entry of a directory is listed.
    fn shows(&self, directory: &CheckedPath, entry: &DirEntry) -> bool {
        let mode_at = |path: &VPath| self.rules().mode_at(AccessKind::Read, path);
        let names = directory.places.iter().map(|place| mode_at(&place.join(&entry.name)));
        let earlier = self.places().of(&entry.id);
        let mode = names.chain(earlier.iter().map(mode_at)).max().unwrap_or(RuleMode::Allow);
        match mode {
            RuleMode::Allow => true,
            RuleMode::Interrupt => self.purpose != Some(SearchPurpose::Contents),
            RuleMode::Deny => false,
        }
    }

    /// Admits the root of a search. Returns the filesystem to search, which is this one without
    /// questions, or `None` if the backend may search by itself.
    async fn admit_search(
        &self,
        op: Op,
        root: &VPath,
        purpose: SearchPurpose,
    ) -> Result<Option<Self>, FsError> {
        let admission = self.admit(op, &[AccessNeed::read(root)]).await?;
        let checked = admission.paths.first().expect("a call has a need");
        let is_free = |place: &VPath| {
            self.rules().strictest_below(AccessKind::Read, place) == RuleMode::Allow
        };
        let is_open = checked.places.iter().all(is_free) && self.places().is_empty();
        if self.purpose.is_some() {
            return Ok(Some(self.clone()));
        }
        if is_open && checked.real == *root {
            return Ok(None);
        }
        Ok(Some(self.for_search(purpose, checked.real.clone())))
    }

    pub(super) async fn walk_permitted(
        &self,
        path: &VPath,
        options: &WalkOptions,
    ) -> Result<Vec<WalkEntry>, FsError> {
        match self.admit_search(Op::Walk, path, SearchPurpose::Names).await? {
            None => self.handle().walk(path, options).await,
            Some(view) => walk::walk(&view, path, options).await,
        }
    }

    pub(super) async fn glob_permitted(&self, query: &GlobQuery) -> Result<GlobResult, FsError> {
        match self.admit_search(Op::Glob, &query.root, SearchPurpose::Names).await? {
            None => self.handle().glob(query).await,
            Some(view) => yfs_vfs::glob::glob(&view, query).await,
        }
    }

    pub(super) async fn grep_permitted(&self, query: &GrepQuery) -> Result<GrepResult, FsError> {
        let Some(view) = self.admit_search(Op::Grep, &query.root, SearchPurpose::Contents).await?
        else {
            return self.handle().grep(query).await;
        };
        if self.purpose.is_none() {
            let root = view.narrowed_root(query).await;
            if root != query.root {
                let narrowed = GrepQuery { root, ..query.clone() };
                return Box::pin(self.grep_permitted(&narrowed)).await;
            }
        }
        yfs_vfs::grep::grep(&view, query).await
    }

    /// Returns the deepest directory that holds all that a search can find. Above a directory that
    /// alone is allowed, only the way to it is seen, and below it the backend may search by itself.
    async fn narrowed_root(&self, query: &GrepQuery) -> VPath {
        let mut root = query.root.clone();
        // A pattern with a slash is relative to the root.
        if query.include.iter().chain(&query.exclude).any(|pattern| pattern.contains('/')) {
            return root;
        }
        loop {
            // The search itself reports an error.
            let Ok(entries) = self.readdir(&root).await else { return root };
            match &entries[..] {
                [only] if only.kind == FileKind::Directory && query.exclude.is_empty() => {
                    if only.name.starts_with('.') && !query.hidden {
                        return root;
                    }
                    root = root.join(&only.name);
                }
                _ => return root,
            }
        }
    }

    pub(super) async fn totals_permitted(&self, path: &VPath) -> Result<TreeTotals, FsError> {
        match self.admit_search(Op::Totals, path, SearchPurpose::Names).await? {
            None => self.handle().totals(path).await,
            Some(view) => walk::totals(&view, path).await,
        }
    }

    /// Removes the changes of objects that the caller may not read.
    pub(super) async fn hide_changes(&self, page: ChangePage) -> Result<ChangePage, FsError> {
        let mut events = Vec::with_capacity(page.events.len());
        for event in page.events {
            events.extend(self.visible_change(event).await);
        }
        Ok(ChangePage { events, ..page })
    }

    /// Returns the change as the caller may see it: a move out of a hidden place is a creation, a
    /// move into one a removal.
    async fn visible_change(&self, mut event: FileChange) -> Option<FileChange> {
        let shows_path = self.shows_change(&event.path, &event).await;
        if let ChangeKind::Moved { from } = &event.kind {
            let from = from.clone();
            match (self.shows_change(&from, &event).await, shows_path) {
                (true, true) => (),
                (true, false) => {
                    event.kind = ChangeKind::Removed;
                    event.path = from;
                }
                (false, true) => event.kind = ChangeKind::Created,
                (false, false) => return None,
            }
            return Some(event);
        }
        shows_path.then_some(event)
    }

    async fn shows_change(&self, path: &VPath, event: &FileChange) -> bool {
        let mode_at = |path: &VPath| self.rules().mode_at(AccessKind::Read, path);
        let is_denied = |path: &VPath| mode_at(path) == RuleMode::Deny;
        if is_denied(path) || self.places().of(&event.id).iter().any(is_denied) {
            return false;
        }
        if self.places().is_empty() {
            return true;
        }
        match self.check_path(Op::Watch, path, false).await {
            Ok(checked) => self.mode_of(AccessKind::Read, &checked) != RuleMode::Deny,
            Err(_) => false,
        }
    }
}
