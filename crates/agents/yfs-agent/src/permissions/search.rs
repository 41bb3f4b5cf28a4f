//! Listing and searching what the rules let read.
//!
//! Where no rule can restrict anything below the root of a search, the backend searches, with its
//! indexes. Otherwise the search reads through this filesystem, so that limits and counts consider
//! only what the caller may read.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use parking_lot::Mutex;
use yfs_types::path::VPath;
use yfs_vfs::{
    CallScope, ChangeKind, ChangePage, DirEntry, FileChange, FileKind, FileSystem, FileSystemExt,
    FsError, GlobQuery, GlobResult, GrepQuery, GrepResult, GrepSink, Op, WalkEntry, WalkOptions,
    walk,
};

use super::{
    admission::AccessNeed,
    lookup::CheckedPath,
    permitted_fs::PermittedFs,
    rules::{AccessKind, RuleMode},
};

/// The purpose of a search, which decides how objects appear that need an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SearchPurpose {
    /// Names are listed; directories that need an approval appear empty.
    Names,
    /// Contents are read: all names are seen, and files that need an approval cannot be read.
    Contents,
    /// Objects are described; those that need an approval are left out.
    Descriptions,
}

/// One search, and what it left out. Clones are handles of one search.
#[derive(Debug, Clone)]
pub(super) struct PermittedSearch {
    purpose: SearchPurpose,
    /// The directories that were not listed.
    closed: Arc<Mutex<Vec<VPath>>>,
    /// The number of files that were not read.
    n_unread: Arc<AtomicU64>,
}

impl PermittedSearch {
    pub(super) fn new(purpose: SearchPurpose) -> Self {
        Self { purpose, closed: Arc::default(), n_unread: Arc::default() }
    }
}

impl PermittedFs {
    /// Counts an object that a search leaves out.
    pub(super) fn note_left_out(&self, checked: &CheckedPath) {
        let Some(search) = &self.search else { return };
        if checked.is_directory() {
            search.closed.lock().push(checked.real.clone());
            return;
        }
        search.n_unread.fetch_add(1, Ordering::Relaxed);
        if let Some(scope) = &self.call {
            scope.leave_out(&checked.real);
        }
    }

    pub(super) async fn list_permitted(&self, path: &VPath) -> Result<Vec<DirEntry>, FsError> {
        if let Some(search) = &self.search {
            let guard = self.lock.read().await;
            let checked = self.check_path(Op::Scandir, path, true).await?;
            let scope = self.call.clone().unwrap_or_default();
            let mode = self.mode_of(AccessKind::Read, &checked);
            let is_closed = mode == RuleMode::Interrupt
                && !self.is_granted(Op::Scandir, AccessKind::Read, &checked, &scope);
            match search.purpose {
                SearchPurpose::Contents if is_closed => {
                    return self.list_checked(path, &checked).await;
                }
                _ if is_closed => {
                    self.note_left_out(&checked);
                    return Ok(Vec::new());
                }
                _ => drop(guard),
            }
        }
        let admission = self.admit(Op::Scandir, &[AccessNeed::read(path)]).await?;
        let checked = admission.paths.first().expect("a call has a need");
        self.list_checked(path, checked).await
    }

    async fn list_checked(
        &self,
        path: &VPath,
        checked: &CheckedPath,
    ) -> Result<Vec<DirEntry>, FsError> {
        let entries = self.handle.readdir(&checked.real).await;
        let mut entries =
            entries.map_err(|error| FsError { path: Some(path.as_str().into()), ..error })?;
        entries.retain(|entry| self.shows(checked, entry));
        Ok(entries)
    }

