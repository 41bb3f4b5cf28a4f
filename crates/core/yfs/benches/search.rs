//! Searches in fresh processes, with the index and without, next to ripgrep on the same files.
//!
//! `YFS_BENCH_FILES=1000,10000,100000` sets the numbers of files of 1 KB. Run with `cargo bench -p
//! yfs --bench search`; `rg` must be in the search path. CPU time of whole processes, medians.
#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]

use std::{env, fs, path::Path, process::Command, time::Duration};

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use rustix::time::{ClockId, clock_gettime};
use yfs::{ImportOptions, Workspace, WorkspaceOptions};
use yfs_engine::{
    actor::{Actor, ActorKind},
    path::VPath,
};
use yfs_vfs::GrepQuery;

const N_ROUNDS: usize = 5;

/// The patterns, the literal ones first.
const PATTERNS: &[(&str, &str)] = &[
    ("a literal in 10 files", "harbourmaster"),
    ("a literal in no file", "lighthousekeeper"),
    ("ten files, any case", "(?i)HarbourMaster"),
    ("ten files, an expression", r"harbour\w+ \w+"),
    ("a frequent word", "the"),
    ("nothing to look up", r"\b\d{3}x\b"),
];

fn main() {
    let mut args = env::args().skip(1).filter(|arg| arg != "--bench");
    if let (Some(task), Some(file), Some(what)) = (args.next(), args.next(), args.next()) {
        return run_task(&task, Path::new(&file), &what);
    }
    let sizes = env::var("YFS_BENCH_FILES").unwrap_or_else(|_| "1000,10000".to_owned());
    for size in sizes.split(',') {
        measure(size.parse().expect("a number"));
    }
}

fn options() -> WorkspaceOptions {
    WorkspaceOptions::one_shot(Actor::new(ActorKind::Human, "ana"))
}

/// Runs one task in this process, and prints its CPU time in microseconds and its result.
fn run_task(task: &str, file: &Path, what: &str) {
    let found = match task {
        "make" => {
            let workspace = Workspace::open_at(file, options()).expect("opened");
            let is_made = workspace.maintenance().renew_search_index().expect("made");
            workspace.close().expect("closed");
            usize::from(is_made)
        }
        "import" => {
            let workspace = Workspace::create_at(file, options()).expect("a workspace");
            let to = VPath::root();
            let import = ImportOptions::default();
            let report =
                workspace.import(Path::new(what), &to, &import, &|_| {}).expect("imported");
            workspace.close().expect("closed");
            usize::try_from(report.n_created).expect("a number")
        }
        _ => {
            let options = WorkspaceOptions { read_only: true, ..options() };
            let workspace = Workspace::open_at(file, options).expect("opened");
            let session = workspace.session(Actor::new(ActorKind::Human, "ana"));
            let query = GrepQuery { use_index: task == "index", ..GrepQuery::new(what) };
            session.grep(&query).expect("searched").n_matches
        }
    };
    println!("{} {found}", cpu_time(ClockId::ProcessCPUTime).as_micros());
}

fn cpu_time(id: ClockId) -> Duration {
    let time = clock_gettime(id);
    Duration::new(time.tv_sec.cast_unsigned(), u32::try_from(time.tv_nsec).expect("nanoseconds"))
}

/// Runs a task in a fresh process, and returns its milliseconds of CPU and its result.
fn child(task: &str, file: &Path, what: &str) -> (f64, usize) {
    let program = env::current_exe().expect("this program");
    let output =
        Command::new(program).args([task.as_ref(), file.as_os_str(), what.as_ref()]).output();
    let output = String::from_utf8(output.expect("run").stdout).expect("text");
    let (time, found) = output.trim().split_once(' ').expect("two numbers");
    let time: f64 = time.parse().expect("a number");
    (time / 1e3, found.parse().expect("a number"))
}

fn measure(n_files: usize) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let tree = dir.path().join("tree");
    let n_bytes = fill(&tree, n_files);
    println!("{n_files} files, {:.1} MB", n_bytes as f64 / 1e6);
    let from = tree.to_string_lossy().into_owned();
    let file = dir.path().join("workspace.db");
    let (imported, _) = child("import", &file, &from);
    let (made, _) = child("make", &file, "");
    println!("import: {imported:.0} ms; the index: {made:.0} ms");
    let index = dir.path().join("workspace-db.derived/search");
    let size: u64 = fs::read_dir(index)
        .map_or(0, |files| files.flatten().flat_map(|file| file.metadata()).map(|m| m.len()).sum());
    println!("index: {:.3} bytes a byte of text", size as f64 / n_bytes as f64);
    println!("| pattern | lines | index, ms | without, ms | rg, ms |\n|---|---:|---:|---:|---:|");
    for (name, pattern) in PATTERNS {
        let mut found = [0; 2];
        let [with, without] = [("index", 0), ("scan", 1)].map(|(task, at)| {
            median(|| {
                let (time, n_found) = child(task, &file, pattern);
                found[at] = n_found;
                time
            })
        });
        assert_eq!(found[0], found[1], "both find the same lines");
        let rg = median(|| rg(pattern, &tree));
        println!("| {name} | {} | {with:.1} | {without:.1} | {rg:.1} |", found[0]);
    }
}

/// Returns the milliseconds of CPU that ripgrep takes.
fn rg(pattern: &str, tree: &Path) -> f64 {
    let before = cpu_of_children();
    Command::new("rg").args(["-n", pattern]).arg(tree).output().expect("rg is installed");
    (cpu_of_children() - before) * 1e3
}

/// Returns the seconds of CPU of the processes that have ended.
fn cpu_of_children() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("Linux");
    let fields: Vec<&str> = stat.rsplit_once(')').expect("a name").1.split_whitespace().collect();
    fields[13..15].iter().map(|ticks| ticks.parse::<f64>().expect("a number") / 100.0).sum()
}

fn median(mut run: impl FnMut() -> f64) -> f64 {
    let mut times: Vec<f64> = (0..N_ROUNDS).map(|_| run()).collect();
    times.sort_unstable_by(f64::total_cmp);
    times[N_ROUNDS / 2]
}

/// Writes files of words whose frequencies are as in a language; returns their size.
fn fill(tree: &Path, n_files: usize) -> u64 {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let letters = b"etaoinshrdlucmfwypvbgkjqxz";
    let words: Vec<String> = (0..20_000)
        .map(|_| {
            let (len, n_letters) = (random.random_range(2..=10), random.random_range(8..=26));
            (0..len).map(|_| char::from(letters[random.random_range(0..n_letters)])).collect()
        })
        .collect();
    let mut n_bytes = 0;
    for at in 0..n_files {
        let directory = tree.join(format!("dir-{:03}/sub-{}", at / 1000, at / 100 % 10));
        fs::create_dir_all(&directory).expect("made");
        let mut text = String::new();
        while text.len() < 1000 {
            // The density of ranks is about 1/rank.
            let rank = 20_000_f64.powf(random.random::<f64>()) as usize - 1;
            let word = if text.is_empty() && at % (n_files / 10) == 5 {
                "harbourmaster"
            } else if random.random_range(0..40) == 0 {
                "the"
            } else {
                &words[rank.min(19_999)]
            };
            text += word;
            text.push(if random.random_range(0..12) == 0 { '\n' } else { ' ' });
        }
        text.push('\n');
        let end = if at % 5 == 0 { "md" } else { "txt" };
        fs::write(directory.join(format!("file-{at:06}.{end}")), &text).expect("written");
        n_bytes += text.len() as u64;
    }
    n_bytes
}
