//! Scripts that a workspace plays, one call a line: `write /a/b.txt = one|two|`.
//!
//! In texts, `|` stands for a newline. `read` remembers the content of a file; `write-base` writes
//! over it by its version, and `write-seen` by its text. `restore` and `purge` name an entry of the
//! trash by its stored name.

use std::collections::BTreeMap;

use futures::FutureExt;
use yfs::{Workspace, WorkspaceError, WorkspaceFs};
use yfs_engine::{id::FileId, path::VPath, time::Millis};
use yfs_vfs::{
    CopyOptions, CreateMode, FileContent, FileKind, FileSystem, FileSystemExt, FsCode, FsError,
    MkdirOptions, MoveOptions, Op, RemoveOptions, TextReplacement, VersionBase, WalkOptions,
    WriteOptions,
};

/// A user of a workspace that runs the lines of a script.
#[derive(Debug)]
pub struct Player {
    /// Where.
    pub workspace: Workspace,
    /// What it has read, by path.
    pub read: BTreeMap<String, FileContent>,
}

/// Runs a call of a workspace to its end: nothing in them waits.
///
/// # Panics
///
/// Panics if the call is not ready at once.
pub fn now<T>(call: impl Future<Output = T>) -> T {
    call.now_or_never().expect("the calls of a workspace return ready")
}

/// Reads a path that a test wrote.
///
/// # Panics
///
/// Panics if it is none.
pub fn path(text: &str) -> VPath {
    VPath::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

impl Player {
    /// Begins to work.
    pub fn new(workspace: Workspace) -> Self {
        Self { workspace, read: BTreeMap::new() }
    }

    /// Plays one line.
    ///
    /// # Errors
    ///
    /// What the call answers.
    ///
    /// # Panics
    ///
    /// Panics if there is no such call.
    pub fn play(&mut self, line: &str) -> Result<(), WorkspaceError> {
        let (call, text) = line.split_once(" = ").unwrap_or((line, ""));
        let words: Vec<&str> = call.split(' ').collect();
        let text = text.replace('|', "\n");
        match words[..] {
            ["read", at] => {
                let content = now(self.workspace.fs().read(&path(at)))?;
                self.read.insert(at.to_owned(), content);
                Ok(())
            }
            ["write-base" | "write-seen", at] => self.write_base(words[0], at, text),
            ["restore" | "purge", name] => self.trash(words[0], name),
            ["flush"] => self.workspace.flush(),
            ["compact"] => self.workspace.maintenance().compact(&mut |_, _| ()).map(drop),
            _ => Ok(play_on(&self.workspace.fs(), &words, text)?),
        }
    }

    fn write_base(&self, how: &str, at: &str, text: String) -> Result<(), WorkspaceError> {
        let seen = self.read.get(at);
        let seen = seen.ok_or_else(|| FsError::new(FsCode::ESTALE, Op::Open, at))?.clone();
        let base = match how {
            "write-base" => VersionBase::Version(seen.version),
            _ => VersionBase::Content(seen.data),
        };
        let options = WriteOptions { base: Some(base), ..WriteOptions::default() };
        now(self.workspace.fs().write(&path(at), text.into(), &options))?;
        Ok(())
    }

    fn trash(&self, what: &str, name: &str) -> Result<(), WorkspaceError> {
        let mut trash = self.workspace.trash().list()?.into_iter();
        let item = trash.find(|item| item.name == name || item.id.as_str() == name);
        let absent = || FsError::new(FsCode::ENOENT, Op::Rm, name);
        let id: FileId = item.ok_or_else(absent)?.id;
        if what == "purge" {
            self.workspace.trash().purge(&[id])?;
        } else {
            self.workspace.trash().restore(&id, None)?;
        }
        Ok(())
    }
}

/// Plays a line that any filesystem understands.
///
/// # Errors
///
/// What the call answers.
///
/// # Panics
///
/// Panics if there is no such call.
pub fn play_on(fs: &dyn FileSystem, words: &[&str], text: String) -> Result<(), FsError> {
    let write = |create| WriteOptions { create, ..WriteOptions::default() };
    let number = |text: &str| text.parse::<i64>().expect("a number");
    match *words {
        ["write", at] => {
            now(fs.write(&path(at), text.into(), &write(CreateMode::IfMissing))).map(drop)
        }
        ["create", at] => now(fs.write(&path(at), text.into(), &write(CreateMode::New))).map(drop),
        ["append", at] => {
            now(fs.append(&path(at), text.into(), &write(CreateMode::IfMissing))).map(drop)
        }
        ["edit", at] => {
            let (old, new) = text.split_once(" -> ").expect("old -> new");
            now(fs.edit(&path(at), &TextReplacement::once(old, new))).map(drop)
        }
        ["bytes", at, value] => {
            let data = vec![0xff, number(value) as u8, 0, (number(value) >> 8) as u8];
            now(fs.write(&path(at), data.into(), &write(CreateMode::IfMissing))).map(drop)
        }
        ["mkdir", at] => now(fs.mkdir(&path(at), &MkdirOptions::default())),
        ["mkdir", "-p", at] => now(fs.mkdir(&path(at), &MkdirOptions::recursive())),
        ["mv", from, to] => now(fs.mv(&path(from), &path(to), &MoveOptions::default())),
        ["cp", from, to] => {
            let options = CopyOptions { recursive: true, ..CopyOptions::default() };
            now(fs.cp(&path(from), &path(to), &options))
        }
        ["rm", at] => {
            now(fs.rm(&path(at), &RemoveOptions { recursive: true, ..Default::default() }))
        }
        ["ln", target, at] => now(fs.symlink(target, &path(at))),
        ["chmod", mode, at] => now(fs.chmod(&path(at), number(mode) as u32)),
        ["utimes", time, at] => now(fs.utimes(&path(at), Millis(number(time)))),
        ["meta", key, value, at] => {
            let metadata = [(key.to_owned(), value.into())].into_iter().collect();
            now(fs.set_metadata(&path(at), metadata))
        }
        _ => panic!("no such call: {words:?}"),
    }
}

/// Shows a tree: paths, and what files say.
///
/// # Panics
///
/// Panics if an entry cannot be read.
pub fn show(fs: &WorkspaceFs) -> String {
    let mut lines = Vec::new();
    let found = now(fs.walk(&VPath::root(), &WalkOptions::default())).expect("a tree walks");
    for item in found {
        lines.push(match item.entry.kind {
            FileKind::Directory => format!("{}/", item.path),
            FileKind::Symlink => match now(fs.readlink(&item.path)) {
                Ok(target) => format!("{} -> {target}", item.path),
                Err(error) => format!("{} ! {error}", item.path),
            },
            _ => match now(fs.read(&item.path)) {
                Ok(content) => {
                    let text = String::from_utf8_lossy(&content.data).replace('\n', "|");
                    format!("{} = {text}", item.path)
                }
                Err(error) => format!("{} ! {error}", item.path),
            },
        });
    }
    lines.join("\n")
}
