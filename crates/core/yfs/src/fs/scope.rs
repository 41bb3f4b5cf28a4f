//! A filesystem that is confined to one directory.
//!
//! A path is resolved and used under one lock: a reader locks the main document while it resolves,
//! and a writer's rows are checked against the main document that its plan was made from, which
//! must still be current when the plan is logged. So no rename or link between check and use
//! extends the reachable part.

use std::collections::HashMap;

use yfs_engine::{
    id::FileId,
    main_doc::MainDoc,
    name::NodeName,
    path::VPath,
    table::{NodeKind, RowWrite},
    tree::{FinalLink, LookupError, NodeRef, PathTarget},
};
use yfs_vfs::{FsCode, FsError, Op};

use super::{
    WorkspaceFs,
    convert_types::{self, ResolvedFile},
};
use crate::commit::MainChange;

/// The directory that a filesystem is confined to.
#[derive(Debug, Clone)]
pub(super) enum ScopeDirectory {
    /// The directory at a path, whichever it is.
    At(VPath),
    /// One directory, wherever it is.
    Id(FileId),
}

impl ScopeDirectory {
    /// Reports whether a node is the directory or lies below it.
    fn holds(&self, node: &NodeRef<'_>) -> bool {
        match self {
            Self::At(path) => node.path().starts_with(path),
            Self::Id(id) => {
                let is_it = |node: &NodeRef<'_>| node.id() == Some(id);
                is_it(node) || node.ancestors().any(|above| is_it(&above))
            }
        }
    }

    /// Reports whether a node lies above the directory, which is known by its path.
    fn is_below(&self, node: &NodeRef<'_>) -> bool {
        matches!(self, Self::At(path) if path.starts_with(&node.path()))
    }

    /// Returns the path of the directory; `None` if it is gone.
    fn path(&self, main: &MainDoc) -> Option<VPath> {
        match self {
            Self::At(path) => Some(path.clone()),
            Self::Id(id) => main.tree().path_of(id),
        }
    }
}

impl WorkspaceFs {
    /// Returns the filesystem confined to a directory: a call that would read or change anything
    /// outside fails with `EACCES`, whatever links and renames lead there. Paths still count from
    /// the root of the workspace.
    #[must_use]
    pub fn confined_to(mut self, directory: VPath) -> Self {
        self.scope = (!directory.is_root()).then_some(ScopeDirectory::At(directory));
        self
    }

    /// As [`confined_to`](Self::confined_to), for a directory that may be moved or renamed
    /// meanwhile: another one that takes its path is outside.
    #[must_use]
    pub(crate) fn confined_to_id(mut self, directory: FileId) -> Self {
        self.scope = Some(ScopeDirectory::Id(directory));
        self
    }

    /// Returns the filesystem with the way to the directory that it is confined to: the directories
    /// above can be described and listed, and a listing has only the next one on the way.
    #[must_use]
    pub fn showing_way(self) -> Self {
        Self { shows_way: true, ..self }
    }

