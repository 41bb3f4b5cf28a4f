//! Histories: what happens to replicas, step by step, and how it ends.

use std::{
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng, seq::IndexedRandom};
use tempfile::TempDir;
use yfs::WorkspaceError;
use yfs_engine::{
    content::ContentDoc,
    gate::{GateLimits, UpdateSource},
    id::{ClientId, FileId},
    kind::ContentRoot,
};
use yfs_store::{MemoryStore, SqliteStore, Store, StoreExt};
use yfs_vfs::FsCode;
use yrs::{
    Doc, OffsetKind, Options, ReadTxn, Text, Transact, Update, XmlElementPrelim, XmlFragment,
    XmlOut, XmlTextPrelim, updates::decoder::Decode,
};

use super::{
    ledger::{Clocks, Ledger, count},
    moves::Chooser,
    plain::Plain,
    replica::{Message, Replica},
    view::{View, timeless},
};
use crate::sources::TestClock;

/// When histories begin, in ms.
const START: i64 = 1_700_000_000_000;

/// How far clocks are ahead, in ms.
const SKEWS: [i64; 5] = [0, 3_600_000, -1_800_000, 60_000, 900_000];

/// What a history is to be like.
#[derive(Debug, Clone, Copy)]
pub struct History {
    /// Decides everything.
    pub seed: u64,
    /// How many steps are taken.
    pub n_steps: usize,
    /// How many replicas of ours there are.
    pub n_replicas: usize,
    /// Whether a peer takes part that follows only the seed.
    pub plain: bool,
    /// Whether stores are SQLite files.
    pub on_disk: bool,
}

/// Replicas, and what is known of their work.
#[derive(Debug)]
pub struct World {
    rng: ChaCha8Rng,
    id: FileId,
    common: Arc<AtomicI64>,
    replicas: Vec<Replica>,
    plain: Option<Plain>,
    ledger: Ledger,
    number: u32,
    log: Vec<String>,
    /// Holds the stores that are files.
    _dir: Option<TempDir>,
}

impl History {
    /// Plays it from the beginning to the end, and judges it.
    ///
    /// # Panics
    ///
    /// Panics if an invariant does not hold; what was done is printed first.
    pub fn play(self) {
        let mut world = World::new(self);
        let played = catch_unwind(AssertUnwindSafe(|| {
            for _ in 0..self.n_steps {
                world.step();
            }
            world.end();
        }));
        if let Err(panic) = played {
            world.print();
            resume_unwind(panic);
        }
    }
}

