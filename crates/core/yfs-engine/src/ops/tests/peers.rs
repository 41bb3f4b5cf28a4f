//! Operations all the way: planned on the tree, written by the table into real documents, merged by
//! peers that did not know of each other. `a: mv /x /y` is done by one peer, `sync` brings all
//! together. The numbers are those of the table of pairs in `docs/tree.md`.

use expect_test::expect;
use proptest::prelude::*;

use super::{random::any_command, *};
use crate::{
    gate::{DocRole, GateLimits, GatedDoc, UpdateScan, UpdateSource},
    id::ClientId,
    table::{FilesTable, WriterIds},
};

/// One of several peers of the same workspace.
pub(super) struct Peer {
    doc: GatedDoc,
    table: FilesTable,
    tree: TreeIndex,
    /// The prefix of the ids that it makes.
    name: String,
    n_ids: usize,
}

impl Peer {
    fn new(name: &str, number: u64) -> Self {
        let client = |offset| ClientId::new(number * 10 + offset).unwrap();
        let writer = WriterIds { rows: client(1), cells: client(2), meta: client(3) };
        Self {
            doc: GatedDoc::new(&id("w"), DocRole::Main, client(4), GateLimits::default()),
            table: FilesTable::new(writer),
            tree: TreeIndex::new(id("w")),
            name: name.to_owned(),
            n_ids: 0,
        }
    }

    fn run(&mut self, command: &str, now: i64) -> Result<(), OpError> {
        let mut planner = Planner {
            tree: &self.tree,
            rows: &self.table,
            now: Millis(now),
            actor: &format!("human:{}", self.name),
            prefix: &self.name,
            n_ids: &mut self.n_ids,
        };
        let writes = planner.plan(command)?.writes;
        let update = self.table.plan(&self.doc, &writes, Millis(now)).unwrap();
        let scan = self.doc.apply_own(&update);
        self.absorb(&[scan]);
        Ok(())
    }

    fn receive(&mut self, other: &Self) {
        let update = other.doc.encode_diff(&self.doc.state_vector()).unwrap();
        let received = self.doc.receive(&update, UpdateSource::Wire).unwrap();
        self.absorb(&received.scans);
    }

    fn absorb(&mut self, scans: &[UpdateScan]) {
        for scan in scans {
            let changed = self.table.absorb(&self.doc, scan);
            self.tree.absorb(&self.table, &changed);
        }
    }

    fn show(&self) -> String {
        show_tree(&self.tree)
    }

    /// Returns the only row.
    pub(super) fn row(&self) -> FileRow {
        let rows: Vec<FileRow> = self.table.iter().map(|entry| entry.row).collect();
        rows.into_iter().next().unwrap()
    }
}

#[derive(Default)]
pub(super) struct Peers {
    pub(super) peers: BTreeMap<String, Peer>,
    pub(super) now: i64,
}

impl Peers {
    /// Takes a step; a rejected step changes nothing.
    pub(super) fn step(&mut self, step: &str) -> Result<(), OpError> {
        self.now += 1;
        let Some((name, command)) = step.split_once(": ") else {
            self.sync();
            return Ok(());
        };
        let number = u64::from(name.as_bytes()[0]);
        let peer = self.peers.entry(name.to_owned()).or_insert_with(|| Peer::new(name, number));
        peer.run(command, self.now)
    }

    /// One peer receives what another has.
    pub(super) fn receive(&mut self, to: &str, from: &str) {
        if let Some(mut peer) = (to != from).then(|| self.peers.remove(to)).flatten() {
            peer.receive(&self.peers[from]);
            self.peers.insert(to.to_owned(), peer);
        }
    }

    fn sync(&mut self) {
        let names: Vec<String> = self.peers.keys().cloned().collect();
        for _ in 0..2 {
            for (to, from) in names.iter().flat_map(|to| names.iter().map(move |from| (to, from))) {
                self.receive(to, from);
            }
        }
    }

    /// Checks that all peers see the same, and that the tree follows from the table.
    pub(super) fn check(&self) {
        let first = self.peers.values().next().map(Peer::show);
        for peer in self.peers.values() {
            assert_eq!(Some(peer.show()), first);
            let rebuilt = TreeIndex::of_table(id("w"), &peer.table);
            assert_eq!(peer.show(), show_tree(&rebuilt));
        }
    }
}

