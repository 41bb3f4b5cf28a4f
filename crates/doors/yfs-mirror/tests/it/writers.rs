//! Programs that write to files of the directory in all the usual ways, while the workspace changes
//! the same files.

use std::{
    fs::{self, File},
    io::{Read, Seek, SeekFrom, Write},
    os::unix::fs::FileExt,
    thread,
    time::Duration,
};

use rustix::{
    fs::{FlockOperation, flock},
    mm::{MapFlags, ProtFlags, mmap, munmap},
};
use yfs_vfs::{FileSystem, WriteOptions};

use crate::support::{Pair, v};

/// Returns a mirrored file that an editor of the workspace is about to change.
fn pair_with(text: &str) -> Pair {
    filled(Pair::new(), text)
}

/// As [`pair_with`], of a mirror that waits until a program has closed a file, however long that
/// takes: what arrives does not depend on the speed of the test.
fn patient_pair_with(text: &str) -> Pair {
    let mut pair = Pair::apart();
    let hour = Duration::from_secs(3_600);
    (pair.options.open_idle, pair.options.open_patience) = (hour, hour);
    pair.start();
    filled(pair, text)
}

fn filled(pair: Pair, text: &str) -> Pair {
    pair.put("a.txt", text);
    pair.check();
    pair
}

fn open(pair: &Pair, options: &mut fs::OpenOptions) -> File {
    options.open(pair.at("a.txt")).unwrap()
}

/// Inserts a line at the beginning, in the workspace, and waits until the mirror has done all that
/// it will.
fn type_line(pair: &Pair, line: &str) {
    let text = pair.read("/a.txt");
    pair.write("/a.txt", format!("{line}\n{text}"));
    pair.settle();
}

/// Checks that the workspace and the file on disk have this text.
fn expect(pair: &Pair, text: &str) {
    pair.wait("both sides have it", |pair| pair.read("/a.txt") == text);
    pair.check();
    assert_eq!(pair.text("a.txt"), text);
}

#[test]
fn an_append_through_a_descriptor_that_was_open_before_arrives() {
    let pair = pair_with("one\n");
    let mut log = open(&pair, File::options().append(true));
    type_line(&pair, "typed");
    log.write_all(b"appended\n").unwrap();
    expect(&pair, "typed\none\nappended\n");
    type_line(&pair, "again");
    log.write_all(b"more\n").unwrap();
    drop(log);
    expect(&pair, "again\ntyped\none\nappended\nmore\n");
}

#[test]
fn the_second_half_of_a_save_arrives() {
    let lines: String = (0..40).map(|number| format!("line {number}\n")).collect();
    let pair = patient_pair_with(&lines);
    let saved = lines.replace("line 3\n", "line 3 saved\n");
    let (first, second) = saved.split_at(saved.len() / 2);
    let mut file = open(&pair, File::options().write(true).truncate(true));
    file.write_all(first.as_bytes()).unwrap();
    pair.settle();
    type_line(&pair, "typed");
    file.write_all(second.as_bytes()).unwrap();
    drop(file);
    expect(&pair, &format!("typed\n{saved}"));
}

#[test]
fn bytes_written_in_place_arrive() {
    let pair = pair_with("slot 1: ....\nslot 2: ....\n");
    let file = open(&pair, File::options().read(true).write(true));
    type_line(&pair, "typed");
    file.write_all_at(b"full", 8).unwrap();
    drop(file);
    expect(&pair, "typed\nslot 1: full\nslot 2: ....\n");
}

#[test]
fn a_file_that_was_truncated_and_written_later_arrives() {
    let pair = patient_pair_with("one\ntwo\n");
    let mut file = open(&pair, File::options().write(true).truncate(true));
    pair.settle();
    type_line(&pair, "typed");
    file.write_all(b"one\ntwo\nthree\n").unwrap();
    drop(file);
    expect(&pair, "typed\none\ntwo\nthree\n");
}

