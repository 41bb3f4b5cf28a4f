//! Attacks by a peer of a share, who writes any rows and contents there.

use yfs_engine::{
    content::{NewBlob, RunAuthor},
    hash::ContentHash,
    id::FileId,
    table::{BlobRef, FileRow, NodeKind, RowChanges, RowWrite},
    time::Millis,
};
use yfs_store::StoreExt;

use super::stage::{ShareStage, ShownTree, at, mkdir, mv, put, shown, store_of, text_of};
use crate::commit::{ChangeEffect, DocumentChange, MainChange, StructureAccess, Transaction};

impl ShareStage {
    /// Writes rows to the share, as a peer with its own program does.
    fn plant(&self, writes: &[RowWrite]) {
        let state = &self.share.state;
        let commit = state.commit(StructureAccess::Change, None, |main| {
            let update = main.plan(writes, state.now())?;
            Ok(Transaction { main: MainChange::Local(update), ..Transaction::of(()) })
        });
        commit.expect("planted");
    }

    fn plant_row(&self, id: &FileId, name: &str, parent: Option<FileId>, kind: NodeKind) {
        let row = FileRow::new(id.clone(), name, parent, kind, Millis(1));
        self.plant(&[RowWrite::Create { row, derived: false }]);
    }

    fn plant_change(&self, id: &FileId, changes: RowChanges) {
        self.plant(&[RowWrite::Update { id: id.clone(), changes }]);
    }

    /// Lists a blob as a version of a file of the share, without its bytes.
    fn plant_version(&self, id: &FileId, hash: ContentHash, size: u64) {
        let state = &self.share.state;
        let author = RunAuthor::new("human:ben".parse().expect("an actor"), Millis(2));
        let commit = state.commit(StructureAccess::Several, None, |_| {
            let (blob, author) = (NewBlob { hash, size, mime: None }, author.clone());
            let change = DocumentChange::new(id, ChangeEffect::Replica, move |doc| {
                let update = doc.edit_registers().add_blob_version(&blob, &author)?;
                Ok(update.into_iter().collect())
            });
            Ok(Transaction { changes: vec![change], ..Transaction::of(()) })
        });
        commit.expect("planted");
    }

    fn outside(&self) -> ShownTree {
        shown(&self.ana, "/private")
    }

    /// Takes steps, and checks that nothing outside of the directory has changed.
    fn settle_and_check(&mut self, outside: &ShownTree) {
        self.settle();
        assert_eq!(self.outside(), *outside);
        let top: Vec<_> = self.ana.readdir(&at("/")).expect("listed");
        let names: Vec<&str> = top.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["docs", "private"]);
        self.restart();
        self.settle();
        assert_eq!(self.outside(), *outside);
    }
}

fn stage() -> (ShareStage, ShownTree) {
    let mut stage = ShareStage::new();
    put(&stage.ana, "/private/secret.txt", "secret text\n");
    mkdir(&stage.ana, "/private/inner").expect("made");
    put(&stage.ana, "/docs/plan.txt", "plan\n");
    mkdir(&stage.ana, "/docs/notes").expect("made");
    put(&stage.ana, "/docs/notes/a.txt", "a\n");
    stage.settle();
    let outside = stage.outside();
    (stage, outside)
}

#[test]
fn a_row_with_the_id_of_a_file_outside_neither_changes_nor_reveals_it() {
    let (mut stage, outside) = stage();
    let id = stage.id_in_origin("/private/secret.txt");
    stage.plant_row(&id, "planted.txt", None, NodeKind::File);
    put(&stage.ben, "/planted.txt", "planted\n");
    stage.settle_and_check(&outside);
    // It stays as its author made it, so that the answer says nothing of the origin.
    assert_eq!(text_of(&stage.ben, "/planted.txt"), "planted\n");
    assert!(!stage.reveals("secret text"));
    stage.plant_change(&id, RowChanges { trashed_at: Some(Some(Millis(5))), ..Default::default() });
    stage.plant_change(&id, RowChanges { name: Some("x".into()), ..Default::default() });
    stage.settle_and_check(&outside);
}

