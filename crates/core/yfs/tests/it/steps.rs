//! Steps: what one call or one command changed is recorded, checked and undone as a whole.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{collections::BTreeSet, sync::Arc};

use crate::support::handles::{at, cat, ls, now, put};
use crate::support::step_clock::TestWorkspace;
use yfs::{
    Workspace, WorkspaceFs,
    workspace::{
        change_list::HistoryEntry,
        undo::{UndoRefusal, UndoneChanges, sort_for_undo},
    },
};
use yfs_engine::{path::VPath, step::StepId, time::Millis};
use yfs_vfs::{
    CopyOptions, FileSystem, FileSystemExt, MkdirOptions, MoveOptions, RemoveOptions, WriteOptions,
};

fn changes(workspace: &Workspace) -> Vec<HistoryEntry> {
    workspace.history().changes(&at("/")).unwrap().map(Result::unwrap).collect()
}

/// Returns the changes of the last step that was not undone, in the order in which they are undone.
fn last_step(workspace: &Workspace) -> Vec<HistoryEntry> {
    let mut undone = UndoneChanges::default();
    let mut left = changes(workspace);
    left.retain(|entry| !undone.includes(entry));
    let first = left[0].clone();
    left.retain(|entry| *entry == first || entry.is_same_step(&first));
    sort_for_undo(&mut left);
    left
}

fn undo_last(workspace: &Workspace) {
    let step = last_step(workspace);
    assert_eq!(workspace.history().check_undo(&step).unwrap(), []);
    for entry in &step {
        workspace.history().undo(entry).unwrap();
    }
}

fn write(fs: &WorkspaceFs, path: &str, text: &str) {
    let text = text.to_owned();
    now(fs.write(&at(path), text.into(), &WriteOptions::default())).unwrap();
}

fn mv(fs: &WorkspaceFs, from: &str, to: &str) {
    now(fs.mv(&at(from), &at(to), &MoveOptions::default())).unwrap();
}

fn rm(fs: &WorkspaceFs, path: &str) {
    now(fs.rm(&at(path), &RemoveOptions { recursive: true, force: false })).unwrap();
}

/// Returns all paths, and the texts of the files.
fn tree(workspace: &Workspace) -> (String, Vec<String>) {
    let paths = ls(workspace);
    let texts = paths.split(' ').filter(|path| path.ends_with(".txt"));
    let texts = texts.map(|path| cat(workspace, path)).collect();
    (paths, texts)
}

fn with_files() -> (TestWorkspace, Workspace) {
    let (own, workspace) = TestWorkspace::create();
    for path in ["/s/1.txt", "/s/2.txt", "/s/sub/3.txt"] {
        put(&workspace, path, path);
    }
    (own, workspace)
}

/// `yfs undo` after `cp -r` took back one file.
#[test]
fn a_call_that_changes_several_objects_is_one_step() {
    let (own, workspace) = with_files();
    let before = tree(&workspace);
    let fs = workspace.fs();
    now(fs.cp(&at("/s"), &at("/copy"), &CopyOptions { recursive: true, ..CopyOptions::default() }))
        .unwrap();
    let step = last_step(&workspace);
    assert_eq!(step.len(), 5, "two directories and three files: {step:?}");
    let begun_at = step[0].step.as_ref().unwrap().begun_at();
    assert!(step.iter().all(|entry| entry.at >= begun_at));

    // Another process reads the same, also from compacted documents.
    workspace.maintenance().compact(&mut |_, _| ()).unwrap();
    drop(workspace);
    let workspace = own.reopen(&Arc::default());
    assert_eq!(last_step(&workspace), step);
    undo_last(&workspace);
    assert_eq!(tree(&workspace), before);

    let fs = workspace.fs();
    now(fs.mkdir(&at("/deep/er/est"), &MkdirOptions { recursive: true, mode: None })).unwrap();
    assert_eq!(last_step(&workspace).len(), 3);
    write(&fs, "/new/dir/4.txt", "four");
    assert_eq!(last_step(&workspace).len(), 3);
    mv(&fs, "/s/1.txt", "/s/2.txt");
    assert_eq!(last_step(&workspace).len(), 2, "the content, and the file that was moved over it");
    (0..3).for_each(|_| undo_last(&workspace));
    assert_eq!(tree(&workspace), before);
}

/// A command that does all that can be undone, where each part depends on another.
#[test]
fn a_step_is_undone_as_a_whole() {
    let (_own, workspace) = with_files();
    let before = tree(&workspace);
    let step = StepId::new(Millis(0), 1);
    let fs = workspace.fs().in_step(&step);
    now(fs.mkdir(&at("/d"), &MkdirOptions::default())).unwrap();
    mv(&fs, "/s/1.txt", "/d/1.txt");
    mv(&fs, "/d/1.txt", "/d/one.txt");
    write(&fs, "/s/1.txt", "in its place");
    write(&fs, "/s/1.txt", "again");
    write(&fs, "/s/2.txt", "two");
    now(fs.chmod(&at("/s/2.txt"), 0o600)).unwrap();
    mv(&fs, "/s/sub/3.txt", "/s/3.txt");
    rm(&fs, "/s/sub");
    rm(&fs, "/s/2.txt");
    now(fs.symlink("one.txt", &at("/d/link"))).unwrap();
    let entries = last_step(&workspace);
    let steps: BTreeSet<_> = entries.iter().map(|entry| entry.step.clone()).collect();
    assert_eq!((entries.len(), steps.len()), (11, 1), "{entries:?}");
    undo_last(&workspace);
    assert_eq!(tree(&workspace), before);
    assert_eq!(now(workspace.fs().stat(&at("/s/2.txt"))).unwrap().mode & 0o777, 0o644);
}