    /// Resolves a path inside the scope.
    pub(super) fn resolve<'a>(
        &self,
        main: &'a MainDoc,
        op: Op,
        path: &VPath,
        follow: FinalLink,
    ) -> Result<NodeRef<'a>, FsError> {
        match convert_types::resolve(main, op, path, follow) {
            Ok(node) => {
                self.check_node(op, path, &node)?;
                if self.scope.is_some() && node.path() != *path {
                    self.check_lead(main, op, path, follow)?;
                }
                Ok(node)
            }
            Err(error) => {
                self.check_lead(main, op, path, follow)?;
                Err(error)
            }
        }
    }

    /// Rejects a path that leads out of the scope, through links or by its text, whether or not an
    /// object is there, the links there loop, or others lead back: what is outside shows in no
    /// error.
    pub(super) fn check_lead(
        &self,
        main: &MainDoc,
        op: Op,
        path: &VPath,
        follow: FinalLink,
    ) -> Result<(), FsError> {
        let scope = self.scope.as_ref().and_then(|scope| scope.path(main));
        let Some(scope) = scope else { return Ok(()) };
        // On the way to the scope only what the grant names itself can be missing.
        let is_seen = |at: &VPath| at.starts_with(&scope) || scope.starts_with(at);
        let (tree, mut stays) = (main.tree(), true);
        let mut note_passed = |node: NodeRef<'_>| stays &= is_seen(&node.path());
        let place = tree.place_passing(tree.root(), path.as_str(), follow, &mut note_passed);
        let end = match place {
            Ok(PathTarget::Taken(node)) => Some(node.path()),
            Ok(PathTarget::Free { parent, name }) => Some(parent.path().join(&name)),
            Err(LookupError::NotFound { at } | LookupError::NotADirectory { at }) => Some(at),
            Err(_) => None,
        };
        if stays && end.is_none_or(|end| is_seen(&end)) {
            return Ok(());
        }
        Err(FsError::new(FsCode::EACCES, op, path))
    }

    /// Resolves the path of a file, through links, inside the scope.
    pub(super) fn resolve_file(
        &self,
        main: &MainDoc,
        op: Op,
        path: &VPath,
    ) -> Result<ResolvedFile, FsError> {
        self.resolve(main, op, path, FinalLink::Yes)?;
        convert_types::resolve_file(main, op, path)
    }

    /// Checks that a resolved file is inside the scope.
    pub(super) fn check_found(
        &self,
        main: &MainDoc,
        op: Op,
        path: &VPath,
        id: &FileId,
    ) -> Result<(), FsError> {
        match main.tree().node(id) {
            Some(node) => self.check_node(op, path, &node),
            None => Ok(()),
        }
    }

    fn check_node(&self, op: Op, path: &VPath, node: &NodeRef<'_>) -> Result<(), FsError> {
        let describes = matches!(op, Op::Stat | Op::Lstat | Op::Scandir | Op::Realpath);
        let shows_way = self.shows_way && describes;
        let is_seen =
            |scope: &ScopeDirectory| scope.holds(node) || (shows_way && scope.is_below(node));
        if !self.scope.as_ref().is_none_or(is_seen) {
            return Err(FsError::new(FsCode::EACCES, op, path));
        }
        if !self.follows_links && !is_spelled(path, &node.path()) {
            return Err(FsError::new(FsCode::ELOOP, op, path));
        }
        Ok(())
    }

    /// Reports whether the listing of a directory has an entry.
    pub(super) fn lists(&self, directory: &VPath, name: &str) -> bool {
        match &self.scope {
            Some(ScopeDirectory::At(path)) if self.shows_way => {
                path.starts_with(&directory.join(name)) || directory.starts_with(path)
            }
            _ => true,
        }
    }

    /// Checks that no existing parent in a path is a link or lies behind one, if the filesystem
    /// follows none.
    pub(super) fn check_parents(
        &self,
        main: &MainDoc,
        op: Op,
        path: &VPath,
    ) -> Result<(), FsError> {
        let mut parent = path.parent().filter(|_| !self.follows_links);
        while let Some(directory) = parent {
            match main.tree().resolve(&directory, FinalLink::No) {
                Ok(node) if node.link().is_none() && is_spelled(&directory, &node.path()) => break,
                Ok(_) => return Err(FsError::new(FsCode::ELOOP, op, path)),
                Err(_) => parent = directory.parent(),
            }
        }
        Ok(())
    }

    /// Checks that the object at a path is no link, if the filesystem follows none.
    pub(super) fn check_no_final_link(
        &self,
        main: &MainDoc,
        op: Op,
        path: &VPath,
    ) -> Result<(), FsError> {
        let is_link = || {
            let node = main.tree().resolve(path, FinalLink::No);
            node.is_ok_and(|node| node.link().is_some())
        };
        if self.follows_links || !is_link() {
            return Ok(());
        }
        Err(FsError::new(FsCode::ELOOP, op, path))
    }

    /// Checks that a plan writes no row outside the scope, neither at its old place nor at its new
    /// one.
    pub(super) fn check_rows(
        &self,
        main: &MainDoc,
        op: Op,
        path: &VPath,
        change: &MainChange,
    ) -> Result<(), FsError> {
        self.check_parents(main, op, path)?;
        let Some(scope) = &self.scope else { return Ok(()) };
        let MainChange::Rows(rows) = change else { return Ok(()) };
        let scope = &scope.path(main).ok_or_else(|| FsError::new(FsCode::ENOENT, op, path))?;
        let mut places = ConfinedPaths { main, created: HashMap::new() };
        let is_inside = |row: &RowWrite, places: &mut ConfinedPaths<'_>| match row {
            RowWrite::Create { row, .. } => {
                let path = places.path_in(row.parent.as_ref(), &row.name);
                places.created.insert(row.id.clone(), path.clone());
                // Only the directories that lead to the scope's own may be created outside of it.
                let leads_there = row.kind == NodeKind::Directory && scope.starts_with(&path);
                leads_there || path.starts_with(scope)
            }
            RowWrite::Update { id, changes } => {
                let moves = changes.parent.is_some() || changes.name.is_some();
                let is_structural = moves || changes.trashed_at.is_some();
                let Some(at) = main.tree().node(id).map(|node| node.path()) else { return true };
                let is_own = at == *scope;
                let to = changes.parent.as_ref().map(|parent| places.path_of(parent.as_ref()));
                at.starts_with(scope)
                    && !(is_own && is_structural)
                    && to.is_none_or(|to| to.starts_with(scope))
            }
            _ => false,
        };
        if rows.iter().all(|row| is_inside(row, &mut places)) {
            return Ok(());
        }
        Err(FsError::new(FsCode::EACCES, op, path))
    }
}

/// Reports whether `path` spells the names of `own`, which are in normalization form C.
fn is_spelled(path: &VPath, own: &VPath) -> bool {
    let is_same = |(spelled, name): (&str, &str)| {
        spelled == name || NodeName::new(spelled).is_ok_and(|form_c| form_c.as_str() == name)
    };
    path == own
        || (path.components().count() == own.components().count()
            && path.components().zip(own.components()).all(is_same))
}

/// The paths of rows, including those that a plan creates.
struct ConfinedPaths<'a> {
    main: &'a MainDoc,
    created: HashMap<FileId, VPath>,
}

impl ConfinedPaths<'_> {
    fn path_of(&self, id: Option<&FileId>) -> VPath {
        let Some(id) = id else { return VPath::root() };
        let created = self.created.get(id).cloned();
        let node = || self.main.tree().node(id).map(|node| node.path());
        created.or_else(node).unwrap_or_else(VPath::root)
    }

    fn path_in(&self, parent: Option<&FileId>, name: &str) -> VPath {
        self.path_of(parent).join(name)
    }
}
