//! Searches with an index beside searches without.

use std::{fs, path::Path};

use futures::FutureExt;
use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng, seq::IndexedRandom};
use yfs_engine::{
    content::ContentDoc,
    path::VPath,
    table::{RowChanges, RowWrite},
};
use yfs_store::{DocName, StoreExt};
use yfs_vfs::{
    FileSystemExt, GrepQuery, GrepResult, MkdirOptions, MoveOptions, RemoveOptions, WalkEntry,
    WalkOptions, WriteOptions,
    work_meter::{WorkMeter, metered},
};

use super::*;
use crate::{
    Workspace,
    cache::CachedText,
    commit::{StructureAccess, Transaction},
    eager_disk::{EagerDisk, path, session},
    load_document,
};

#[path = "../../tests/it/support/damage.rs"]
mod damage_file;

use damage_file::damage;

const WORDS: &[&str] = &[
    "harbour",
    "HARBOUR",
    "lantern",
    "Größe",
    "GRÖSSE",
    "straße",
    "ΣΊΣΥΦΟΣ",
    "σίσυφος",
    "ſhip",
    "ship",
    "\u{212a}elvin",
    "kelvin",
    "日本語",
    "a",
    "is",
    "x_1",
    "\u{1F600}",
    "# title",
    "- item",
    "*bold*",
    "ǅ",
    "ı",
    "İ",
];

fn any_text(rng: &mut ChaCha8Rng) -> Vec<u8> {
    let mut text = String::new();
    for _ in 0..rng.random_range(0..5) {
        text += WORDS.choose(rng).expect("some");
        text += ["\n", " ", "", ", ", "\r\n", "\n\n"].choose(rng).expect("some");
    }
    if rng.random_bool(0.1) {
        let units = std::iter::once(0xFEFF).chain(text.encode_utf16());
        return units.flat_map(u16::to_le_bytes).collect();
    }
    let mut text = text.into_bytes();
    match rng.random_range(0..10) {
        0 => text.push(0),
        1..4 => text.insert(text.len() / 2, 0xff),
        4 => text.splice(0..0, [0xef, 0xbb, 0xbf]).for_each(drop),
        _ => {}
    }
    text
}

fn any_path(rng: &mut ChaCha8Rng) -> VPath {
    let directories = ["", "/d", "/d/e", "/.h", "/f"];
    let directory = directories.choose(rng).expect("some");
    let end = ["txt", "md", "rs", "bin"].choose(rng).expect("some");
    match rng.random_range(0..12) {
        0 => path(&format!("{directory}/.hidden")),
        at => path(&format!("{directory}/{at}.{end}")),
    }
}

/// Makes one random call. It may fail.
fn change(workspace: &Workspace, rng: &mut ChaCha8Rng) {
    let session = session(workspace);
    let (one, two) = (any_path(rng), any_path(rng));
    let directory = path(["/d", "/d/e", "/f", "/.h", "/g"].choose(rng).expect("some"));
    let recursive = RemoveOptions { recursive: true, ..RemoveOptions::default() };
    match rng.random_range(0..24) {
        0..10 => drop(session.write(&one, &any_text(rng), &WriteOptions::default())),
        10..12 => drop(session.append(&one, &any_text(rng), &WriteOptions::default())),
        12..15 => drop(session.mv(&one, &two, &MoveOptions::default())),
        15 => drop(session.rm(&one, &recursive)),
        16 => drop(session.rm(&directory, &recursive)),
        17 => drop(session.mv(&directory, &path("/g"), &MoveOptions::default())),
        18 => drop(session.mkdir(&directory, &MkdirOptions::default())),
        19 => {
            let trash = workspace.trash().list().expect("listed");
            if let Some(entry) = trash.choose(rng) {
                drop(workspace.trash().restore(&entry.id, None));
            }
        }
        20 => drop(workspace.maintenance().renew_search_index().expect("renewed")),
        21 => drop(workspace.state.checkpoint.checkpoint_live(&workspace.state).expect("written")),
        22 => drop(session.cp(&one, &two, &Default::default())),
        _ => drop(session.symlink(one.as_str(), &two)),
    }
}