impl World {
    /// Makes a world in which nothing has happened.
    ///
    /// # Panics
    ///
    /// Panics if stores cannot be made.
    pub fn new(history: History) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(history.seed);
        let common = Arc::new(AtomicI64::new(START));
        let id = FileId::parse("workspace").expect("an id");
        let dir = history.on_disk.then(|| TempDir::new().expect("a directory"));
        let skew = rng.random_range(0..SKEWS.len());
        let replicas = ('a'..).take(history.n_replicas).enumerate().map(|(ix, letter)| {
            let store: Arc<dyn Store> = match &dir {
                Some(dir) => {
                    let file = dir.path().join(format!("{letter}.db"));
                    Arc::new(SqliteStore::create_new(&file).expect("a store"))
                }
                None => Arc::new(MemoryStore::new()),
            };
            let clock = TestClock::new(&common, SKEWS[(ix + skew) % SKEWS.len()]);
            Replica::new(&id, letter, store, clock)
        });
        let replicas = replicas.collect();
        let mut ledger = Ledger::default();
        ledger.has_plain = history.plain;
        let plain = history.plain.then(|| Plain::new(history.seed % 1000 + 1));
        let log = Vec::new();
        Self { rng, id, common, replicas, plain, ledger, number: 0, log, _dir: dir }
    }

    /// Runs one random event.
    pub fn step(&mut self) {
        let time =
            if self.rng.random_ratio(30, 100) { 0 } else { self.rng.random_range(0..3_000) as i64 };
        self.common.fetch_add(time, Ordering::Relaxed);
        let at = self.rng.random_range(0..self.replicas.len());
        match self.rng.random_range(0..100) {
            0..52 => self.play(at),
            52..76 => self.deliver(at),
            76..83 => {
                let other = self.rng.random_range(0..self.replicas.len());
                self.sync(at, other);
            }
            83..86 => self.act(at, "flush".to_owned()),
            86..88 => self.act(at, "compact".to_owned()),
            88..91 => self.reopen(at),
            91..95 => self.bind(at),
            95..98 => self.type_in(at),
            _ => self.plain(at),
        }
    }

    /// Delivers all updates to all replicas, and checks the result.
    ///
    /// # Panics
    ///
    /// Panics if work was lost or doubled, or if two replicas differ.
    pub fn end(&mut self) {
        for replica in &self.replicas {
            // What depends on the time of day is compared at one time.
            replica.clock.ahead.store(SKEWS[1], Ordering::Relaxed);
        }
        self.sync_all();
        for at in 0..self.replicas.len() {
            self.reopen(at);
        }
        self.sync_all();
        for at in 0..self.replicas.len() {
            // Closed again, so that no time is known that rows do not know.
            self.reopen(at);
        }
        self.sync_all();
        self.judge();
    }

    #[expect(clippy::print_stdout, reason = "it tells what led to a failure")]
    fn print(&self) {
        for line in &self.log {
            println!("{line}");
        }
    }

    /// A replica does what it likes.
    fn play(&mut self, at: usize) {
        self.number += 1;
        let replica = &self.replicas[at];
        let trash = replica.workspace().trash().list().expect("a trash lists");
        let mut chooser = Chooser {
            rng: &mut self.rng,
            ledger: &mut self.ledger,
            view: &replica.view,
            read: &replica.player.read,
            trash: trash.into_iter().map(|item| item.id.to_string()).collect(),
            number: self.number,
        };
        let line = chooser.line();
        self.act(at, line);
    }

    fn act(&mut self, at: usize, line: String) {
        let replica = &mut self.replicas[at];
        self.log.push(format!("{}: {line}", replica.letter));
        let (known, before) = (replica.clocks(), replica.view.clone());
        let base = base_of(replica, &line);
        let head = replica.store.head().expect("a head");
        let played = replica.player.play(&line);
        replica.look();
        if let Err(error) = &played {
            self.log.push(format!("   {error}"));
            assert_eq!(replica.view, before, "a refused call changed the tree");
            assert_eq!(replica.store.head().expect("a head"), head, "a refused call wrote");
            self.check_error(at, error);
        }
        if let Some((path, base)) = base.filter(|_| played.is_ok()) {
            check_kept(&before, &self.replicas[at].view, &path, &base);
        }
        self.note_texts(at, &before, &line);
        let said = self.note_rows(at, &known, &line);
        self.replicas[at].check_said();
        self.send(at, said);
    }

    /// Checks that a refusal is one that may happen to the honest.
    fn check_error(&self, at: usize, error: &WorkspaceError) {
        let WorkspaceError::Fs(error) = error else { panic!("refused: {error:?}") };
        let lacks_blob = self.replicas[at].view.values().any(|item| item.content.is_none());
        match error.code {
            FsCode::EIO => assert!(lacks_blob, "{error:?}"),
            FsCode::EBUSY | FsCode::ENOSPC | FsCode::EROFS | FsCode::ENOSYS => panic!("{error:?}"),
            _ => (),
        }
    }

    fn note_texts(&mut self, at: usize, before: &View, line: &str) {
        let copies = line.starts_with("mv") || line.starts_with("cp");
        let before: std::collections::BTreeMap<&FileId, &Option<Vec<u8>>> =
            before.values().map(|item| (&item.id, &item.content)).collect();
        for item in self.replicas[at].view.values() {
            if item.kind != yfs_vfs::FileKind::File {
                continue;
            }
            let Some(new) = item.content.as_deref().filter(|bytes| str::from_utf8(bytes).is_ok())
            else {
                continue;
            };
            let is_text = |data: &Option<Vec<u8>>| {
                data.as_ref().is_some_and(|bytes| str::from_utf8(bytes).is_ok())
            };
            match before.get(&item.id) {
                None => self.ledger.note_text(&item.id, None, new, copies),
                Some(old) if is_text(old) => {
                    self.ledger.note_text(&item.id, old.as_deref(), new, copies);
                }
                Some(_) => self.ledger.note_uncovered(&item.id, new),
            }
        }
    }

    fn note_rows(&mut self, at: usize, known: &Clocks, line: &str) -> Vec<Message> {
        let replica = &mut self.replicas[at];
        let (said, rows) = replica.drain();
        let made = replica.clocks().into_iter();
        let made: Clocks = made
            .filter(|(client, clock)| known.get(client).is_none_or(|known| known < clock))
            .collect();
        let line = format!("{}: {line}", replica.letter);
        for (old, new) in rows {
            if let Some(new) = new {
                self.ledger.note_row(old.as_ref(), &new, known, &made, &line);
            }
        }
        said
    }

    /// Sends updates to the others: some are lost, some come twice.
    fn send(&mut self, from: usize, said: Vec<Message>) {
        for to in (0..self.replicas.len()).filter(|to| *to != from) {
            for message in &said {
                let n_copies = match self.rng.random_range(0..100) {
                    0..30 => 0,
                    30..85 => 1,
                    _ => 2,
                };
                for _ in 0..n_copies {
                    self.replicas[to].inbox.push(message.clone());
                }
            }
        }
    }

    /// Delivers some of what is on its way, in any order.
    fn deliver(&mut self, at: usize) {
        for _ in 0..=self.rng.random_range(0..6) {
            let n_waiting = self.replicas[at].inbox.len();
            if n_waiting == 0 {
                break;
            }
            let message = self.replicas[at].inbox.swap_remove(self.rng.random_range(0..n_waiting));
            self.log.push(format!("{} receives {}", self.replicas[at].letter, message.guid));
            // A file whose row has not come yet is not known here.
            if let Some(port) = self.replicas[at].port(&message.guid) {
                port.receive(&message.update).expect("an honest update");
            }
            if self.rng.random_ratio(15, 100) {
                self.replicas[at].inbox.push(message);
            }
        }
        self.look(at);
    }

    fn look(&mut self, at: usize) {
        self.replicas[at].drain();
        self.replicas[at].look();
        self.replicas[at].check_said();
    }

    /// Two replicas compare states, and each takes what it lacks.
    fn sync(&mut self, left: usize, right: usize) {
        if left == right {
            return;
        }
        let letters = (self.replicas[left].letter, self.replicas[right].letter);
        self.log.push(format!("{} and {} compare", letters.0, letters.1));
        let id = self.id.clone();
        self.pull(left, right, &id);
        self.pull(right, left, &id);
        let rows = self.replicas[left].rows().keys().chain(self.replicas[right].rows().keys());
        let guids: BTreeSet<FileId> = rows.cloned().collect();
        for guid in &guids {
            self.pull(left, right, guid);
            self.pull(right, left, guid);
        }
        self.copy_blobs(left, right);
        self.copy_blobs(right, left);
        self.look(left);
        self.look(right);
    }

    fn pull(&mut self, to: usize, from: usize, guid: &FileId) {
        let (to, from) = (&self.replicas[to], &self.replicas[from]);
        let (Some(into), Some(source)) = (to.port(guid), from.port(guid)) else { return };
        let diff = source.diff(&into.state_vector().expect("a state")).expect("a diff");
        into.receive(&diff).expect("an honest diff");
        self.replicas_drained(guid);
    }

    /// Rows are known as soon as the main document is.
    fn replicas_drained(&mut self, guid: &FileId) {
        if *guid == self.id {
            for replica in &mut self.replicas {
                replica.drain();
            }
        }
    }

    fn copy_blobs(&self, from: usize, to: usize) {
        let (from, to) = (&self.replicas[from].store, &self.replicas[to].store);
        for blob in from.blobs().expect("blobs list") {
            if !to.has_blob(&blob.hash).expect("a store answers") {
                let data = from.get_blob(&blob.hash).expect("a blob is there");
                to.put_bytes(&data, yfs_engine::time::Millis(0)).expect("a blob is kept");
            }
        }
    }

    fn sync_all(&mut self) {
        for _ in 0..2 {
            for at in 1..self.replicas.len() {
                self.sync(0, at);
                self.sync_plain(at);
            }
        }
        for at in 1..self.replicas.len() {
            self.sync(0, at);
        }
    }

    fn reopen(&mut self, at: usize) {
        let known = self.replicas[at].clocks();
        let replica = &mut self.replicas[at];
        self.log.push(format!("{} closes and opens", replica.letter));
        let before = timeless(&replica.view);
        let rows = replica.rows().clone();
        let said = replica.reopen();
        let made = replica.clocks().into_iter();
        let made: Clocks = made
            .filter(|(client, clock)| known.get(client).is_none_or(|known| known < clock))
            .collect();
        for (id, new) in replica.rows() {
            self.ledger.note_row(rows.get(id), new, &known, &made, "close");
        }
        replica.look();
        replica.check_said();
        assert_eq!(timeless(&replica.view), before, "another tree was opened than was closed");
        self.send(at, said);
    }

    /// Follows a document, or stops following it.
    fn bind(&mut self, at: usize) {
        let guids: Vec<FileId> = self.replicas[at].rows().keys().cloned().collect();
        if let Some(guid) = guids.choose(&mut self.rng) {
            if self.rng.random_ratio(70, 100) {
                self.replicas[at].bind(guid);
            } else {
                self.replicas[at].unbind(guid);
            }
        }
    }

    /// Types into a file with a stock Yjs editor.
    fn type_in(&mut self, at: usize) {
        let replica = &self.replicas[at];
        let files: Vec<FileId> = replica
            .view
            .values()
            .filter(|item| item.kind == yfs_vfs::FileKind::File)
            .filter(|item| {
                item.content.as_deref().is_some_and(|bytes| str::from_utf8(bytes).is_ok())
            })
            .map(|item| item.id.clone())
            .collect();
        let Some(guid) = files.choose(&mut self.rng).cloned() else { return };
        let Some(port) = replica.port(&guid) else { return };
        self.number += 1;
        let doc = editor(1_000_000 + u64::from(self.number), &port.diff(&[0]).expect("a diff"));
        let seen = doc.transact().state_vector();
        let typed = format!("typed {}", self.ledger.new_mark());
        // Never between the halves of a character.
        let at_end = self.rng.random_ratio(50, 100);
        if replica.kind(&guid) == ContentRoot::Text {
            let text = doc.get_or_insert_text("text");
            let place = if at_end { text.len(&doc.transact()) } else { 0 };
            text.insert(&mut doc.transact_mut(), place, &typed);
        } else {
            type_in_paragraph(&doc, at_end, &typed);
        }
        let update = doc.transact().encode_diff_v1(&seen);
        let before = replica.view.clone();
        self.log.push(format!("{}: an editor types into {guid}: {typed}", replica.letter));
        port.receive(&update).expect("an honest update");
        self.replicas[at].look();
        self.note_texts(at, &before, "type");
        let (said, _) = self.replicas[at].drain();
        self.send(at, said);
    }

    /// The peer that follows only the seed meets a replica, and works.
    fn plain(&mut self, at: usize) {
        self.sync_plain(at);
        let now = self.common.load(Ordering::Relaxed);
        if let Some(plain) = &mut self.plain {
            self.log.push("a plain peer works".to_owned());
            plain.step(&mut self.rng, now);
        }
        if self.rng.random_ratio(50, 100) {
            self.sync_plain(at);
        }
    }

    fn sync_plain(&mut self, at: usize) {
        let Some(plain) = &mut self.plain else { return };
        self.log.push(format!("{} and the plain peer compare", self.replicas[at].letter));
        let port = self.replicas[at].port(&self.id).expect("a main document");
        for _ in 0..2 {
            plain.receive(&port.diff(&plain.state_vector()).expect("a diff"));
            let diff = plain.diff(&port.state_vector().expect("a state"));
            port.receive(&diff).expect("an honest diff");
        }
        self.look(at);
    }

    fn judge(&mut self) {
        let first = &self.replicas[0];
        let trash = |replica: &Replica| {
            let listed = replica.workspace().trash().list().expect("a trash lists");
            format!("{listed:#?}")
        };
        for replica in &self.replicas {
            assert_eq!(replica.view, first.view, "{} and {}", replica.letter, first.letter);
            assert_eq!(trash(replica), trash(first), "{} and {}", replica.letter, first.letter);
            assert_eq!(replica.rows(), first.rows(), "{} and {}", replica.letter, first.letter);
            let report = replica.store.check().expect("a store checks itself");
            assert_eq!(report.problems, [], "{}", replica.letter);
            assert_eq!(replica.store.quarantined().expect("a list"), [], "{}", replica.letter);
        }
        self.judge_texts();
        // A reader by the seed's rules sees rows that its schema allows (I7).
        let mut reader = Plain::new(7);
        reader.receive(&first.port(&self.id).expect("a main").diff(&[0]).expect("a diff"));
        assert_eq!(reader.rows().len(), first.rows().len(), "rows that a plain reader sees");
        if !self.ledger.has_plain {
            let lost = self.ledger.lost_fields(first.rows());
            assert!(lost.is_empty(), "fields were lost:\n{}", lost.join("\n"));
        }
    }

    /// Checks that text which was written and not deleted is there once, on every replica (I9).
    fn judge_texts(&self) {
        for guid in self.replicas[0].rows().keys() {
            let (mut first, mut aside) = (None, String::new());
            for replica in &self.replicas {
                let Some(port) = replica.port(guid) else { continue };
                let client = ClientId::new(1).expect("53 bits");
                let mut doc = ContentDoc::new(guid, client, GateLimits::default());
                doc.set_kind(replica.kind(guid));
                let state = port.diff(&[0]).expect("a diff");
                doc.receive(&state, UpdateSource::Wire).expect("an honest state");
                // What was typed into the form before a rename is merged when the file is next
                // opened; until then `conflicts` lists it (decision 23).
                // What was typed into a block that another replica deleted is listed there as well
                // (decision 24).
                aside = doc.set_aside().concat();
                let settled = doc.repaired().expect("what was typed can be merged");
                let text = settled.map_or_else(|| doc.text(), |settled| settled.text());
                let first = first.get_or_insert_with(|| text.clone());
                assert_eq!(text, *first, "{guid} on {}", replica.letter);
            }
            let wrong = self.ledger.wrong_marks(guid, &first.unwrap_or_default(), &aside);
            assert!(wrong.is_empty(), "texts are wrong:\n{}", wrong.join("\n"));
        }
    }
}

