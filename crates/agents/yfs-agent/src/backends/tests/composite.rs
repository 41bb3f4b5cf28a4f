//! Tests of several filesystems as one.

use std::sync::Arc;

use async_trait::async_trait;
use yfs_conformance::file_system::script::{self, tree};
use yfs_vfs::{
    ChangesOptions, FileSystem, FileSystemExt, FsCode, FsError, MemoryFs, Op,
    guarded_fs::{FsGuard, GuardedCall, GuardedFs},
};

use super::{
    super::{AgentBackend, BadRoute, CompositeBackend, CompositeFs, PathRoute, StateBackend},
    agent, new_workspace, parse,
};

fn composite(routes: &[&str]) -> Arc<dyn FileSystem> {
    let route = |prefix: &&str| PathRoute::new(parse(prefix), Arc::new(MemoryFs::new()));
    let fs = CompositeFs::new(Arc::new(MemoryFs::new()), routes.iter().map(route));
    Arc::new(fs.expect("the routes are good"))
}

#[tokio::test]
async fn the_longest_prefix_wins_and_results_keep_it() {
    let fs = composite(&["/memories/", "/proj", "/proj/deep/er"]);
    let script = "
        write /notes/plan needle
        write /memories/likes needle
        write /proj/app needle
        write /proj/deep/app needle
        write /proj/deep/er/app needle
        ls / => memories/ notes/ proj/
        ls /proj => app deep/
        ls /proj/deep => app er/
        ls /memories => likes
        stat /memories => directory 0
        realpath /proj/deep/er/app => /proj/deep/er/app
        glob app => /proj/app /proj/deep/app /proj/deep/er/app
        glob /proj/** => /proj/app /proj/deep/app /proj/deep/er/app
        glob /memories/* => /memories/likes
        grep needle /proj/deep/er => /proj/deep/er/app:1:needle
        totals /proj => 3 2 18
        walk /proj => /proj/app /proj/deep/ /proj/deep/app /proj/deep/er/ /proj/deep/er/app
        cat /memories/none !! ENOENT
        write /memories x !! EISDIR
        rm -r /memories !! EBUSY
        rm -r /proj !! EBUSY
        rm -r /proj/deep !! EBUSY
        mv /proj /other !! EBUSY
        mv /proj/deep /other !! EBUSY
        mv /notes /memories !! EBUSY
        mkdir /memories !! EEXIST
        mkdir -p /memories
        ln /proj/app /memories/l !! EXDEV
        ln /notes/plan /memories/l !! EXDEV
        ln /memories/likes /memories/l
        readlink /memories/l => /memories/likes
        cat /memories/l => needle";
    script::check(&fs, script).await.unwrap();
    let error = fs.read(&parse("/memories/none")).await.unwrap_err();
    assert_eq!(error.to_string(), "ENOENT: no such file or directory, open '/memories/none'");
    let found = fs.grep(&yfs_vfs::GrepQuery::literal("needle")).await.unwrap();
    let paths: Vec<_> = found.files.iter().map(|file| file.path.as_str()).collect();
    let expected =
        ["/memories/likes", "/notes/plan", "/proj/app", "/proj/deep/app", "/proj/deep/er/app"];
    assert_eq!(paths, expected);
    let ids = async |path: &str| fs.stat(&parse(path)).await.unwrap().id;
    // The first file of each backend has the same id there.
    assert_ne!(ids("/memories/likes").await, ids("/proj/app").await);
}

#[tokio::test]
async fn bad_routes_are_refused() {
    let route = |prefix: &str| PathRoute::new(parse(prefix), Arc::new(MemoryFs::new()));
    let make = |routes: Vec<PathRoute>| CompositeFs::new(Arc::new(MemoryFs::new()), routes);
    assert_eq!(make(vec![route("/")]).err(), Some(BadRoute::Root));
    let twice = make(vec![route("/a"), route("/a/")]).err();
    assert_eq!(twice, Some(BadRoute::Twice(parse("/a"))));
}

#[tokio::test]
async fn copies_and_moves_cross_prefixes() {
    let fs = composite(&["/r"]);
    let script = "
        write /a/f one
        chmod 640 /a/f
        write /a/d/g two
        ln f /a/l
        cp /a/f /r/f
        cat /r/f => one
        mode /r/f => 640
        cp /a /r/a !! EISDIR
        cp -r /a /r/a
        walk /r => /r/a/ /r/a/d/ /r/a/d/g /r/a/f /r/a/l@ /r/f
        cat /r/a/l => one
        cp -keep /a/f /r/f !! EEXIST
        mv /a/f /r/moved
        cat /r/moved => one
        exists /a/f => no
        mv /r/a /b
        walk /b => /b/d/ /b/d/g /b/f /b/l@
        exists /r/a => no
        mv /b /r/f !! ENOTDIR
        mv /r/f /b !! EISDIR
        mkdir /r/full/x
        mv /b /r/full !! ENOTEMPTY
        cp -r / /r/all !! EINVAL
        mv /none /r/x !! ENOENT
        cp /none /r/x !! ENOENT
        cp -r /r /copy
        cat /copy/moved => one
        link /b/f /r/hard !! EXDEV";
    // `mkdir` without parents needs the parent.
    let script = script.replace("mkdir /r/full/x", "mkdir -p /r/full/x");
    let script = script.replace("        cp -keep /a/f /r/f !! EEXIST\n", "");
    script::check(&fs, &script).await.unwrap();
}

/// A guard that fails writes of one path.
#[derive(Debug)]
struct FailingWrite(&'static str);

#[async_trait]
impl FsGuard for FailingWrite {
    async fn check_call(&self, call: &GuardedCall<'_>) -> Result<Option<FsError>, FsError> {
        let fails = call.op == Op::Write && call.path.is_some_and(|path| path.ends_with(self.0));
        if fails { Err(call.refused(FsCode::ENOSPC)) } else { Ok(None) }
    }
}

#[tokio::test]
async fn a_move_that_fails_halfway_changes_nothing() {
    let route = GuardedFs::new(Arc::new(MemoryFs::new()), FailingWrite("/z"));
    let route = PathRoute::new(parse("/r"), Arc::new(route));
    let fs = CompositeFs::new(Arc::new(MemoryFs::new()), [route]).unwrap();
    let fs: Arc<dyn FileSystem> = Arc::new(fs);
    script::check(&fs, "write /a/b one\nwrite /a/z two\nwrite /r/old x").await.unwrap();
    let before = tree(&*fs).await.unwrap();
    script::check(&fs, "mv /a /r/a !! ENOSPC\ncp -r /a /r/b !! ENOSPC").await.unwrap();
    assert_eq!(tree(&*fs).await.unwrap(), before);
}

/// A guard that changes the source when the destination is written.
#[derive(Debug)]
struct MeddlingWriter(Arc<dyn FileSystem>);

#[async_trait]
impl FsGuard for MeddlingWriter {
    async fn check_call(&self, call: &GuardedCall<'_>) -> Result<Option<FsError>, FsError> {
        if call.op == Op::Write {
            self.0.append(&parse("/a/f"), "+".into(), &Default::default()).await?;
        }
        Ok(None)
    }
}

#[tokio::test]
async fn a_move_does_not_remove_what_it_did_not_copy() {
    let default: Arc<dyn FileSystem> = Arc::new(MemoryFs::new());
    default.write_text(&parse("/a/f"), "x").await.unwrap();
    let route = GuardedFs::new(Arc::new(MemoryFs::new()), MeddlingWriter(default.clone()));
    let route = PathRoute::new(parse("/r"), Arc::new(route));
    let fs = CompositeFs::new(default.clone(), [route]).unwrap();
    let error = fs.mv(&parse("/a"), &parse("/r/a"), &Default::default()).await.unwrap_err();
    assert_eq!(error.code, FsCode::EBUSY);
    assert_eq!(default.read_to_string(&parse("/a/f")).await.unwrap(), "x+");
}

#[tokio::test]
async fn changes_of_all_filesystems_are_one_log() {
    let fs = composite(&["/r"]);
    let cursor = fs.cursor().await.unwrap();
    fs.write_text(&parse("/a"), "x").await.unwrap();
    fs.write_text(&parse("/r/b"), "x").await.unwrap();
    let page = fs.changes(&cursor, &ChangesOptions::default()).await.unwrap();
    let mut paths: Vec<_> = page.events.iter().map(|event| event.path.to_string()).collect();
    paths.sort();
    assert_eq!(paths, ["/a", "/r/b"]);
    let wait = Some(std::time::Duration::from_secs(600));
    let options = ChangesOptions { wait, ..ChangesOptions::default() };
    let added = parse("/r/c");
    let (page, written) =
        futures::join!(fs.changes(&page.next, &options), fs.write_text(&added, "x"));
    written.unwrap();
    assert_eq!(page.unwrap().events[0].path, parse("/r/c"));
}

#[tokio::test]
async fn a_backend_runs_commands_in_its_default() {
    let state = StateBackend::new();
    let workspace = new_workspace();
    let routes = [(parse("/shared"), Arc::new(workspace.fs_for(agent())) as Arc<dyn FileSystem>)];
    let backend = CompositeBackend::new(&state, routes).unwrap();
    assert!(backend.executor().is_none());
    assert_eq!(backend.artifacts_root(), parse("/"));
    let backend = backend.with_artifacts_root(parse("/internal"));
    assert_eq!(backend.artifacts_root(), parse("/internal"));
    backend.fs().write_text(&parse("/shared/x"), "hello").await.unwrap();
    assert_eq!(workspace.fs().read_to_string(&parse("/x")).await.unwrap(), "hello");
}
