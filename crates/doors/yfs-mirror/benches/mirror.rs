//! The cost of mirroring: the first synchronization, an idle mirror, one edit in either direction,
//! and storms.
//!
//! `cargo bench -p yfs-mirror [-- N_FILES..]`. Files have one kilobyte each, with twenty in a
//! directory. The CPU time is that of the whole process. The same run also measures `cp -r` and,
//! where they are installed, `rsync -a` and `unison`.

#![cfg(target_os = "linux")]
#![expect(clippy::print_stdout, reason = "a benchmark prints what it found")]

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::time::{ClockId, clock_gettime};
use tokio::runtime::{Builder, Runtime};
use yfs::{Workspace, WorkspaceOptions};
use yfs_engine::path::VPath;
use yfs_mirror::{Mirror, MirrorOptions};
use yfs_vfs::FileSystemExt;

/// The number of edits that are timed one by one.
const N_EDITS: usize = 50;

/// The maximum number of files that a storm writes.
const MAX_STORM: usize = 5_000;

fn main() {
    let sizes: Vec<usize> = std::env::args().filter_map(|arg| arg.parse().ok()).collect();
    let sizes = if sizes.is_empty() { vec![1_000, 10_000] } else { sizes };
    for n_files in sizes {
        println!("\n{n_files} files");
        measure(n_files);
    }
}

fn measure(n_files: usize) {
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name);
    make(&at("directory"), n_files);
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let copy = |program: &str, args: &[&str]| {
        let mut command = Command::new(program);
        command.args(args).current_dir(dir.path()).stdout(Stdio::null()).stderr(Stdio::null());
        timed(program, || drop(command.status()));
    };
    copy("cp", &["-r", "directory", "copied"]);
    copy("rsync", &["-a", "directory/", "synced"]);
    let unison = ["directory", "unison", "-batch", "-silent", "-auto", "-confirmbigdel=false"];
    copy("unison", &unison);
    copy("unison", &unison);

    let workspace = Workspace::create_at(&at("workspace.db"), WorkspaceOptions::default());
    let workspace = workspace.expect("a workspace");
    let rss = resident();
    let once = |directory: &str| {
        Mirror::once(&workspace, &at(directory), MirrorOptions::default()).expect("it ends well");
    };
    timed("directory into an empty workspace", || once("directory"));
    timed("the same again, nothing to do", || once("directory"));
    timed("workspace into an empty directory", || once("second"));
    println!("  memory for it: {} MB", (resident().saturating_sub(rss)) >> 20);

    let options = MirrorOptions::default();
    let mirror = Mirror::start(&workspace, &at("directory"), options, runtime.handle());
    let mirror = mirror.expect("it starts");
    runtime.block_on(mirror.settled()).expect("it settles");
    let idle = cpu();
    thread::sleep(Duration::from_secs(5));
    println!("  idle: {:.2} % of a processor", (cpu() - idle).as_secs_f64() * 20.0);
    edits(&runtime, &workspace, &at("directory"));

    let n_storm = n_files.min(MAX_STORM);
    timed(&format!("a storm: {n_storm} files rewritten"), || {
        for number in 0..n_storm {
            fs::write(at("directory").join(name(number)), text(number) + "stormy\n")
                .expect("written");
        }
        let fs = workspace.fs();
        for number in (0..n_storm).rev() {
            let path = VPath::parse(&format!("/{}", name(number))).expect("a path");
            wait(|| {
                let read = runtime.block_on(fs.read_to_string(&path)).unwrap_or_default();
                read.ends_with("stormy\n")
            });
        }
    });
    timed("one directory renamed that holds all", || {
        let moved = at("directory").join("moved");
        fs::create_dir(&moved).expect("made");
        fs::rename(at("directory").join("all"), moved.join("all")).expect("renamed");
        let path = VPath::parse(&format!("/moved/{}", name(0))).expect("a path");
        wait(|| runtime.block_on(workspace.fs().exists(&path)));
    });
    mirror.stop().expect("it ends well");
    workspace.close().expect("it closes");
}

/// Times edits one by one, in both directions.
fn edits(runtime: &Runtime, workspace: &Workspace, directory: &Path) {
    let fs = workspace.fs();
    let name = name(7);
    let path = VPath::parse(&format!("/{name}")).expect("a path");
    let mut times = Vec::new();
    let before = cpu();
    for number in 0..N_EDITS {
        let wanted = format!("{}disk {number}\n", text(7));
        let start = Instant::now();
        fs::write(directory.join(&name), &wanted).expect("written");
        wait(|| runtime.block_on(fs.read_to_string(&path)).is_ok_and(|text| text == wanted));
        times.push(start.elapsed());
    }
    tell("an edit on disk until the workspace has it", &mut times, cpu() - before);
    let before = cpu();
    for number in 0..N_EDITS {
        let wanted = format!("{}workspace {number}\n", text(7));
        let start = Instant::now();
        runtime.block_on(fs.write_text(&path, &wanted)).expect("written");
        wait(|| fs::read_to_string(directory.join(&name)).is_ok_and(|text| text == wanted));
        times.push(start.elapsed());
    }
    tell("an edit in the workspace until the disk has it", &mut times, cpu() - before);
}

fn tell(what: &str, times: &mut Vec<Duration>, cpu: Duration) {
    times.sort_unstable();
    let (median, worst) = (times[times.len() / 2], times[times.len() - 1]);
    let cpu = cpu / u32::try_from(times.len()).expect("few");
    println!(
        "  {what}: {median:.0?} median, {worst:.0?} at worst, {cpu:.1?} CPU, waiting included"
    );
    times.clear();
}

/// Waits until a condition holds, at most one minute.
fn wait(is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(60), "it takes too long");
        thread::sleep(Duration::from_millis(1));
    }
}

fn timed(what: &str, act: impl FnOnce()) {
    let (wall, before) = (Instant::now(), (cpu(), cpu_of_children()));
    act();
    let children = cpu_of_children() - before.1;
    let cpu = cpu() - before.0 + children;
    println!("  {what}: {:.2?} CPU, {:.2?}", cpu, wall.elapsed());
}

/// Returns the processor time that this process has used.
fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32)
}

/// Returns the processor time of terminated child processes, in ticks of the system's clock.
fn cpu_of_children() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").expect("Linux has it");
    let fields = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    let ticks: u64 =
        fields.split(' ').skip(13).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

/// Returns the resident memory of this process, in bytes.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or_default() << 10
}

fn name(number: usize) -> String {
    format!("all/d{}/f{number}.txt", number / 20)
}

fn text(number: usize) -> String {
    (0..20)
        .map(|line| format!("File {number}, line {line}: what there is to say of it.\n"))
        .collect()
}

fn make(directory: &Path, n_files: usize) {
    for number in 0..n_files {
        let path = directory.join(name(number));
        fs::create_dir_all(path.parent().expect("it is in a directory")).expect("made");
        fs::write(path, text(number)).expect("written");
    }
}
