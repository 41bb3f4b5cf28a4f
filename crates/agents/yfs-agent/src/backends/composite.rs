//! Several filesystems under path prefixes, as one.
//!
//! The longest prefix that holds a path decides. Results keep the prefix, and ids are made
//! distinct, because two backends may give the same id. A prefix appears as a directory in
//! listings, also where the filesystem around it has none. It cannot be moved or removed, and
//! neither can a directory above it.
//!
//! A symbolic link stays inside its filesystem: its target is written with the prefix, and a target
//! in another filesystem is `EXDEV`.

mod across;
mod combined_changes;
mod directories;
mod routed_fs;

use std::{collections::BTreeSet, fmt, sync::Arc};

use smol_str::SmolStr;
use thiserror::Error;
use yfs_types::{hash::ContentHash, id::FileId, path::VPath};
use yfs_vfs::{FileSystem, FsCode, FsError, Op};

use super::AgentBackend;
use crate::execute::CommandExecutor;

/// A filesystem at a prefix.
#[derive(Clone)]
pub struct PathRoute {
    prefix: VPath,
    fs: Arc<dyn FileSystem>,
    /// The directory of `fs` that appears at the prefix.
    base: VPath,
    /// Whether ids are changed, so that they differ from those of other routes.
    marks_ids: bool,
}

/// Filesystems under prefixes.
#[derive(Debug, Clone)]
pub struct CompositeFs {
    /// The routes, those with the longest prefixes first. The last has the prefix `/`.
    routes: Vec<PathRoute>,
}

/// The reason why a route was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BadRoute {
    /// The prefix is `/`, which is the default's.
    #[error("a route needs a prefix other than '/'")]
    Root,
    /// Two routes have the same prefix.
    #[error("two routes have the prefix {0}")]
    Twice(VPath),
}

/// Backends under prefixes: files of all, commands of the default.
#[derive(Debug, Clone)]
pub struct CompositeBackend {
    fs: Arc<CompositeFs>,
    executor: Option<Arc<dyn CommandExecutor>>,
    artifacts_root: VPath,
}

/// A path, and the filesystem and path that it leads to.
#[derive(Debug, Clone)]
struct RoutedPath<'a> {
    route: &'a PathRoute,
    outer: &'a VPath,
    inner: VPath,
}

impl PathRoute {
    /// Makes a route to a whole filesystem.
    pub fn new(prefix: VPath, fs: Arc<dyn FileSystem>) -> Self {
        let marks_ids = !prefix.is_root();
        Self { prefix, fs, base: VPath::root(), marks_ids }
    }

    /// Makes a route to a directory of a filesystem. The filesystem must be confined to that
    /// directory, because links could lead out of it otherwise.
    #[cfg(test)]
    pub(crate) fn within(prefix: VPath, fs: Arc<dyn FileSystem>, base: VPath) -> Self {
        Self { base, ..Self::new(prefix, fs) }
    }

    fn inner_path(&self, outer: &VPath) -> Option<VPath> {
        let rest = outer.relative_to(&self.prefix)?;
        if rest.is_empty() { Some(self.base.clone()) } else { self.base.resolve(rest).ok() }
    }

    fn outer_path(&self, inner: &VPath) -> Option<VPath> {
        let rest = inner.relative_to(&self.base)?;
        if rest.is_empty() { Some(self.prefix.clone()) } else { self.prefix.resolve(rest).ok() }
    }

    fn outer_id(&self, id: FileId) -> FileId {
        if !self.marks_ids {
            return id;
        }
        id_of(&format!("{}\0{id}", self.prefix))
    }

    /// Converts the target of a link for the filesystem, or returns `None` if it lies elsewhere.
    fn inner_target(&self, target: &str, routes: &[Self]) -> Option<String> {
        if !target.starts_with('/') {
            return Some(target.to_owned());
        }
        let path = VPath::parse(target).ok()?;
        let is_own = routes.iter().find(|route| path.starts_with(&route.prefix));
        if is_own.is_none_or(|route| route.prefix != self.prefix) {
            return None;
        }
        if self.prefix.is_root() && self.base.is_root() {
            return Some(target.to_owned());
        }
        self.inner_path(&path).map(|inner| inner.to_string())
    }

    fn outer_target(&self, target: String) -> String {
        if !target.starts_with('/') || (self.prefix.is_root() && self.base.is_root()) {
            return target;
        }
        let outer = VPath::parse(&target).ok().and_then(|inner| self.outer_path(&inner));
        outer.map_or(target, |outer| outer.to_string())
    }

