//! Sessions beside other writers.

use std::sync::Arc;

use yfs_engine::{
    actor::{Actor, ActorKind},
    path::VPath,
};
use yfs_store::MemoryStore;
use yfs_vfs::{FsCode, GrepQuery, TextReplacement, VersionBase, WriteOptions};

use crate::{Session, Workspace, WorkspaceOptions};

/// A workspace with a file, a person, and a session that may have read the file.
struct Scene {
    workspace: Workspace,
    person: Session,
    agent: Session,
}

fn path() -> VPath {
    VPath::parse("/plan.txt").expect("a path")
}

fn scene(text: &str) -> Scene {
    let options = WorkspaceOptions { follow: false, ..WorkspaceOptions::default() };
    let workspace = Workspace::create(Arc::new(MemoryStore::new()), options).expect("a workspace");
    let person = workspace.session(Actor::new(ActorKind::Human, "ana"));
    let agent = workspace.session(Actor::new(ActorKind::Agent, "bob"));
    person.write(&path(), text.as_bytes(), &WriteOptions::default()).expect("written");
    Scene { workspace, person, agent }
}

impl Scene {
    fn text(&self) -> String {
        let fresh = self.workspace.session(Actor::new(ActorKind::System, ""));
        String::from_utf8(fresh.read(&path()).expect("read").data.to_vec()).expect("text")
    }

    fn agent_reads(&self) -> String {
        String::from_utf8(self.agent.read(&path()).expect("read").data.to_vec()).expect("text")
    }

    fn agent_writes(&self, text: &str) -> yfs_vfs::WriteOutcome {
        self.agent.write(&path(), text.as_bytes(), &WriteOptions::default()).expect("written")
    }

    fn person_edits(&self, old: &str, new: &str) {
        self.person.edit(&path(), &TextReplacement::once(old, new)).expect("edited");
    }
}

#[test]
fn a_stale_write_keeps_what_others_wrote() {
    let scene = scene("one\ntwo\n");
    let read = scene.agent_reads();
    scene.person_edits("one", "ONE");
    let written = scene.agent_writes(&read.replace("two", "TWO"));
    assert!(written.merged);
    assert_eq!(scene.text(), "ONE\nTWO\n");
}

#[test]
fn saving_again_after_a_merge_deletes_nothing() {
    let scene = scene("one\ntwo\n");
    let read = scene.agent_reads();
    scene.person_edits("one\n", "one\nAna: important\n");
    let mine = read.replace("two", "TWO");
    scene.agent_writes(&mine);
    // The agent has not read the merged edits.
    scene.agent_writes(&mine.replace("TWO", "THREE"));
    assert_eq!(scene.text(), "one\nAna: important\nTHREE\n");
}

#[test]
fn a_change_of_the_same_length_is_seen() {
    let scene = scene("teh cat\n");
    scene.agent_writes("teh cat sat\n");
    scene.person_edits("teh", "the");
    scene.agent_writes("teh cat sat down\n");
    assert_eq!(scene.text(), "the cat sat down\n");
}

#[test]
fn what_was_read_stays_a_base_after_compaction() {
    let scene = scene("# Title\nagent paragraph\n");
    let read = scene.agent_reads();
    for key in 0..100 {
        let options = WriteOptions::default();
        scene.person.append(&path(), format!("{key} ").as_bytes(), &options).expect("appended");
    }
    scene.workspace.maintenance().compact(&mut |_, _| {}).expect("compacted");
    scene.agent_writes(&read.replace("paragraph", "paragraph, improved"));
    let text = scene.text();
    assert!(text.starts_with("# Title\nagent paragraph, improved\n0 1 2 "), "{text}");
    assert!(text.ends_with("98 99 "), "{text}");
}

#[test]
fn a_truncation_and_what_follows_are_one_change() {
    let scene = scene("old\n");
    scene.agent_reads();
    scene.agent.truncate(&path()).expect("held back");
    assert_eq!(scene.agent_reads(), "");
    assert_eq!(scene.text(), "old\n");
    scene.person_edits("old\n", "old\nHUMAN\n");
    scene.agent.append(&path(), b"new\n", &WriteOptions::default()).expect("written");
    assert_eq!(scene.text().matches("HUMAN").count(), 1, "{}", scene.text());
    assert!(!scene.text().contains("old") && scene.text().contains("new"));
}

#[test]
fn a_truncation_that_nothing_follows_deletes_only_what_was_read() {
    let scene = scene("old\n");
    scene.agent_reads();
    scene.agent.truncate(&path()).expect("held back");
    scene.person_edits("old\n", "old\nHUMAN\n");
    scene.agent.write_truncations(None).expect("settled");
    assert_eq!(scene.text(), "HUMAN\n");
    // The session has not read the word: its next write keeps it.
    scene.agent_writes("new\n");
    assert!(scene.text().contains("HUMAN") && scene.text().contains("new"), "{}", scene.text());
}

#[test]
fn a_label_changes_nothing_of_what_was_read() {
    let scene = scene("one\ntwo\n");
    let read = scene.agent_reads();
    let labelled = scene.agent.labelled("second turn");
    scene.person_edits("one", "ONE");
    let data = read.replace("two", "TWO");
    labelled.write(&path(), data.as_bytes(), &WriteOptions::default()).expect("written");
    assert_eq!(scene.text(), "ONE\nTWO\n");
}

#[test]
fn a_text_that_was_read_from_memory_is_a_base() {
    let scene = scene("one\ntwo\n");
    // A text that was read twice is in the cache.
    scene.person.read(&path()).expect("read");
    scene.person.read(&path()).expect("read");
    let text = scene.agent.text_in_memory(&path(), 1 << 20).expect("read").expect("in memory");
    scene.person_edits("one", "ONE");
    scene.agent_writes(&text.content.replace("two", "TWO"));
    assert_eq!(scene.text(), "ONE\nTWO\n");
}

