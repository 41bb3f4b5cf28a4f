//! Where a path leads: a walk along the path that follows links itself and collects every name by
//! which a rule may match.
//!
//! The walk never reveals whether an object exists that the rules hide: it checks a name behind a
//! link before it asks the backend.

use smol_str::SmolStr;
use yfs_types::{
    id::FileId,
    path::{MAX_LINKS, MAX_PATH_LEN, VPath},
};
use yfs_vfs::{DirEntry, FileKind, FsCode, FsError, Op, Stat};

use super::{
    object_places::GrantedObject,
    permitted_fs::PermittedFs,
    rules::{AccessKind, RuleMode},
};

/// A path, and all the names that rules about it may match.
#[derive(Debug, Clone)]
pub(super) struct CheckedPath {
    /// The path without links; the last names may not exist.
    pub(super) real: VPath,
    /// The object at its end, if there is one.
    pub(super) stat: Option<Stat>,
    /// The ids of the directories above the object; none if nothing is known of ids.
    pub(super) above: Vec<FileId>,
    /// The spelled path, the real path, and the places that the object and the directories above it
    /// had before.
    pub(super) places: Vec<VPath>,
    /// The missing parents, which a write would create.
    pub(super) missing_parents: Vec<VPath>,
}

/// The walk in progress.
struct PathWalk {
    /// The names still to walk, the next one last, each with whether it came from a link.
    pending: Vec<(SmolStr, bool)>,
    at: VPath,
    /// The existing objects from the root to `at`.
    chain: Vec<(VPath, FileId)>,
    /// The missing paths from the first to `at`.
    missing: Vec<VPath>,
    stat: Option<Stat>,
    n_links: usize,
}

impl CheckedPath {
    /// Returns the key under which an approval of this object is remembered.
    pub(super) fn granted_object(&self) -> GrantedObject {
        match &self.stat {
            Some(stat) => GrantedObject::Existing(stat.id.clone()),
            None => GrantedObject::Missing(self.real.clone()),
        }
    }

    /// Returns an entry of a directory, as its listing describes it.
    pub(super) fn entry_of(directory: &Self, entry: &DirEntry) -> Self {
        let place = |above: &VPath| above.join(&entry.name);
        let mut above = directory.above.clone();
        above.push(entry.id.clone());
        Self {
            real: place(&directory.real),
            stat: Some(Stat::new(entry.id.clone(), entry.kind)),
            above,
            places: directory.places.iter().map(place).collect(),
            missing_parents: Vec::new(),
        }
    }

    pub(super) fn is_directory(&self) -> bool {
        self.stat.as_ref().is_some_and(Stat::is_directory)
    }
}

impl PermittedFs {
    /// Resolves a path, with or without a link at its end.
    pub(super) async fn check_path(
        &self,
        op: Op,
        spelled: &VPath,
        follow: bool,
    ) -> Result<CheckedPath, FsError> {
        let mut start = spelled.clone();
        // A backend may have a second path of an object. Then the walk starts again from the first.
        for _ in 0..3 {
            let walk = match self.walk_at_once(&start, follow).await {
                Some(walk) => walk,
                None => self.walk_path(op, spelled, &start, follow).await?,
            };
            let alias = self.alias_of(op, spelled, &walk).await?;
            if let Some(path) = alias {
                start = path;
                continue;
            }
            let mut places = self.earlier_places(&walk);
            for place in [walk.at.clone(), start, spelled.clone()] {
                if !places.contains(&place) {
                    places.push(place);
                }
            }
            if walk.stat.as_ref().is_some_and(|stat| stat.n_links > 1) {
                let id = walk.stat.as_ref().map(|stat| stat.id.clone());
                let guarded = self.guarded_files().await.into_iter();
                places
                    .extend(guarded.filter(|(own, _)| Some(own) == id.as_ref()).map(|(_, at)| at));
            }
            let mut missing_parents = walk.missing;
            missing_parents.pop();
            let above = walk.chain.into_iter().map(|(_, id)| id).collect();
            return Ok(CheckedPath {
                real: walk.at,
                stat: walk.stat,
                above,
                places,
                missing_parents,
            });
        }
        Err(self.refusal(AccessKind::Read, op, spelled))
    }

