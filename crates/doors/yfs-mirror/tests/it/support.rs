//! A directory, a workspace and a mirror between them, with the operations of the tests.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use yfs::{Workspace, WorkspaceFs, WorkspaceOptions};
use yfs_engine::path::VPath;
use yfs_mirror::{Mirror, MirrorOptions, MirrorReport};
use yfs_store::MemoryStore;
use yfs_vfs::{FileKind, FileSystem, FileSystemExt, WalkOptions, WriteOptions};

/// How long a test waits for an expected change.
const PATIENCE: Duration = Duration::from_secs(600);

pub(crate) struct Pair {
    pub(crate) directory: TempDir,
    pub(crate) workspace: Workspace,
    pub(crate) options: MirrorOptions,
    pub(crate) mirror: Option<Mirror>,
    runtime: Runtime,
}

impl Pair {
    /// An empty directory and an empty workspace, and no mirror yet.
    pub(crate) fn apart() -> Self {
        let workspace =
            Workspace::create(Arc::new(MemoryStore::new()), WorkspaceOptions::default());
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        Self {
            directory: tempfile::tempdir().unwrap(),
            workspace: workspace.unwrap(),
            options: MirrorOptions::default(),
            mirror: None,
            runtime,
        }
    }

    /// An empty directory and an empty workspace, mirrored.
    pub(crate) fn new() -> Self {
        let mut pair = Self::apart();
        pair.start();
        pair
    }

    pub(crate) fn start(&mut self) {
        let (options, handle) = (self.options.clone(), self.runtime.handle());
        let mirror = Mirror::start(&self.workspace, self.directory.path(), options, handle);
        self.mirror = Some(mirror.unwrap());
    }

    pub(crate) fn stop(&mut self) -> MirrorReport {
        self.mirror.take().unwrap().stop().unwrap()
    }

    /// Waits until both sides are quiet and equal.
    pub(crate) fn settle(&self) -> MirrorReport {
        self.runtime.block_on(self.mirror.as_ref().unwrap().settled()).unwrap()
    }

    /// Waits, without a request to the mirror, until a condition holds.
    pub(crate) fn wait(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let start = Instant::now();
        while !is_so(self) {
            assert!(start.elapsed() < PATIENCE, "{what}: {:?} and {:?}", self.disk(), self.tree());
            self.run(async { tokio::time::sleep(Duration::from_millis(2)).await });
        }
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    /// Writes a file on disk, with the directories above it.
    pub(crate) fn put(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap_or_else(|error| format!("({error})"))
    }

    pub(crate) fn fs(&self) -> WorkspaceFs {
        self.workspace.fs()
    }

    /// Writes a file in the workspace, with the directories above it.
    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let data = text.as_ref().to_vec().into();
        self.run(self.fs().write(&v(path), data, &WriteOptions::default())).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        let read = self.run(self.fs().read(&v(path)));
        read.map_or_else(
            |error| format!("({})", error.code),
            |content| String::from_utf8_lossy(&content.data).into_owned(),
        )
    }

    /// Returns the contents of all versions of a file, oldest first.
    pub(crate) fn versions(&self, path: &str) -> Vec<String> {
        let (history, path) = (self.workspace.history(), v(&format!("/{path}")));
        let versions = history.versions(&path).unwrap();
        let content = |number| history.version_content(&path, number).unwrap().to_vec();
        let texts = versions.iter().map(|version| String::from_utf8(content(version.number)));
        texts.map(Result::unwrap).collect()
    }

    /// Returns the descriptions of the conflicts of a file.
    pub(crate) fn conflicts(&self, path: &str) -> Vec<String> {
        let conflicts = self.workspace.conflicts().unwrap().into_iter();
        let of_file = conflicts.filter(|conflict| conflict.path == format!("/{path}"));
        of_file.map(|conflict| conflict.detail).collect()
    }

    pub(crate) fn run<T>(&self, call: impl Future<Output = T>) -> T {
        self.runtime.block_on(call)
    }

    pub(crate) fn mv(&self, from: &str, to: &str) {
        self.run(self.fs().mv(&v(from), &v(to), &Default::default())).unwrap();
    }

    pub(crate) fn rm(&self, path: &str) {
        self.run(self.fs().rm_all(&v(path))).unwrap();
    }

    pub(crate) fn id(&self, path: &str) -> String {
        let stat = self.run(self.fs().lstat(&v(path)));
        stat.map_or_else(|error| error.to_string(), |stat| stat.id.to_string())
    }

    /// Returns the kind, permission bits and content of each object on disk, by path.
    pub(crate) fn disk(&self) -> BTreeMap<String, String> {
        tree_on_disk(self.directory.path())
    }

    /// Returns the same of each object in the workspace.
    pub(crate) fn tree(&self) -> BTreeMap<String, String> {
        let fs = self.fs();
        self.run(tree_in_workspace(&fs))
    }

    /// Settles, and compares both sides except for the paths that are left alone.
    pub(crate) fn check_but(&self, left_alone: &[&str]) {
        self.settle();
        let mut tree = self.tree();
        tree.retain(|path, _| !left_alone.contains(&path.as_str()));
        assert_eq!(self.disk(), tree);
    }

    /// Settles, and compares both sides.
    pub(crate) fn check(&self) -> MirrorReport {
        let report = self.settle();
        assert_eq!(self.disk(), self.tree());
        report
    }
}

pub(crate) fn v(path: &str) -> VPath {
    VPath::parse(path).unwrap()
}

pub(crate) fn tree_on_disk(directory: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut dirs = vec![directory.to_owned()];
    while let Some(dir) = dirs.pop() {
        let Ok(entries) = fs::read_dir(&dir) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(directory).unwrap().to_string_lossy().into_owned();
            if name == ".yfs" {
                continue;
            }
            let Ok(meta) = path.symlink_metadata() else { continue };
            let mode = meta.permissions().mode() & 0o777;
            let shown = if meta.is_dir() {
                dirs.push(path);
                format!("dir {mode:o}")
            } else if meta.is_symlink() {
                format!("link {}", fs::read_link(&path).unwrap_or_default().display())
            } else {
                let data = fs::read(&path).unwrap_or_default();
                format!("file {mode:o} {}", show(&data))
            };
            found.insert(name, shown);
        }
    }
    found
}

pub(crate) async fn tree_in_workspace(fs: &WorkspaceFs) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for item in fs.walk(&VPath::root(), &WalkOptions::default()).await.unwrap() {
        let mode = item.entry.mode & 0o777;
        let shown = match item.entry.kind {
            FileKind::Directory => format!("dir {mode:o}"),
            FileKind::Symlink => format!("link {}", fs.readlink(&item.path).await.unwrap()),
            _ => match fs.read(&item.path).await {
                Ok(content) => format!("file {mode:o} {}", show(&content.data)),
                Err(error) => error.to_string(),
            },
        };
        found.insert(item.path.as_str()[1..].to_owned(), shown);
    }
    found
}

fn show(data: &[u8]) -> String {
    match std::str::from_utf8(data) {
        Ok(text) if text.len() < 200 => format!("{text:?}"),
        _ => format!("{} bytes {}", data.len(), yfs_engine::hash::ContentHash::of(data)),
    }
}