/// Returns a random regular expression.
fn any_pattern(rng: &mut ChaCha8Rng, depth: u32) -> String {
    let word = |rng: &mut ChaCha8Rng| {
        let word = regex_syntax::escape(WORDS.choose(rng).expect("some"));
        let at = word.char_indices().nth(rng.random_range(0..3)).map_or(0, |(at, _)| at);
        if word.contains('\\') { word } else { word[at..].to_owned() }
    };
    if depth == 0 {
        return word(rng);
    }
    let (one, two) = (any_pattern(rng, depth - 1), any_pattern(rng, depth - 1));
    match rng.random_range(0..12) {
        0 => format!("(?:{one}|{two})"),
        1 => format!("(?:{one})?{two}"),
        2 => format!("(?:{one})+"),
        3 => format!("{one}.*{two}"),
        4 => format!("(?:{one}){{2}}"),
        5 => format!("^{one}"),
        6 => format!("{one}$"),
        7 => format!("(?i:{one}){two}"),
        8 => format!("[{}{}x]{two}", 'h', 'Σ'),
        9 => format!("{one}[, ]{two}"),
        10 => format!(r"(?:{one}|\w+{two})*{one}"),
        _ => one,
    }
}

fn any_query(rng: &mut ChaCha8Rng) -> GrepQuery {
    let depth = rng.random_range(0..3);
    let mut query = GrepQuery::new(any_pattern(rng, depth));
    query.literal = rng.random_bool(0.2);
    query.ignore_case = rng.random_bool(0.4);
    query.whole_word = rng.random_bool(0.2);
    query.whole_line = rng.random_bool(0.1);
    query.invert = rng.random_bool(0.1);
    query.binary = rng.random_bool(0.2);
    query.unmatched_files = rng.random_bool(0.1);
    query.hidden = rng.random_bool(0.3);
    query.before = rng.random_range(0..2);
    if rng.random_bool(0.2) {
        query.root = path(["/d", "/d/e", "/.h", "/d/1.txt", "/2.md"].choose(rng).expect("some"));
    }
    if rng.random_bool(0.2) {
        query.include = vec!["*.md".to_owned()];
    }
    if rng.random_bool(0.2) {
        query.exclude = vec!["e/".to_owned()];
    }
    if rng.random_bool(0.1) {
        query.max_total = 2;
    }
    query
}

/// Searches with and without the index, and returns the number of files that each read.
fn compare(workspace: &Workspace, query: &GrepQuery, context: &str) -> (u64, u64) {
    let session = session(workspace);
    let search = |use_index| session.grep(&GrepQuery { use_index, ..query.clone() });
    let (with, without) = (search(true), search(false));
    let counts = [&with, &without].map(|found| found.as_ref().map_or(0, |found| found.n_searched));
    let shown = |found: &Result<GrepResult, yfs_vfs::FsError>| match found {
        // A search without a limit finds the same files that are not text.
        Ok(found) if found.cut.is_none() => {
            format!("{:#?} {} {:?}", found.files, found.n_binary, found.binary_paths)
        }
        Ok(found) => format!("{:#?} {:?}", found.files, found.cut),
        Err(error) => format!("{:?}", error.code),
    };
    assert_eq!(shown(&with), shown(&without), "{context} {query:?}");
    (counts[0], counts[1])
}

/// A listing of kinds has what another has, and files that are read together have the contents that
/// each has by itself.
fn compare_reads(workspace: &Workspace, context: &str) {
    let fs = workspace.fs();
    let root = VPath::root();
    let listed = fs.lister().walk(&root, &WalkOptions::default()).expect("listed");
    let kinds_only = WalkOptions { kinds_only: true, ..WalkOptions::default() };
    let kinds = fs.lister().walk(&root, &kinds_only).expect("listed");
    let shown = |found: &[WalkEntry]| -> Vec<_> {
        let shown = found.iter().map(|WalkEntry { path, entry, .. }| {
            (path.clone(), entry.name.clone(), entry.id.clone(), entry.kind)
        });
        shown.collect()
    };
    assert_eq!(shown(&listed), shown(&kinds), "{context}");
    let paths = kinds.into_iter().map(|found| found.path);
    let paths: Vec<VPath> = paths.chain([root, path("/none"), path("/none/x")]).collect();
    let together = fs.reader().read_many(&paths);
    assert_eq!(together.len(), paths.len());
    for (path, found) in paths.iter().zip(together) {
        let alone = fs.reader().read(path).map(|content| content.data);
        assert_eq!(found.map_err(|error| error.code), alone.map_err(|error| error.code), "{path}");
    }
}

fn stored_text(workspace: &Workspace, id: &FileId) -> Option<CachedText> {
    let home = workspace.state.search.home.as_ref().expect("an index");
    home.stored_text(&workspace.state, id).expect("read")
}

