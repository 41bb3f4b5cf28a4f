//! The npm package `yfs`: builds the addon and the TypeScript, and runs the package's own tests in
//! Node.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use regex::Regex;
use yfs_tests::{command, node, root};

/// How large the addon may be: three times what it is stripped, and half of what it is otherwise.
const MAX_ADDON_SIZE: u64 = if cfg!(debug_assertions) { 96 << 20 } else { 40 << 20 };

#[test]
fn the_package_passes_its_own_tests() {
    let package = root().join("crates/doors/yfs-node");
    let (addon, command) = build();
    node::ensure_installed_in(&package);
    for project in [".", "types"] {
        let mut compiler = Command::new("node");
        run(compiler.arg("node_modules/typescript/bin/tsc").args(["-p", project]), &package);
    }
    let mut tests = Command::new("node");
    let tests = tests
        .args(["--test", "--test-concurrency=2"])
        .env("YFS_NODE_ADDON", addon)
        .env("YFS_COMMAND", command);
    run(tests, &package);
}

#[test]
fn no_call_of_the_addon_borrows_its_object_while_it_runs_elsewhere() {
    let source = root().join("crates/doors/yfs-node/src");
    let method = Regex::new(r"async fn \w+\s*(<[^(]*>)?\(\s*&").expect("a pattern");
    assert!(method.is_match("pub async fn stat(\n    &self"));
    for file in source.read_dir().expect("the addon has sources") {
        let file = file.expect("the sources can be listed").path();
        let text = std::fs::read_to_string(&file).expect("sources are UTF-8");
        // The macro of napi keeps a plain pointer to the object whose `async fn` runs, and an
        // environment that is torn down frees the object.
        let borrows = method.is_match(&text);
        assert!(!borrows, "{}: return an OwnedFuture instead", file.display());
    }
}

/// Builds the addon and the `yfs` command, and returns where they are.
fn build() -> (PathBuf, PathBuf) {
    let library = command::shared_library("yfs_node");
    // Node tells an addon by its name.
    let addon = library.with_file_name("yfs.node");
    std::fs::copy(library, &addon).expect("the folder of the addon can be written");
    let size = addon.metadata().expect("the addon was copied").len();
    assert!(size < MAX_ADDON_SIZE, "the addon has {size} bytes: is it not stripped?");
    (addon, command::program().to_owned())
}

fn run(command: &mut Command, package: &Path) {
    let output = command.current_dir(package).output();
    let output = output.unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    let [stdout, stderr] =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success(), "{command:?} failed:\n{stdout}{stderr}");
}
