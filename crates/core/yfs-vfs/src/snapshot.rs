//! A filesystem of objects that do not change, whose content is read when it is first needed.

use std::{
    collections::{BTreeSet, HashMap},
    fmt,
};

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use smol_str::SmolStr;
use yfs_types::{id::FileId, name::MAX_NAME_LEN, path::VPath};

use crate::{
    edit::{EditOutcome, TextReplacement},
    error::{FsCode, FsError, Op},
    file_system::{FileContent, FileSystem, WriteOutcome},
    options::{CopyOptions, FileAttribute, MkdirOptions, MoveOptions, RemoveOptions, WriteOptions},
    path_components::{NameComparison, PendingComponents},
    stat::{DirEntry, FileKind, Stat, VersionToken},
};

/// An object of a [`SnapshotFs`].
#[derive(Debug, Clone, PartialEq)]
pub struct SnapshotNode {
    /// Its description. The size and version of a file are replaced if `is_sized` is off.
    pub stat: Stat,
    /// Whether the size of a file is known without reading it.
    pub is_sized: bool,
    /// The target of a link.
    pub target: Option<String>,
}

/// The source of the contents of a [`SnapshotFs`].
pub trait SnapshotContents: Send + Sync + fmt::Debug {
    /// Returns the content of a file.
    fn read(&self, id: &FileId, path: &VPath) -> Result<Bytes, FsError>;
}

/// A filesystem that cannot be changed: all writing operations return `EROFS`.
///
/// The tree is in memory; each content is read once, when it or its size is first needed.
#[derive(Debug)]
pub struct SnapshotFs<C> {
    nodes: HashMap<VPath, SnapshotNode>,
    children: HashMap<VPath, BTreeSet<SmolStr>>,
    contents: C,
    read: Mutex<HashMap<FileId, Bytes>>,
}

/// Whether a lookup follows a link at the end of its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FinalLink {
    Follow,
    Stop,
}

impl<C: SnapshotContents> SnapshotFs<C> {
    /// Makes a filesystem of these objects. Missing directories above an object are added, and of
    /// several objects at one path the first is kept. The root needs no object.
    pub fn new(nodes: impl IntoIterator<Item = (VPath, SnapshotNode)>, contents: C) -> Self {
        let mut own = Self {
            nodes: HashMap::new(),
            children: HashMap::new(),
            contents,
            read: Mutex::default(),
        };
        own.add(VPath::root(), directory());
        for (path, node) in nodes {
            own.add(path, node);
        }
        own
    }

    fn add(&mut self, path: VPath, node: SnapshotNode) {
        if self.nodes.contains_key(&path) {
            return;
        }
        if let Some((parent, name)) = path.parent().zip(path.file_name()) {
            self.add(parent.clone(), directory());
            self.children.entry(parent).or_default().insert(name.into());
        }
        self.nodes.insert(path, node);
    }

    /// Finds the object at a path, and returns its path without links.
    fn lookup(&self, path: &VPath, last: FinalLink) -> Result<(VPath, &SnapshotNode), FsCode> {
        let mut pending = PendingComponents::new(path, NameComparison::FormC);
        let mut at = VPath::root();
        while let Some(component) = pending.next() {
            if self.node(&at)?.stat.kind != FileKind::Directory {
                return Err(FsCode::ENOTDIR);
            }
            match component.name.as_str() {
                "." => continue,
                ".." => {
                    at = at.parent().unwrap_or_else(VPath::root);
                    continue;
                }
                name if name.len() > MAX_NAME_LEN => return Err(FsCode::ENAMETOOLONG),
                _ => (),
            }
            let child = at.join(&component.name);
            match &self.node(&child)?.target {
                Some(target) if last == FinalLink::Follow || !pending.is_empty() => {
                    if pending.follow(target)? {
                        at = VPath::root();
                    }
                }
                _ => at = child,
            }
        }
        let node = self.node(&at)?;
        Ok((at, node))
    }

    fn node(&self, path: &VPath) -> Result<&SnapshotNode, FsCode> {
        self.nodes.get(path).ok_or(FsCode::ENOENT)
    }

    fn content(&self, path: &VPath, node: &SnapshotNode) -> Result<Bytes, FsError> {
        if let Some(known) = self.read.lock().get(&node.stat.id) {
            return Ok(known.clone());
        }
        let content = self.contents.read(&node.stat.id, path)?;
        self.read.lock().insert(node.stat.id.clone(), content.clone());
        Ok(content)
    }

    fn describe(&self, path: &VPath, node: &SnapshotNode) -> Result<Stat, FsError> {
        let mut stat = node.stat.clone();
        if stat.kind == FileKind::File && !node.is_sized {
            stat.size = self.content(path, node)?.len() as u64;
            stat.version = Some(node.version());
        }
        Ok(stat)
    }

