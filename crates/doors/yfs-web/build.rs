//! Builds the web application with npm and Vite, if Node.js is there, and embeds its files.
//!
//! The sources are copied, so that nothing is written beside them. A bundle that is ready can be
//! named by `YFS_WEB_DIST`. Without either, nothing is embedded, and the server says so at `/`.
//!
//! # Invariants
//! - Only inputs are declared to Cargo. A path below `OUT_DIR` is always newer than the run that
//!   wrote it, so declaring one would build this crate and all above it again each time.
//! - The same sources give the same bytes, entity tags included, with every toolchain.

use std::{
    env,
    error::Error,
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

/// What the application is built from, in `app`.
const SOURCES: [&str; 10] = [
    "compress.mjs",
    "index.html",
    "list_files.mjs",
    "package.json",
    "package-lock.json",
    "public",
    "src",
    "tsconfig.json",
    "vite.config.ts",
    "worker",
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-env-changed=YFS_WEB_DIST");
    println!("cargo:rerun-if-changed=build.rs");
    for source in SOURCES {
        println!("cargo:rerun-if-changed=app/{source}");
    }
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let bundle = match env::var_os("YFS_WEB_DIST").map(PathBuf::from) {
        Some(ready) => {
            println!("cargo:rerun-if-changed={}", ready.display());
            Some(ready)
        }
        None => match build(&out) {
            Ok(bundle) => Some(bundle),
            Err(reason) => {
                println!("cargo:warning=the web application is left out: {reason}");
                None
            }
        },
    };
    let mut files = Vec::new();
    if let Some(bundle) = &bundle {
        list(bundle, bundle, &mut files)?;
    }
    files.sort();
    let mut code = String::from("&[\n");
    for (name, path) in &files {
        if name.ends_with(".br") {
            continue;
        }
        let etag = etag(&fs::read(path)?);
        let compressed = format!("{name}.br");
        // What is embedded compressed is not embedded a second time.
        match files
            .binary_search_by(|(other, _)| other.cmp(&compressed))
            .ok()
            .map(|at| &files[at].1)
        {
            Some(brotli) => writeln!(
                code,
                "    ({name:?}, {etag:?}, EmbeddedContent::Brotli(include_bytes!({brotli:?}))),"
            )?,
            None => writeln!(
                code,
                "    ({name:?}, {etag:?}, EmbeddedContent::Plain(include_bytes!({path:?}))),"
            )?,
        }
    }
    code.push(']');
    fs::write(out.join("files.rs"), code)?;
    Ok(())
}

/// Builds the application in a copy of its sources, and returns the directory of the bundle.
fn build(out: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let (from, to) = (Path::new("app"), out.join("app"));
    fs::create_dir_all(&to)?;
    for source in SOURCES {
        let target = to.join(source);
        if target.is_dir() {
            fs::remove_dir_all(&target)?;
        }
        copy(&from.join(source), &target)?;
    }
    let (locked, stamp) = (to.join("package-lock.json"), to.join("node_modules/.installed.json"));
    if fs::read(&stamp).ok() != Some(fs::read(&locked)?) {
        let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
        run(Command::new(npm).args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]), &to)?;
        fs::copy(&locked, &stamp)?;
    }
    run(Command::new("node").args(["node_modules/vite/bin/vite.js", "build"]), &to)?;
    run(Command::new("node").args(["list_files.mjs", "dist"]), &to)?;
    run(Command::new("node").args(["compress.mjs", "dist"]), &to)?;
    Ok(to.join("dist"))
}

/// Returns the entity tag of a content: its FNV-1a hash. The standard library's hasher may differ
/// from one toolchain to the next. The tag is weak: the compressed form has the same one.
fn etag(content: &[u8]) -> String {
    let hash = content.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("W/\"{hash:016x}\"")
}

fn run(command: &mut Command, dir: &Path) -> Result<(), Box<dyn Error>> {
    let output = command.current_dir(dir).output();
    let output = output.map_err(|error| format!("{command:?} cannot be started: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).replace('\n', "; ");
    Err(format!("{command:?} failed: {said}").into())
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if from.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    fs::copy(from, to).map(drop)
}

fn list(top: &Path, dir: &Path, files: &mut Vec<(String, PathBuf)>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            list(top, &path, files)?;
        } else {
            let parts = path.strip_prefix(top)?.iter().map(|part| part.to_string_lossy());
            let name = parts.collect::<Vec<_>>().join("/");
            files.push((name, fs::canonicalize(&path)?));
        }
    }
    Ok(())
}
