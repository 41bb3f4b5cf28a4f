//! The tree of a filesystem in memory, and its operations. They are synchronous, and their errors
//! have no paths, which the caller knows.
//!
//! # Invariants
//!
//! - Every operation makes all its checks before it changes anything.
//! - A node's `parent` and `name` give its position; the root is its own parent.

mod copy;
mod lookup;

use std::collections::BTreeMap;

use bytes::Bytes;
use smol_str::SmolStr;
use yfs_types::{actor::Actor, id::FileId, path::VPath, time::Millis};

pub(super) use self::lookup::MemoryFinalLink;
use self::lookup::{MemoryLookup, MemoryMissingPath, MemorySlot};
use super::MemoryLimits;
use crate::{
    change_log::ChangeLog,
    changes::{ChangeKind, FileChange},
    error::FsCode,
    file_system::WriteOutcome,
    options::{CreateMode, MkdirOptions, MoveOptions, RemoveOptions, VersionBase, WriteOptions},
    path_components::{check_name, check_target},
    stat::{
        DEFAULT_FILE_MODE, DirEntry, FileKind, Metadata, SYMLINK_MODE, Stat, VersionToken, mime_of,
    },
};

/// The number of a node. Numbers are never reused.
pub(super) type NodeIx = u64;

const ROOT: NodeIx = 0;

/// The state of the filesystem.
#[derive(Debug)]
pub(super) struct MemoryTree {
    nodes: BTreeMap<NodeIx, MemoryNode>,
    n_nodes_ever: NodeIx,
    n_versions: u64,
    /// The bytes of all files together.
    n_bytes: u64,
    limits: MemoryLimits,
    pub(super) log: ChangeLog,
    /// The time of the operation in progress.
    pub(super) now: Millis,
    /// Whether the operation in progress follows links.
    pub(super) follows_links: bool,
}

/// A file, directory or link.
#[derive(Debug, Clone)]
pub(super) struct MemoryNode {
    parent: NodeIx,
    name: SmolStr,
    body: MemoryBody,
    pub(super) mode: u32,
    pub(super) mtime: Millis,
    created: Millis,
    mime: Option<SmolStr>,
    pub(super) metadata: Metadata,
}

#[derive(Debug, Clone)]
enum MemoryBody {
    File { data: Bytes, version: u64 },
    Directory(BTreeMap<SmolStr, NodeIx>),
    Symlink(String),
}

/// A file's content, as of one moment.
pub(super) struct MemoryContent {
    pub(super) node: NodeIx,
    pub(super) data: Bytes,
    version: u64,
}

impl MemoryContent {
    pub(super) fn token(&self) -> VersionToken {
        token(self.node, self.version)
    }
}

impl MemoryTree {
    pub(super) fn new(now: Millis, limits: MemoryLimits, log: ChangeLog) -> Self {
        let root =
            MemoryNode::new(ROOT, SmolStr::default(), MemoryBody::Directory(BTreeMap::new()), now);
        let nodes = BTreeMap::from([(ROOT, root)]);
        Self {
            nodes,
            n_nodes_ever: 1,
            n_versions: 0,
            n_bytes: 0,
            limits,
            log,
            now,
            follows_links: true,
        }
    }

    pub(super) fn content(&self, path: &VPath) -> Result<MemoryContent, FsCode> {
        let node = self.find(path, MemoryFinalLink::Follow)?;
        match &self.node(node).body {
            MemoryBody::File { data, version } => {
                Ok(MemoryContent { node, data: data.clone(), version: *version })
            }
            MemoryBody::Directory(_) => Err(FsCode::EISDIR),
            MemoryBody::Symlink(_) => Err(FsCode::EINVAL),
        }
    }

