//! A running `yfs mirror`, and what stands in its folder.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Child, Command, Stdio},
};

use yfs_engine::path::VPath;
use yfs_vfs::{FileKind, FileSystem, FileSystemExt, WalkOptions};

use crate::{command::command as yfs_command, script::now};

/// A running `yfs mirror`. Killed when dropped, as by `kill -9`.
#[derive(Debug)]
pub struct MirrorProcess {
    child: Child,
}

/// What a tree holds: what is at each path, in words.
pub type Shown = BTreeMap<String, String>;

impl MirrorProcess {
    /// Mirrors a folder and the workspace in a file.
    ///
    /// # Panics
    ///
    /// Panics if it cannot be started.
    pub fn start(folder: &Path, workspace: &Path) -> Self {
        let child = command(folder, workspace, &[]).spawn().expect("yfs was just built");
        Self { child }
    }

    /// Ends it as `kill -9` does.
    pub fn kill(mut self) {
        self.end();
    }

    /// Ends it as Ctrl-C does.
    ///
    /// # Panics
    ///
    /// Panics if it failed.
    pub fn interrupt(mut self) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-INT", &id]).status();
        assert!(sent.is_ok_and(|status| status.success()), "the mirror runs");
        let ended = self.child.wait().expect("a child can be waited for");
        assert!(ended.success(), "the mirror ends well: {ended}");
    }

    fn end(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Drop for MirrorProcess {
    fn drop(&mut self) {
        self.end();
    }
}

/// Runs `yfs mirror --once`; with a fault, the mirror dies when it reaches that step. Reports
/// whether it exited with success.
///
/// # Panics
///
/// Panics if it cannot be run, or fails without a fault.
pub fn mirror_once(folder: &Path, workspace: &Path, fault: Option<&str>) -> bool {
    mirror_once_with(folder, workspace, fault, &[])
}

/// As [`mirror_once`], with these environment variables.
///
/// # Panics
///
/// As [`mirror_once`].
pub fn mirror_once_with(
    folder: &Path,
    workspace: &Path,
    fault: Option<&str>,
    variables: &[(&str, String)],
) -> bool {
    let mut command = command(folder, workspace, &["--once"]);
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    if let Some(fault) = fault {
        command.env("YFS_MIRROR_FAULT", fault);
    }
    let output = command.stderr(Stdio::piped()).output().expect("yfs was just built");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() || fault.is_some(), "{errors}");
    output.status.success()
}

fn command(folder: &Path, workspace: &Path, more: &[&str]) -> Command {
    let mut command = yfs_command();
    command.arg("mirror").arg(folder).args(["--quiet", "--trust", "--workspace"]).arg(workspace);
    command.args(more).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Returns what stands in a folder, without what belongs to yfs.
pub fn shown_on_disk(folder: &Path) -> Shown {
    let mut shown = Shown::new();
    let mut dirs = vec![folder.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned();
            let Ok(meta) = path.symlink_metadata() else { continue };
            if name == ".yfs" {
                continue;
            }
            let mode = meta.permissions().mode() & 0o777;
            let what = if meta.is_dir() {
                dirs.push(path);
                format!("dir {mode:o}")
            } else if meta.is_symlink() {
                format!("link {}", fs::read_link(&path).unwrap_or_default().display())
            } else {
                let data = fs::read(&path).unwrap_or_default();
                format!("file {mode:o} {:?}", String::from_utf8_lossy(&data))
            };
            shown.insert(name, what);
        }
    }
    shown
}

/// Returns what stands in a workspace, in the same words.
///
/// # Panics
///
/// Panics if it cannot be listed.
pub fn shown_in_workspace(fs: &dyn FileSystem) -> Shown {
    let listed = now(fs.walk(&VPath::root(), &WalkOptions::default())).expect("a tree");
    let shown = listed.into_iter().map(|item| {
        let mode = item.entry.mode & 0o777;
        let what = match item.entry.kind {
            FileKind::Directory => format!("dir {mode:o}"),
            FileKind::Symlink => now(fs.readlink(&item.path))
                .map_or_else(|error| error.to_string(), |target| format!("link {target}")),
            _ => match now(fs.read(&item.path)) {
                Ok(content) => {
                    format!("file {mode:o} {:?}", String::from_utf8_lossy(&content.data))
                }
                Err(error) => error.to_string(),
            },
        };
        (item.path.as_str().trim_start_matches('/').to_owned(), what)
    });
    shown.collect()
}