    fn stat_of(&self, op: Op, path: &VPath, last: FinalLink) -> Result<Stat, FsError> {
        let found = self.lookup(path, last).map_err(|code| FsError::new(code, op, path))?;
        self.describe(&found.0, found.1)
    }
}

#[async_trait]
impl<C: SnapshotContents> FileSystem for SnapshotFs<C> {
    async fn read(&self, path: &VPath) -> Result<FileContent, FsError> {
        let fail = |code| FsError::new(code, Op::Open, path);
        let (found, node) = self.lookup(path, FinalLink::Follow).map_err(fail)?;
        match node.stat.kind {
            FileKind::Directory => Err(fail(FsCode::EISDIR)),
            FileKind::File => {
                let data = self.content(&found, node)?;
                Ok(FileContent { data, version: node.version() })
            }
            _ => Err(fail(FsCode::EINVAL)),
        }
    }

    async fn write(
        &self,
        path: &VPath,
        _: Bytes,
        _: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        Err(refusal(Op::Open, path))
    }

    async fn append(
        &self,
        path: &VPath,
        _: Bytes,
        _: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        Err(refusal(Op::Append, path))
    }

    async fn edit(&self, path: &VPath, _: &TextReplacement) -> Result<EditOutcome, FsError> {
        Err(refusal(Op::Edit, path))
    }

    async fn stat(&self, path: &VPath) -> Result<Stat, FsError> {
        self.stat_of(Op::Stat, path, FinalLink::Follow)
    }

    async fn lstat(&self, path: &VPath) -> Result<Stat, FsError> {
        self.stat_of(Op::Lstat, path, FinalLink::Stop)
    }

    async fn readdir(&self, path: &VPath) -> Result<Vec<DirEntry>, FsError> {
        let fail = |code| FsError::new(code, Op::Scandir, path);
        let (found, node) = self.lookup(path, FinalLink::Follow).map_err(fail)?;
        if !node.stat.is_directory() {
            return Err(fail(FsCode::ENOTDIR));
        }
        let names = self.children.get(&found).into_iter().flatten();
        let entry_of = |name: &SmolStr| {
            let path = found.join(name);
            let stat = self.describe(&path, self.node(&path).map_err(fail)?)?;
            let mut entry = DirEntry::new(name.clone(), stat.id, stat.kind);
            (entry.size, entry.mtime, entry.mode) = (stat.size, stat.mtime, stat.mode);
            Ok(entry)
        };
        names.map(entry_of).collect()
    }

    async fn mkdir(&self, path: &VPath, _: &MkdirOptions) -> Result<(), FsError> {
        Err(refusal(Op::Mkdir, path))
    }

    async fn rm(&self, path: &VPath, _: &RemoveOptions) -> Result<(), FsError> {
        Err(refusal(Op::Rm, path))
    }

    async fn cp(&self, from: &VPath, to: &VPath, _: &CopyOptions) -> Result<(), FsError> {
        Err(refusal(Op::Cp, from).to(to))
    }

    async fn mv(&self, from: &VPath, to: &VPath, _: &MoveOptions) -> Result<(), FsError> {
        Err(refusal(Op::Rename, from).to(to))
    }

    async fn symlink(&self, target: &str, path: &VPath) -> Result<(), FsError> {
        Err(FsError::new(FsCode::EROFS, Op::Symlink, target).to(path))
    }

    async fn readlink(&self, path: &VPath) -> Result<String, FsError> {
        let fail = |code| FsError::new(code, Op::Readlink, path);
        let (_, node) = self.lookup(path, FinalLink::Stop).map_err(fail)?;
        node.target.clone().ok_or_else(|| fail(FsCode::EINVAL))
    }

    async fn link(&self, existing: &VPath, path: &VPath) -> Result<(), FsError> {
        Err(refusal(Op::Link, existing).to(path))
    }

    async fn realpath(&self, path: &VPath) -> Result<VPath, FsError> {
        let found = self.lookup(path, FinalLink::Follow);
        found.map(|(path, _)| path).map_err(|code| FsError::new(code, Op::Realpath, path))
    }

    async fn set_attribute(&self, path: &VPath, attribute: FileAttribute) -> Result<(), FsError> {
        Err(refusal(attribute.op(), path))
    }
}

impl SnapshotNode {
    /// Returns the version of the content, which is the only one that the file has here.
    fn version(&self) -> VersionToken {
        self.stat.version.clone().unwrap_or_else(|| VersionToken::new("snapshot"))
    }
}

fn directory() -> SnapshotNode {
    let id = FileId::from_bytes([0; 16]);
    let stat = Stat::new(id, FileKind::Directory);
    SnapshotNode { stat, is_sized: true, target: None }
}

fn refusal(op: Op, path: &VPath) -> FsError {
    FsError::new(FsCode::EROFS, op, path)
}
