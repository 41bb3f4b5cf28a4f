//! The workspace as it was at an earlier time, beside a model that kept each state.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{collections::BTreeMap, sync::Arc};

use crate::support::handles::{at, now, put};
use crate::support::step_clock::{LoadCounter, TestWorkspace};
use yfs::Workspace;
use yfs_engine::{path::VPath, time::Millis};
use yfs_vfs::{
    FileKind, FileSystem, FileSystemExt, FsCode, RemoveOptions, WalkOptions, WriteOptions,
};

/// The content of each file, by path.
type Model = BTreeMap<String, String>;

/// Reads all files of a state through its filesystem.
fn files_at(workspace: &Workspace, time: Option<Millis>) -> Model {
    let fs = workspace.history().state_at(time).unwrap().into_fs();
    let found = now(fs.walk(&at("/"), &WalkOptions::default())).unwrap();
    let files = found.into_iter().filter(|found| found.entry.kind == FileKind::File);
    let read = |path: &VPath| String::from_utf8(now(fs.read(path)).unwrap().data.to_vec()).unwrap();
    files
        .map(|found| {
            let content = read(&found.path);
            assert_eq!(found.entry.size, content.len() as u64, "{}", found.path);
            (found.path.to_string(), content)
        })
        .collect()
}

/// Changes files in a fixed order of kinds, and returns the states with their times.
fn make_states(own: &TestWorkspace, workspace: &Workspace) -> Vec<(Millis, Model)> {
    let (mut model, mut states) = (Model::new(), Vec::new());
    let fs = workspace.fs();
    for step in 0..150_usize {
        let path = format!("/d{}/e{}/f{}.txt", step % 2, step * step % 3, step * 7 % 5);
        let directory = format!("/d{}/e{}", step % 2, step % 3);
        match step % 10 {
            6 if model.contains_key(&path) => {
                now(fs.rm(&at(&path), &RemoveOptions::default())).unwrap();
                model.remove(&path);
            }
            9 if step % 20 == 9 => {
                let options = RemoveOptions { recursive: true, force: true };
                now(fs.rm(&at(&directory), &options)).unwrap();
                model.retain(|path, _| !path.starts_with(&format!("{directory}/")));
            }
            3 => {
                let text = format!("whole {step}\n");
                put(workspace, &path, &text);
                model.insert(path, text);
            }
            _ => {
                let text = format!("line {step}\n");
                now(fs.append(&at(&path), text.clone().into(), &WriteOptions::default())).unwrap();
                model.entry(path).or_default().push_str(&text);
            }
        }
        states.push((own.now(), model.clone()));
        if step % 40 == 39 {
            workspace.maintenance().compact(&mut |_, _| ()).unwrap();
        }
    }
    states
}

#[test]
fn each_earlier_state_is_read_as_it_was() {
    let (own, workspace) = TestWorkspace::create();
    let states = make_states(&own, &workspace);
    let last = states.last().unwrap().1.clone();
    for workspace in [workspace, own.reopen(&Arc::default())] {
        for (time, model) in &states {
            assert_eq!(files_at(&workspace, Some(*time)), *model, "{time:?}");
        }
        assert_eq!(files_at(&workspace, None), last);
        assert_eq!(files_at(&workspace, Some(Millis(-1))), Model::new());
    }
}

#[test]
fn only_what_changed_since_is_loaded() {
    let (own, workspace) = TestWorkspace::create();
    (0..30).for_each(|n| put(&workspace, &format!("/f{n}.txt"), "one\n"));
    let before = own.now();
    put(&workspace, "/f7.txt", "two\n");
    drop(workspace);
    let loads = Arc::<LoadCounter>::default();
    let workspace = own.reopen(&loads);
    let state = workspace.history().state_at(Some(before)).unwrap();
    assert_eq!(loads.count(), 1);
    let entry = &state.entries()[&at("/f7.txt")];
    assert_eq!(state.read(entry, &at("/f7.txt")).unwrap(), "one\n");
}

#[test]
fn a_past_state_cannot_be_written() {
    let (_own, workspace) = TestWorkspace::create();
    put(&workspace, "/a.txt", "one\n");
    let fs = workspace.history().state_at(None).unwrap().into_fs();
    let options = WriteOptions::default();
    let refused = now(fs.write(&at("/a.txt"), "two".into(), &options)).unwrap_err();
    assert_eq!(refused.code, FsCode::EROFS);
    assert_eq!(now(fs.read(&at("/a.txt"))).unwrap().data, "one\n");
}
