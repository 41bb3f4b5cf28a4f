//! Large files under a limit on memory that is less than their length.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs::File,
    os::unix::fs::FileExt,
    path::Path,
    process::{Command, Output},
};

/// The length of the file, and the address space that a command may use, in KiB.
const LEN: u64 = 1 << 30;
const LIMIT_KIB: u64 = 700 << 10;

/// The address space for a command that writes markdown of many short lines. The program itself,
/// with its debug information, and the stacks of its threads take half of it.
const SHORT_LINES_KIB: u64 = 600 << 10;

fn yfs(directory: &Path, arguments: &str) -> Output {
    yfs_within(LIMIT_KIB, directory, arguments)
}

fn yfs_within(limit_kib: u64, directory: &Path, arguments: &str) -> Output {
    let script = format!("ulimit -v {limit_kib} && exec \"$0\" {arguments}");
    let mut command = Command::new("sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_yfs")]).current_dir(directory);
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments}: {}: {error}", output.status);
    output
}

#[test]
fn a_file_larger_than_memory_is_imported_printed_and_exported() {
    let directory = tempfile::tempdir().unwrap();
    let (from, to) = (directory.path().join("from"), directory.path().join("to"));
    std::fs::create_dir(&from).unwrap();
    // A hole, so that the test writes little.
    let file = File::create(from.join("large.bin")).unwrap();
    file.set_len(LEN).unwrap();
    file.write_all_at(b"the end", LEN - 7).unwrap();
    yfs(directory.path(), "init");
    yfs(directory.path(), "import --max-size 2G from /from");
    yfs(directory.path(), "cat /from/large.bin > printed");
    yfs(directory.path(), "export /from to");
    for copy in [directory.path().join("printed"), to.join("large.bin")] {
        let copy = File::open(copy).unwrap();
        let mut end = [0; 7];
        copy.read_exact_at(&mut end, LEN - 7).unwrap();
        assert_eq!((&end, copy.metadata().unwrap().len()), (b"the end", LEN));
    }
}

/// Markdown of 99,000 lines of one letter, 198 KB, took 512 MB: two documents were made to compare
/// them, while the tree that they were made from was still there.
#[test]
fn markdown_of_many_short_lines_takes_bounded_memory() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("lines"), "a\n".repeat(99_000)).unwrap();
    yfs(directory.path(), "init");
    yfs_within(SHORT_LINES_KIB, directory.path(), "write /lines.md < lines");
    let read = yfs(directory.path(), "cat /lines.md");
    assert_eq!(read.stdout.len(), 198_000);
}
