//! Nodes that enter and leave a shared directory, and what of others the share reveals.

use std::{sync::Arc, time::Duration};

use futures::FutureExt;
use yfs_engine::{
    content::{ContentDoc, RunAuthor},
    gate::GateLimits,
    hash::ContentHash,
    id::{ClientId, FileId},
    ops,
    time::Millis,
};
use yfs_store::{SqliteStore, Store, StoreExt};
use yfs_vfs::TextReplacement;

use crate::{
    Workspace,
    commit::{StructureAccess, Transaction},
    workspace::{conflicts::ConflictKind, redact::RedactionScope},
};

use super::stage::{ShareStage, at, mkdir, mv, put, rm, shown, text_of};

#[test]
fn edits_names_and_new_files_are_passed_on_in_both_directions() {
    let mut stage = ShareStage::new();
    put(&stage.ana, "/docs/plan.md", "one\ntwo\nthree\n");
    mkdir(&stage.ana, "/docs/notes").unwrap();
    put(&stage.ana, "/docs/notes/a.txt", "a\n");
    stage.ana.symlink("plan.md", &at("/docs/link")).unwrap();
    stage.settle();
    stage.check_equal();
    assert_eq!(stage.id_in_origin("/docs/plan.md"), stage.id_in_share("/plan.md"));

    put(&stage.ben, "/plan.md", "one\ntwo\nthree, says Ben\n");
    put(&stage.ana, "/docs/plan.md", "one, says Ana\ntwo\nthree\n");
    put(&stage.ben, "/notes/b.txt", "b\n");
    mv(&stage.ana, "/docs/notes", "/docs/letters").unwrap();
    stage.ben.chmod(&at("/notes/a.txt"), 0o755).unwrap();
    stage.settle();
    stage.check_equal();
    let merged = text_of(&stage.ana, "/docs/plan.md");
    assert_eq!(merged, "one, says Ana\ntwo\nthree, says Ben\n");
    assert_eq!(text_of(&stage.ana, "/docs/letters/b.txt"), "b\n");
}

#[test]
fn a_step_without_changes_writes_nothing() {
    let mut stage = ShareStage::new();
    put(&stage.ana, "/docs/plan.md", "text\n");
    put(&stage.ben, "/other.txt", "text\n");
    stage.settle();
    let heads = || [&stage.origin, &stage.share].map(|side| side.store().head().unwrap());
    let before = heads();
    let mut bridge = stage.bridge.take().unwrap();
    assert_eq!(bridge.step().unwrap(), Default::default());
    drop(bridge);
    let mut again = crate::DirectoryShare::open(&stage.origin, &stage.share).unwrap();
    assert_eq!(again.step().unwrap(), Default::default());
    assert_eq!(heads(), before);
}

#[test]
fn a_file_that_is_moved_out_is_trashed_in_the_share_and_comes_back() {
    let mut stage = ShareStage::new();
    put(&stage.ana, "/docs/plan.txt", "one\n");
    stage.settle();
    mv(&stage.ana, "/docs/plan.txt", "/private/plan.txt").unwrap();
    stage.settle();
    stage.check_equal();
    assert_eq!(stage.share.trash().list().unwrap().len(), 1);

    put(&stage.ana, "/private/plan.txt", "one\nwhile it was private\n");
    stage.settle();
    assert!(!stage.reveals("while it was private"));

    // A peer that restores it, with a version that does not copy, sees only what it had, and not
    // for long.
    let id = stage.id_in_origin("/private/plan.txt");
    restore_itself(&stage.share, &id);
    put(&stage.ben, "/plan.txt", "zero\none\n");
    stage.settle();
    stage.check_equal();
    assert_eq!(text_of(&stage.ana, "/private/plan.txt"), "one\nwhile it was private\n");

    mv(&stage.ana, "/private/plan.txt", "/docs/plan.txt").unwrap();
    stage.settle();
    stage.check_equal();
    assert_eq!(text_of(&stage.ben, "/plan.txt"), "zero\none\nwhile it was private\n");
}

fn restore_itself(share: &Workspace, id: &FileId) {
    let restored = share.state.commit(StructureAccess::Change, None, |main| {
        let writes = ops::plan_restore(main.tree(), main, id, None).expect("it is in the trash");
        Ok(Transaction::rows(writes, ()))
    });
    restored.expect("restored");
}