    /// Converts the paths of an error.
    fn outer_error(&self, error: FsError, path: &VPath, dest: Option<&VPath>) -> FsError {
        let has_path = error.path.is_some();
        let path = has_path.then(|| path.as_str().into());
        FsError { path, dest: dest.map(|dest| dest.as_str().into()), ..error }
    }
}

/// Returns an id that is the digest of a text.
fn id_of(text: &str) -> FileId {
    let digest = ContentHash::of(text.as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest.as_bytes()[..16]);
    FileId::from_bytes(bytes)
}

impl fmt::Debug for PathRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PathRoute").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

impl CompositeFs {
    /// Makes a filesystem of a default and routes. `/memories` and `/memories/` are one prefix.
    pub fn new(
        default: Arc<dyn FileSystem>,
        routes: impl IntoIterator<Item = PathRoute>,
    ) -> Result<Self, BadRoute> {
        let mut routes: Vec<PathRoute> = routes.into_iter().collect();
        let mut prefixes = BTreeSet::new();
        for route in &routes {
            if route.prefix.is_root() {
                return Err(BadRoute::Root);
            }
            if !prefixes.insert(route.prefix.clone()) {
                return Err(BadRoute::Twice(route.prefix.clone()));
            }
        }
        routes.sort_by_key(|route| std::cmp::Reverse(route.prefix.as_str().len()));
        routes.push(PathRoute::new(VPath::root(), default));
        Ok(Self { routes })
    }

    /// Makes a filesystem of one route: that to a directory of another.
    #[cfg(test)]
    pub(crate) fn single(route: PathRoute) -> Self {
        Self { routes: vec![route] }
    }

    fn route<'a>(&'a self, op: Op, path: &'a VPath) -> Result<RoutedPath<'a>, FsError> {
        let route = self.routes.iter().find(|route| path.starts_with(&route.prefix));
        let route = route.expect("the last route has the prefix /");
        match route.inner_path(path) {
            Some(inner) => Ok(RoutedPath { route, outer: path, inner }),
            None => Err(FsError::new(FsCode::ENAMETOOLONG, op, path)),
        }
    }

    /// Reports whether a path is a prefix, or a directory above one.
    fn holds_prefix(&self, path: &VPath) -> bool {
        self.routes.iter().any(|route| route.prefix.starts_with(path))
    }

    /// Reports whether a prefix lies below a path.
    fn has_prefix_below(&self, path: &VPath) -> bool {
        let below = |route: &PathRoute| route.prefix != *path && route.prefix.starts_with(path);
        self.routes.iter().any(below)
    }

    /// Returns the names in a directory that lead to prefixes.
    fn prefix_names(&self, directory: &VPath) -> BTreeSet<SmolStr> {
        let names = self.routes.iter().filter_map(|route| {
            let rest = route.prefix.relative_to(directory)?;
            rest.split('/').next().filter(|name| !name.is_empty()).map(SmolStr::new)
        });
        names.collect()
    }
}

impl RoutedPath<'_> {
    fn fs(&self) -> &dyn FileSystem {
        &*self.route.fs
    }

    fn lift<T>(&self, result: Result<T, FsError>) -> Result<T, FsError> {
        result.map_err(|error| self.route.outer_error(error, self.outer, None))
    }
}

impl CompositeBackend {
    /// Makes a backend of a default and others under prefixes. Commands run in the default.
    pub fn new(
        default: &dyn AgentBackend,
        routes: impl IntoIterator<Item = (VPath, Arc<dyn FileSystem>)>,
    ) -> Result<Self, BadRoute> {
        let routes = routes.into_iter().map(|(prefix, fs)| PathRoute::new(prefix, fs));
        let fs = Arc::new(CompositeFs::new(default.fs(), routes)?);
        let artifacts_root = default.artifacts_root();
        Ok(Self { fs, executor: default.executor(), artifacts_root })
    }

    /// Sets the directory for files that the tools write themselves.
    #[must_use]
    pub fn with_artifacts_root(self, artifacts_root: VPath) -> Self {
        Self { artifacts_root, ..self }
    }
}

impl AgentBackend for CompositeBackend {
    fn fs(&self) -> Arc<dyn FileSystem> {
        self.fs.clone()
    }

    fn executor(&self) -> Option<Arc<dyn CommandExecutor>> {
        self.executor.clone()
    }

    fn artifacts_root(&self) -> VPath {
        self.artifacts_root.clone()
    }
}
