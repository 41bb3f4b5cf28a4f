//! What programs write becomes edits, which merge with those of others.

use std::{
    fs::{self, File, OpenOptions},
    io::{Read, Seek, SeekFrom, Write},
    os::unix::fs::FileExt,
};

use yfs_vfs::WriteOptions;

use crate::support::{Mounted, path, wait_until};

#[test]
fn a_file_is_written_and_read() {
    let Some(mounted) = Mounted::new() else { return };
    fs::write(mounted.here("plan.md"), "1. Listen\n").expect("a write");
    assert_eq!(mounted.text("/plan.md"), "1. Listen\n");
    assert_eq!(fs::read_to_string(mounted.here("plan.md")).expect("a read"), "1. Listen\n");
    assert_eq!(fs::metadata(mounted.here("plan.md")).expect("attributes").len(), 10);
}

#[test]
fn a_save_keeps_what_others_typed_meanwhile() {
    let Some(mounted) = Mounted::new() else { return };
    fs::write(mounted.here("a.md"), "one\ntwo\nthree\n").expect("a write");
    let mut file =
        OpenOptions::new().read(true).write(true).open(mounted.here("a.md")).expect("a file");
    let mut text = String::new();
    file.read_to_string(&mut text).expect("a text");
    let other = mounted.other();
    other.read(&path("/a.md")).expect("a file");
    let typed = b"one\ntwo\nthree\nfour of another\n";
    other.write(&path("/a.md"), typed, &WriteOptions::default()).expect("a write");
    // In place, as an editor does that truncates.
    file.set_len(0).expect("a size");
    file.seek(SeekFrom::Start(0)).expect("a position");
    file.write_all(text.replace("one", "ONE").as_bytes()).expect("a write");
    drop(file);
    assert_eq!(mounted.text("/a.md"), "ONE\ntwo\nthree\nfour of another\n");
}

#[test]
fn a_save_by_rename_keeps_the_file_and_its_history() {
    let Some(mounted) = Mounted::new() else { return };
    fs::write(mounted.here("a.md"), "one\n").expect("a write");
    let before = mounted.other().stat(&path("/a.md")).expect("a file").id;
    fs::write(mounted.here("a.md.tmp"), "one\ntwo\n").expect("a write");
    fs::rename(mounted.here("a.md.tmp"), mounted.here("a.md")).expect("a rename");
    assert_eq!(mounted.other().stat(&path("/a.md")).expect("a file").id, before);
    assert_eq!(fs::read_to_string(mounted.here("a.md")).expect("a text"), "one\ntwo\n");
    assert_eq!(fs::metadata(mounted.here("a.md")).expect("attributes").len(), 8);
    assert!(fs::metadata(mounted.here("a.md.tmp")).is_err());
}

#[test]
fn a_program_that_saves_long_after_it_read_keeps_what_others_typed_since() {
    for by_rename in [false, true] {
        let Some(mounted) = Mounted::new() else { return };
        fs::write(mounted.here("a.md"), "one\ntwo\nthree\n").expect("a write");
        let text = fs::read_to_string(mounted.here("a.md")).expect("a text");
        let other = mounted.other();
        other.read(&path("/a.md")).expect("a file");
        let typed = b"zero of another\none\ntwo\nthree\n";
        other.write(&path("/a.md"), typed, &WriteOptions::default()).expect("a write");
        let save = |text: &str| {
            if by_rename {
                fs::write(mounted.here("a.md.new"), text).expect("a write");
                fs::rename(mounted.here("a.md.new"), mounted.here("a.md")).expect("a rename");
            } else {
                fs::write(mounted.here("a.md"), text).expect("a write");
            }
        };
        save(&text.replace("three", "THREE"));
        assert_eq!(mounted.text("/a.md"), "zero of another\none\ntwo\nTHREE\n");
        // Once more, without reading what was merged.
        save("one\ntwo\nTHREE\nfour\n");
        assert_eq!(mounted.text("/a.md"), "zero of another\none\ntwo\nTHREE\nfour\n");
        // A program that has not read the file replaces it.
        let shell = format!("echo new > {}", mounted.here("a.md").display());
        let status = std::process::Command::new("sh").args(["-c", &shell]).status();
        assert!(status.expect("a shell").success());
        assert_eq!(mounted.text("/a.md"), "new\n");
    }
}

#[test]
fn a_program_that_appends_and_then_rewrites_replaces_what_it_appended() {
    let Some(mounted) = Mounted::new() else { return };
    fs::write(mounted.here("a"), "one\n").expect("a write");
    fs::read(mounted.here("a")).expect("a read");
    let mut file = OpenOptions::new().append(true).open(mounted.here("a")).expect("a file");
    file.write_all(b"two\n").expect("a write");
    drop(file);
    fs::write(mounted.here("a"), "three\n").expect("a write");
    assert_eq!(mounted.text("/a"), "three\n");
}