#[test]
fn an_edit_of_a_content_outside_changes_nothing() {
    let (mut stage, outside) = stage();
    let id = stage.id_in_origin("/private/secret.txt");
    stage.plant_row(&id, "planted.txt", None, NodeKind::File);
    stage.settle();
    for n in 0..3 {
        put(&stage.ben, "/planted.txt", &format!("planted {n}\n"));
        put(&stage.ana, "/private/secret.txt", &format!("secret text\n{n}\n"));
        stage.settle();
    }
    assert_eq!(text_of(&stage.ana, "/private/secret.txt"), "secret text\n2\n");
    drop(outside);
    assert!(!stage.reveals("secret text"));
}

#[test]
fn a_row_in_a_directory_outside_stays_in_the_share() {
    let (mut stage, outside) = stage();
    let parent = stage.id_in_origin("/private/inner");
    let id = FileId::parse("planted").unwrap();
    stage.plant_row(&id, "planted.txt", Some(parent.clone()), NodeKind::File);
    stage.settle_and_check(&outside);
    assert!(stage.origin.nodes().get(&id).unwrap().is_none());
    // Also if the share has a directory with that id.
    stage.plant_row(&parent, "inner", None, NodeKind::Directory);
    stage.settle_and_check(&outside);
    assert!(stage.origin.nodes().get(&id).unwrap().is_none());
}

#[test]
fn a_shared_node_is_not_moved_to_a_directory_outside() {
    let (mut stage, outside) = stage();
    let parent = stage.id_in_origin("/private/inner");
    let plan = stage.id_in_share("/plan.txt");
    let moved = RowChanges { parent: Some(Some(parent.clone())), ..Default::default() };
    stage.plant_change(&plan, moved.clone());
    stage.settle_and_check(&outside);
    stage.plant_change(&stage.id_in_origin("/docs/notes/a.txt"), moved.clone());
    stage.settle_and_check(&outside);
    assert_eq!(text_of(&stage.ana, "/docs/notes/a.txt"), "a\n");
    stage.plant_row(&parent, "inner", None, NodeKind::Directory);
    stage.plant_change(&stage.id_in_share("/notes"), moved);
    stage.settle_and_check(&outside);
    assert_eq!(text_of(&stage.ana, "/docs/plan.txt"), "plan\n");
    assert_eq!(stage.id_in_origin("/docs/plan.txt"), plan);
}

#[test]
fn rows_with_the_ids_of_the_directory_and_of_both_workspaces_are_ignored() {
    let (mut stage, outside) = stage();
    let directory = stage.bridge().directory().clone();
    let ids = [directory.clone(), stage.origin.id().clone(), stage.share.id().clone()];
    for (n, id) in ids.iter().enumerate() {
        stage.plant_row(id, &format!("planted{n}.txt"), None, NodeKind::File);
    }
    for n in 0..2 {
        put(&stage.ben, &format!("/planted{n}.txt"), "planted\n");
    }
    stage.settle_and_check(&outside);
    let is_known = |id| stage.origin.state.main.read().files().contains(id);
    assert!(is_known(&directory) && !is_known(stage.origin.id()) && !is_known(stage.share.id()));
}

#[test]
fn directories_moved_into_each_other_do_not_leave_the_directory() {
    let (mut stage, _) = stage();
    // It was in a directory outside before, to which the tree could let it fall back.
    mkdir(&stage.ana, "/private/team").unwrap();
    mv(&stage.ana, "/private/team", "/docs/notes/team").unwrap();
    stage.settle();
    let outside = stage.outside();
    let [notes, team] = ["/notes", "/notes/team"].map(|path| stage.id_in_share(path));
    let into = |id: &FileId| RowChanges { parent: Some(Some(id.clone())), ..Default::default() };
    stage.plant_change(&notes, into(&team));
    stage.plant_change(&team, into(&notes));
    stage.settle_and_check(&outside);
    let inside = stage.id_in_origin("/docs");
    let main = stage.origin.state.main.read();
    let directory = main.tree().node(&inside).unwrap();
    for id in [notes, team] {
        assert!(main.tree().node(&id).unwrap().is_within(directory));
    }
}