/// A text that the index has is the text of the document. Returns the number of such texts.
fn compare_texts(workspace: &Workspace, context: &str) -> usize {
    let state = &workspace.state;
    let listed = workspace.fs().list_all(&VPath::root()).expect("listed");
    let mut n_stored = 0;
    for WalkEntry { entry, path, .. } in listed {
        let Some(stored) = stored_text(workspace, &entry.id) else { continue };
        let kind = state.main.read().content_kind(&entry.id).expect("a file");
        let new_doc = || {
            let client = state.options.ids.client_id();
            let mut doc = ContentDoc::new(&entry.id, client, state.options.limits);
            doc.set_kind(kind);
            doc
        };
        let name = DocName::from(&entry.id);
        let (doc, report) = load_document::content(&*state.store, &name, new_doc).expect("loaded");
        assert_eq!(*stored.content, *doc.text(), "{context} {path}");
        assert_eq!((stored.head, report.n_damaged), (report.head, 0), "{context} {path}");
        n_stored += 1;
    }
    n_stored
}

/// Searches through two handles find the same lines with the index as without, whatever was
/// changed, and whenever it was made.
#[test]
fn a_search_with_an_index_finds_what_a_search_without_finds() {
    let (mut n_with, mut n_without, mut n_stored) = (0, 0, 0);
    for seed in 0..8 {
        let disk = EagerDisk::new();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        for round in 0..8 {
            let handles = [disk.open(), disk.open()];
            for step in 0..40 {
                let workspace = handles.choose(&mut rng).expect("two");
                change(workspace, &mut rng);
                if step % 3 == 0 {
                    let query = any_query(&mut rng);
                    for workspace in &handles {
                        let context = format!("seed {seed} round {round} step {step}");
                        let (with, without) = compare(workspace, &query, &context);
                        if step % 12 == 0 {
                            n_stored += compare_texts(workspace, &context);
                            compare_reads(workspace, &context);
                        }
                        n_with += with;
                        n_without += without;
                    }
                }
            }
            for workspace in handles {
                workspace.close().expect("closed");
            }
        }
    }
    assert!(n_stored > 100, "{n_stored}");
    assert!(n_with * 5 < n_without * 4, "the index excludes files: {n_with} of {n_without}");
}

/// Fills a workspace, and makes the index.
fn filled(disk: &EagerDisk, seed: u64) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let workspace = disk.open();
    for at in 0..300 {
        let name = path(&format!("/file {at}.{}", ["txt", "md"][at % 2]));
        let text = [any_text(&mut rng), format!("\nnumber{at}\n").into_bytes()].concat();
        session(&workspace).write(&name, &text, &WriteOptions::default()).expect("written");
    }
    assert!(workspace.maintenance().renew_search_index().expect("made"));
    workspace.close().expect("closed");
}

fn copy_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("made");
    for entry in fs::read_dir(from).expect("listed") {
        let entry = entry.expect("listed");
        fs::copy(entry.path(), to.join(entry.file_name())).expect("copied");
    }
}

/// An index with a bit flipped, cut short or with parts of another one is noticed: all lines are
/// found, and it is made anew.
#[test]
fn a_damaged_index_is_noticed_and_made_anew() {
    let disk = EagerDisk::new();
    filled(&disk, 1);
    let sound = disk.directory().join("sound");
    copy_all(&disk.derived(DIRECTORY), &sound);
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut n_noticed = 0;
    for round in 0..60 {
        fs::remove_dir_all(disk.derived(DIRECTORY)).ok();
        copy_all(&sound, &disk.derived(DIRECTORY));
        let files: Vec<_> = fs::read_dir(disk.derived(DIRECTORY)).expect("listed").collect();
        let files = files.into_iter().map(|entry| entry.expect("listed").path());
        let files: Vec<_> =
            files.filter(|file| fs::metadata(file).is_ok_and(|file| file.len() > 0)).collect();
        let file = files.choose(&mut rng).expect("some");
        let mut bytes = fs::read(file).expect("read");
        match round % 3 {
            0 => bytes.truncate(rng.random_range(0..bytes.len())),
            1 => drop(bytes.splice(.., (0..64).map(|_| rng.random::<u8>()))),
            _ => {
                for _ in 0..200 {
                    let at = rng.random_range(0..bytes.len());
                    bytes[at] ^= 1 << rng.random_range(0..8);
                }
            }
        }
        fs::write(file, bytes).expect("written");
        let workspace = disk.open();
        for at in [7, 123, 299] {
            let query = GrepQuery::literal(format!("number{at}\n").trim());
            compare(&workspace, &query, &format!("round {round}"));
        }
        n_noticed += u32::from(workspace.maintenance().wants_search_index());
        workspace.close().expect("closed");
        let workspace = disk.open();
        let (with, without) = compare(&workspace, &GrepQuery::literal("number299"), "made anew");
        assert!(with * 4 < without, "round {round}: {with} of {without}");
    }
    assert!(n_noticed > 50, "{n_noticed}");
}

