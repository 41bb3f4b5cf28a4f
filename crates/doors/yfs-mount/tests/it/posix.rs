//! The calls that programs make.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::{ErrorKind, Read, Write},
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::PathBuf,
};

use rustix::{
    fs::{RenameFlags, XattrFlags, getxattr, listxattr, removexattr, setxattr},
    io::Errno,
};

use crate::support::{Mounted, path};

#[test]
fn directories_links_modes_and_times() {
    let Some(mounted) = Mounted::new() else { return };
    fs::create_dir(mounted.here("d")).expect("a directory");
    fs::write(mounted.here("d/f"), "x").expect("a file");
    symlink("d/f", mounted.here("l")).expect("a link");
    assert_eq!(fs::read_link(mounted.here("l")).expect("a link").to_str(), Some("d/f"));
    assert_eq!(fs::read_to_string(mounted.here("l")).expect("a read"), "x");
    fs::set_permissions(mounted.here("d/f"), Permissions::from_mode(0o751)).expect("a mode");
    let found = fs::metadata(mounted.here("d/f")).expect("attributes");
    assert_eq!(found.mode() & 0o7777, 0o751);
    let time = std::time::UNIX_EPOCH + std::time::Duration::new(1_000_000, 123_456_789);
    let file = File::options().write(true).open(mounted.here("d/f")).expect("a file");
    file.set_modified(time).expect("a time");
    assert_eq!(fs::metadata(mounted.here("d/f")).expect("attributes").modified().unwrap(), time);
    let mut names: Vec<_> = fs::read_dir(mounted.here(""))
        .expect("a directory")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
        .collect();
    names.sort();
    assert_eq!(names, ["d", "l"]);
    let error = fs::remove_dir(mounted.here("d")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DirectoryNotEmpty);
    let error = fs::remove_file(mounted.here("d")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::IsADirectory);
    fs::remove_file(mounted.here("d/f")).expect("a removal");
    fs::remove_dir(mounted.here("d")).expect("a removal");
}

#[test]
fn a_file_that_is_removed_can_be_read_by_those_who_have_it_open() {
    let Some(mounted) = Mounted::new() else { return };
    fs::write(mounted.here("f"), "still here").expect("a file");
    let mut file =
        OpenOptions::new().read(true).write(true).open(mounted.here("f")).expect("a file");
    fs::remove_file(mounted.here("f")).expect("a removal");
    assert_eq!(file.metadata().expect("attributes").nlink(), 0);
    let mut text = String::new();
    file.read_to_string(&mut text).expect("a read");
    assert_eq!(text, "still here");
    file.write_all(b", and longer").expect("a write");
    assert_eq!(file.metadata().expect("attributes").len(), 22);
}

#[test]
fn a_new_file_is_new_for_one_program_only() {
    let Some(mut mounted) = Mounted::new() else { return };
    assert!(mounted.mount("human:ben"));
    let create = |mount| {
        let path = mounted.at(mount, "lock");
        std::thread::spawn(move || OpenOptions::new().write(true).create_new(true).open(path))
    };
    let programs: Vec<_> = (0..8).map(|n| create(n % 2)).collect();
    let created = programs.into_iter().map(|program| program.join().expect("a program"));
    assert_eq!(created.filter(Result::is_ok).count(), 1);
}

#[test]
fn inode_numbers_last_over_mounts() {
    let Some(mut mounted) = Mounted::new() else { return };
    fs::write(mounted.here("f"), "x").expect("a file");
    assert!(mounted.mount("human:ben"));
    let number = |mount| fs::metadata(mounted.at(mount, "f")).expect("attributes").ino();
    assert_eq!(number(0), number(1));
}

#[test]
fn extended_attributes_are_kept_and_three_are_of_the_file() {
    let Some(mounted) = Mounted::new() else { return };
    fs::write(mounted.here("f.md"), "x\n").expect("a file");
    let file = mounted.here("f.md");
    let get = |name: &str| {
        let mut value = [0; 256];
        let len = getxattr(&file, name, &mut value)?;
        Ok::<_, Errno>(String::from_utf8_lossy(&value[..len]).into_owned())
    };
    let stat = mounted.other().stat(&path("/f.md")).expect("a file");
    assert_eq!(get("user.yfs.id"), Ok(stat.id.to_string()));
    assert_eq!(get("user.yfs.version"), Ok(stat.version.expect("a version").as_str().to_owned()));
    assert_eq!(get("user.yfs.authors"), Ok("human:ana".to_owned()));
    setxattr(&file, "user.color", b"blue", XattrFlags::empty()).expect("an attribute");
    assert_eq!(get("user.color"), Ok("blue".to_owned()));
    let again = setxattr(&file, "user.color", b"red", XattrFlags::CREATE);
    assert_eq!(again, Err(Errno::EXIST));
    let error = setxattr(&file, "user.yfs.id", b"other", XattrFlags::empty());
    assert_eq!(error, Err(Errno::PERM));
    let mut names = [0; 256];
    let len = listxattr(&file, &mut names).expect("names");
    let names = String::from_utf8_lossy(&names[..len]).into_owned();
    assert_eq!(names, "user.yfs.id\0user.yfs.version\0user.yfs.authors\0user.color\0");
    removexattr(&file, "user.color").expect("a removal");
    assert_eq!(get("user.color"), Err(Errno::NODATA));
}

#[test]
fn what_is_not_supported_is_refused_and_changes_nothing() {
    let Some(mounted) = Mounted::new() else { return };
    fs::write(mounted.here("a"), "a").expect("a file");
    fs::write(mounted.here("b"), "b").expect("a file");
    let other = std::os::unix::fs::chown(mounted.here("a"), Some(12_345), None).unwrap_err();
    assert_eq!(other.kind(), ErrorKind::PermissionDenied);
    let exchanged = rename_with(mounted.here("a"), mounted.here("b"), RenameFlags::EXCHANGE);
    assert_eq!(exchanged, Err(Errno::INVAL));
    let onto = rename_with(mounted.here("a"), mounted.here("b"), RenameFlags::NOREPLACE);
    assert_eq!(onto, Err(Errno::EXIST));
    fs::hard_link(mounted.here("a"), mounted.here("copy")).expect("a copy");
    fs::write(mounted.here("a"), "changed").expect("a write");
    let read = |name| fs::read_to_string(mounted.here(name)).expect("a text");
    assert_eq!([read("a"), read("b"), read("copy")], ["changed", "b", "a"]);
}

fn rename_with(from: PathBuf, to: PathBuf, flags: RenameFlags) -> Result<(), Errno> {
    rustix::fs::renameat_with(rustix::fs::CWD, from, rustix::fs::CWD, to, flags)
}

#[test]
fn a_mount_that_is_in_use_ends() {
    let Some(mounted) = Mounted::new() else { return };
    let file = File::create(mounted.here("open")).expect("a file");
    let directory = mounted.here("");
    drop(mounted);
    let mounts = fs::read_to_string("/proc/self/mounts").expect("a list");
    assert!(!mounts.contains(directory.to_str().expect("a path").trim_end_matches('/')));
    drop(file);
}
