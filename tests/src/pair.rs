//! Two replicas that work without a connection and then exchange their updates: the cases of the
//! table of pairs.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use yfs::{DocPort, WorkspaceOptions};
use yfs_engine::id::FileId;
use yfs_store::MemoryStore;
use yfs_vfs::FileSystem;
use yrs::{Any, Doc, OffsetKind, ReadTxn, Text, Transact, Update, updates::decoder::Decode};

use crate::{
    replicas::plain::Plain,
    script::{Player, now, path, show},
    sources::{self, CountedIds, TestClock},
};

/// The time at which cases begin, in ms.
const START: i64 = 1_700_000_000_000;

/// Two who work on one workspace, each with a store of their own.
#[derive(Debug)]
pub struct Pair {
    players: [Player; 2],
    clocks: [TestClock; 2],
    common: Arc<AtomicI64>,
    plain: Plain,
    id: FileId,
    n_typed: u64,
}

impl Default for Pair {
    fn default() -> Self {
        let id = FileId::parse("workspace").expect("an id");
        let common = Arc::new(AtomicI64::new(START));
        let clocks = [0, 0].map(|ahead| TestClock::new(&common, ahead));
        let make = |ix: usize| {
            let letter = ['a', 'b'][ix];
            let options = WorkspaceOptions {
                follow: false,
                clock: Arc::new(clocks[ix].clone()),
                ids: Arc::new(CountedIds::new(letter)),
                ..WorkspaceOptions::default()
            };
            let store = Arc::new(MemoryStore::new()) as _;
            Player::new(sources::open(&store, &id, letter, options).expect("it opens"))
        };
        let players = [make(0), make(1)];
        Self { players, clocks, common, plain: Plain::new(5), id, n_typed: 0 }
    }
}

impl Pair {
    /// Plays what both know; then each does its own; then they meet, and see the same.
    ///
    /// # Panics
    ///
    /// Panics if a call is refused, or they do not see the same.
    pub fn play(common: &[&str], one: &[&str], other: &[&str]) -> String {
        let mut pair = Self::default();
        pair.all(0, common);
        pair.meet();
        pair.all(0, one);
        pair.all(1, other);
        pair.meet();
        pair.seen()
    }

    /// Runs the lines of a script; each takes a second. `clock N` sets the player's clock N seconds
    /// ahead, `type PATH = text` types with a stock editor, and `stop` runs the next line in the
    /// same millisecond.
    ///
    /// # Panics
    ///
    /// Panics if a call is refused.
    pub fn all(&mut self, who: usize, lines: &[&str]) {
        for line in lines {
            if let Some(ahead) = line.strip_prefix("clock ") {
                let ahead: i64 = ahead.parse().expect("seconds");
                self.clocks[who].ahead.store(ahead * 1_000, Ordering::Relaxed);
            } else if *line == "stop" {
                self.common.fetch_sub(1_000, Ordering::Relaxed);
            } else if let Some(typed) = line.strip_prefix("type ") {
                self.type_in(who, typed);
            } else {
                self.common.fetch_add(1_000, Ordering::Relaxed);
                let played = self.players[who].play(line);
                played.unwrap_or_else(|error| panic!("{line}: {error}"));
            }
        }
    }

    /// Lets the peer that knows only the seed write one member of a row, and meet the first player.
    pub fn plain(&mut self, name: &str, member: &str, value: Any) {
        self.meet_plain();
        let now = self.common.fetch_add(1_000, Ordering::Relaxed);
        self.plain.change(name, member, value, now + 1_000);
        self.meet_plain();
    }

    /// Returns the id of what is at a path.
    ///
    /// # Panics
    ///
    /// Panics if nothing is.
    pub fn id_of(&self, at: &str) -> String {
        now(self.players[0].workspace.fs().lstat(&path(at))).expect("it is there").id.to_string()
    }

    /// Brings everything of each to the other, until neither has news.
    ///
    /// # Panics
    ///
    /// Panics if updates are refused.
    pub fn meet(&mut self) {
        for player in &self.players {
            player.workspace.flush().expect("it flushes");
        }
        for _ in 0..2 {
            let [one, other] = [0, 1].map(|ix| self.ports(ix));
            for port in one.iter().chain(&other) {
                for player in &self.players {
                    if let Ok(into) = player.workspace.documents().port(port.guid().as_str()) {
                        let diff = port.diff(&into.state_vector().expect("a state"));
                        into.receive(&diff.expect("a diff")).expect("an honest update");
                    }
                }
            }
        }
    }

    /// Shows what both see: tree, trash, conflicts.
    ///
    /// # Panics
    ///
    /// Panics if they see different things.
    pub fn seen(&self) -> String {
        for clock in &self.clocks {
            // What looks as if it came from the future depends on who looks.
            clock.ahead.store(0, Ordering::Relaxed);
        }
        let [one, other] = [0, 1].map(|ix| self.shown(ix));
        assert_eq!(one, other, "both see the same");
        one
    }

    fn shown(&self, who: usize) -> String {
        let workspace = &self.players[who].workspace;
        let mut lines = vec![show(&workspace.fs())];
        for item in workspace.trash().list().expect("a trash lists") {
            let stranded = match item.stranded.join(", ") {
                none if none.is_empty() => none,
                some => format!(", with late work in {some}"),
            };
            lines.push(format!("trash: {}{stranded}", item.original));
        }
        for conflict in workspace.conflicts().expect("conflicts list") {
            lines.push(format!("conflict: {} {}", conflict.kind.as_str(), conflict.path));
        }
        lines.retain(|line| !line.is_empty());
        lines.join("\n")
    }

    fn ports(&self, who: usize) -> Vec<DocPort> {
        let workspace = &self.players[who].workspace;
        let main = workspace.documents().port(self.id.as_str()).expect("a main document");
        let docs = workspace.store().documents().expect("documents list").into_iter();
        let docs = docs.filter(|entry| entry.doc.as_str() != self.id.as_str());
        // Documents of purged files have no port.
        let docs = docs.filter_map(|entry| workspace.documents().port(entry.doc.as_str()).ok());
        std::iter::once(main).chain(docs).collect()
    }

    fn type_in(&mut self, who: usize, typed: &str) {
        let (at, text) = typed.split_once(" = ").expect("PATH = text");
        let workspace = &self.players[who].workspace;
        let id = now(workspace.fs().stat(&path(at))).expect("it is there").id;
        let port = workspace.documents().port(id.as_str()).expect("a file has a document");
        self.n_typed += 1;
        let doc = Doc::with_options(yrs::Options {
            client_id: yrs::ClientID::new(1_000 + self.n_typed),
            offset_kind: OffsetKind::Utf16,
            ..yrs::Options::default()
        });
        let state = Update::decode_v1(&port.diff(&[0]).expect("a diff")).expect("an update");
        doc.transact_mut().apply_update(state).expect("an update applies");
        let root = doc.get_or_insert_text("text");
        let before = doc.transact().state_vector();
        let text = text.replace('|', "\n");
        root.insert(&mut doc.transact_mut(), 0, &text);
        port.receive(&doc.transact().encode_diff_v1(&before)).expect("an honest update");
    }

    fn meet_plain(&mut self) {
        let port =
            self.players[0].workspace.documents().port(self.id.as_str()).expect("a main document");
        for _ in 0..2 {
            self.plain.receive(&port.diff(&self.plain.state_vector()).expect("a diff"));
            let diff = self.plain.diff(&port.state_vector().expect("a state"));
            port.receive(&diff).expect("an honest diff");
        }
    }
}