#[derive(Debug, Default)]
struct ObjectCount(AtomicU64);

impl WorkMeter for ObjectCount {
    fn count_objects(&self, n_objects: u64) {
        self.0.fetch_add(n_objects, Ordering::Relaxed);
    }
}

/// Searches with the index; returns the number of files that are not text, and the number of files
/// and directories that were looked up, listed or read.
fn count_work(workspace: &Workspace, query: &GrepQuery) -> (u64, u64) {
    compare(workspace, query, "counted");
    let counted = Arc::new(ObjectCount::default());
    let fs = workspace.fs();
    let search = metered(counted.clone(), fs.grep(query));
    let found = search.now_or_never().expect("done").expect("searched");
    (found.n_binary, counted.0.load(Ordering::Relaxed))
}

/// A rare word in a tree of many pictures cost a walk of the tree, to name the pictures.
#[test]
fn a_search_in_a_tree_of_pictures_looks_up_candidates_and_directories_only() {
    let disk = EagerDisk::new();
    let workspace = disk.open();
    let writer = session(&workspace);
    for at in 0..400 {
        let (name, content) = match at % 10 {
            0 => (format!("/notes/{at}.txt"), format!("{} word{at}\n", "text ".repeat(4000))),
            _ => (format!("/pictures/{}/.{at}.png", at % 3), format!("PNG\0{at}")),
        };
        let name = path(&name.replace("/.", if at % 7 == 0 { "/." } else { "/" }));
        let parents = WriteOptions { parents: true, ..WriteOptions::default() };
        writer.write(&name, content.as_bytes(), &parents).expect("written");
    }
    assert!(workspace.maintenance().renew_search_index().expect("made"));
    drop(writer);
    workspace.close().expect("closed");
    let workspace = disk.open();
    let rare = GrepQuery::literal("word310");
    let (n_binary, n_objects) = count_work(&workspace, &rare);
    assert!(n_binary > 250 && n_objects < 20, "{n_binary} {n_objects}");
    let within = GrepQuery { root: path("/pictures/1"), ..rare.clone() };
    let (n_binary, n_objects) = count_work(&workspace, &within);
    assert!((90..120).contains(&n_binary) && n_objects < 20, "{n_binary} {n_objects}");

    // What changed after the index was made costs look-ups of its own, and is named as it is now.
    let writer = session(&workspace);
    let renamed = MoveOptions::default();
    writer.mv(&path("/pictures/1"), &path("/pictures/one"), &renamed).expect("moved");
    writer.mv(&path("/pictures/2/2.png"), &path("/pictures/2/two.png"), &renamed).expect("moved");
    writer.rm(&path("/pictures/2/5.png"), &RemoveOptions::default()).expect("removed");
    let (n_binary, n_objects) = count_work(&workspace, &rare);
    assert!(n_binary > 250 && n_objects < 30, "{n_binary} {n_objects}");
    assert!(workspace.maintenance().renew_search_index().expect("renewed"));
    let (n_binary, n_objects) = count_work(&workspace, &rare);
    assert!(n_binary > 250 && n_objects < 20, "{n_binary} {n_objects}");
}

/// A store that goes back in time has no mark of the index that was made later.
#[test]
fn an_index_of_another_history_is_not_used() {
    let disk = EagerDisk::new();
    filled(&disk, 3);
    let backup = disk.directory().join("backup.db");
    let workspace = disk.open();
    workspace.store().backup(&backup, &mut |_, _| {}).expect("copied");
    session(&workspace).write(&path("/file 7.md"), b"moved", &WriteOptions::default()).expect("ok");
    assert!(workspace.maintenance().renew_search_index().expect("renewed"));
    workspace.close().expect("closed");
    for end in ["", "-wal", "-shm"] {
        fs::remove_file(disk.directory().join(format!("workspace.db{end}"))).ok();
    }
    fs::copy(&backup, disk.file()).expect("put back");

    let workspace = disk.open();
    let (with, without) = compare(&workspace, &GrepQuery::literal("number7"), "put back");
    assert_eq!(with, without);
    assert!(workspace.maintenance().wants_search_index());
}