    /// Returns the walk to an object that is there and to which no link leads, by one call of the
    /// backend. `None` if the path must be walked, also where ids on the way decide.
    async fn walk_at_once(&self, start: &VPath, follow: bool) -> Option<PathWalk> {
        if !self.places.is_empty() || self.places.has_grants() {
            return None;
        }
        let stat = self.handle.lstat(start).await.ok()?;
        let is_walked = follow && stat.kind == FileKind::Symlink;
        let walk = PathWalk { pending: Vec::new(), at: start.clone(), ..PathWalk::new(start) };
        (!is_walked).then_some(PathWalk { stat: Some(stat), ..walk })
    }

    async fn walk_path(
        &self,
        op: Op,
        spelled: &VPath,
        start: &VPath,
        follow: bool,
    ) -> Result<PathWalk, FsError> {
        let fail = |code| Err(FsError::new(code, op, spelled));
        let mut walk = PathWalk::new(start);
        while let Some((name, from_link)) = walk.pending.pop() {
            match name.as_str() {
                "." if walk.stat.as_ref().is_some_and(|stat| !stat.is_directory()) => {
                    return fail(FsCode::ENOTDIR);
                }
                "." => continue,
                ".." if !walk.missing.is_empty() => return fail(FsCode::ENOENT),
                ".." => {
                    if walk.at.is_root() {
                        // Some backends refuse a link that leads out of the root.
                        self.check_escape(op, spelled).await?;
                    }
                    walk.leave();
                    continue;
                }
                _ => (),
            }
            if walk.at.as_str().len() + name.len() + 1 > MAX_PATH_LEN {
                return fail(FsCode::ENAMETOOLONG);
            }
            let path = walk.at.join(&name);
            if !walk.missing.is_empty() {
                walk.miss(path);
                continue;
            }
            if from_link && self.is_denied(&path) && !self.leads_to_open(&path, &walk.pending) {
                return Err(self.refusal(AccessKind::Read, op, spelled));
            }
            let stat = match self.handle.lstat(&path).await {
                Ok(stat) => stat,
                // The file that a dangling link names can be created, but no directory above it.
                Err(error)
                    if error.code == FsCode::ENOENT && from_link && !walk.pending.is_empty() =>
                {
                    return fail(FsCode::ENOENT);
                }
                Err(error) if matches!(error.code, FsCode::ENOENT | FsCode::ENOTDIR) => {
                    walk.miss(path);
                    continue;
                }
                Err(error) => return Err(self.spell(error, op, spelled)),
            };
            let is_kept = !follow && walk.pending.is_empty();
            if stat.kind != FileKind::Symlink || is_kept {
                walk.enter(path, stat);
                continue;
            }
            if !self.follows_links {
                return fail(FsCode::ELOOP);
            }
            walk.n_links += 1;
            if walk.n_links > MAX_LINKS {
                return fail(FsCode::ELOOP);
            }
            if self.is_denied(&path) && !self.leads_to_open(&path, &walk.pending) {
                return Err(self.refusal(AccessKind::Read, op, spelled));
            }
            let target = self.handle.readlink(&path).await;
            walk.follow(&target.map_err(|error| self.spell(error, op, spelled))?);
        }
        if walk.missing.is_empty() && walk.stat.is_none() {
            let stat = self.handle.lstat(&walk.at).await;
            walk.stat = Some(stat.map_err(|error| self.spell(error, op, spelled))?);
        }
        Ok(walk)
    }

