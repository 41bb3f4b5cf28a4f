//! Names of the host that the workspace spells in another way: import and export keep every file.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt, path::Path, sync::Arc};

use crate::support::handles::{self, create, now};
use yfs::{
    DirectoryComparison, ExportOptions, ImportOptions, ImportReport, Workspace, WorkspaceOptions,
};
use yfs_conformance::FaultStore;
use yfs_engine::path::VPath;
use yfs_store::MemoryStore;
use yfs_vfs::FileSystem as _;

/// `é` as two characters: an `e` and an accent.
const NFD: &[u8] = b"e\xcc\x81.txt";
/// `é` as one character.
const NFC: &[u8] = b"\xc3\xa9.txt";

fn import(workspace: &Workspace, from: &Path) -> ImportReport {
    let root = VPath::parse("/").unwrap();
    workspace.import(from, &root, &ImportOptions::default(), &|_| ()).unwrap()
}

fn put(directory: &Path, name: &[u8], content: &str) {
    fs::create_dir_all(directory).unwrap();
    fs::write(directory.join(OsStr::from_bytes(name)), content).unwrap();
}

/// Lists the files of a directory of the host, with their contents.
fn files(directory: &Path) -> Vec<(Vec<u8>, String)> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.push((
                    path.as_os_str().as_bytes().to_owned(),
                    fs::read_to_string(&path).unwrap(),
                ));
            }
        }
    }
    found.sort();
    found
}

/// Lists the files below a directory by their paths relative to it.
fn relative_files(directory: &Path) -> Vec<(Vec<u8>, String)> {
    let n_prefix = directory.as_os_str().len();
    files(directory).into_iter().map(|(path, text)| (path[n_prefix..].to_owned(), text)).collect()
}

#[test]
fn names_that_unicode_takes_for_one_are_two_files() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), NFD, "content of NFD");
    put(folder.path(), NFC, "content of NFC");
    put(&folder.path().join(OsStr::from_bytes(b"de\xcc\x81")), NFD, "below NFD");
    put(&folder.path().join(OsStr::from_bytes(b"d\xc3\xa9")), NFC, "below NFC");
    if fs::read_dir(folder.path()).unwrap().count() < 4 {
        return; // The host itself takes them for one.
    }
    let workspace = create();
    let report = import(&workspace, folder.path());
    assert_eq!((report.n_created, report.n_directories), (4, 2), "{report:?}");
    let again = import(&workspace, folder.path());
    assert_eq!((again.n_unchanged, again.n_created, again.n_updated), (4, 0, 0), "{again:?}");
    let read = |path: &str| {
        let read = now(workspace.fs().read(&VPath::parse(path).unwrap()));
        String::from_utf8(read.unwrap().data.to_vec()).unwrap()
    };
    assert_eq!(read("/\u{e9}.txt"), "content of NFC");
    assert_eq!(read("/%-e%CC%81.txt"), "content of NFD");
    let out = tempfile::tempdir().unwrap();
    let root = VPath::parse("/").unwrap();
    let exported = workspace.export(&root, out.path(), &ExportOptions::default(), &|_| ()).unwrap();
    assert_eq!(exported.skipped, []);
    // A lone name gets its normal form, as ever: the second directory is a twin and keeps its own,
    // the file in it is alone there.
    let expected = [
        (&b"/d\xc3\xa9/\xc3\xa9.txt"[..], "below NFC"),
        (b"/de\xcc\x81/\xc3\xa9.txt", "below NFD"),
        (b"/e\xcc\x81.txt", "content of NFD"),
        (b"/\xc3\xa9.txt", "content of NFC"),
    ];
    let mut expected = expected.map(|(path, text)| (path.to_owned(), text.to_owned()));
    expected.sort();
    assert_eq!(relative_files(out.path()), expected);
}

#[test]
fn names_that_the_workspace_cannot_hold_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let names: [&[u8]; 4] = [b"caf\xc3", b"back\\slash", b"%-odd", b"100%.txt"];
    for name in names {
        put(folder.path(), name, &format!("content of {name:?}"));
    }
    let before = relative_files(folder.path());
    if before.len() < names.len() {
        return; // The host cannot hold them either.
    }
    let workspace = create();
    let report = import(&workspace, folder.path());
    assert_eq!((report.n_created, report.skipped.len()), (4, 0), "{report:?}");
    assert_eq!(import(&workspace, folder.path()).n_unchanged, 4);
    let out = tempfile::tempdir().unwrap();
    let root = VPath::parse("/").unwrap();
    workspace.export(&root, out.path(), &ExportOptions::default(), &|_| ()).unwrap();
    assert_eq!(relative_files(out.path()), before);
}

#[test]
fn a_comparison_reads_no_file_by_itself_unless_it_looks_different() {
    let host = tempfile::tempdir().unwrap();
    for n in 0..200 {
        fs::create_dir_all(host.path().join(format!("d{}", n % 5))).unwrap();
        fs::write(host.path().join(format!("d{}/f{n}.txt", n % 5)), format!("{n}\n")).unwrap();
    }
    let store = Arc::new(FaultStore::new(Arc::new(MemoryStore::new())));
    let options = WorkspaceOptions { follow: false, ..WorkspaceOptions::default() };
    let workspace = Workspace::create(store.clone(), options).unwrap();
    let options = ImportOptions::default();
    workspace.import(host.path(), &VPath::root(), &options, &|_| ()).unwrap();
    fs::write(host.path().join("d3/f3.txt"), "longer\n").unwrap();
    let before = (store.n_head_reads(), store.n_loads());
    let compared = DirectoryComparison::new(&workspace, host.path(), &options).unwrap();
    assert_eq!((compared.n_equal, compared.differences.len()), (199, 1));
    let n_read = (store.n_head_reads() - before.0, store.n_loads() - before.1);
    assert!(n_read.0 <= 10 && n_read.1 == 0, "reads of heads and of documents: {n_read:?}");
}

/// A peer names a directory so that a host without case, or without dots at the end of names, takes
/// it for Git's.
#[test]
fn an_export_writes_no_spelling_of_a_reserved_name() {
    let workspace = create();
    let names = [".git", ".GIT", ".Git.", ".git\u{200b}", ".yfs", ".YFS", ".yfs-tmp-1"];
    for name in names {
        handles::put(&workspace, &format!("/{name}/hooks/post-checkout"), "evil");
    }
    handles::put(&workspace, "/.github/a.yml", "kept");
    let to = tempfile::tempdir().unwrap();
    let root = VPath::parse("/").unwrap();
    let report = workspace.export(&root, to.path(), &ExportOptions::default(), &|_| ()).unwrap();
    let expected = (b"/.github/a.yml".to_vec(), "kept".to_owned());
    assert_eq!(relative_files(to.path()), [expected]);
    let is_named = |name: &&str| {
        report.skipped.iter().any(|skipped| skipped.path.ends_with(&format!("/{name}")))
    };
    assert!(names.iter().all(is_named), "{:?}", report.skipped);
}