    pub(super) fn write(
        &mut self,
        path: &VPath,
        data: Bytes,
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsCode> {
        let follow = options.follow && options.create != CreateMode::New;
        let found = self
            .lookup(path, if follow { MemoryFinalLink::Follow } else { MemoryFinalLink::Keep })?;
        if options.create == CreateMode::New && matches!(found, MemoryLookup::Node(_)) {
            return Err(FsCode::EEXIST);
        }
        let actor = options.author.as_ref().map(|author| author.actor.clone());
        match found {
            MemoryLookup::Node(node) => match &self.node(node).body {
                MemoryBody::Directory(_) => Err(FsCode::EISDIR),
                MemoryBody::File { data: old, version } => {
                    check_base(old, token(node, *version), options)?;
                    self.replace(node, data, actor)?;
                    self.apply(node, options);
                    Ok(self.written(node, false))
                }
                MemoryBody::Symlink(_) => {
                    check_no_base(options)?;
                    self.check_room(data.len() as u64, 0)?;
                    let spot = MemorySlot {
                        dir: self.node(node).parent,
                        name: self.node(node).name.clone(),
                    };
                    self.remove(node);
                    Ok(self.create_file(spot, data, options, actor))
                }
            },
            MemoryLookup::Missing(missing) => {
                let spot = self.check_create(missing, data.len() as u64, options)?;
                let spot = self.make_parents(spot);
                Ok(self.create_file(spot, data, options, actor))
            }
        }
    }

    pub(super) fn append(
        &mut self,
        path: &VPath,
        data: &Bytes,
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsCode> {
        let last = if options.create == CreateMode::New {
            MemoryFinalLink::Keep
        } else {
            MemoryFinalLink::Follow
        };
        let actor = options.author.as_ref().map(|author| author.actor.clone());
        match self.lookup(path, last)? {
            MemoryLookup::Node(_) if options.create == CreateMode::New => Err(FsCode::EEXIST),
            MemoryLookup::Node(node) => {
                let MemoryBody::File { data: old, version } = &self.node(node).body else {
                    return Err(FsCode::EISDIR);
                };
                check_version(Some(token(node, *version)), options)?;
                let joined = Bytes::from([&old[..], &data[..]].concat());
                self.replace(node, joined, actor)?;
                Ok(self.written(node, false))
            }
            MemoryLookup::Missing(missing) => {
                check_version(None, options)?;
                let options = WriteOptions { base: None, ..options.clone() };
                let spot = self.check_create(missing, data.len() as u64, &options)?;
                let spot = self.make_parents(spot);
                Ok(self.create_file(spot, data.clone(), &options, actor))
            }
        }
    }

    /// Replaces the content of a file. `EFBIG` and `ENOSPC` change nothing.
    pub(super) fn replace(
        &mut self,
        node: NodeIx,
        data: Bytes,
        actor: Option<Actor>,
    ) -> Result<VersionToken, FsCode> {
        let old_len = self.node(node).size();
        self.check_room(data.len() as u64, old_len)?;
        self.n_bytes = self.n_bytes - old_len + data.len() as u64;
        let version = self.next_version();
        let now = self.now;
        let file = self.node_mut(node);
        file.body = MemoryBody::File { data, version };
        file.mtime = now;
        self.record(ChangeKind::Changed, node, actor);
        Ok(token(node, version))
    }

    pub(super) fn stat(&self, path: &VPath, follow: bool) -> Result<Stat, FsCode> {
        let ix =
            self.find(path, if follow { MemoryFinalLink::Follow } else { MemoryFinalLink::Keep })?;
        let node = self.node(ix);
        let mut stat = Stat::new(id(ix), node.kind());
        (stat.size, stat.mode) = (node.size(), node.mode);
        (stat.mtime, stat.created) = (node.mtime, node.created);
        stat.metadata = node.metadata.clone();
        if let MemoryBody::File { version, .. } = node.body {
            stat.version = Some(token(ix, version));
            stat.mime = Some(node.mime.clone().unwrap_or_else(|| mime_of(&node.name)));
        }
        Ok(stat)
    }

    pub(super) fn readdir(&self, path: &VPath) -> Result<Vec<DirEntry>, FsCode> {
        let dir = self.find(path, MemoryFinalLink::Follow)?;
        let children = self.children(dir).ok_or(FsCode::ENOTDIR)?;
        let entries = children.iter().map(|(name, ix)| {
            let node = self.node(*ix);
            let mut entry = DirEntry::new(name.clone(), id(*ix), node.kind());
            (entry.size, entry.mtime, entry.mode) = (node.size(), node.mtime, node.mode);
            entry
        });
        Ok(entries.collect())
    }

    pub(super) fn mkdir(&mut self, path: &VPath, options: &MkdirOptions) -> Result<(), FsCode> {
        let missing = match self.lookup(path, MemoryFinalLink::Keep)? {
            MemoryLookup::Node(_) if options.recursive => {
                let is_directory = |node| self.children(node).is_some();
                let there = self.find(path, MemoryFinalLink::Follow).is_ok_and(is_directory);
                return if there { Ok(()) } else { Err(FsCode::EEXIST) };
            }
            MemoryLookup::Node(_) => return Err(FsCode::EEXIST),
            MemoryLookup::Missing(missing) => missing,
        };
        let spot = self.check_spot(missing, options.recursive)?;
        let spot = self.make_parents(spot);
        let dir = self.insert(spot, MemoryBody::Directory(BTreeMap::new()));
        if let Some(mode) = options.mode {
            self.node_mut(dir).mode = mode & 0o7777;
        }
        self.record(ChangeKind::Created, dir, None);
        Ok(())
    }

    pub(super) fn rm(&mut self, path: &VPath, options: &RemoveOptions) -> Result<(), FsCode> {
        if path.is_root() {
            return Err(FsCode::EBUSY);
        }
        let node = match self.find(path, MemoryFinalLink::Keep) {
            Err(FsCode::ENOENT | FsCode::ENOTDIR) if options.force => return Ok(()),
            found => found?,
        };
        let holds_something = self.children(node).is_some_and(|children| !children.is_empty());
        if holds_something && !options.recursive {
            return Err(FsCode::ENOTEMPTY);
        }
        self.record(ChangeKind::Removed, node, None);
        self.remove(node);
        Ok(())
    }

    pub(super) fn mv(
        &mut self,
        from: &VPath,
        to: &VPath,
        options: &MoveOptions,
    ) -> Result<(), FsCode> {
        if from.is_root() || to.is_root() {
            return Err(FsCode::EBUSY);
        }
        let source = self.find(from, MemoryFinalLink::Keep)?;
        let old_path = self.path_of(source);
        match self.lookup(to, MemoryFinalLink::Keep)? {
            MemoryLookup::Node(dest) if dest == source => Ok(()),
            MemoryLookup::Node(dest) => {
                self.check_replace(source, dest, options.replace)?;
                if self.is_file(source) && self.is_file(dest) {
                    return self.move_content(source, dest);
                }
                let spot =
                    MemorySlot { dir: self.node(dest).parent, name: self.node(dest).name.clone() };
                self.record(ChangeKind::Removed, dest, None);
                self.remove(dest);
                self.relocate(source, spot, old_path);
                Ok(())
            }
            MemoryLookup::Missing(missing) => {
                let at = missing.dir;
                let spot = self.check_spot(missing, options.parents)?;
                if self.is_within(at, source) {
                    return Err(FsCode::EINVAL);
                }
                let spot = self.make_parents(spot);
                self.relocate(source, spot, old_path);
                Ok(())
            }
        }
    }

    pub(super) fn symlink(&mut self, target: &str, path: &VPath) -> Result<(), FsCode> {
        check_target(target)?;
        match self.lookup(path, MemoryFinalLink::Keep)? {
            MemoryLookup::Node(_) => Err(FsCode::EEXIST),
            MemoryLookup::Missing(missing) => {
                let spot = self.check_spot(missing, true)?;
                let spot = self.make_parents(spot);
                let link = self.insert(spot, MemoryBody::Symlink(target.to_owned()));
                self.record(ChangeKind::Created, link, None);
                Ok(())
            }
        }
    }

    pub(super) fn readlink(&self, path: &VPath) -> Result<String, FsCode> {
        match &self.node(self.find(path, MemoryFinalLink::Keep)?).body {
            MemoryBody::Symlink(target) => Ok(target.clone()),
            MemoryBody::File { .. } | MemoryBody::Directory(_) => Err(FsCode::EINVAL),
        }
    }

    pub(super) fn realpath(&self, path: &VPath) -> Result<VPath, FsCode> {
        Ok(self.path_of(self.find(path, MemoryFinalLink::Follow)?))
    }

    /// Changes attributes other than content and position.
    pub(super) fn update(
        &mut self,
        path: &VPath,
        update: impl FnOnce(&mut MemoryNode),
    ) -> Result<(), FsCode> {
        let node = self.find(path, MemoryFinalLink::Follow)?;
        update(self.node_mut(node));
        self.record(ChangeKind::Changed, node, None);
        Ok(())
    }

    /// Checks that `source` may replace `dest`.
    fn check_replace(&self, source: NodeIx, dest: NodeIx, replace: bool) -> Result<(), FsCode> {
        if !replace {
            return Err(FsCode::EEXIST);
        }
        let source_is_directory = self.children(source).is_some();
        if source_is_directory && self.is_within(dest, source) {
            return Err(FsCode::EINVAL);
        }
        match (source_is_directory, self.children(dest)) {
            (true, None) => Err(FsCode::ENOTDIR),
            (false, Some(_)) => Err(FsCode::EISDIR),
            (true, Some(children)) if !children.is_empty() => Err(FsCode::ENOTEMPTY),
            _ => Ok(()),
        }
    }

    /// Moves a file's content into another file, which keeps its identity.
    fn move_content(&mut self, source: NodeIx, dest: NodeIx) -> Result<(), FsCode> {
        self.record(ChangeKind::Removed, source, None);
        let moved = self.remove(source);
        let MemoryBody::File { data, .. } = moved.body else { unreachable!("the caller looked") };
        self.replace(dest, data, None)?;
        let file = self.node_mut(dest);
        (file.mode, file.mtime, file.mime) = (moved.mode, moved.mtime, moved.mime);
        file.metadata = moved.metadata;
        Ok(())
    }

    fn relocate(&mut self, node: NodeIx, spot: MemorySlot, from: VPath) {
        let (old_dir, old_name) = (self.node(node).parent, self.node(node).name.clone());
        self.children_mut(old_dir).remove(&old_name);
        self.children_mut(spot.dir).insert(spot.name.clone(), node);
        let moved = self.node_mut(node);
        (moved.parent, moved.name) = (spot.dir, spot.name);
        self.record(ChangeKind::Moved { from }, node, None);
    }

    /// Checks everything that could prevent the creation of a file.
    fn check_create(
        &self,
        missing: MemoryMissingPath,
        n_bytes: u64,
        options: &WriteOptions,
    ) -> Result<MemoryMissingPath, FsCode> {
        if options.create == CreateMode::Never {
            return Err(FsCode::ENOENT);
        }
        check_no_base(options)?;
        let spot = self.check_spot(missing, options.parents)?;
        self.check_room(n_bytes, 0)?;
        Ok(spot)
    }

    /// Checks that the missing names can be created.
    fn check_spot(
        &self,
        missing: MemoryMissingPath,
        parents: bool,
    ) -> Result<MemoryMissingPath, FsCode> {
        if missing.names.len() > 1 && !parents {
            return Err(FsCode::ENOENT);
        }
        for name in &missing.names {
            check_name(name)?;
        }
        Ok(missing)
    }

    fn check_room(&self, new_len: u64, old_len: u64) -> Result<(), FsCode> {
        if new_len > self.limits.max_file_len {
            Err(FsCode::EFBIG)
        } else if new_len > old_len && self.n_bytes - old_len + new_len > self.limits.max_bytes {
            Err(FsCode::ENOSPC)
        } else {
            Ok(())
        }
    }

    /// Creates the missing directories, all but the last name.
    fn make_parents(&mut self, missing: MemoryMissingPath) -> MemorySlot {
        let MemoryMissingPath { mut dir, names } = missing;
        let mut names = names.into_iter();
        let last =
            names.next_back().expect("at least one name is missing, or the caller had found it");
        for name in names {
            dir = self.insert(MemorySlot { dir, name }, MemoryBody::Directory(BTreeMap::new()));
            self.record(ChangeKind::Created, dir, None);
        }
        MemorySlot { dir, name: last }
    }

    fn create_file(
        &mut self,
        spot: MemorySlot,
        data: Bytes,
        options: &WriteOptions,
        actor: Option<Actor>,
    ) -> WriteOutcome {
        self.n_bytes += data.len() as u64;
        let version = self.next_version();
        let node = self.insert(spot, MemoryBody::File { data, version });
        self.node_mut(node).mode = DEFAULT_FILE_MODE;
        self.apply(node, options);
        self.record(ChangeKind::Created, node, actor);
        self.written(node, true)
    }

    /// Sets the attributes that a write names.
    fn apply(&mut self, node: NodeIx, options: &WriteOptions) {
        let file = self.node_mut(node);
        file.mode = options.mode.map_or(file.mode, |mode| mode & 0o7777);
        file.mtime = options.mtime.unwrap_or(file.mtime);
        file.mime = options.mime.clone().or(file.mime.take());
        if let Some(metadata) = &options.metadata {
            file.metadata = metadata.clone();
        }
    }

    fn written(&self, node: NodeIx, created: bool) -> WriteOutcome {
        let MemoryBody::File { data, version } = &self.node(node).body else {
            unreachable!("only files are written")
        };
        WriteOutcome::new(id(node), token(node, *version), data.len() as u64, created)
    }

    fn insert(&mut self, spot: MemorySlot, body: MemoryBody) -> NodeIx {
        let ix = self.n_nodes_ever;
        self.n_nodes_ever += 1;
        let node = MemoryNode::new(spot.dir, spot.name.clone(), body, self.now);
        self.nodes.insert(ix, node);
        self.children_mut(spot.dir).insert(spot.name, ix);
        ix
    }

    /// Removes a node and everything below it from the tree.
    fn remove(&mut self, node: NodeIx) -> MemoryNode {
        let (dir, name) = (self.node(node).parent, self.node(node).name.clone());
        self.children_mut(dir).remove(&name);
        let removed = self.node(node).clone();
        let mut pending = vec![node];
        while let Some(ix) = pending.pop() {
            let node = self.nodes.remove(&ix).expect("a node that was in the tree");
            match node.body {
                MemoryBody::Directory(children) => pending.extend(children.into_values()),
                MemoryBody::File { data, .. } => self.n_bytes -= data.len() as u64,
                MemoryBody::Symlink(_) => (),
            }
        }
        removed
    }

    fn record(&mut self, kind: ChangeKind, node: NodeIx, actor: Option<Actor>) {
        let path = self.path_of(node);
        let mut change = FileChange::new(kind, path, id(node), self.node(node).kind(), self.now);
        change.actor = actor;
        self.log.push(change);
    }

    fn next_version(&mut self) -> u64 {
        self.n_versions += 1;
        self.n_versions
    }
}

impl MemoryNode {
    fn new(parent: NodeIx, name: SmolStr, body: MemoryBody, now: Millis) -> Self {
        let mode = match body {
            MemoryBody::File { .. } => DEFAULT_FILE_MODE,
            MemoryBody::Directory(_) => FileKind::Directory.default_mode(),
            MemoryBody::Symlink(_) => SYMLINK_MODE,
        };
        let metadata = Metadata::new();
        Self { parent, name, body, mode, mtime: now, created: now, mime: None, metadata }
    }

    fn kind(&self) -> FileKind {
        match self.body {
            MemoryBody::File { .. } => FileKind::File,
            MemoryBody::Directory(_) => FileKind::Directory,
            MemoryBody::Symlink(_) => FileKind::Symlink,
        }
    }

    fn size(&self) -> u64 {
        match &self.body {
            MemoryBody::File { data, .. } => data.len() as u64,
            MemoryBody::Directory(_) => 0,
            MemoryBody::Symlink(target) => target.len() as u64,
        }
    }
}

fn check_version(current: Option<VersionToken>, options: &WriteOptions) -> Result<(), FsCode> {
    let expected = options.expected_version.is_some();
    if expected && options.expected_version != current { Err(FsCode::ESTALE) } else { Ok(()) }
}

fn check_base(old: &Bytes, current: VersionToken, options: &WriteOptions) -> Result<(), FsCode> {
    let holds = match &options.base {
        None => true,
        Some(VersionBase::Version(version)) => *version == current,
        Some(VersionBase::Content(content)) => content == old,
    };
    check_version(Some(current), options)?;
    if holds { Ok(()) } else { Err(FsCode::ESTALE) }
}

/// Rejects a version or a base for a file that does not exist: it has no version, and no writer can
/// have read it.
fn check_no_base(options: &WriteOptions) -> Result<(), FsCode> {
    check_version(None, options)?;
    if options.base.is_some() { Err(FsCode::ESTALE) } else { Ok(()) }
}

fn id(node: NodeIx) -> FileId {
    FileId::from_bytes(u128::from(node).to_be_bytes())
}

fn token(node: NodeIx, version: u64) -> VersionToken {
    VersionToken::new(format!("{node}.{version}"))
}
