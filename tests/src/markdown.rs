//! Markdown that people wrote: in this repository, and in the packages that building and testing
//! downloads.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use crate::node;

/// A markdown file.
#[derive(Debug)]
pub struct File {
    /// Where it is.
    pub path: PathBuf,
    /// What it holds.
    pub text: String,
}

/// Returns the files of this repository.
pub fn of_repository() -> Vec<File> {
    below(&crate::root(), &[".git", ".yfs", "node_modules", "target"])
}

/// Returns the files of the installed Node packages; installs them where needed.
///
/// # Panics
///
/// Panics if they cannot be installed.
pub fn of_node_packages() -> Vec<File> {
    let folders = ["", node::EDITORS];
    let packages = folders.iter().flat_map(|folder| {
        node::ensure_installed(folder);
        below(&node::dir().join(folder).join("node_modules"), &[])
    });
    packages.collect()
}

/// Returns the files of the Rust packages that Cargo has unpacked; none if it keeps them elsewhere.
pub fn of_rust_packages() -> Vec<File> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")));
    home.map(|home| below(&home.join("registry/src"), &[])).unwrap_or_default()
}

/// Returns the markdown files below a folder, by path. Bytes that are not UTF-8 become U+FFFD.
fn below(root: &Path, skipped: &[&str]) -> Vec<File> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let is_folder = entry.file_type().is_ok_and(|file_type| file_type.is_dir());
            if is_folder && !skipped.iter().any(|skipped| name == *skipped) {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
            {
                let bytes = fs::read(&path).expect("a file that was just listed");
                files.push(File { path, text: String::from_utf8_lossy(&bytes).into_owned() });
            }
        }
    }
    files.sort_by(|left, right| left.path.cmp(&right.path));
    files
}