/// `flock` on the file itself promises mutual exclusion, also for changes that rely on the content.
#[test]
fn locked_changes_by_many_lose_nothing() {
    const N_WORKERS: usize = 8;
    const N_TURNS: usize = 6;
    let pair = pair_with("count 0\n");
    thread::scope(|scope| {
        for worker in 0..N_WORKERS {
            let pair = &pair;
            scope.spawn(move || {
                for turn in 0..N_TURNS {
                    let mut file = open(pair, File::options().read(true).write(true));
                    flock(&file, FlockOperation::LockExclusive).unwrap();
                    let mut text = String::new();
                    file.read_to_string(&mut text).unwrap();
                    let count: usize = text.lines().find_map(counted).unwrap();
                    text = text
                        .replace(&format!("count {count}\n"), &format!("count {}\n", count + 1));
                    text.push_str(&format!("token {worker} {turn}.\n"));
                    file.seek(SeekFrom::Start(0)).unwrap();
                    file.set_len(0).unwrap();
                    file.write_all(text.as_bytes()).unwrap();
                    flock(&file, FlockOperation::Unlock).unwrap();
                }
            });
        }
        for number in 0..20 {
            type_line(&pair, &format!("typed {number}."));
        }
    });
    pair.check();
    let text = pair.read("/a.txt");
    for number in 0..20 {
        assert_eq!(text.matches(&format!("typed {number}.")).count(), 1, "{number}: {text}");
    }
    for (worker, turn) in
        (0..N_WORKERS).flat_map(|worker| (0..N_TURNS).map(move |turn| (worker, turn)))
    {
        let token = format!("token {worker} {turn}.");
        assert_eq!(text.matches(&token).count(), 1, "{token}: {text}");
    }
    assert_eq!(text.lines().find_map(counted), Some(N_WORKERS * N_TURNS), "{text}");
}

fn counted(line: &str) -> Option<usize> {
    line.strip_prefix("count ")?.parse().ok()
}

/// A program read the file, and the mirror wrote to it before the program saved the text that it
/// had read.
#[test]
fn a_save_by_a_program_that_read_an_earlier_text_takes_nothing_away() {
    let pair = pair_with("one\ntwo\n");
    let text = pair.text("a.txt");
    type_line(&pair, "typed");
    type_line(&pair, "again");
    pair.put("a.txt", format!("{text}three\n"));
    pair.settle();
    assert_eq!(pair.read("/a.txt"), "again\ntyped\none\ntwo\nthree\n");
    // Text that a program has read and left out is deleted.
    let text = pair.text("a.txt").replace("typed\n", "");
    pair.put("a.txt", text);
    pair.check();
    assert_eq!(pair.read("/a.txt"), "again\none\ntwo\nthree\n");
}

/// The same for a save by renaming.
#[test]
fn a_rename_over_an_unread_text_takes_nothing_away() {
    let pair = pair_with("one\ntwo\n");
    let text = pair.text("a.txt");
    type_line(&pair, "typed");
    pair.put("beside.tmp", format!("{text}three\n"));
    fs::rename(pair.at("beside.tmp"), pair.at("a.txt")).unwrap();
    pair.check();
    assert_eq!(pair.read("/a.txt"), "typed\none\ntwo\nthree\n");
}

#[test]
fn what_is_written_after_a_deletion_brings_the_file_back() {
    let pair = pair_with("one\n");
    let mut log = open(&pair, File::options().append(true));
    pair.rm("/a.txt");
    pair.settle();
    assert!(!pair.at("a.txt").exists());
    log.write_all(b"appended\n").unwrap();
    drop(log);
    expect(&pair, "one\nappended\n");
}

#[test]
fn what_is_written_while_no_mirror_runs_arrives() {
    let mut pair = pair_with("one\n");
    let mut log = open(&pair, File::options().append(true));
    type_line(&pair, "typed");
    pair.stop();
    log.write_all(b"appended\n").unwrap();
    drop(log);
    pair.start();
    expect(&pair, "typed\none\nappended\n");
}