#[test]
fn the_end_of_one_handle_does_not_apply_what_another_one_has_emptied() {
    let Some(mounted) = Mounted::new() else { return };
    fs::write(mounted.here("a.md"), "one\ntwo\n").expect("a write");
    let first = OpenOptions::new().write(true).open(mounted.here("a.md")).expect("a file");
    let mut second = File::create(mounted.here("a.md")).expect("a file");
    drop(first);
    // The end of a handle is reported late: wait for another request behind it.
    fs::metadata(mounted.here("a.md")).expect("attributes");
    assert_eq!(mounted.text("/a.md"), "one\ntwo\n");
    second.write_all(b"one\n").expect("a write");
    drop(second);
    assert_eq!(mounted.text("/a.md"), "one\n");
}

#[test]
fn appends_of_several_mounts_lose_no_line() {
    const N: usize = 200;
    let Some(mut mounted) = Mounted::new() else { return };
    assert!(mounted.mount("human:ben"));
    let writers: Vec<_> = [0, 1, 0, 1]
        .into_iter()
        .enumerate()
        .map(|(writer, mount)| {
            let log = mounted.at(mount, "log.txt");
            std::thread::spawn(move || {
                let mut file =
                    OpenOptions::new().create(true).append(true).open(log).expect("a log");
                for line in 0..N {
                    file.write_all(format!("{writer} {line}\n").as_bytes()).expect("a line");
                }
            })
        })
        .collect();
    writers.into_iter().for_each(|writer| writer.join().expect("a writer"));
    let text = mounted.text("/log.txt");
    for writer in 0..4 {
        let own = text.lines().filter(|line| line.starts_with(&format!("{writer} ")));
        let expected: Vec<_> = (0..N).map(|line| format!("{writer} {line}")).collect();
        assert_eq!(own.collect::<Vec<_>>(), expected);
    }
}

#[test]
fn what_a_program_wrote_that_keeps_its_file_open_is_applied_after_a_pause() {
    let Some(mounted) = Mounted::new() else { return };
    let file = File::create(mounted.here("open.txt")).expect("a file");
    file.write_all_at(b"kept open", 0).expect("a write");
    wait_until("the write is applied", || mounted.text("/open.txt") == "kept open");
    drop(file);
}

#[test]
fn a_program_sees_its_own_writes_and_so_do_others_of_the_machine() {
    let Some(mounted) = Mounted::new() else { return };
    fs::write(mounted.here("a"), "aaaa").expect("a write");
    let file = OpenOptions::new().read(true).write(true).open(mounted.here("a")).expect("a file");
    let reader = File::open(mounted.here("a")).expect("a file");
    let read = |file: &File| {
        let mut bytes = [0; 4];
        file.read_exact_at(&mut bytes, 0).expect("a read");
        String::from_utf8(bytes.to_vec()).expect("a text")
    };
    assert_eq!((read(&file), read(&reader)), ("aaaa".into(), "aaaa".into()));
    file.write_all_at(b"bb", 1).expect("a write");
    assert_eq!((read(&file), read(&reader)), ("abba".into(), "abba".into()));
    assert_eq!(fs::read_to_string(mounted.here("a")).expect("a read"), "abba");
    file.set_len(6).expect("a size");
    assert_eq!(fs::metadata(mounted.here("a")).expect("attributes").len(), 6);
    assert_eq!(fs::read(mounted.here("a")).expect("a read"), b"abba\0\0");
}

#[test]
fn a_large_file_is_changed_in_the_middle() {
    const SIZE: u64 = 40 << 20;
    let Some(mounted) = Mounted::new() else { return };
    let file = File::create_new(mounted.here("big.bin")).expect("a file");
    file.write_all_at(&[7; 100], SIZE - 100).expect("a write");
    file.sync_all().expect("durable");
    file.write_all_at(b"middle", SIZE / 2).expect("a write");
    drop(file);
    let data = fs::read(mounted.here("big.bin")).expect("a read");
    assert_eq!(data.len() as u64, SIZE);
    let middle = SIZE as usize / 2;
    assert_eq!(&data[middle - 1..middle + 7], b"\0middle\0");
    assert!(data[data.len() - 100..].iter().all(|&byte| byte == 7));
}

#[test]
fn words_written_to_a_file_that_another_removed_are_in_the_trash() {
    let Some(mounted) = Mounted::new() else { return };
    fs::write(mounted.here("a.md"), "one\n").expect("a write");
    let mut file = OpenOptions::new().append(true).open(mounted.here("a.md")).expect("a file");
    mounted.other().rm(&path("/a.md"), &yfs_vfs::RemoveOptions::default()).expect("a removal");
    file.write_all(b"two\n").expect("a write");
    drop(file);
    wait_until("the file is gone", || fs::metadata(mounted.here("a.md")).is_err());
    let trash = mounted.workspace.trash();
    let entry = trash.list().expect("the trash").pop().expect("an entry");
    assert_eq!(&trash.content(&entry.id).expect("a content")[..], b"one\ntwo\n");
}