#[test]
fn a_link_that_is_replaced_is_no_change_of_what_it_leads_to() {
    let scene = scene("one\ntwo\n");
    let link = VPath::parse("/link").expect("a path");
    scene.person.symlink("/plan.txt", &link).expect("linked");
    scene.agent.read(&link).expect("read");
    scene.person_edits("one", "ONE");
    let options = WriteOptions { follow: false, ..WriteOptions::default() };
    scene.agent.write(&link, b"one\nTWO\n", &options).expect("written");
    assert_eq!(&scene.person.read(&link).expect("read").data[..], b"one\nTWO\n");
    assert_eq!(scene.text(), "ONE\ntwo\n");
}

#[test]
fn a_truncation_whose_base_is_gone_is_dropped() {
    let scene = scene("text");
    let append = |bytes: &[u8]| scene.agent.append(&path(), bytes, &WriteOptions::default());
    scene.person.write(&path(), b"\xff1", &WriteOptions::default()).expect("written");
    scene.agent.read(&path()).expect("read");
    scene.person.write(&path(), b"\xff2", &WriteOptions::default()).expect("written");
    scene.agent.truncate(&path()).expect("held back");
    assert_eq!(append(b"new").expect_err("bytes do not merge").code, FsCode::ESTALE);
    assert_eq!(&scene.agent.read(&path()).expect("read").data[..], b"\xff2");
    append(b"3").expect("it was read");
    assert_eq!(&scene.person.read(&path()).expect("read").data[..], b"\xff23");
}

#[test]
fn a_search_on_a_thread_of_a_runtime_finds() {
    let scene = scene("one\ntwo\n");
    let runtime = tokio::runtime::Builder::new_multi_thread().build().expect("a runtime");
    let search = move || scene.agent.grep(&GrepQuery::new("two")).expect("searched").n_matches;
    let found = runtime.block_on(runtime.spawn_blocking(search)).expect("searched");
    assert_eq!(found, 1);
}

#[test]
fn a_version_that_was_handed_out_stays_a_base_after_compaction() {
    let scene = scene("title\nbody\n");
    let read = scene.agent.read(&path()).expect("read");
    for n in 0..100 {
        let line = format!("ana {n}\n");
        scene.person.append(&path(), line.as_bytes(), &WriteOptions::default()).expect("appended");
    }
    scene.workspace.maintenance().compact(&mut |_, _| {}).expect("compacted");
    let base = Some(VersionBase::Version(read.version));
    let options = WriteOptions { base, ..WriteOptions::default() };
    scene.agent.write(&path(), b"TITLE\nbody\n", &options).expect("written");
    assert!(scene.text().starts_with("TITLE\nbody\nana 0\nana 1\n"), "{}", scene.text());
}

#[test]
fn a_file_whose_content_is_known_no_longer_is_not_replaced() {
    let scene = scene("");
    let long = "line\n".repeat(100_000);
    let log = VPath::parse("/log.txt").expect("a path");
    let options = WriteOptions::default();
    let append = |session: &Session, text: &str| session.append(&log, text.as_bytes(), &options);
    append(&scene.agent, "begun\n").expect("appended");
    append(&scene.agent, &long).expect("appended");
    append(&scene.person, "HUMAN\n").expect("appended");
    append(&scene.agent, "end\n").expect("appended");
    let refused = scene.agent.write(&log, b"new\n", &options).expect_err("it has no base");
    assert_eq!(refused.code, FsCode::ESTALE);
    let text = scene.agent.read(&log).expect("read").data;
    assert!(text.ends_with(b"HUMAN\nend\n"));
    scene.agent.write(&log, b"new\n", &options).expect("it was read");
}

#[test]
fn a_long_log_that_only_one_session_writes_is_replaced() {
    let scene = scene("");
    let log = VPath::parse("/log.txt").expect("a path");
    let options = WriteOptions::default();
    for _ in 0..4 {
        let line = "line\n".repeat(30_000);
        scene.agent.append(&log, line.as_bytes(), &options).expect("appended");
    }
    scene.workspace.maintenance().compact(&mut |_, _| {}).expect("compacted");
    scene.agent.write(&log, b"", &options).expect("written");
    assert_eq!(&scene.person.read(&log).expect("read").data[..], b"");
}

#[test]
fn appending_is_no_reading() {
    let scene = scene("one\n");
    scene.agent_reads();
    scene.person_edits("one\n", "one\nHUMAN\n");
    scene.agent.append(&path(), b"two\n", &WriteOptions::default()).expect("appended");
    scene.agent_writes("one\ntwo\nthree\n");
    assert_eq!(scene.text().matches("HUMAN").count(), 1, "{}", scene.text());
    assert!(scene.text().contains("three"));
}

#[test]
fn a_file_that_was_not_read_is_replaced() {
    let scene = scene("one\n");
    assert_eq!(scene.agent_writes("two\n").overlaps, []);
    assert_eq!(scene.text(), "two\n");
}

#[test]
fn a_base_of_bytes_that_changed_is_refused() {
    let scene = scene("text");
    let write = |session: &Session, bytes: &[u8]| {
        session.write(&path(), bytes, &WriteOptions::default()).map(drop)
    };
    write(&scene.person, b"\xff1").expect("written");
    scene.agent.read(&path()).expect("read");
    write(&scene.person, b"\xff2").expect("written");
    let refused = write(&scene.agent, b"\xff3").expect_err("bytes do not merge");
    assert_eq!(refused.code, FsCode::ESTALE);
    assert_eq!(&scene.person.read(&path()).expect("read").data[..], b"\xff2");
}
