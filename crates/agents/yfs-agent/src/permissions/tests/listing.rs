//! Filtered listings never show what a read would deny, on random trees with random rules.

use std::sync::Arc;

use proptest::prelude::*;
use yfs_types::path::VPath;
use yfs_vfs::{
    ChangesOptions, CopyOptions, FileSystem, FileSystemExt, FsCode, GlobQuery, GrepQuery, MemoryFs,
    MoveOptions, WalkOptions,
};

use super::{PermissionRule, PermissionRules, PermittedFs, Read, RuleMode, Write, permitted};

const NAMES: [&str; 4] = ["a", "b", ".c", "d.key"];

fn path() -> impl Strategy<Value = String> {
    let name = prop::sample::select(&NAMES[..]);
    prop::collection::vec(name, 1..4).prop_map(|names| format!("/{}", names.join("/")))
}

fn pattern() -> impl Strategy<Value = String> {
    let name =
        prop::sample::select(&["a", "b", "*", "**", "?", "{a,b}", "[!a]", "*.key", ".*"][..]);
    prop::collection::vec(name, 1..4).prop_map(|names| format!("/{}", names.join("/")))
}

fn rules() -> impl Strategy<Value = Vec<PermissionRule>> {
    let mode = prop::sample::select(&[RuleMode::Allow, RuleMode::Interrupt, RuleMode::Deny][..]);
    let access = prop::sample::select(vec![vec![Read], vec![Write], vec![Read, Write]]);
    let rule = (mode, access, pattern());
    let rule = rule.prop_map(|(mode, access, path)| PermissionRule::new(mode, &access, path));
    prop::collection::vec(rule, 0..5)
}

#[derive(Debug, Clone)]
enum TreeStep {
    Write(String),
    Link(String, String),
    Move(String, String),
    Copy(String, String),
}

fn step() -> impl Strategy<Value = TreeStep> {
    prop_oneof![
        4 => path().prop_map(TreeStep::Write),
        1 => (path(), path()).prop_map(|(target, at)| TreeStep::Link(target, at)),
        2 => (path(), path()).prop_map(|(from, to)| TreeStep::Move(from, to)),
        1 => (path(), path()).prop_map(|(from, to)| TreeStep::Copy(from, to)),
    ]
}

fn parse(path: &str) -> VPath {
    path.parse().expect("a path")
}

/// Applies a step; whether it succeeds does not matter.
async fn apply(fs: &dyn FileSystem, step: &TreeStep) {
    let done = match step {
        TreeStep::Write(at) => fs.write_text(&parse(at), at).await.map(drop),
        TreeStep::Link(target, at) => fs.symlink(target, &parse(at)).await,
        TreeStep::Move(from, to) => fs.mv(&parse(from), &parse(to), &MoveOptions::default()).await,
        TreeStep::Copy(from, to) => {
            let options = CopyOptions { recursive: true, ..CopyOptions::default() };
            fs.cp(&parse(from), &parse(to), &options).await
        }
    };
    drop(done);
}

/// Checks that a listed path is one that may be read or needs a question.
async fn check_listed(fs: &PermittedFs, path: &VPath, by: &str) -> Result<(), TestCaseError> {
    let mode = fs.rules.mode_at(Read, path);
    prop_assert_ne!(mode, RuleMode::Deny, "{} shows {}", by, path);
    if let Err(error) = fs.lstat(path).await {
        let needs_question = fs.mode_of(
            Read,
            &fs.check_path(yfs_vfs::Op::Lstat, path, false)
                .await
                .expect("a listed path leads somewhere"),
        ) == RuleMode::Interrupt;
        prop_assert!(
            needs_question && error.code == FsCode::EACCES,
            "{} shows {}, which is refused: {}",
            by,
            path,
            error
        );
    }
    Ok(())
}

async fn check_listings(fs: &PermittedFs) -> Result<(), TestCaseError> {
    let root = VPath::root();
    // The root itself may be denied.
    let Ok(walked) = fs.walk(&root, &WalkOptions::default()).await else { return Ok(()) };
    for found in &walked {
        check_listed(fs, &found.path, "walk").await?;
        let parent = found.path.parent().expect("not the root");
        let listed = fs.readdir(&parent).await;
        if let Ok(listed) = listed {
            prop_assert!(listed.contains(&found.entry), "readdir misses {}", found.path);
        }
    }
    let query = GlobQuery { hidden: true, directories: true, ..GlobQuery::new("**") };
    let globbed = fs.glob(&query).await.expect("the root may be read");
    let paths = |entries: &[yfs_vfs::WalkEntry]| {
        entries.iter().map(|found| found.path.clone()).collect::<Vec<_>>()
    };
    prop_assert_eq!(paths(&globbed.entries), paths(&walked));
    let grep = GrepQuery { hidden: true, unmatched_files: true, ..GrepQuery::new("") };
    let found = fs.grep(&grep).await.expect("the root may be read");
    prop_assert_eq!(found.n_unreadable, 0);
    for file in &found.files {
        check_listed(fs, &file.path, "grep").await?;
        prop_assert!(fs.read(&file.path).await.is_ok(), "grep reads {}", file.path);
    }
    let totals = fs.totals(&root).await.expect("the root may be read");
    let n_files = walked.iter().filter(|found| found.entry.kind == yfs_vfs::FileKind::File);
    prop_assert_eq!(totals.n_files, n_files.count() as u64);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn listings_show_only_what_may_be_read(
        rules in rules(),
        before in prop::collection::vec(step(), 1..12),
        after in prop::collection::vec(step(), 0..8),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let inner: Arc<dyn FileSystem> = Arc::new(MemoryFs::new());
            for step in &before {
                apply(&*inner, step).await;
            }
            let cursor = inner.cursor().await.expect("a memory has changes");
            let rules = PermissionRules::new(rules).expect("rules");
            let fs = PermittedFs::new(inner, rules).unwrap();
            for step in &after {
                apply(&fs, step).await;
            }
            check_listings(&fs).await?;
            let options = ChangesOptions::default();
            let changes = fs.changes(&cursor, &options).await.expect("the log is long enough");
            for change in changes.events {
                let mode = fs.rules.mode_at(Read, &change.path);
                prop_assert_ne!(mode, RuleMode::Deny, "changes show {}", change.path);
            }
            Ok(())
        })?;
    }
}

#[tokio::test]
async fn a_move_across_the_border_is_a_creation_or_a_removal() {
    let inner: Arc<dyn FileSystem> = Arc::new(MemoryFs::new());
    for path in ["/hidden/a", "/shown/b", "/shown/c"] {
        inner.write_text(&parse(path), path).await.unwrap();
    }
    let fs = permitted(inner.clone(), "deny r /hidden/**");
    let cursor = fs.cursor().await.unwrap();
    for (from, to) in
        [("/hidden/a", "/shown/a"), ("/shown/b", "/hidden/b"), ("/shown/c", "/shown/d")]
    {
        inner.mv(&parse(from), &parse(to), &MoveOptions::default()).await.unwrap();
    }
    let page = fs.changes(&cursor, &ChangesOptions::default()).await.unwrap();
    let shown: Vec<_> =
        page.events.iter().map(|event| format!("{:?} {}", event.kind, event.path)).collect();
    expect_test::expect![[r#"
        Created /shown/a
        Removed /shown/b
        Moved { from: "/shown/c" } /shown/d"#]]
    .assert_eq(&shown.join("\n"));
}
