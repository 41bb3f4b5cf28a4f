//! The npm package `yfs`: builds the addon and the TypeScript, and runs the package's own tests in Node.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;
use yfs_tests::{node, root};

#[test]
fn the_package_passes_its_own_tests() {
    let package = root().join("crates/yfs-node");
    let addon = build_addon();
    node::ensure_installed_in(&package);
    run(Command::new("node").arg("node_modules/typescript/bin/tsc").args(["-p", "."]), &package);
    let mut tests = Command::new("node");
    run(tests.args(["--test"]).env("YFS_NODE_ADDON", addon), &package);
}

/// Builds the addon, and returns where it is.
fn build_addon() -> PathBuf {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--offline", "-p", "yfs-node"]);
    cargo.arg("--message-format=json-render-diagnostics");
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    let output = cargo.current_dir(root()).output().expect("cargo runs this test");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the addon does not build: {errors}");
    let messages = String::from_utf8(output.stdout).expect("cargo writes UTF-8");
    let mut messages = messages.lines().filter_map(|it| serde_json::from_str(it).ok());
    let library = messages.find_map(|message: Value| {
        let is_addon = message["target"]["name"] == "yfs_node";
        message["filenames"][0].as_str().filter(|_| is_addon).map(PathBuf::from)
    });
    let library = library.expect("cargo says where it put the addon");
    // Node tells an addon by its name.
    let addon = library.with_file_name("yfs.node");
    std::fs::copy(&library, &addon).expect("the folder of the addon can be written");
    addon
}

fn run(command: &mut Command, package: &Path) {
    let output = command.current_dir(package).output();
    let output = output.unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    let told = [output.stdout, output.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
    assert!(output.status.success(), "{command:?} failed:\n{}{}", told[0], told[1]);
}