/// `trash restore` said yes, and the file was gone at the next command; no conflict was listed.
#[test]
fn what_a_guest_typed_in_a_file_that_left_can_be_got_out_and_the_owner_gets_a_conflict() {
    let mut stage = ShareStage::new();
    put(&stage.ana, "/docs/f.txt", "line\n");
    mkdir(&stage.ana, "/docs/notes").unwrap();
    put(&stage.ana, "/docs/notes/n.txt", "note\n");
    stage.settle();
    let (file, directory) = (stage.id_in_share("/f.txt"), stage.id_in_share("/notes"));
    put(&stage.ben, "/f.txt", "line\nGUESTWORD\n");
    put(&stage.ben, "/notes/n.txt", "note\nGUESTNOTE\n");
    mv(&stage.ana, "/docs/f.txt", "/private/f.txt").unwrap();
    mv(&stage.ana, "/docs/notes", "/private/notes").unwrap();
    stage.settle();
    assert_eq!(text_of(&stage.ana, "/private/f.txt"), "line\n");
    let late = |stage: &ShareStage| -> Vec<(ConflictKind, String)> {
        let conflicts = stage.origin.conflicts().unwrap().into_iter();
        conflicts.map(|conflict| (conflict.kind, conflict.path)).collect()
    };
    let of = |path: &str| (ConflictKind::Late, path.to_owned());
    let mut both = late(&stage);
    both.sort();
    assert_eq!(both, [of("/private/f.txt"), of("/private/notes/n.txt")]);

    let trash = stage.share.trash();
    assert_eq!(trash.restore(&file, None).unwrap(), at("/f.txt"));
    assert_eq!(trash.restore(&directory, None).unwrap(), at("/notes"));
    assert_eq!(trash.restore(&file, None).unwrap(), at("/f (restored).txt"));
    stage.settle();
    stage.check_equal();
    for path in ["/f.txt", "/f (restored).txt"] {
        assert_eq!(text_of(&stage.ben, path), "line\nGUESTWORD\n");
        assert_eq!(text_of(&stage.ana, &format!("/docs{path}")), "line\nGUESTWORD\n");
    }
    assert_eq!(text_of(&stage.ana, "/docs/notes/n.txt"), "note\nGUESTNOTE\n");
    assert_eq!(text_of(&stage.ana, "/private/f.txt"), "line\n", "the original stays");
    assert_eq!(late(&stage).len(), 2);

    mv(&stage.ana, "/private/f.txt", "/docs/back.txt").unwrap();
    stage.settle();
    stage.check_equal();
    assert_eq!(text_of(&stage.ana, "/docs/back.txt"), "line\nGUESTWORD\n");
    assert_eq!(late(&stage), [of("/private/notes/n.txt")]);
}

/// Such an edit is no listed change, so it woke nothing: the owner had no conflict for 10 s.
#[tokio::test]
async fn an_edit_of_a_file_that_left_wakes_the_share() {
    let mut stage = ShareStage::new();
    put(&stage.ana, "/docs/f.txt", "line\n");
    stage.settle();
    mv(&stage.ana, "/docs/f.txt", "/private/f.txt").unwrap();
    stage.settle();
    let id = stage.id_in_origin("/private/f.txt");
    let wakes = |stage: &mut ShareStage| {
        let wait = stage.bridge().wait(Duration::from_hours(1));
        wait.now_or_never().is_some()
    };
    while wakes(&mut stage) {}
    stage.settle();
    assert!(!wakes(&mut stage), "a step without changes logs nothing");

    type_into(&stage.share, &id, "GUESTWORD\n");
    assert!(wakes(&mut stage));
    stage.step();
    let conflicts = stage.origin.conflicts().unwrap();
    assert!(conflicts.iter().any(|conflict| conflict.kind == ConflictKind::Late));
}

/// Types as an editor of another store does.
fn type_into(workspace: &Workspace, id: &FileId, text: &str) {
    let client = ClientId::new(1 << 40).expect("an id");
    let mut editor = ContentDoc::new(id, client, GateLimits::default());
    let author = RunAuthor::new("human:eve".parse().expect("an actor"), Millis(1));
    let typed = editor.append(text, &author).expect("typed").update.expect("an update");
    let port = workspace.documents().port(id.as_str()).expect("a port");
    port.receive(&typed).expect("accepted");
}