#[test]
fn calls_of_one_command_by_others_are_other_steps() {
    let (_own, workspace) = with_files();
    let step = StepId::new(Millis(0), 1);
    write(&workspace.fs_for("human:ana".parse().unwrap()).in_step(&step), "/a.txt", "a");
    write(&workspace.fs_for("agent:bob".parse().unwrap()).in_step(&step), "/b.txt", "b");
    assert_eq!(last_step(&workspace).len(), 1, "one actor cannot add to the step of another");
}

/// What others did since is found before anything is undone.
#[test]
fn a_step_with_work_of_others_is_refused_before_anything_changes() {
    let (_own, workspace) = with_files();
    let fs = workspace.fs();
    now(fs.cp(&at("/s"), &at("/copy"), &CopyOptions { recursive: true, ..CopyOptions::default() }))
        .unwrap();
    let step = last_step(&workspace);
    let bob = workspace.fs_for("agent:bob".parse().unwrap());
    now(bob.append(&at("/copy/2.txt"), "more".into(), &WriteOptions::default())).unwrap();
    let refused = |step: &[HistoryEntry]| {
        let refused = workspace.history().check_undo(step).unwrap().into_iter();
        refused.map(|refused| (refused.path.to_string(), refused.reason)).collect::<Vec<_>>()
    };
    let expected = [
        ("/copy/2.txt".to_owned(), UndoRefusal::EditedSince),
        ("/copy".to_owned(), UndoRefusal::NotEmpty),
    ];
    assert_eq!(refused(&step), expected);

    let moved = StepId::new(Millis(0), 2);
    let mover = workspace.fs().in_step(&moved);
    mv(&mover, "/s/1.txt", "/1.txt");
    mv(&mover, "/s/sub/3.txt", "/3.txt");
    write(&bob, "/s/1.txt", "taken");
    rm(&bob, "/s/sub");
    let mut step = changes(&workspace);
    step.retain(|entry| entry.step.as_ref() == Some(&moved));
    let expected = [
        ("/3.txt".to_owned(), UndoRefusal::DirectoryGone),
        ("/1.txt".to_owned(), UndoRefusal::PathTaken),
    ];
    assert_eq!(refused(&step), expected);
}

/// `new (1).txt` became `new.txt` when that was removed.
#[test]
fn what_is_shown_with_a_number_keeps_that_name_and_an_undo_is_one_change() {
    let mut workspaces = [(); 2].map(|()| {
        let (own, workspace) = TestWorkspace::create();
        put(&workspace, "/new.txt", &format!("of {}\n", workspace.id()));
        let stat = now(workspace.fs().stat(&at("/new.txt"))).unwrap();
        ((stat.created, stat.id), own, workspace)
    });
    // The older one is shown without a number, and of two of one millisecond the smaller id.
    workspaces.sort_by(|(one, ..), (other, ..)| one.cmp(other));
    let [(_, _own, workspace), ((_, second), _other_own, other)] = workspaces;
    for (from, to) in
        [(other.id().as_str(), workspace.id().as_str()), (second.as_str(), second.as_str())]
    {
        let update = other.documents().port(from).unwrap().diff(&[0]).unwrap();
        workspace.documents().port(to).unwrap().receive(&update).unwrap();
    }
    let [plain, numbered] = ["/new.txt", "/new (1).txt"].map(at);
    let shown = |path: &VPath| {
        let stat = now(workspace.fs().stat(path)).ok()?;
        Some((stat.id, cat(&workspace, path.as_str())))
    };
    let both = [&plain, &numbered].map(&shown);
    assert!(both[0].as_ref().is_some_and(|(id, _)| *id != second), "{both:?}");
    assert!(both[1].as_ref().is_some_and(|(id, _)| *id == second), "{both:?}");
    put(&workspace, "/other.txt", "other\n");
    let fs = workspace.fs();
    let leave: [&dyn Fn(); 3] =
        [&|| rm(&fs, "/new.txt"), &|| mv(&fs, "/new.txt", "/moved.txt"), &|| {
            mv(&fs, "/new.txt", "/other.txt");
        }];
    for (n, leave) in leave.into_iter().enumerate() {
        leave();
        let left = [&plain, &numbered].map(&shown);
        assert_eq!(left, [None, both[1].clone()], "{n}");
        undo_last(&workspace);
        assert_eq!([&plain, &numbered].map(&shown), both, "{n}");
    }
    let of_second = changes(&workspace).into_iter().filter(|entry| entry.id == second);
    assert_eq!(of_second.count(), 1, "it was created, and not renamed");
}
