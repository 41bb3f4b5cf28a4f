//! One replica: a workspace with a store of its own, and what is on the way to it.

use std::{collections::BTreeMap, sync::Arc};

use yfs::{DocPort, Workspace, WorkspaceOptions, subscription::Subscription};
use yfs_engine::{
    gate::{GateLimits, UpdateSource},
    id::{ClientId, FileId},
    kind::{ContentRoot, FileCategory},
    main_doc::MainDoc,
    table::{FileRow, WriterIds},
    tree::{NodeRef, TreeIndex},
};
use yfs_store::Store;
use yrs::{StateVector, updates::decoder::Decode};

use super::{
    ledger::Clocks,
    view::{View, look},
};
use crate::{
    script::Player,
    sources::{self, CountedIds, TestClock},
};

/// An update on its way.
#[derive(Debug, Clone)]
pub struct Message {
    /// The document that the update belongs to.
    pub guid: FileId,
    /// The update.
    pub update: Vec<u8>,
}

/// A row before and after.
pub type RowChange = (Option<FileRow>, Option<FileRow>);

/// A workspace with a store of its own.
#[derive(Debug)]
pub struct Replica {
    /// The first letter of its ids.
    pub letter: char,
    /// Its log.
    pub store: Arc<dyn Store>,
    /// The player that calls its filesystem.
    pub player: Player,
    /// Its clock.
    pub clock: TestClock,
    /// What it showed after the last step.
    pub view: View,
    /// What is on its way to it.
    pub inbox: Vec<Message>,
    id: FileId,
    options: WorkspaceOptions,
    main: Bound,
    /// Documents that it subscribes to; it receives others when it compares states.
    bound: BTreeMap<FileId, Bound>,
    /// The main document of a peer that applies every update of this replica.
    mirror: MainDoc,
    rows: BTreeMap<FileId, FileRow>,
}

/// A document that is followed.
#[derive(Debug)]
struct Bound {
    port: DocPort,
    updates: Subscription,
}

impl Bound {
    fn open(workspace: &Workspace, guid: &FileId) -> Option<Self> {
        let port = workspace.documents().port(guid.as_str()).ok()?;
        let updates = port.subscribe();
        Some(Self { port, updates })
    }

    fn drain(&mut self, into: &mut Vec<Message>) {
        while let Some(update) = self.updates.try_recv() {
            into.push(Message { guid: self.port.guid().clone(), update: update.to_vec() });
        }
    }
}

impl Replica {
    /// Opens the workspace `id` on an empty store.
    ///
    /// # Panics
    ///
    /// Panics if it cannot be opened.
    pub fn new(id: &FileId, letter: char, store: Arc<dyn Store>, clock: TestClock) -> Self {
        let options = WorkspaceOptions {
            follow: false,
            clock: Arc::new(clock.clone()),
            ids: Arc::new(CountedIds::new(letter)),
            // Little enough that documents leave memory.
            doc_budget: 4_000,
            ..WorkspaceOptions::default()
        };
        let workspace = sources::open(&store, id, letter, options.clone()).expect("it opens");
        let ids = [1, 2, 3].map(|n| ClientId::from_random((u64::from(letter) << 32) + n));
        let [rows, cells, meta] = ids;
        let writer = WriterIds { rows, cells, meta };
        let main = Bound::open(&workspace, id).expect("a workspace has a main document");
        Self {
            letter,
            store,
            player: Player::new(workspace),
            clock,
            view: View::new(),
            inbox: Vec::new(),
            id: id.clone(),
            options,
            main,
            bound: BTreeMap::new(),
            mirror: MainDoc::new(id, writer, GateLimits::default()),
            rows: BTreeMap::new(),
        }
    }

    /// Returns its workspace.
    pub fn workspace(&self) -> &Workspace {
        &self.player.workspace
    }

    /// Opens a port, unless the file is not known here.
    pub fn port(&self, guid: &FileId) -> Option<DocPort> {
        self.workspace().documents().port(guid.as_str()).ok()
    }

