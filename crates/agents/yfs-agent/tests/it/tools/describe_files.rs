//! `file_stats` and `context`: what they say, what they keep, and that they reveal nothing that the
//! agent may not read.

use std::sync::Arc;

use expect_test::expect;
use serde_json::json;
use yfs::{Workspace, WorkspaceOptions};
use yfs_agent::{
    CallContext, ToolCatalog, ToolVocabulary,
    permissions::{AccessKind, PermissionRule, PermissionRules, PermittedFs, RuleMode},
};
use yfs_agent_workspace::session_over;
use yfs_conformance::{FsFault, fault_fs};
use yfs_store::MemoryStore;
use yfs_types::path::VPath;
use yfs_vfs::{FileSystem, FileSystemExt, FsCode, MemoryFs, Op};

use crate::support::fixture::{ToolFixture, agent};

fn path(text: &str) -> VPath {
    text.parse().expect("a path")
}

async fn fill(fs: &dyn FileSystem) {
    for (name, content) in [
        ("/data/gauges.csv", "gauge,place,since\nG1,pier,2019\nG2,harbor,2021\n"),
        ("/data/deep/log.json", r#"{"levels": [1, 2], "place": "pier"}"#),
        ("/notes/plan.md", "# Plan\n\nMeasure the tide.\n"),
        ("/secret/key.txt", "the word is marzipan\n"),
        ("/asked/report.txt", "the word is nougat\n"),
        ("/.hidden", "dots\n"),
        ("/target.o", "object\n"),
        ("/.gitignore", "*.o\n"),
    ] {
        fs.write_text(&path(name), content).await.expect("written");
    }
}

/// Returns the files behind rules: `/secret` is denied, `/asked` needs an approval.
async fn permitted() -> Arc<dyn FileSystem> {
    let fs = Arc::new(MemoryFs::new());
    fill(&*fs).await;
    let rules = [(RuleMode::Deny, "/secret/**"), (RuleMode::Interrupt, "/asked/**")];
    let rules = rules.map(|(mode, on)| PermissionRule::new(mode, &[AccessKind::Read], on));
    Arc::new(PermittedFs::new(fs, PermissionRules::new(rules).expect("rules")).expect("links"))
}

#[tokio::test]
async fn files_are_described_within_a_number_of_tokens() {
    let fs = Arc::new(MemoryFs::new());
    fill(&*fs).await;
    let script = r#"
        file_stats {"path": "/data/gauges.csv"}
        file_stats {"path": "/data/deep/log.json", "preview": 0}
        file_stats {"path": "/data"}
        file_stats {"path": "/none"}
        context {"paths": ["/data", "/notes"], "exclude": ["deep"]}
        context {"include": ["*.md"], "preview": 8}
        context {"tokens": 20001}
        context {"include": ["{a"]}
        context {"paths": ["/none"]}
    "#;
    ToolFixture::over(fs, &[ToolVocabulary::Beyond])
        .check(
            script,
            expect![[r#"
        > file_stats {"path": "/data/gauges.csv"}
        /data/gauges.csv (46B, text/csv)
        CSV: 2 rows × 3 columns
        Headers: gauge, place, since
        Data types: [String, String, Integer]
        High-cardinality columns: gauge, place, since

        Preview:
        gauge,place,since
        G1,pier,2019
        G2,harbor,2021
        > file_stats {"path": "/data/deep/log.json", "preview": 0}
        /data/deep/log.json (35B, application/json)
        JSON file: 2 keys
        > file_stats {"path": "/data"}
        ! Error: EISDIR: is a directory, read '/data'
        > file_stats {"path": "/none"}
        ! Error: ENOENT: no such file or directory, stat '/none'
        > context {"paths": ["/data", "/notes"], "exclude": ["deep"]}
        <file_list>
        - /data/gauges.csv (46B, text/csv)
          Preview: gauge,place,since
        G1,pier,2019
        G2,harbor,2021
        - /notes/plan.md (26B, text/markdown)
          Preview: # Plan

        Measure the tide.

        </file_list>

        > context {"include": ["*.md"], "preview": 8}
        <file_list>
        - /notes/plan.md (26B, text/markdown)
          Preview: # Plan
        …
        </file_list>

        > context {"tokens": 20001}
        ! Error: a context has at most 20000 tokens
        > context {"include": ["{a"]}
        ! Error: EINVAL: invalid argument, walk: "{a" is not a pattern
        > context {"paths": ["/none"]}
        ! Error: ENOENT: no such file or directory, stat '/none'
    "#]],
        )
        .await;
}

#[tokio::test]
async fn nothing_of_a_file_is_revealed_that_may_not_be_read() {
    let fixture = ToolFixture::over(permitted().await, &[ToolVocabulary::Beyond]);
    for name in ["/secret/key.txt", "/asked/report.txt"] {
        let reply = fixture.call("file_stats", json!({ "path": name })).await;
        assert!(reply.is_error && reply.joined_text().contains("EACCES"), "{reply:?}");
    }
    for arguments in [
        json!({}),
        json!({ "paths": ["/"], "ignored": true, "hidden": true }),
        json!({ "include": ["*.txt"] }),
        json!({ "max_tokens": 40 }),
    ] {
        let text = fixture.call("context", arguments.clone()).await.joined_text();
        assert!(!text.contains("key.txt") && !text.contains("marzipan"), "{arguments}: {text}");
        assert!(!text.contains("report.txt") && !text.contains("nougat"), "{arguments}: {text}");
    }
    for place in ["/secret", "/asked", "/secret/key.txt", "/asked/report.txt"] {
        let reply = fixture.call("context", json!({ "paths": [place] })).await;
        let text = reply.joined_text();
        assert!(reply.is_error || text.starts_with("<file_list>\n</file_list>"), "{place}: {text}");
        assert!(!text.contains("marzipan") && !text.contains("nougat"), "{place}: {text}");
    }
}

#[tokio::test]
async fn statistics_that_another_agent_made_are_not_given_to_one_that_may_not_read_the_file() {
    let store = Arc::new(MemoryStore::new());
    let workspace = Workspace::create(store, WorkspaceOptions::default()).expect("a workspace");
    let free = session_over(&workspace, agent("ada"), "s1").build();
    fill(&**free.fs()).await;
    let tools = ToolCatalog::new(&[ToolVocabulary::Beyond]).expect("names differ");
    let stats = json!({ "path": "/secret/key.txt" });
    let call = |session, name| {
        let called = tools.call_tool(session, name, stats.clone(), CallContext::default());
        async move { called.await.expect("a tool") }
    };
    assert!(!call(&free, "file_stats").await.is_error);
    let rule = PermissionRule::new(RuleMode::Deny, &[AccessKind::Read], "/secret/**");
    let rules = PermissionRules::new([rule]).expect("rules");
    let fs = Arc::new(PermittedFs::new(free.fs().clone(), rules).unwrap());
    let bound = session_over(&workspace, agent("ben"), "s2").fs(fs).build();
    let reply = call(&bound, "file_stats").await;
    assert!(reply.is_error && !reply.joined_text().contains("marzipan"), "{reply:?}");
}

#[tokio::test]
async fn statistics_are_kept_until_the_file_changes() {
    let fs = Arc::new(fault_fs(Arc::new(MemoryFs::new())));
    fill(&*fs).await;
    let fixture = ToolFixture::over(fs.clone(), &[ToolVocabulary::Beyond]);
    let first = fixture.run(r#"context {"paths": ["/notes"]}"#).await;
    assert!(first.contains("Measure the tide"), "{first}");
    // From now on nothing can be read, but all can be listed.
    for op in [Op::Open, Op::Read] {
        fs.guard().inject(FsFault::every(op, FsCode::EIO));
    }
    assert_eq!(fixture.run(r#"context {"paths": ["/notes"]}"#).await, first);
    assert!(!fixture.run(r#"file_stats {"path": "/notes/plan.md"}"#).await.contains('!'));
}

#[tokio::test]
async fn a_cancelled_call_ends() {
    let fixture = ToolFixture::over(permitted().await, &[ToolVocabulary::Beyond]);
    let context = CallContext::default();
    context.cancel.cancel();
    let arguments = json!({ "path": "/data/gauges.csv" });
    let called = fixture.catalog.call_tool(&fixture.session, "file_stats", arguments, context);
    let reply = called.await.expect("a tool");
    // Either end of the race is one, and neither hangs.
    assert!(!reply.is_error || reply.joined_text().contains("ECANCELED"), "{reply:?}");
}
