//! Searches a tree whose texts are cached, next to ripgrep on the same files in a directory that
//! the host has cached.
//!
//! `YFS_BENCH_FILES=2000` sets the number of files of 50 KB. Run with `cargo bench -p yfs --bench
//! grep`; `rg` must be in the search path.
#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]

use std::{
    env, fs,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use yfs::{Workspace, WorkspaceOptions};
use yfs_engine::path::VPath;
use yfs_vfs::{FileSystem, FileSystemExt, GrepQuery, WriteOptions};

const FILE_LEN: usize = 50_000;
const N_ROUNDS: usize = 9;

fn main() {
    let n_files = env::var("YFS_BENCH_FILES").map_or(2_000, |n| n.parse().expect("a number"));
    let dir = tempfile::tempdir().expect("a temporary directory");
    let tree = dir.path().join("tree");
    let options = WorkspaceOptions { text_budget: 1 << 30, ..WorkspaceOptions::default() };
    let workspace =
        Workspace::create_at(&dir.path().join("workspace.db"), options).expect("a workspace");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(fill(&workspace, &tree, n_files));
    println!(
        "| {n_files} files, {} MB | yfs, ms | rg, ms | ratio |",
        n_files * FILE_LEN / 1_000_000
    );
    println!("|---|---:|---:|---:|");
    let queries = [
        ("a literal that is rare", "harbourmaster", true),
        ("a literal in every 20th line", "lantern", true),
        ("a regular expression", r"\bw[a-z]+er \d{3}\b", false),
    ];
    for (name, pattern, is_literal) in queries {
        let query = if is_literal { GrepQuery::literal(pattern) } else { GrepQuery::new(pattern) };
        let mut found = 0;
        let ours = median(|| {
            found = runtime.block_on(workspace.fs().grep(&query)).expect("searched").n_matches;
        });
        let theirs = median(|| {
            let fixed = if is_literal { "-F" } else { "-e" };
            let output = Command::new("rg").args(["-n", fixed, pattern]).arg(&tree).output();
            let output = output.expect("rg is installed");
            let n_lines = output.stdout.iter().filter(|byte| **byte == b'\n').count();
            assert_eq!(n_lines, found, "both find the same lines");
        });
        let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
        let [ours, theirs] = [ours, theirs].map(|time| time.as_secs_f64() * 1e3);
        println!("| {name} ({found} lines) | {ours:.1} | {theirs:.1} | {ratio:.2} |");
    }
}

/// Makes the same files in the workspace and in a directory, and reads them once.
async fn fill(workspace: &Workspace, tree: &Path, n_files: usize) {
    let files = workspace.fs();
    for at in 0..n_files {
        let name = format!("directory-{:03}/file-{at:05}.txt", at / 50);
        let text = text(at);
        fs::create_dir_all(tree.join(&name).parent().expect("a directory")).expect("made");
        fs::write(tree.join(&name), &text).expect("written");
        let path = VPath::parse(&format!("/{name}")).expect("a path");
        files.write(&path, text.into(), &WriteOptions::default()).await.expect("written");
        files.read(&path).await.expect("read");
    }
}

fn text(seed: usize) -> String {
    let mut text = String::with_capacity(FILE_LEN + 80);
    let mut random = ChaCha8Rng::seed_from_u64(seed as u64);
    while text.len() < FILE_LEN {
        let word = match random.random_range(0..10_000) {
            0 => "harbourmaster",
            1..500 => "lantern",
            500..600 => "weather 417",
            _ => "tide",
        };
        let number = random.random_range(0..4_096);
        text += &format!("line {number:04} about the {word} and the sea on a quiet morning\n");
    }
    text
}

/// Returns the median of several runs, in wall time: both use all cores.
fn median(mut run: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..N_ROUNDS)
        .map(|_| {
            let begun = Instant::now();
            run();
            begun.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[N_ROUNDS / 2]
}