#[test]
fn what_is_redacted_after_a_file_left_is_erased_in_the_share() {
    let mut stage = ShareStage::new();
    put(&stage.ana, "/docs/plan.txt", "one\nfirst-secret\nother-secret\nkept\n");
    stage.settle();
    put(&stage.ana, "/docs/plan.txt", "one\nother-secret\nkept\n");
    stage.settle();
    mv(&stage.ana, "/docs/plan.txt", "/private/plan.txt").unwrap();
    stage.settle();
    // This deletion and this text stay private, until the deleted text is redacted.
    put(&stage.ana, "/private/plan.txt", "one\nkept\nprivate\n");
    stage.settle();
    assert!(stage.reveals("first-secret") && stage.reveals("other-secret"));
    let erase = |path| {
        stage.origin.history().redact(&at(path), RedactionScope::History, None).expect("redacted")
    };
    assert_eq!(erase("/private/plan.txt").n_units, 26);
    stage.settle();
    for (text, is_there) in
        [("first-secret", false), ("other-secret", false), ("private", false), ("kept", true)]
    {
        assert_eq!(stage.reveals(text), is_there, "{text}");
    }
    stage.restart();
    let n_records = stage.share.store().head().unwrap();
    stage.settle();
    assert_eq!(stage.share.store().head().unwrap(), n_records, "it is erased once");

    mv(&stage.ana, "/private/plan.txt", "/docs/plan.txt").unwrap();
    stage.settle();
    stage.check_equal();
    assert_eq!(text_of(&stage.ben, "/plan.txt"), "one\nkept\nprivate\n");
}

#[test]
fn a_directory_that_is_moved_out_takes_its_files_along() {
    let mut stage = ShareStage::new();
    mkdir(&stage.ana, "/docs/team/letters").unwrap();
    put(&stage.ana, "/docs/team/letters/a.txt", "a\n");
    put(&stage.ana, "/docs/team/b.txt", "b\n");
    stage.settle();
    mv(&stage.ana, "/docs/team", "/private/team").unwrap();
    put(&stage.ben, "/team/new.txt", "new\n");
    put(&stage.ana, "/private/team/b.txt", "b\nwhile it was away\n");
    stage.settle();
    assert!(!stage.reveals("while it was away"));
    // So many records that the next mark of the log comes after that edit.
    for n in 0..300 {
        put(&stage.ana, "/private/other.txt", &format!("{n}\n"));
    }
    stage.settle();
    stage.restart();
    assert_eq!(stage.bridge().dirty.len(), 1, "nothing else is compared again");
    stage.check_equal();
    assert!(shown(&stage.ben, "/").is_empty());
    assert!(!shown(&stage.ana, "/private").keys().any(|path| path.contains("new")));
    // One of its files comes back alone, then all of it, with what the peer added.
    mv(&stage.ana, "/private/team/letters/a.txt", "/docs/a.txt").unwrap();
    stage.settle();
    stage.check_equal();
    assert_eq!(text_of(&stage.ben, "/a.txt"), "a\n");
    mv(&stage.ana, "/private/team", "/docs/team").unwrap();
    stage.settle();
    stage.check_equal();
    assert_eq!(text_of(&stage.ana, "/docs/team/new.txt"), "new\n");
}

/// It stayed hidden in the share and visible in the directory, for ever (seeds 1510 and 2105 of the
/// random histories).
#[test]
fn a_file_that_a_peer_moves_into_a_directory_that_leaves_comes_back() {
    let mut stage = ShareStage::new();
    mkdir(&stage.ana, "/docs/team").unwrap();
    put(&stage.ana, "/docs/a.txt", "a\n");
    put(&stage.ana, "/docs/b.txt", "b\n");
    stage.settle();
    mv(&stage.ana, "/docs/team", "/private/team").unwrap();
    mkdir(&stage.ben, "/team/new").unwrap();
    mv(&stage.ben, "/a.txt", "/team/a.txt").unwrap();
    mv(&stage.ben, "/b.txt", "/team/new/b.txt").unwrap();
    stage.settle();
    stage.check_equal();
    assert_eq!(shown(&stage.ben, "/").len(), 2);
}

