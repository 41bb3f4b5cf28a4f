//! The CPU time of an append, by the size and the form of the file, on an SQLite store: with one
//! handle, with two that append in turn, and where the other handle always appends just before.
//!
//! Milliseconds of the calling thread, medians. Run with `cargo bench -p yfs --bench append`.
#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]

#[path = "support/measure.rs"]
#[expect(dead_code, reason = "not every bench needs all of it")]
mod measure;

use std::path::Path;

use measure::{now, thread_cpu};
use yfs::{Workspace, WorkspaceOptions};
use yfs_engine::path::VPath;
use yfs_vfs::{FileSystem, WriteOptions};

const SIZES: [usize; 3] = [50_000, 200_000, 1_000_000];
const N_TIMES: usize = 21;

fn main() {
    println!("| file | first append | alone | in turn | overtaken |");
    println!("|---|---:|---:|---:|---:|");
    for name in ["md", "txt"] {
        for size in SIZES {
            let dir = tempfile::tempdir().expect("a temporary directory");
            measure_appends(&dir.path().join("workspace.db"), name, size);
        }
    }
}

fn measure_appends(store: &Path, name: &str, size: usize) {
    let path = VPath::parse(&format!("/file.{name}")).expect("a path");
    let quiet = WorkspaceOptions { follow: false, ..WorkspaceOptions::default() };
    let here = Workspace::create_at(store, quiet.clone()).expect("a workspace");
    now(here.fs().write(&path, file(size).into(), &WriteOptions::default())).expect("written");
    let append = |workspace: &Workspace| {
        now(workspace.fs().append(&path, "one more line\n".into(), &WriteOptions::default()))
            .expect("appended");
    };
    let first = median(1, || append(&here));
    let alone = median(N_TIMES, || append(&here));
    let other = Workspace::open_at(store, quiet).expect("a second handle");
    append(&other);
    append(&here);
    let in_turn = median(N_TIMES, || {
        append(&here);
        append(&other);
    });
    // A handle that follows the log in the background does not read it before it writes.
    let behind = Workspace::open_at(store, WorkspaceOptions::default()).expect("a handle");
    append(&behind);
    let overtaken = median_after(N_TIMES, || append(&other), || append(&behind));
    let in_turn = in_turn / 2.0;
    println!("| .{name} of {size} | {first:.2} | {alone:.2} | {in_turn:.2} | {overtaken:.2} |");
}

/// Returns headings, paragraphs and lists.
fn file(size: usize) -> String {
    let (mut text, mut number) = (String::new(), 0);
    while text.len() < size {
        number += 1;
        text.push_str(&format!(
            "## Part {number}\n\nlorem ipsum dolor *sit* amet, `adipiscing` elit.\n\
             Sed do eiusmod tempor [incididunt](https://example.org/{number}) ut labore.\n\n\
             - one lorem {number}\n- two **ipsum** {number}\n\n"
        ));
    }
    text
}

fn median(n_times: usize, run: impl FnMut()) -> f64 {
    median_after(n_times, || (), run)
}

/// Returns the median of the CPU times of `run`, in milliseconds; each comes after `prepare`.
fn median_after(n_times: usize, mut prepare: impl FnMut(), mut run: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..n_times)
        .map(|_| {
            prepare();
            let before = thread_cpu();
            run();
            (thread_cpu() - before).as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
