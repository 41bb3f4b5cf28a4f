//! Everything that a workspace can be asked, as one text, and copies of stores with and without
//! their derived files: what a handle says that uses derived files must be what one says that finds
//! none.

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;
use yfs::{Session, Workspace, WorkspaceError, WorkspaceOptions};
use yfs_engine::{
    actor::{Actor, ActorKind},
    id::FileId,
    path::VPath,
};
use yfs_store::{DocName, Seq, Store};
use yfs_vfs::{FileKind, GlobQuery, GrepQuery, WalkEntry, WalkOptions};

/// The end of the name of the directory of a store's derived files.
const DERIVED: &str = ".derived";

/// A store on disk, alone in a directory with the files beside it.
#[derive(Debug)]
pub struct StoreCopy {
    directory: TempDir,
}

impl StoreCopy {
    /// Copies all files of a store that no process has open.
    ///
    /// # Panics
    ///
    /// Panics if a file cannot be copied.
    pub fn with_derived(store: &Path) -> Self {
        Self::of(store, true)
    }

    /// Copies a store that no process has open, without its derived files.
    ///
    /// # Panics
    ///
    /// As [`with_derived`](Self::with_derived).
    pub fn without_derived(store: &Path) -> Self {
        Self::of(store, false)
    }

    fn of(store: &Path, with_derived: bool) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        copy_store(store.parent().expect("a directory"), directory.path(), with_derived);
        let name = store.file_name().expect("a file");
        if name != "workspace.db" {
            fs::rename(directory.path().join(name), directory.path().join("workspace.db"))
                .expect("renamed");
        }
        Self { directory }
    }

    /// Returns the path of the file of the store.
    pub fn file(&self) -> PathBuf {
        self.directory.path().join("workspace.db")
    }

    /// Returns all derived files.
    pub fn derived_files(&self) -> Vec<PathBuf> {
        derived_files(&self.file())
    }
}

fn copy_store(from: &Path, to: &Path, with_derived: bool) {
    for entry in fs::read_dir(from).expect("listed") {
        let entry = entry.expect("listed");
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() {
            if with_derived || !name.ends_with(DERIVED) {
                fs::create_dir(&target).expect("created");
                copy_store(&path, &target, with_derived);
            }
        } else if !name.ends_with("-shm") {
            fs::copy(&path, &target).expect("copied");
        }
    }
}

/// Returns the directory of the derived files of a store.
///
/// # Panics
///
/// Panics if the store has none.
pub fn derived_directory(store: &Path) -> PathBuf {
    let beside = fs::read_dir(store.parent().expect("a directory")).expect("listed");
    let mut paths = beside.map(|entry| entry.expect("listed").path());
    paths.find(|path| path.to_string_lossy().ends_with(DERIVED)).expect("derived files")
}