/// Types into the first or the last paragraph, as an editor that is bound to the document does.
fn type_in_paragraph(doc: &Doc, at_end: bool, typed: &str) {
    let fragment = doc.get_or_insert_xml_fragment("richtext");
    let mut txn = doc.transact_mut();
    let mut texts = fragment.successors(&txn).filter_map(|node| match node {
        XmlOut::Text(text) => Some(text),
        _ => None,
    });
    let found = if at_end { texts.last() } else { texts.next() };
    let text = found.unwrap_or_else(|| {
        let paragraph = match fragment.get(&txn, 0) {
            Some(XmlOut::Element(paragraph)) => paragraph,
            _ => fragment.insert(&mut txn, 0, XmlElementPrelim::empty("paragraph")),
        };
        paragraph.insert(&mut txn, 0, XmlTextPrelim::new(""))
    });
    let place = if at_end { text.len(&txn) } else { 0 };
    text.insert(&mut txn, place, typed);
}

/// Opens a content document as an editor would.
fn editor(client: u64, state: &[u8]) -> Doc {
    let doc = Doc::with_options(Options {
        client_id: yrs::ClientID::new(client),
        offset_kind: OffsetKind::Utf16,
        ..Options::default()
    });
    let update = Update::decode_v1(state).expect("an update");
    doc.transact_mut().apply_update(update).expect("an update applies");
    doc
}

/// Returns where a line writes with a base, and what the base says.
fn base_of(replica: &Replica, line: &str) -> Option<(String, Vec<u8>)> {
    let (call, _) = line.split_once(" = ")?;
    let (how, path) = call.split_once(' ')?;
    let seen = replica.player.read.get(path)?;
    how.starts_with("write-").then(|| (path.to_owned(), seen.data.to_vec()))
}

/// Checks that a write with a base kept what others wrote since.
fn check_kept(before: &View, after: &View, path: &str, base: &[u8]) {
    let text = |view: &View| view.get(path).and_then(|item| item.content.clone());
    let (Some(before), Some(after)) = (text(before), text(after)) else { return };
    let (base, after) = (count(base), count(&after));
    for mark in count(&before).into_keys().filter(|mark| !base.contains_key(mark)) {
        assert!(after.contains_key(&mark), "{path}: {mark} was written since, and is gone");
    }
}