    /// Returns how the content of a file is to be kept.
    pub fn kind(&self, guid: &FileId) -> ContentRoot {
        let rows = self.rows();
        let name = rows.get(guid).map_or("", |row| row.name.as_str());
        ContentRoot::of(FileCategory::of(name), self.workspace().profile())
    }

    /// Follows a document from now on.
    pub fn bind(&mut self, guid: &FileId) {
        if let Some(bound) = Bound::open(&self.player.workspace, guid) {
            self.bound.insert(guid.clone(), bound);
        }
    }

    /// Stops following a document, which may then leave memory.
    pub fn unbind(&mut self, guid: &FileId) {
        self.bound.remove(guid);
    }

    /// Returns the rows that it has.
    pub fn rows(&self) -> &BTreeMap<FileId, FileRow> {
        &self.rows
    }

    /// Returns how much of whose work it has in its main document.
    ///
    /// # Panics
    ///
    /// Panics if its document fails.
    pub fn clocks(&self) -> Clocks {
        let encoded = self.main.port.state_vector().expect("an open port");
        let decoded = StateVector::decode_v1(&encoded).expect("a state vector");
        decoded.iter().map(|(client, clock)| (client.get(), *clock)).collect()
    }

    /// Closes the workspace and opens it again from its store. What closing wrote comes with the
    /// next [`drain`](Self::drain).
    ///
    /// # Panics
    ///
    /// Panics if it cannot.
    pub fn reopen(&mut self) -> Vec<Message> {
        self.player.workspace.clone().close().expect("it closes");
        let (said, _) = self.drain();
        self.bound.clear();
        self.player.read.clear();
        let opened = sources::open(&self.store, &self.id, self.letter, self.options.clone());
        self.player.workspace = opened.expect("what was closed opens");
        self.main = Bound::open(&self.player.workspace, &self.id).expect("it has a main document");
        said
    }

    /// Returns what its documents have said since, and what that did to rows.
    ///
    /// # Panics
    ///
    /// Panics if what it says of its main document is not what it shows.
    pub fn drain(&mut self) -> (Vec<Message>, Vec<RowChange>) {
        let mut said = Vec::new();
        self.main.drain(&mut said);
        let mut changed = Vec::new();
        for message in &said {
            let received = self.mirror.receive(&message.update, UpdateSource::Wire);
            for id in received.expect("a replica says what others accept").ids {
                let new = self.mirror.files().get(&id).map(|entry| entry.row);
                let old = match &new {
                    Some(new) => self.rows.insert(id, new.clone()),
                    None => self.rows.remove(&id),
                };
                changed.push((old, new));
            }
        }
        for bound in self.bound.values_mut() {
            bound.drain(&mut said);
        }
        (said, changed)
    }

    /// Reads what the workspace shows now.
    ///
    /// # Panics
    ///
    /// Panics if looking fails or writes.
    pub fn look(&mut self) {
        self.view = look(self.workspace());
    }

    /// Checks that what it has said is what it shows: incrementally, and built at once (I6).
    ///
    /// # Panics
    ///
    /// Panics if it is not.
    pub fn check_said(&self) {
        let shown: Vec<(String, &FileId)> =
            self.view.iter().map(|(path, item)| (path.clone(), &item.id)).collect();
        let tree = self.mirror.tree();
        assert_eq!(shown, paths(tree), "{}: shown, and said to others", self.letter);
        let rebuilt = TreeIndex::of_table(self.id.clone(), self.mirror.files());
        assert_eq!(paths(tree), paths(&rebuilt), "{}: step by step, and at once", self.letter);
    }
}

/// Returns all paths of a tree, in order, with ids.
fn paths(tree: &TreeIndex) -> Vec<(String, &FileId)> {
    let visible = tree.nodes().filter(NodeRef::is_visible);
    let mut paths: Vec<(String, &FileId)> =
        visible.filter_map(|node| Some((node.path().to_string(), node.id()?))).collect();
    paths.sort();
    paths
}