#[test]
fn directories_that_both_sides_move_into_each_other_make_no_cycle() {
    let mut stage = ShareStage::new();
    mkdir(&stage.ana, "/docs/a").unwrap();
    mkdir(&stage.ana, "/docs/b").unwrap();
    stage.settle();
    mv(&stage.ana, "/docs/b", "/docs/a/b").unwrap();
    mv(&stage.ben, "/a", "/b/a").unwrap();
    stage.settle();
    stage.check_equal();
    let main = stage.origin.state.main.read();
    assert!(main.tree().nodes().all(|node| !node.is_displaced()));
    assert_eq!(main.tree().nodes().count(), 4);
}

#[test]
fn removals_and_restorations_are_passed_on() {
    let mut stage = ShareStage::new();
    put(&stage.ana, "/docs/a.txt", "a\n");
    put(&stage.ana, "/docs/b.txt", "b\n");
    stage.settle();
    let [a, b] = ["/docs/a.txt", "/docs/b.txt"].map(|path| stage.id_in_origin(path));
    rm(&stage.ana, "/docs/a.txt").unwrap();
    rm(&stage.ben, "/b.txt").unwrap();
    stage.settle();
    stage.check_equal();
    assert!(shown(&stage.ana, "/docs").is_empty());
    stage.origin.trash().restore(&b, None).unwrap();
    stage.share.trash().restore(&a, None).unwrap();
    stage.settle();
    stage.check_equal();
    assert_eq!(shown(&stage.ana, "/docs").len(), 2);
}

#[test]
fn nothing_outside_of_the_directory_is_revealed() {
    let mut stage = ShareStage::new();
    put(&stage.ana, "/private/secret-name.txt", "secret-content\n");
    put(&stage.ana, "/docs/former-sibling.txt", "removed before\n");
    rm(&stage.ana, "/docs/former-sibling.txt").unwrap();
    put(&stage.ana, "/private/former-name.txt", "past-content\n");
    mv(&stage.ana, "/private/former-name.txt", "/docs/plan.txt").unwrap();
    stage.ana.write(&at("/private/image.bin"), b"\0secret-bytes", &Default::default()).unwrap();
    put(&stage.ana, "/docs/plan.txt", "present\n");
    mv(&stage.ana, "/docs", "/secret-directory").unwrap();
    stage.settle();
    assert_eq!(text_of(&stage.ben, "/plan.txt"), "present\n");
    let outside = ["/private", "/private/secret-name.txt", "/private/image.bin"];
    let ids = outside.map(|path| stage.id_in_origin(path).to_string());
    let texts = [
        "secret",
        "former-name",
        "former-sibling",
        "removed before",
        "private",
        stage.origin.id().as_str(),
    ];
    for text in texts.into_iter().chain(ids.iter().map(String::as_str)) {
        assert!(!stage.reveals(text), "peers receive {text}");
    }
    let directory = stage.bridge().directory().to_string();
    assert!(!stage.reveals(&directory), "peers receive the id of the directory");
    // The history of a shared file is part of it.
    assert!(stage.reveals("past-content"));
}

#[test]
fn a_directory_in_the_trash_pauses_the_share() {
    let mut stage = ShareStage::new();
    put(&stage.ana, "/docs/a.txt", "a\n");
    stage.settle();
    let id = stage.id_in_origin("/docs");
    rm(&stage.ana, "/docs").unwrap();
    assert!(stage.step().is_paused);
    put(&stage.ben, "/a.txt", "a\nmeanwhile\n");
    assert!(stage.step().is_paused);
    stage.origin.trash().restore(&id, None).unwrap();
    stage.settle();
    stage.check_equal();
    assert_eq!(text_of(&stage.ana, "/docs/a.txt"), "a\nmeanwhile\n");
}