/// While a program has a file open, what it has written so far is not imported as the file.
#[test]
fn half_of_a_save_is_not_taken_in() {
    let pair = patient_pair_with("one\ntwo\n");
    let mut file = open(&pair, File::options().write(true).truncate(true));
    file.write_all(b"one\n").unwrap();
    pair.write("/a.txt", "typed\none\ntwo\n");
    pair.put("b.txt", "b\n");
    pair.wait("another file arrives", |pair| pair.read("/b.txt") == "b\n");
    pair.write("/b.txt", "b\nb\n");
    pair.wait("another file is written", |pair| pair.text("b.txt") == "b\nb\n");
    assert_eq!(
        (pair.read("/a.txt"), pair.text("a.txt")),
        ("typed\none\ntwo\n".into(), "one\n".into())
    );
    file.write_all(b"two\nthree\n").unwrap();
    drop(file);
    expect(&pair, "typed\none\ntwo\nthree\n");
}

/// Lines of a log that stays open arrive, however long it stays open.
#[test]
fn appends_of_a_program_that_never_closes_arrive_at_once() {
    let pair = patient_pair_with("one\n");
    let mut log = open(&pair, File::options().append(true));
    for number in 0..3 {
        log.write_all(format!("line {number}\n").as_bytes()).unwrap();
        let line = format!("line {number}\n");
        pair.wait("the line arrives", |pair| pair.read("/a.txt").ends_with(&line));
    }
    drop(log);
    expect(&pair, "one\nline 0\nline 1\nline 2\n");
}

#[test]
fn mapped_memory_arrives() {
    let pair = pair_with("slot 1: ....\nslot 2: ....\n");
    let file = open(&pair, File::options().read(true).write(true));
    let access = ProtFlags::READ | ProtFlags::WRITE;
    #[expect(unsafe_code, reason = "mapped memory has no safe interface")]
    // SAFETY: the map is as long as the file, and nothing else refers to it until it is unmapped.
    unsafe {
        let map = mmap(std::ptr::null_mut(), 26, access, MapFlags::SHARED, &file, 0).unwrap();
        drop(file);
        let slot = |at: usize| map.cast::<u8>().add(at);
        slot(8).copy_from(b"full".as_ptr(), 4);
        type_line(&pair, "typed");
        slot(21).copy_from(b"late".as_ptr(), 4);
        munmap(map, 26).unwrap();
    }
    expect(&pair, "typed\nslot 1: full\nslot 2: late\n");
}

/// Each line is written as by a shell: a program opens the file, appends and closes it.
#[test]
fn lines_that_shells_append_beside_typing_arrive_once() {
    const N_SHELLS: usize = 4;
    const N_LINES: usize = 40;
    let pair = pair_with("one\n");
    thread::scope(|scope| {
        for shell in 0..N_SHELLS {
            let pair = &pair;
            scope.spawn(move || {
                for number in 0..N_LINES {
                    let mut file = open(pair, File::options().append(true));
                    file.write_all(format!("shell {shell} {number}.\n").as_bytes()).unwrap();
                }
            });
        }
        for number in 0..60 {
            let (fs, path) = (pair.fs(), v("/a.txt"));
            let read = pair.run(fs.read(&path)).unwrap();
            let text = format!("typed {number}.\n{}", String::from_utf8_lossy(&read.data));
            let base = Some(yfs_vfs::VersionBase::Version(read.version));
            let options = WriteOptions { base, ..WriteOptions::default() };
            pair.run(fs.write(&path, text.into(), &options)).unwrap();
            if number % 7 == 0 {
                pair.settle();
            }
        }
    });
    pair.check();
    let text = pair.read("/a.txt");
    let lines = (0..N_SHELLS)
        .flat_map(|shell| (0..N_LINES).map(move |line| format!("shell {shell} {line}.\n")));
    for line in lines.chain((0..60).map(|number| format!("typed {number}.\n"))) {
        assert_eq!(text.matches(&line).count(), 1, "{line}: {text}");
    }
}