#[test]
fn a_blob_of_the_origin_is_not_given_for_its_hash() {
    let (mut stage, outside) = stage();
    stage.ana.write(&at("/private/image.bin"), b"\0secret bytes", &Default::default()).unwrap();
    stage.ben.write(&at("/own.bin"), b"\0own bytes", &Default::default()).unwrap();
    stage.settle();
    let hash = ContentHash::of(b"\0secret bytes");
    let size = 13;
    let blob = RowChanges { blob: Some(Some(BlobRef { hash, size })), ..Default::default() };
    let is_given = |stage: &ShareStage| store_of(&stage.share).has_blob(&hash).unwrap();

    // By a version, by the row, by a new row, and by a version with an edit of the origin after it.
    let own = stage.id_in_share("/own.bin");
    stage.plant_version(&own, hash, size);
    stage.settle();
    stage.plant_change(&own, blob.clone());
    stage.settle();
    let new = FileId::parse("planted").unwrap();
    stage.plant_row(&new, "planted.bin", None, NodeKind::File);
    stage.plant_change(&new, blob);
    stage.plant_version(&new, hash, size);
    stage.settle();
    stage.ana.write(&at("/docs/own.bin"), b"\0more bytes", &Default::default()).unwrap();
    stage.settle();
    assert!(!is_given(&stage));
    assert_ne!(&stage.ana.read(&at("/docs/own.bin")).unwrap().data[..], b"\0secret bytes");
    assert!(stage.step().n_waiting > 0);
    // Named only by the row, and only by the content, of new files.
    let of_row = FileId::parse("planted-row").unwrap();
    stage.plant_row(&of_row, "row.bin", None, NodeKind::File);
    let blob = RowChanges { blob: Some(Some(BlobRef { hash, size })), ..Default::default() };
    stage.plant_change(&of_row, blob);
    let of_content = FileId::parse("planted-content").unwrap();
    stage.plant_row(&of_content, "content.bin", None, NodeKind::File);
    stage.plant_version(&of_content, hash, size);
    stage.settle();
    stage.settle();
    assert!(!is_given(&stage));
    stage.restart();
    stage.settle();
    assert!(!is_given(&stage));
    for id in [&new, &of_row, &of_content] {
        assert!(stage.origin.nodes().get(id).unwrap().is_none(), "it waits for its bytes");
    }
    drop(outside);

    // With the bytes, which their author then has, it is a file as any other.
    store_of(&stage.share).put_bytes(b"\0secret bytes", Millis(9)).unwrap();
    stage.settle();
    assert_eq!(&stage.ana.read(&at("/docs/planted.bin")).unwrap().data[..], b"\0secret bytes");
    assert_eq!(stage.step().n_waiting, 0);
}

#[test]
fn invalid_names_and_metadata_of_the_share_stay_there() {
    let (mut stage, outside) = stage();
    let plan = stage.id_in_share("/plan.txt");
    let rename = |name: &str| RowChanges { name: Some(name.into()), ..Default::default() };
    for name in ["..", "a/b", "", &"x".repeat(4000)] {
        stage.plant_change(&plan, rename(name));
        stage.settle_and_check(&outside);
        assert_eq!(text_of(&stage.ana, "/docs/plan.txt"), "plan\n");
    }
    stage.plant_change(&plan, rename("plan.txt"));
    // Each side accepts 64 KiB, and the origin records renames in addition.
    mv(&stage.ana, "/docs/plan.txt", "/docs/other.txt").unwrap();
    let text = "m".repeat((64 << 10) - 30);
    let meta = yfs_engine::Any::from(std::collections::HashMap::from([(
        "custom".to_owned(),
        yfs_engine::Any::from(text.as_str()),
    )]));
    stage.plant_change(&plan, RowChanges { meta: Some(meta), ..Default::default() });
    stage.settle_and_check(&outside);
    put(&stage.ben, "/plan.txt", "plan\nmore\n");
    stage.settle();
    let shown = shown(&stage.ana, "/docs");
    assert!(shown.values().any(|content| content.contains("more")), "{shown:?}");
}

#[test]
fn a_row_that_changes_its_kind_is_ignored() {
    let (mut stage, outside) = stage();
    let notes = stage.id_in_share("/notes");
    let row = |stage: &ShareStage| stage.origin.state.main.read().files().get(&notes);
    let before = row(&stage);
    stage.plant(&[RowWrite::Delete { id: notes.clone() }]);
    stage.plant_row(&notes, "other", None, NodeKind::File);
    put(&stage.ben, "/other", "a file now\n");
    stage.settle_and_check(&outside);
    assert_eq!(row(&stage), before);
}

#[test]
fn a_removed_row_comes_back() {
    let (mut stage, outside) = stage();
    let plan = stage.id_in_share("/plan.txt");
    stage.plant(&[RowWrite::Delete { id: plan }]);
    stage.settle_and_check(&outside);
    stage.check_equal();
    assert_eq!(text_of(&stage.ben, "/plan.txt"), "plan\n");
}