#[test]
fn a_purged_file_stays_in_the_trash_of_the_share() {
    let mut stage = ShareStage::new();
    put(&stage.ana, "/docs/a.txt", "a\n");
    stage.settle();
    let id = stage.id_in_origin("/docs/a.txt");
    rm(&stage.ana, "/docs/a.txt").unwrap();
    stage.origin.trash().purge(std::slice::from_ref(&id)).unwrap();
    stage.origin.trash().expire(Duration::ZERO).unwrap();
    stage.settle();
    assert!(stage.share.trash().list().unwrap().iter().any(|entry| entry.id == id));
    restore_itself(&stage.share, &id);
    stage.settle();
    assert!(shown(&stage.ben, "/").is_empty());
    // What a peer keeps of it is a new file.
    stage.share.trash().restore(&id, None).unwrap();
    stage.settle();
    stage.check_equal();
    assert_ne!(stage.id_in_origin("/docs/a.txt"), id);
}

#[test]
fn binary_files_are_passed_on_with_their_bytes() {
    let mut stage = ShareStage::new();
    let options = Default::default();
    stage.ana.write(&at("/docs/a.bin"), b"\0\x01 first", &options).unwrap();
    stage.settle();
    let versions = [&b"\0\x01 between"[..], b"\0\x01 second"];
    for bytes in versions {
        stage.ana.write(&at("/docs/a.bin"), bytes, &options).unwrap();
    }
    stage.ben.write(&at("/b.bin"), b"\0\x02 from ben", &options).unwrap();
    stage.settle();
    stage.check_equal();
    assert_eq!(&stage.ben.read(&at("/a.bin")).unwrap().data[..], b"\0\x01 second");
    assert_eq!(&stage.ana.read(&at("/docs/b.bin")).unwrap().data[..], b"\0\x02 from ben");
    for bytes in versions {
        assert!(stage.share.store().has_blob(&ContentHash::of(bytes)).unwrap(), "a past version");
    }
}

/// One update may have at most a number of structs; a document may have any.
#[test]
fn a_content_that_is_too_large_for_one_update_holds_no_other_up() {
    let limits = GateLimits { message_structs: 400, ..GateLimits::default() };
    let mut stage = ShareStage::with_limits(limits);
    let line = |n: usize| format!("line {n}\n");
    put(&stage.ana, "/docs/long.txt", &(0..600).map(line).collect::<String>());
    for n in 0..300 {
        let edit = TextReplacement::once(line(2 * n), format!("edited {n}\n"));
        stage.ana.edit(&at("/docs/long.txt"), &edit).unwrap();
    }
    put(&stage.ana, "/docs/short.txt", "short\n");
    put(&stage.ben, "/other.txt", "other\n");
    stage.settle();
    assert_eq!(text_of(&stage.ben, "/short.txt"), "short\n");
    assert_eq!(text_of(&stage.ana, "/docs/other.txt"), "other\n");
    stage.check_equal();
}

#[test]
fn records_that_cannot_be_read_are_dropped() {
    let mut stage = ShareStage::new();
    for n in 0..20 {
        put(&stage.ana, &format!("/docs/{n}.txt"), "text\n");
    }
    stage.settle();
    let store = stage.share.store().clone();
    for number in 0..256_usize {
        let setting = format!("share.rows.{number:02x}");
        let Some(mut bytes) = store.get_meta(&setting).unwrap() else { continue };
        bytes.truncate(bytes.len() * (number % 4) / 3);
        if let Some(byte) = bytes.get_mut(number % 7) {
            *byte ^= 0xff;
        }
        store.set_meta(&setting, &bytes).unwrap();
    }
    store.set_meta("share.marks", b"1.x \xff").unwrap();
    mv(&stage.ana, "/docs/3.txt", "/docs/three.txt").unwrap();
    put(&stage.ben, "/4.txt", "text\nof ben\n");
    stage.restart();
    stage.settle();
    stage.check_equal();
    assert_eq!(text_of(&stage.ana, "/docs/4.txt"), "text\nof ben\n");
}

