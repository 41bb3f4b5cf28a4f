//! Large files under a limit on memory that is less than their length.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs::File,
    io::{BufWriter, Write},
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

/// The length of a content that comes from standard input or is searched. Held once, it takes most
/// of what a command may use.
const STREAM_LEN: u64 = 512 << 20;

/// Returns bytes of a file from an offset on.
fn bytes_at(path: &Path, offset: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    File::open(path).unwrap().read_exact_at(&mut bytes, offset).unwrap();
    bytes
}

/// The command held what it was given, what the file had, and both together.
#[test]
fn a_content_larger_than_memory_is_written_and_appended_to() {
    let directory = tempfile::tempdir().unwrap();
    let file = File::create(directory.path().join("from")).unwrap();
    file.set_len(STREAM_LEN).unwrap();
    file.write_all_at(b"the end", STREAM_LEN - 7).unwrap();
    yfs(directory.path(), "init");
    let written = yfs(directory.path(), "write /large.bin --mode 640 --json < from");
    let written: serde_json::Value = serde_json::from_slice(&written.stdout).unwrap();
    assert_eq!((&written["size"], &written["created"]), (&STREAM_LEN.into(), &true.into()));
    let version = written["version"].as_str().unwrap();

    // The base is larger than memory, too.
    yfs(directory.path(), "write /large.bin --base from < from");
    let refused = Command::new("sh")
        .args(["-c", "exec \"$0\" write /large.bin --expect 1-2 < from"])
        .arg(env!("CARGO_BIN_EXE_yfs"))
        .current_dir(directory.path())
        .output();
    let refused = refused.unwrap();
    assert_eq!(refused.status.code(), Some(1), "another version is expected");
    assert!(!version.is_empty());

    yfs(directory.path(), "append /large.bin --content 'and more'");
    yfs(directory.path(), "append /large.bin < from");
    yfs(directory.path(), "cat /large.bin > printed");
    let printed = directory.path().join("printed");
    assert_eq!(printed.metadata().unwrap().len(), 2 * STREAM_LEN + 8);
    assert_eq!(bytes_at(&printed, STREAM_LEN - 7, 16), b"the endand more\0");
    assert_eq!(bytes_at(&printed, 2 * STREAM_LEN + 1, 7), b"the end");
}

/// The command held the file, and all lines that it printed.
#[test]
fn a_text_larger_than_memory_is_searched() {
    let directory = tempfile::tempdir().unwrap();
    let from = directory.path().join("from");
    std::fs::create_dir(&from).unwrap();
    let line = [&[b'x'; 1023][..], b"\n"].concat();
    let n_lines = STREAM_LEN / line.len() as u64;
    let mut lines = BufWriter::new(File::create(from.join("lines.txt")).unwrap());
    for number in 0..n_lines {
        let line: &[u8] = if number == n_lines - 2 { b"a needle\n" } else { &line };
        lines.write_all(line).unwrap();
    }
    drop(lines);
    let printed = |arguments: &str| {
        let output = yfs(directory.path(), arguments);
        String::from_utf8(output.stdout).unwrap()
    };
    printed("init");
    printed("import --max-size 2G from /");
    assert_eq!(printed("grep -c . /lines.txt"), format!("{n_lines}\n"));
    assert_eq!(printed("grep -vc needle /lines.txt"), format!("{}\n", n_lines - 1));
    assert_eq!(printed("grep -n needle /lines.txt"), format!("{}:a needle\n", n_lines - 1));
    assert_eq!(printed("grep -l needle /lines.txt"), "/lines.txt\n");
    assert_eq!(printed("grep -q needle /lines.txt"), "");
    let around = printed("grep -n -C 1 needle /");
    let begin = |line: &str| line.trim_end_matches('x').to_owned();
    let numbers: Vec<String> = around.lines().map(begin).collect();
    let name = "/lines.txt";
    let expected = [
        format!("{name}-{}-", n_lines - 2),
        format!("{name}:{}:a needle", n_lines - 1),
        format!("{name}-{n_lines}-"),
    ];
    assert_eq!(numbers, expected);
    printed("grep -v needle /lines.txt > others");
    let others = directory.path().join("others").metadata().unwrap().len();
    assert_eq!(others, (n_lines - 1) * 1024);
}