/// Both peers see the result of the common steps; then each takes its own, and they sync.
#[track_caller]
fn check_pair(common: &[&str], one: &[&str], other: &[&str], expected: Expect) {
    let mut peers = Peers::default();
    let own =
        |name: &str, steps: &[&str]| steps.iter().map(|step| format!("{name}: {step}")).collect();
    let mut steps: Vec<String> = own("a", common);
    steps.push("b: mkdir -p /".to_owned());
    steps.push("sync".to_owned());
    steps.extend::<Vec<String>>(own("a", one));
    steps.extend::<Vec<String>>(own("b", other));
    steps.push("sync".to_owned());
    for step in steps {
        peers.step(&step).unwrap_or_else(|error| panic!("{step}: {error}"));
    }
    peers.check();
    let tree = &peers.peers["a"].tree;
    let stranded = tree.trash().into_iter().filter(|item| !item.stranded.is_empty());
    let stranded =
        stranded.map(|item| format!("stranded in {}: {}", item.name, item.stranded.len()));
    let lines: Vec<String> = std::iter::once(show_tree(tree)).chain(stranded).collect();
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn both_create_a_file() {
    // Pair 1.
    check_pair(
        &[],
        &["create /x.md"],
        &["create /x.md"],
        expect![[r#"
        /x (1).md
        /x.md"#]],
    );
}

#[test]
fn both_make_directories_and_fill_them() {
    // Pairs 2 and 35.
    check_pair(
        &[],
        &["mkdir -p /src/lib", "create /src/lib/a"],
        &["mkdir -p /src/lib", "create /src/lib/b"],
        expect![[r#"
            /src/
            /src/lib/
            /src/lib/a
            /src/lib/b"#]],
    );
}

#[test]
fn one_creates_a_file_and_one_a_directory() {
    // Pair 3.
    check_pair(
        &[],
        &["create /d"],
        &["mkdir /d"],
        expect![[r#"
        /d
        /d (1)/"#]],
    );
}

#[test]
fn both_rename_a_file() {
    // Pair 4.
    check_pair(&["create /f"], &["mv /f /x"], &["mv /f /y"], expect!["/y"]);
}

#[test]
fn two_files_are_renamed_to_one_name() {
    // Pair 5.
    check_pair(
        &["create /f", "create /g"],
        &["mv /f /x"],
        &["mv /g /x"],
        expect![[r#"
        /x
        /x (1)"#]],
    );
}

#[test]
fn one_renames_and_one_moves() {
    // Pair 6.
    check_pair(
        &["mkdir /d", "create /f"],
        &["mv /f /g"],
        &["mv /f /d/f"],
        expect![[r#"
        /d/
        /d/g"#]],
    );
}

#[test]
fn both_move_a_file() {
    // Pair 7.
    check_pair(
        &["mkdir /d", "mkdir /e", "create /f"],
        &["mv /f /d/f"],
        &["mv /f /e/f"],
        expect![[r#"
        /d/
        /e/
        /e/f"#]],
    );
}

#[test]
fn directories_are_moved_into_each_other() {
    // Pair 8: the later one goes back to where it was.
    check_pair(
        &["mkdir /p", "mkdir /p/x", "mkdir /p/y", "create /p/y/f"],
        &["mv /p/x /p/y/x"],
        &["mv /p/y /p/x/y"],
        expect![[r#"
            /p/
            /p/y/
            /p/y/f
            /p/y/x/"#]],
    );
}

#[test]
fn three_directories_are_moved_in_a_ring() {
    let mut peers = Peers::default();
    for step in [
        "a: mkdir /p",
        "a: mkdir /p/x",
        "a: mkdir /p/y",
        "a: mkdir /p/z",
        "b: mkdir -p /",
        "c: mkdir -p /",
        "sync",
        "a: mv /p/x /p/y/x",
        "b: mv /p/y /p/z/y",
        "c: mv /p/z /p/x/z",
        "sync",
    ] {
        peers.step(step).unwrap();
    }
    peers.check();
    expect![[r#"
        /p/
        /p/z/
        /p/z/y/
        /p/z/y/x/"#]]
    .assert_eq(&peers.peers["b"].show());
    // A move settles it for good.
    peers.step("b: mv /p/z /z").unwrap();
    peers.step("sync").unwrap();
    peers.check();
    assert_eq!(peers.peers["a"].tree.conflicts(Millis(0)), []);
}

#[test]
fn one_moves_into_a_directory_that_one_trashes() {
    // Pair 9.
    check_pair(
        &["mkdir /d", "create /f"],
        &["rm -r /d"],
        &["mv /f /d/f"],
        expect![[r#"
        trash: /d
        stranded in d: 1"#]],
    );
}

#[test]
fn one_creates_in_a_directory_that_one_trashes() {
    // Pair 10.
    check_pair(
        &["mkdir /d", "create /d/old"],
        &["rm -r /d"],
        &["create /d/f"],
        expect![[r#"
        trash: /d
        stranded in d: 1"#]],
    );
}

#[test]
fn one_trashes_and_one_renames() {
    // Pair 12.
    check_pair(&["create /f"], &["rm /f"], &["mv /f /g"], expect!["trash: /g"]);
}

#[test]
fn one_trashes_and_one_changes_times() {
    // Pair 13.
    check_pair(&["create /f"], &["rm /f"], &["touch 50 /f"], expect!["trash: /f"]);
}

#[test]
fn one_trashes_and_one_moves() {
    // Pair 14.
    check_pair(
        &["mkdir /d", "create /f"],
        &["rm /f"],
        &["mv /f /d/f"],
        expect![[r#"
        /d/
        trash: /d/f"#]],
    );
}

#[test]
fn one_changes_times_and_one_renames() {
    // Pair 28.
    check_pair(&["create /f"], &["touch 50 /f"], &["mv /f /g"], expect!["/g"]);
}

#[test]
fn one_purges_and_one_moves_out() {
    // Pairs 17 and 18: a node that was moved out is not taken along.
    check_pair(
        &["mkdir /d", "mkdir /d/e", "create /d/e/f", "rm -r /d"],
        &["purge /d p1"],
        &["restore /d", "mv /d/e /e"],
        expect![[r#"
            /d/
            /e/
            /e/f"#]],
    );
}

#[test]
fn a_derived_directory_that_was_trashed_here_is_made_again_there() {
    // Pair 2, with a trashing before: the other peer gets the new node.
    check_pair(
        &["mkdir /d", "create /d/f", "rm -r /d"],
        &["mkdir /d"],
        &["mkdir -p /d/e"],
        expect![[r#"
            /d/
            /d/e/
            trash: /d"#]],
    );
}

#[test]
fn one_makes_a_directory_that_one_renames() {
    // Both know /d; mkdir -p makes nothing, so the new node follows the directory.
    check_pair(
        &["mkdir /d"],
        &["mv /d /e"],
        &["mkdir -p /d", "create /d/f"],
        expect![[r#"
        /e/
        /e/f"#]],
    );
}

fn any_step() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => (prop::sample::select(&["a", "b", "c"][..]), any_command())
            .prop_map(|(peer, command)| format!("{peer}: {command}")),
        1 => Just("sync".to_owned()),
    ]
}

proptest! {
    /// After any concurrent operations, peers agree in the end on a tree without shared paths.
    #[test]
    fn peers_agree(steps in prop::collection::vec(any_step(), 1..40)) {
        let mut peers = Peers::default();
        for name in ["a", "b", "c"] {
            peers.step(&format!("{name}: mkdir -p /")).unwrap();
        }
        peers.step("a: mkdir -p /a/b").unwrap();
        peers.step("b: mkdir -p /c").unwrap();
        for step in &steps {
            // A node that does not exist here is an error, which is fine.
            drop(peers.step(step));
        }
        peers.step("sync").unwrap();
        peers.check();
        let tree = &peers.peers["a"].tree;
        let paths: Vec<String> = tree.root().walk().map(|node| node.path().to_string()).collect();
        let distinct: std::collections::BTreeSet<&String> = paths.iter().collect();
        prop_assert_eq!(paths.len(), distinct.len());
        let n_visible = tree.nodes().filter(NodeRef::is_visible).count();
        prop_assert_eq!(paths.len(), n_visible);
    }
}