    /// Reports whether an entry of a directory is listed.
    fn shows(&self, directory: &CheckedPath, entry: &DirEntry) -> bool {
        let mode_at = |path: &VPath| self.rules.mode_at(AccessKind::Read, path);
        let names = directory.places.iter().map(|place| mode_at(&place.join(&entry.name)));
        let earlier = self.places.of(&entry.id);
        let mode = names.chain(earlier.iter().map(mode_at)).max().unwrap_or(RuleMode::Allow);
        let describes = self
            .search
            .as_ref()
            .is_some_and(|search| search.purpose == SearchPurpose::Descriptions);
        match mode {
            RuleMode::Allow => true,
            RuleMode::Interrupt if describes => {
                let checked = CheckedPath::entry_of(directory, entry);
                let scope = self.call.clone().unwrap_or_default();
                let shows = self.is_granted(Op::Scandir, AccessKind::Read, &checked, &scope);
                if !shows {
                    self.note_left_out(&checked);
                }
                shows
            }
            RuleMode::Interrupt => true,
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
        if self.search.as_ref().is_some_and(|search| search.purpose != SearchPurpose::Descriptions)
        {
            // A part of a search whose root was admitted.
            return Ok(Some(self.clone()));
        }
        let scope = self.call.clone().unwrap_or_default();
        let asking = self.in_call(&scope);
        let admission = asking.admit(op, &[AccessNeed::read(root)]).await?;
        let checked = admission.paths.first().expect("a call has a need");
        let is_free =
            |place: &VPath| self.rules.strictest_below(AccessKind::Read, place) == RuleMode::Allow;
        let is_open =
            checked.places.iter().all(is_free) && self.places.is_empty() && self.guarded.is_empty();
        if self.search.is_some() {
            return Ok(Some(self.clone()));
        }
        if is_open && checked.real == *root {
            return Ok(None);
        }
        drop(admission);
        // The root shows only the way to these, so the search is one of these. One that the person
        // refuses is left out.
        for served in self.rules.served_below(root) {
            drop(asking.admit(op, &[AccessNeed::read(&served)]).await);
        }
        Ok(Some(asking.for_search(purpose)))
    }

    /// Counts the files below the directories that a search did not list.
    async fn count_closed(&self) {
        let (Some(search), Some(scope)) = (&self.search, &self.call) else { return };
        let closed = std::mem::take(&mut *search.closed.lock());
        for directory in closed {
            let below = self.handle.walk(&directory, &WalkOptions::default()).await;
            for found in below.unwrap_or_default() {
                let mode = self.rules.mode_at(AccessKind::Read, &found.path);
                if found.entry.kind == FileKind::File && mode != RuleMode::Deny {
                    scope.leave_out(&found.path);
                }
            }
        }
    }

    pub(super) async fn walk_permitted(
        &self,
        path: &VPath,
        options: &WalkOptions,
    ) -> Result<Vec<WalkEntry>, FsError> {
        match self.admit_search(Op::Walk, path, SearchPurpose::Names).await? {
            None => self.handle.walk(path, options).await,
            Some(view) => {
                let found = walk::walk(&view, path, options).await;
                view.count_closed().await;
                found
            }
        }
    }

    pub(super) async fn glob_permitted(&self, query: &GlobQuery) -> Result<GlobResult, FsError> {
        let Some(view) = self.admit_search(Op::Glob, &query.root, SearchPurpose::Names).await?
        else {
            return self.handle.glob(query).await;
        };
        let found = yfs_vfs::glob::glob(&view, query).await;
        let closed = view.search.as_ref().map(|search| std::mem::take(&mut *search.closed.lock()));
        if let (Some(closed), Some(scope)) =
            (closed.filter(|closed| !closed.is_empty()), &view.call)
        {
            // Of the files in directories that were not listed, those count that the search is for.
            let all = GlobQuery { limit: usize::MAX, ..query.clone() };
            let all = yfs_vfs::glob::glob(&view.for_search(SearchPurpose::Contents), &all).await;
            let entries = all.map(|all| all.entries).unwrap_or_default();
            let is_closed = |path: &VPath| closed.iter().any(|above| path.starts_with(above));
            for entry in entries.iter().filter(|found| is_closed(&found.path)) {
                if entry.entry.kind == FileKind::File {
                    scope.leave_out(&entry.path);
                }
            }
        }
        found
    }

    pub(super) async fn grep_permitted(
        &self,
        query: &GrepQuery,
        sink: &mut dyn GrepSink,
    ) -> Result<GrepResult, FsError> {
        let Some(view) = self.admit_search(Op::Grep, &query.root, SearchPurpose::Contents).await?
        else {
            return self.handle.grep_each(query, sink).await;
        };
        if self.search.is_none() {
            let root = view.narrowed_root(query).await;
            if root != query.root {
                let narrowed = GrepQuery { root, ..query.clone() };
                let asking = self.in_call(view.call.as_ref().unwrap_or(&CallScope::default()));
                return Box::pin(asking.grep_permitted(&narrowed, sink)).await;
            }
        }
        let mut found = yfs_vfs::grep::grep_each(&view, query, sink).await?;
        let n_unread =
            view.search.as_ref().map_or(0, |search| search.n_unread.load(Ordering::Relaxed));
        found.n_unreadable = found.n_unreadable.saturating_sub(n_unread);
        Ok(found)
    }

    /// Reports whether a directory needs an approval that there is not.
    async fn is_closed(&self, path: &VPath) -> bool {
        let _guard = self.lock.read().await;
        let Ok(checked) = self.check_path(Op::Scandir, path, true).await else { return true };
        let scope = self.call.clone().unwrap_or_default();
        self.mode_of(AccessKind::Read, &checked) == RuleMode::Interrupt
            && !self.is_granted(Op::Scandir, AccessKind::Read, &checked, &scope)
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
                    let below = root.join(&only.name);
                    if self.is_closed(&below).await {
                        return root;
                    }
                    root = below;
                }
                _ => return root,
            }
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
        let mode_at = |path: &VPath| self.rules.mode_at(AccessKind::Read, path);
        let is_denied = |path: &VPath| mode_at(path) == RuleMode::Deny;
        if is_denied(path) || self.places.of(&event.id).iter().any(is_denied) {
            return false;
        }
        if self.places.is_empty() {
            return true;
        }
        match self.check_path(Op::Watch, path, false).await {
            Ok(checked) => self.mode_of(AccessKind::Read, &checked) != RuleMode::Deny,
            Err(_) => false,
        }
    }
}