/// Gives the content of a file another form by its row alone, as a peer may.
fn set_blob(workspace: &Workspace, at: &VPath, content: &[u8]) {
    let id = session(workspace).stat(at).expect("a file").id;
    let put = workspace.store().put_bytes(content, workspace.state.now()).expect("put");
    let blob = BlobRef { hash: put.hash, size: put.size };
    let changes = RowChanges { blob: Some(Some(blob)), ..RowChanges::default() };
    let row = RowWrite::Update { id, changes };
    let changed = workspace
        .state
        .commit(StructureAccess::Change, None, |_| Ok(Transaction::rows(vec![row.clone()], ())));
    changed.expect("logged");
}

/// A content that changed by its row alone is found, also after the checkpoint of the rows was made
/// anew, once and again, while the index was not.
#[test]
fn a_content_that_only_its_row_changed_is_found() {
    let disk = EagerDisk::new();
    filled(&disk, 5);
    let count = |workspace: &Workspace, context: &str| {
        let query = GrepQuery::literal("needle");
        let (with, without) = compare(workspace, &query, context);
        assert!((1..without / 4).contains(&with), "{context}: {with} of {without}");
    };
    let workspace = disk.open();
    set_blob(&workspace, &path("/file 8.txt"), b"a needle");
    count(&workspace, "in memory");
    for at in [10, 12] {
        assert!(workspace.state.checkpoint.checkpoint_live(&workspace.state).expect("written"));
        count(&workspace, "in the checkpoint");
        let other = disk.open();
        count(&other, "in the checkpoint, through another handle");
        std::mem::forget(other);
        set_blob(&workspace, &path(&format!("/file {at}.txt")), b"a needle");
    }
    assert!(workspace.maintenance().renew_search_index().expect("renewed"));
    assert!(workspace.state.checkpoint.checkpoint_live(&workspace.state).expect("written"));
    count(&workspace, "in the index");
    compare_reads(&workspace, "of blobs");
}

/// Erasing content erases the index, which has parts of it.
#[test]
fn a_wiped_workspace_has_no_index() {
    let disk = EagerDisk::new();
    filled(&disk, 4);
    let workspace = disk.open();
    assert!(disk.derived(DIRECTORY).join("manifest").exists());
    workspace.state.compaction.wipe(&workspace.state).expect("wiped");
    let left = fs::read_dir(disk.derived(DIRECTORY)).expect("the directory");
    let left: Vec<_> = left.map(|entry| entry.expect("an entry").file_name()).collect();
    assert_eq!(left, ["lock"]);
    compare(&workspace, &GrepQuery::literal("number7"), "wiped");
}

/// A document with a damaged record is not read, whatever the index has; nor has the index its text
/// after the record was set aside.
#[test]
fn a_stored_text_of_a_damaged_document_is_not_used() {
    let disk = EagerDisk::new();
    let workspace = disk.open();
    let at = path("/f.txt");
    for text in ["base\n", "base\nDAMAGED\n"] {
        session(&workspace).write(&at, text.as_bytes(), &WriteOptions::default()).expect("written");
    }
    assert!(workspace.maintenance().renew_search_index().expect("made"));
    workspace.close().expect("closed");
    let workspace = disk.open();
    assert_eq!(compare_texts(&workspace, "whole"), 1);
    workspace.close().expect("closed");
    damage(&disk.file(), b"DAMAGED");
    let workspace = disk.open();
    let id = session(&workspace).stat(&at).expect("a file").id;
    assert!(stored_text(&workspace, &id).is_none());
    assert!(session(&workspace).read(&at).is_err());
    workspace.maintenance().set_damage_aside().expect("set aside");
    assert!(stored_text(&workspace, &id).is_none());
    assert_eq!(session(&workspace).read(&at).expect("read").data, "base\n");
}

/// A process that indexed files which had been edited kept the documents of all of them.
#[test]
fn indexing_leaves_no_document_in_memory() {
    let disk = EagerDisk::new();
    let workspace = disk.open();
    let writer = session(&workspace);
    for text in ["one", "two"] {
        for at in 0..20 {
            let file = path(&format!("/f{at}"));
            writer.write(&file, text.as_bytes(), &WriteOptions::default()).expect("written");
        }
    }
    drop(writer);
    workspace.close().expect("closed");
    let workspace = disk.open();
    discard(&workspace.state.store).expect("discarded");
    assert!(workspace.maintenance().renew_search_index().expect("renewed"));
    assert_eq!(workspace.documents().usage(), (0, 0));
    assert_eq!(workspace.state.texts.cache.usage().0, 0);
}