/// A change that was about to be passed on is passed on, and not taken back, wherever the process
/// ended.
#[test]
fn a_crash_loses_no_change() {
    for after in 0..8 {
        let mut stage = ShareStage::new();
        for name in ["a", "b", "c", "d"] {
            put(&stage.ana, &format!("/docs/{name}.txt"), "text\n");
        }
        stage.settle();
        mv(&stage.ana, "/docs/a.txt", "/docs/ana.txt").unwrap();
        mv(&stage.ben, "/b.txt", "/ben.txt").unwrap();
        rm(&stage.ben, "/c.txt").unwrap();
        put(&stage.ana, "/docs/d.txt", "text\nof ana\n");
        put(&stage.ben, "/new.txt", "new\n");
        stage.bridge().crash_after.set(Some(after));
        assert!(stage.bridge().step().is_err(), "{after}");
        stage.restart();
        stage.settle();
        stage.check_equal();
        let shown: Vec<String> = shown(&stage.ana, "/docs").into_keys().collect();
        assert_eq!(shown, ["/ana.txt", "/ben.txt", "/d.txt", "/new.txt"], "{after}");
        assert_eq!(text_of(&stage.ben, "/d.txt"), "text\nof ana\n");
    }
}

/// An origin that is put back from a backup has older values, which are no changes.
#[test]
fn an_older_copy_of_the_origin_undoes_nothing() {
    let home = tempfile::tempdir().unwrap();
    let open = |name: &str| -> Arc<dyn Store> {
        let file = home.path().join(name);
        Arc::new(SqliteStore::open_or_create(&file).unwrap())
    };
    let mut stage = ShareStage::with_origin_in(open("origin.db"));
    put(&stage.ana, "/docs/a.txt", "a\n");
    stage.settle();
    let copy = home.path().join("copy.db");
    stage.origin.store().backup(&copy, &mut |_, _| ()).unwrap();
    mv(&stage.ben, "/a.txt", "/b.txt").unwrap();
    put(&stage.ben, "/b.txt", "a\nb\n");
    stage.settle();
    stage.check_equal();
    stage.put_back_origin(open("copy.db"));
    stage.settle();
    stage.check_equal();
    assert_eq!(text_of(&stage.ana, "/docs/b.txt"), "a\nb\n");
}

/// A share that is put back from a backup has older values, which are no changes.
#[test]
fn an_older_copy_of_the_share_undoes_nothing() {
    let mut stage = ShareStage::new();
    put(&stage.ana, "/docs/a.txt", "a\n");
    stage.settle();
    stage.share.store().set_meta("share.marks", b"").unwrap();
    mv(&stage.ana, "/docs/a.txt", "/docs/b.txt").unwrap();
    put(&stage.ana, "/docs/b.txt", "a\nb\n");
    stage.restart();
    stage.settle();
    stage.check_equal();
    assert_eq!(text_of(&stage.ben, "/b.txt"), "a\nb\n");
}

#[test]
fn a_far_clock_of_a_peer_does_not_reach_the_origin() {
    let day = 86_400_000;
    let mut stage = ShareStage::with_skew(400 * day);
    put(&stage.ana, "/docs/a.txt", "a\n");
    stage.settle();
    mv(&stage.ben, "/a.txt", "/b.txt").unwrap();
    stage.settle();
    stage.check_equal();
    let id = stage.id_in_origin("/docs/b.txt");
    let times = stage.origin.state.main.read().files().field_times(&id).unwrap();
    assert!(times.name < Millis(1_700_000_000_000 + day), "{times:?}");
    mv(&stage.ana, "/docs/b.txt", "/docs/c.txt").unwrap();
    stage.settle();
    stage.check_equal();
    assert_eq!(text_of(&stage.ben, "/c.txt"), "a\n");
}

#[test]
fn contents_are_passed_on_before_rows() {
    let mut stage = ShareStage::new();
    put(&stage.ana, "/docs/a", "one\n");
    stage.settle();
    stage.ben.append(&at("/a"), b"of ben\n", &Default::default()).unwrap();
    stage.ana.append(&at("/docs/a"), b"of ana\n", &Default::default()).unwrap();
    put(&stage.ana, "/docs/new", "new\n");
    mv(&stage.ana, "/docs/a", "/docs/b").unwrap();
    let step = stage.bridge().step_contents().unwrap();
    assert!(step.n_rows == 0 && step.n_contents > 0, "{step:?}");
    let here = text_of(&stage.ana, "/docs/b");
    assert!(here.contains("of ana") && here.contains("of ben"), "{here}");
    assert_eq!(text_of(&stage.ben, "/a"), here);
    assert_eq!(shown(&stage.ben, "/").len(), 1, "no new file, no rename");
    stage.settle();
    assert_eq!(shown(&stage.ana, "/docs"), shown(&stage.ben, "/"));
}