    /// Returns the first path of an object that was reached by a second one, or `None`.
    async fn alias_of(
        &self,
        op: Op,
        spelled: &VPath,
        walk: &PathWalk,
    ) -> Result<Option<VPath>, FsError> {
        if walk.missing.is_empty() {
            let is_link = walk.stat.as_ref().is_some_and(|stat| stat.kind == FileKind::Symlink);
            let end = if is_link { walk.at.parent() } else { Some(walk.at.clone()) };
            let end = end.unwrap_or_else(VPath::root);
            let real = self.inner.realpath(&end).await;
            let real = real.map_err(|error| self.spell(error, op, spelled))?;
            return Ok((real != end).then(|| rebased(&walk.at, &end, &real)));
        }
        // The first missing path is known to be missing. Those below it may still be aliases.
        for path in walk.missing.iter().skip(1).rev() {
            match self.inner.lstat(path).await {
                Ok(stat) if stat.kind == FileKind::Symlink => {
                    return Err(self.refusal(AccessKind::Read, op, spelled));
                }
                Ok(_) => {
                    let real = self.inner.realpath(path).await;
                    let real = real.map_err(|error| self.spell(error, op, spelled))?;
                    return Ok(Some(rebased(&walk.at, path, &real)));
                }
                Err(_) => (),
            }
        }
        Ok(None)
    }

    async fn check_escape(&self, op: Op, spelled: &VPath) -> Result<(), FsError> {
        match self.inner.realpath(spelled).await {
            Err(error) if error.code == FsCode::EACCES => Err(self.spell(error, op, spelled)),
            _ => Ok(()),
        }
    }

    /// Reports whether the names after a directory that may not be read lead to a path that may be.
    /// A caller that spells this path itself passes through the directory as well.
    fn leads_to_open(&self, directory: &VPath, pending: &[(SmolStr, bool)]) -> bool {
        let mut path = directory.clone();
        for (name, _) in pending.iter().rev() {
            match name.as_str() {
                "." => (),
                ".." => return false,
                name => path = path.join(name),
            }
        }
        path != *directory && path.as_str().len() <= MAX_PATH_LEN && !self.is_denied(&path)
    }

    fn is_denied(&self, path: &VPath) -> bool {
        self.rules.mode_at(AccessKind::Read, path) == RuleMode::Deny
    }

    /// Returns the paths that `walk.at` would have if the objects on the way were where they were
    /// before.
    fn earlier_places(&self, walk: &PathWalk) -> Vec<VPath> {
        if self.places.is_empty() {
            return Vec::new();
        }
        let mut places = Vec::new();
        for (path, id) in &walk.chain {
            let earlier = self.places.of(id);
            places.extend(earlier.iter().map(|place| rebased(&walk.at, path, place)));
        }
        places
    }
}

impl PathWalk {
    fn new(path: &VPath) -> Self {
        let pending = path.components().rev().map(|name| (SmolStr::new(name), false)).collect();
        Self {
            pending,
            at: VPath::root(),
            chain: Vec::new(),
            missing: Vec::new(),
            stat: None,
            n_links: 0,
        }
    }

    fn enter(&mut self, path: VPath, stat: Stat) {
        self.chain.push((path.clone(), stat.id.clone()));
        self.stat = Some(stat);
        self.at = path;
    }

    fn leave(&mut self) {
        self.chain.pop();
        self.stat = None;
        self.at = self.at.parent().unwrap_or_else(VPath::root);
    }

    fn miss(&mut self, path: VPath) {
        self.stat = None;
        self.missing.push(path.clone());
        self.at = path;
    }

    fn follow(&mut self, target: &str) {
        if target.starts_with('/') {
            (self.at, self.stat) = (VPath::root(), None);
            self.chain.clear();
        }
        if target.ends_with('/') {
            self.pending.push((SmolStr::new_static("."), true));
        }
        let names = target.split('/').filter(|name| !name.is_empty());
        self.pending.extend(names.rev().map(|name| (SmolStr::new(name), true)));
    }
}

/// Returns `path`, which is `from` or lies below it, as a path of `to`. A path that would be too
/// long stays as it is.
pub(super) fn rebased(path: &VPath, from: &VPath, to: &VPath) -> VPath {
    match path.relative_to(from) {
        Some(rest) if !rest.is_empty() => to.resolve(rest).unwrap_or_else(|_| path.clone()),
        _ => to.clone(),
    }
}
