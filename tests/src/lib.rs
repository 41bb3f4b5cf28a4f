//! What the tests share: access to the fixtures, to markdown, to the command, to real Yjs and to
//! editors on the wire; scripts that workspaces run, simulations of replicas, and child processes
//! that may be killed.

pub mod answers;
pub mod command;
pub mod disk_save;
pub mod editor;
pub mod http;
pub mod markdown;
#[cfg(target_os = "linux")]
pub mod mirror;
#[cfg(target_os = "linux")]
pub mod multicast;
pub mod node;
pub mod pair;
pub mod peers;
pub mod process;
pub mod replicas;
pub mod script;
pub mod served;
pub mod socket;
pub mod sources;

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The Rust example of README, compiled and run as a documentation test.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct ReadmeExample;

/// Returns the root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ is in the root").to_owned()
}

/// Returns the folder of a crate of ours, which lies in one of the folders of `crates`.
///
/// # Panics
///
/// Panics if there is none of that name.
pub fn crate_folder(name: &str) -> PathBuf {
    let wings = fs::read_dir(root().join("crates")).expect("the root has crates");
    let folders = wings.flatten().map(|wing| wing.path().join(name));
    let mut found = folders.filter(|folder| folder.join("Cargo.toml").is_file());
    found.next().unwrap_or_else(|| panic!("no crate is named {name}"))
}

/// Returns the path of a file or directory under `fixtures/`.
pub fn fixture(name: &str) -> PathBuf {
    root().join("fixtures").join(name)
}

/// Reads a file under `fixtures/`, whole.
///
/// # Panics
///
/// Panics if it is not there, which fails the test that asked.
pub fn read_fixture(name: &str) -> Vec<u8> {
    let path = fixture(name);
    fs::read(&path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()))
}

/// Copies what is in a folder of fixtures into another, without workspaces.
///
/// # Panics
///
/// Panics if a file cannot be read or written.
pub fn copy_tree(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("a folder that can be read") {
        let entry = entry.expect("a folder that can be read");
        let target = to.join(entry.file_name());
        let kind = entry.file_type().expect("a folder that can be read");
        if kind.is_dir() && entry.file_name() != ".yfs" {
            fs::create_dir(&target).expect("a folder that can be read");
            copy_tree(&entry.path(), &target);
        } else if kind.is_file() {
            fs::copy(entry.path(), &target).expect("a folder that can be read");
        }
    }
}