/// Returns all derived files of a store, of whatever purpose, in order.
///
/// # Panics
///
/// As [`derived_directory`].
pub fn derived_files(store: &Path) -> Vec<PathBuf> {
    let mut files = files_below(&derived_directory(store));
    files.sort();
    files
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("listed");
    let paths = entries.map(|entry| entry.expect("listed").path());
    paths.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

/// Opens a workspace to read it, and returns everything that it can be asked.
///
/// # Panics
///
/// Panics if a call fails that must not.
pub fn answers_of(store: &Path) -> String {
    let workspace = Workspace::open_at(store, WorkspaceOptions::reading()).expect("it opens");
    let answers = answers(&workspace);
    workspace.close().expect("it closes");
    answers
}

/// Asserts that a store answers alike with and without its derived files. Works on copies, so no
/// process may have the store open.
///
/// # Panics
///
/// Panics if the answers differ.
pub fn assert_derived_files_say_nothing_else(store: &Path, context: &str) {
    let with = answers_of(&StoreCopy::with_derived(store).file());
    let without = answers_of(&StoreCopy::without_derived(store).file());
    assert_same(&with, &without, context);
}

/// Asserts that two answers are the same, and shows the first line that differs.
///
/// # Panics
///
/// Panics if they differ.
pub fn assert_same(found: &str, expected: &str, context: &str) {
    if found == expected {
        return;
    }
    let differs = found.lines().zip(expected.lines()).find(|(found, expected)| found != expected);
    let n_lines = [found, expected].map(|text| text.lines().count());
    panic!("{context}: {n_lines:?} lines, first difference {differs:#?}");
}

/// Returns everything that a workspace can be asked: first by path, then by listing, then all rows.
///
/// # Panics
///
/// Panics if a call fails that must not.
pub fn answers(workspace: &Workspace) -> String {
    let session = workspace.session(Actor::new(ActorKind::Agent, "asker"));
    let mut out = String::new();
    let options = WalkOptions { hidden: true, ..WalkOptions::default() };
    let entries = session.walk(&VPath::root(), &options).expect("a tree walks");
    for entry in &entries {
        ask_entry(workspace, &session, entry, &mut out);
    }
    ask_tree(workspace, &session, &mut out);
    ask_store(&**workspace.store(), &mut out);
    ask_document(workspace, workspace.id(), &mut out);
    for entry in entries.iter().filter(|entry| entry.entry.kind == FileKind::File) {
        ask_document(workspace, &entry.entry.id, &mut out);
    }
    out
}

fn ask_entry(workspace: &Workspace, session: &Session, entry: &WalkEntry, out: &mut String) {
    let WalkEntry { path, entry, .. } = entry;
    note(out, path, entry);
    note(
        out,
        path,
        &session.lstat(path).map(|mut stat| {
            // It is of the process that gave it.
            stat.version = None;
            stat
        }),
    );
    note(out, path, &workspace.nodes().path_of(&entry.id).expect("known"));
    note(out, path, &workspace.documents().info_of(&entry.id));
    match entry.kind {
        FileKind::Directory => {
            note(out, path, &session.readdir(path));
            note(out, path, &session.totals(path));
        }
        FileKind::Symlink => note(out, path, &session.readlink(path)),
        _ => {
            note(out, path, &session.read(path).map(|content| content.data));
            let versions = workspace.history().versions(path).unwrap_or_default();
            for version in &versions {
                let content = workspace.history().version_content(path, version.number);
                note(out, path, &(version, content.map_err(|error| error.to_string())));
            }
            note(out, path, &workspace.history().blame(path).map_err(|error| error.to_string()));
        }
    }
}

fn ask_tree(workspace: &Workspace, session: &Session, out: &mut String) {
    let mut objects = workspace.nodes().objects(None).expect("listed");
    objects.sort_by(|a, b| a.id.cmp(&b.id));
    for object in &objects {
        let child = workspace.nodes().child(object.parent.as_ref(), &object.name).expect("asked");
        assert_eq!(child.map(|child| child.id), Some(object.id.clone()), "{object:?}");
        note(out, "object", object);
    }
    let trash = workspace.trash().list_all().expect("listed");
    for item in &trash {
        note(out, "trash", item);
    }
    note(out, "trash", &workspace.trash().list().map_err(|error| error.to_string()));
    note(out, "conflicts", &workspace.conflicts().expect("listed"));
    note(out, "missing", &workspace.maintenance().missing_contents().expect("listed").len());
    let stats = workspace.maintenance().stats().expect("counted");
    let counts = (stats.n_files, stats.n_directories, stats.n_trashed, stats.n_parked);
    note(out, "stats", &(counts, stats.main_bytes, stats.store.n_records));
    let changes = workspace.history().changes(&VPath::root()).expect("listed");
    for change in changes {
        note(out, "change", &change.map_err(|error: WorkspaceError| error.to_string()));
    }
    let past = workspace.history().state_at(None).expect("a state");
    note(out, "past", past.entries());
    for pattern in ["written", "e", "[0-9]+5", "no such text"] {
        let query = GrepQuery { hidden: true, ..GrepQuery::new(pattern) };
        note(out, pattern, &session.grep(&query).expect("searched"));
    }
    note(out, "glob", &session.glob(&GlobQuery::new("**/*")).expect("found"));
}

fn ask_store(store: &dyn Store, out: &mut String) {
    let mut documents = store.documents().expect("listed");
    documents.sort_by(|a, b| a.doc.cmp(&b.doc));
    let head = store.head().expect("a head");
    for stats in &documents {
        note(out, "document", stats);
        note(out, "head", &store.doc_head(&stats.doc).expect("a head"));
        note(out, "records", &store.load(&stats.doc).expect("loaded"));
        for after in [Seq(1), Seq(head.0 / 2), head] {
            note(out, "after", &store.load_after(&stats.doc, after).expect("loaded"));
        }
    }
    for after in [Seq(0), Seq(head.0 / 2), Seq(head.0.saturating_sub(3))] {
        let page = store.tail(after, &|_, _| true).expect("read");
        note(out, "tail", &(page.records, page.reload));
    }
    note(out, "check", &store.check().expect("checked"));
}

/// Asks for the whole state of a document, and for what a peer lacks that has half of it.
fn ask_document(workspace: &Workspace, id: &FileId, out: &mut String) {
    let Ok(port) = workspace.documents().port(id.as_str()) else { return };
    note(out, id, &port.state_vector().map(unordered).map_err(|error| error.to_string()));
    note(out, id, &port.diff(&[0]).map(unordered).map_err(|error| error.to_string()));
    note(out, id, &port.parked().map_err(|error| error.to_string()));
    note(out, id, &DocName::from(id));
}

/// Returns bytes of Yjs without their order, which is not the same twice: clients and the
/// members of objects are in any order.
fn unordered(mut bytes: Vec<u8>) -> String {
    bytes.sort_unstable();
    let runs = bytes.chunk_by(|a, b| a == b);
    runs.map(|run| format!("{}x{} ", run.len(), run[0])).collect()
}

fn note(out: &mut String, about: impl std::fmt::Display, what: &dyn std::fmt::Debug) {
    writeln!(out, "{about} {what:?}").expect("memory");
}
