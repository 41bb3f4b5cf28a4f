//! Passes the version with the commit to the command, if it is built from the repository.

use std::{env, path::Path, process::Command};

fn main() {
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let version = match commit() {
        Some(commit) => format!("{version} ({commit})"),
        None => version,
    };
    println!("cargo::rustc-env=YFS_VERSION={version}");
    println!("cargo::rerun-if-changed=build.rs");
}

/// Returns the commit and its date. Returns none if the sources are not the repository itself: a
/// package that was unpacked inside another repository has not that one's commit.
fn commit() -> Option<String> {
    let root =
        Path::new(&env::var("CARGO_MANIFEST_DIR").ok()?).join("../../..").canonicalize().ok()?;
    let top = git(&root, &["rev-parse", "--show-toplevel"])?;
    if Path::new(&top).canonicalize().ok()? != root {
        return None;
    }
    for name in ["HEAD", "logs/HEAD"] {
        let path = root.join(git(&root, &["rev-parse", "--git-path", name])?);
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    git(&root, &["log", "-1", "--format=%h %cd", "--date=format:%Y-%m-%d"])
}

fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned()).filter(|text| !text.is_empty())
}
