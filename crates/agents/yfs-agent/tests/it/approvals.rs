//! What every tool asks under a rule that wants an approval: `docs/spec/agent-tools.md`, as a
//! table.
//!
//! "When an agent first accesses a path, the tool asks the user to approve the directory. Approving
//! a directory implicitly approves all its subdirectories."

use std::{collections::BTreeSet, sync::Arc};

use async_trait::async_trait;
use expect_test::{Expect, expect};
use parking_lot::Mutex;
use serde_json::Value;
use yfs::{Workspace, WorkspaceOptions};
use yfs_agent::{
    AgentSession, DeepAgentsProfile, ReplyBlock, ToolVocabulary,
    approval::{DirectoryAnswer, DirectoryApprovals, DirectoryAsker, DirectoryQuestion},
    json_query::JsonQueryRunner,
    permissions::{
        AccessKind, AccessLimits, ApprovalBroker, ApprovalDecision, ApprovalRequest,
        PermissionRule, PermissionRules, RuleMode,
    },
};
use yfs_agent_workspace::WorkspaceHistory;
use yfs_shell::{ShellExecutor, ShellLimits};
use yfs_types::path::VPath;
use yfs_vfs::{FileSystem, FileSystemExt, MemoryFs};

use crate::support::fixture::ToolFixture;

const BOTH: [AccessKind; 2] = [AccessKind::Read, AccessKind::Write];

/// One call of each tool that touches files, of every vocabulary, on what lies in `/proj`.
const CALLS: &str = r#"
    ls {"path": "/proj/sub"}
    read_file {"file_path": "/proj/sub/f.txt"}
    write_file {"file_path": "/proj/sub/new.txt", "content": "x"}
    edit_file {"file_path": "/proj/sub/f.txt", "old_string": "needle", "new_string": "pin"}
    delete {"file_path": "/proj/sub/f.txt"}
    glob {"pattern": "**/*.txt", "path": "/proj/sub"}
    grep {"pattern": "needle", "path": "/proj/sub"}
    fs_read {"path": "/proj/sub/f.txt"}
    fs_read_lines {"path": "/proj/sub/f.txt"}
    fs_write {"path": "/proj/sub/deep/er/new.txt", "content": "x"}
    fs_edit {"path": "/proj/sub/f.txt", "old_text": "needle", "new_text": "pin"}
    fs_patch {"path": "/proj/sub/f.txt", "hunks": [{"old_text": "needle", "new_text": "pin"}]}
    fs_list {"path": "/proj/sub"}
    fs_delete {"path": "/proj/sub", "recursive": true}
    fs_move {"source": "/proj/sub/f.txt", "destination": "/proj/sub/g.txt"}
    fs_copy {"source": "/proj/sub/f.txt", "destination": "/proj/other/g.txt"}
    fs_stat {"path": "/proj/sub"}
    fs_stat {"path": "/proj/sub/f.txt"}
    fs_diff {"file_a": "/proj/sub/f.txt", "file_b": "/proj/sub/deep/g.txt"}
    fs_mkdir {"path": "/proj/newdir"}
    memory {"command": "view", "path": "/memories"}
    str_replace_based_edit_tool {"command": "view", "path": "/proj/sub"}
    str_replace_based_edit_tool {"command": "str_replace", "path": "/proj/sub/f.txt", "old_str": "needle", "new_str": "pin"}
    str_replace_based_edit_tool {"command": "insert", "path": "/proj/sub/f.txt", "insert_line": 0, "insert_text": "x"}
    str_replace_based_edit_tool {"command": "create", "path": "/proj/sub/n.txt", "file_text": "x"}
    read_text_file {"path": "/proj/sub/f.txt"}
    read_multiple_files {"paths": ["/proj/sub/f.txt", "/proj/sub/deep/g.txt"]}
    edit_file@reference {"path": "/proj/sub/f.txt", "edits": [{"oldText": "needle", "newText": "pin"}]}
    write_file@reference {"path": "/proj/sub/n.txt", "content": "x"}
    create_directory {"path": "/proj/newdir"}
    list_directory {"path": "/proj/sub"}
    list_directory {"path": "/proj"}
    list_directory_with_sizes {"path": "/proj/sub"}
    directory_tree {"path": "/proj/sub"}
    move_file {"source": "/proj/sub/f.txt", "destination": "/proj/sub/g.txt"}
    search_files {"path": "/proj/sub", "pattern": "**/*.txt"}
    get_file_info {"path": "/proj/sub"}
    apply_patch {"patch": "*** Begin Patch\n*** Update File: proj/sub/f.txt\n@@\n-needle\n+pin\n*** End Patch"}
    file_stats {"path": "/proj/sub/f.txt"}
    query {"path": "/proj/sub/f.json", "query": "."}
    execute {"command": "cat proj/sub/f.txt; cat proj/sub/f.txt > proj/sub/deep/h.txt; ls proj/sub"}
    execute {"command": "sed -i s/needle/pin/ proj/sub/f.txt; rm proj/sub/deep/g.txt"}
    context {"paths": ["/proj/sub"]}
    context {}
    grep {"pattern": "needle"}
    glob {"pattern": "**/*.txt"}
    ls {"path": "/"}
"#;

/// Answers with one answer, and remembers the questions.
#[derive(Debug)]
struct Asker {
    answer: DirectoryAnswer,
    asked: Mutex<Vec<VPath>>,
}

#[async_trait]
impl DirectoryAsker for Asker {
    async fn ask(&self, question: DirectoryQuestion) -> DirectoryAnswer {
        self.asked.lock().push(question.directory);
        self.answer
    }
}

/// Answers every question with one decision, and remembers them.
#[derive(Debug)]
struct OneAnswer {
    decision: ApprovalDecision,
    asked: Mutex<Vec<String>>,
}

#[async_trait]
impl ApprovalBroker for OneAnswer {
    async fn decide(&self, request: &ApprovalRequest) -> ApprovalDecision {
        let both = if request.reads { "Read+" } else { "" };
        let below = if request.is_subtree { "/**" } else { "" };
        self.asked.lock().push(format!("{both}{:?} {}{below}", request.access, request.path));
        self.decision
    }
}

fn parse(path: &str) -> VPath {
    path.parse().expect("a path")
}

/// Makes files. Only those in `/proj` and `/memories` are served, and all need an approval.
async fn served(broker: Arc<dyn ApprovalBroker>) -> Arc<dyn FileSystem> {
    let inner = Arc::new(MemoryFs::new());
    for path in ["/proj/sub/f.txt", "/proj/sub/deep/g.txt", "/proj/a.txt", "/memories/n.md", "/x"] {
        inner.write_text(&parse(path), "needle\n").await.expect("written");
    }
    inner.write_text(&parse("/proj/sub/f.json"), "1\n").await.expect("written");
    let ask = PermissionRule::new(RuleMode::Interrupt, &BOTH, "/**");
    let rules = vec![
        PermissionRules::only_below(&[parse("/proj"), parse("/memories")]).expect("rules"),
        PermissionRules::new([ask]).expect("a rule"),
    ];
    let limits =
        AccessLimits { is_read_only: false, rules, guarded: Vec::new(), quota: None, broker };
    limits.apply(inner).expect("a handle without links")
}

/// Returns a fixture with the vocabulary that has a tool, and the tool's name in it. Its session
/// runs commands, and queries whose program prints nothing.
fn fixture_for(fs: Arc<dyn FileSystem>, tool: &str) -> (ToolFixture, &str) {
    let (fixture, name) = bare_fixture_for(fs.clone(), tool);
    let shell = ShellExecutor::new(fs.clone(), ShellLimits::default());
    let builder = AgentSession::builder(fs, crate::support::fixture::agent("ada")).id("s1");
    let builder = builder.json_query(JsonQueryRunner::new("true", ""));
    let session = builder.executor(Arc::new(shell)).build();
    (ToolFixture { session, ..fixture }, name)
}

fn bare_fixture_for(fs: Arc<dyn FileSystem>, tool: &str) -> (ToolFixture, &str) {
    if let Some(name) = tool.strip_suffix("@reference") {
        return (ToolFixture::over(fs, &[ToolVocabulary::Reference]), name);
    }
    let all = [
        ToolVocabulary::DeepAgents(DeepAgentsProfile::Replacing),
        ToolVocabulary::FileTools,
        ToolVocabulary::Memory,
        ToolVocabulary::TextEditor,
        ToolVocabulary::Beyond,
    ];
    let fixture = ToolFixture::over(fs.clone(), &all);
    let has_tool = fixture.catalog.definitions().any(|definition| definition.name == tool);
    match has_tool {
        true => (fixture, tool),
        false => (ToolFixture::over(fs, &[ToolVocabulary::Reference]), tool),
    }
}

/// Approvals whose file is never written.
fn without_file(asker: Arc<Asker>) -> DirectoryApprovals {
    DirectoryApprovals::open(asker, "/no/such/approvals.json").expect("the file need not exist")
}

fn calls() -> impl Iterator<Item = (&'static str, Value)> {
    CALLS.lines().map(str::trim).filter(|line| !line.is_empty()).map(|line| {
        let (tool, arguments) = line.split_once(' ').expect("a tool and its arguments");
        (tool, serde_json::from_str(arguments).expect("JSON"))
    })
}

/// Every tool asks about the directory that it touches, never above what is served; a second call
/// below it asks nothing, and the approved call does its work.
#[tokio::test]
async fn a_tool_asks_about_the_directory_that_it_touches_and_about_nothing_else() {
    let mut table = String::new();
    for (tool, arguments) in calls() {
        let answer = DirectoryAnswer::Session;
        let asker = Arc::new(Asker { answer, asked: Mutex::default() });
        let approvals = without_file(asker.clone());
        let fs = served(Arc::new(approvals)).await;
        let (fixture, name) = fixture_for(fs, tool);
        let reply = fixture.call(name, arguments.clone()).await;
        assert!(!reply.is_error, "{tool} {arguments}: {}", reply.joined_text());
        let asked: Vec<String> = asker.asked.lock().iter().map(ToString::to_string).collect();
        let n_left_out = reply.joined_text().contains("left out");
        assert!(!n_left_out, "{tool} {arguments}: {}", reply.joined_text());
        table += &format!("{tool} {arguments} asks {}\n", asked.join(" "));
        if tool == "fs_delete" {
            // What is gone lies in the directory above.
            continue;
        }
        drop(fixture.call(name, arguments.clone()).await);
        let later = asker.asked.lock()[asked.len()..].to_vec();
        assert!(later.is_empty(), "{tool} {arguments} asks again: {later:?}");
    }
    expect![[r#"
        ls {"path":"/proj/sub"} asks /proj/sub
        read_file {"file_path":"/proj/sub/f.txt"} asks /proj/sub
        write_file {"content":"x","file_path":"/proj/sub/new.txt"} asks /proj/sub
        edit_file {"file_path":"/proj/sub/f.txt","new_string":"pin","old_string":"needle"} asks /proj/sub
        delete {"file_path":"/proj/sub/f.txt"} asks /proj/sub
        glob {"path":"/proj/sub","pattern":"**/*.txt"} asks /proj/sub
        grep {"path":"/proj/sub","pattern":"needle"} asks /proj/sub
        fs_read {"path":"/proj/sub/f.txt"} asks /proj/sub
        fs_read_lines {"path":"/proj/sub/f.txt"} asks /proj/sub
        fs_write {"content":"x","path":"/proj/sub/deep/er/new.txt"} asks /proj/sub/deep/er
        fs_edit {"new_text":"pin","old_text":"needle","path":"/proj/sub/f.txt"} asks /proj/sub
        fs_patch {"hunks":[{"new_text":"pin","old_text":"needle"}],"path":"/proj/sub/f.txt"} asks /proj/sub
        fs_list {"path":"/proj/sub"} asks /proj/sub
        fs_delete {"path":"/proj/sub","recursive":true} asks /proj/sub
        fs_move {"destination":"/proj/sub/g.txt","source":"/proj/sub/f.txt"} asks /proj/sub
        fs_copy {"destination":"/proj/other/g.txt","source":"/proj/sub/f.txt"} asks /proj/sub /proj/other
        fs_stat {"path":"/proj/sub"} asks /proj/sub
        fs_stat {"path":"/proj/sub/f.txt"} asks /proj/sub
        fs_diff {"file_a":"/proj/sub/f.txt","file_b":"/proj/sub/deep/g.txt"} asks /proj/sub
        fs_mkdir {"path":"/proj/newdir"} asks /proj
        memory {"command":"view","path":"/memories"} asks /memories
        str_replace_based_edit_tool {"command":"view","path":"/proj/sub"} asks /proj/sub
        str_replace_based_edit_tool {"command":"str_replace","new_str":"pin","old_str":"needle","path":"/proj/sub/f.txt"} asks /proj/sub
        str_replace_based_edit_tool {"command":"insert","insert_line":0,"insert_text":"x","path":"/proj/sub/f.txt"} asks /proj/sub
        str_replace_based_edit_tool {"command":"create","file_text":"x","path":"/proj/sub/n.txt"} asks /proj/sub
        read_text_file {"path":"/proj/sub/f.txt"} asks /proj/sub
        read_multiple_files {"paths":["/proj/sub/f.txt","/proj/sub/deep/g.txt"]} asks /proj/sub
        edit_file@reference {"edits":[{"newText":"pin","oldText":"needle"}],"path":"/proj/sub/f.txt"} asks /proj/sub
        write_file@reference {"content":"x","path":"/proj/sub/n.txt"} asks /proj/sub
        create_directory {"path":"/proj/newdir"} asks /proj
        list_directory {"path":"/proj/sub"} asks /proj/sub
        list_directory {"path":"/proj"} asks /proj
        list_directory_with_sizes {"path":"/proj/sub"} asks /proj/sub
        directory_tree {"path":"/proj/sub"} asks /proj/sub
        move_file {"destination":"/proj/sub/g.txt","source":"/proj/sub/f.txt"} asks /proj/sub
        search_files {"path":"/proj/sub","pattern":"**/*.txt"} asks /proj/sub
        get_file_info {"path":"/proj/sub"} asks /proj/sub
        apply_patch {"patch":"*** Begin Patch\n*** Update File: proj/sub/f.txt\n@@\n-needle\n+pin\n*** End Patch"} asks /proj/sub
        file_stats {"path":"/proj/sub/f.txt"} asks /proj/sub
        query {"path":"/proj/sub/f.json","query":"."} asks /proj/sub
        execute {"command":"cat proj/sub/f.txt; cat proj/sub/f.txt > proj/sub/deep/h.txt; ls proj/sub"} asks /proj/sub
        execute {"command":"sed -i s/needle/pin/ proj/sub/f.txt; rm proj/sub/deep/g.txt"} asks /proj/sub
        context {"paths":["/proj/sub"]} asks /proj/sub
        context {} asks /memories /proj
        grep {"pattern":"needle"} asks /memories /proj
        glob {"pattern":"**/*.txt"} asks /memories /proj
        ls {"path":"/"} asks 
    "#]].assert_eq(&table);
}

/// With rules that ask about objects, a call asks once for each object, whatever it does with it.
#[tokio::test]
async fn an_answer_for_once_is_for_the_call_and_its_object() {
    let mut table = String::new();
    for (tool, arguments) in calls() {
        let decision = ApprovalDecision::Once;
        let broker = Arc::new(OneAnswer { decision, asked: Mutex::default() });
        let (fixture, name) = fixture_for(served(broker.clone()).await, tool);
        let reply = fixture.call(name, arguments.clone()).await;
        assert!(!reply.is_error, "{tool} {arguments}: {}", reply.joined_text());
        let asked = std::mem::take(&mut *broker.asked.lock());
        let object = |text: &String| match tool {
            // It is not known before that a command changes what it reads.
            "execute" => text.clone(),
            _ => text.split(' ').nth(1).unwrap_or_default().to_owned(),
        };
        let paths: BTreeSet<_> = asked.iter().map(object).collect();
        assert_eq!(paths.len(), asked.len(), "{tool} {arguments}: {asked:?}");
        table += &format!("{tool} {arguments} asks {}\n", asked.join(", "));
    }
    expect![[r#"
        ls {"path":"/proj/sub"} asks Read /proj/sub/**
        read_file {"file_path":"/proj/sub/f.txt"} asks Read /proj/sub/f.txt
        write_file {"content":"x","file_path":"/proj/sub/new.txt"} asks Read+Write /proj/sub/new.txt
        edit_file {"file_path":"/proj/sub/f.txt","new_string":"pin","old_string":"needle"} asks Read+Write /proj/sub/f.txt
        delete {"file_path":"/proj/sub/f.txt"} asks Write /proj/sub/f.txt
        glob {"path":"/proj/sub","pattern":"**/*.txt"} asks Read /proj/sub/**
        grep {"path":"/proj/sub","pattern":"needle"} asks Read /proj/sub/**
        fs_read {"path":"/proj/sub/f.txt"} asks Read /proj/sub/f.txt
        fs_read_lines {"path":"/proj/sub/f.txt"} asks Read /proj/sub/f.txt
        fs_write {"content":"x","path":"/proj/sub/deep/er/new.txt"} asks Read+Write /proj/sub/deep/er/new.txt
        fs_edit {"new_text":"pin","old_text":"needle","path":"/proj/sub/f.txt"} asks Read+Write /proj/sub/f.txt
        fs_patch {"hunks":[{"new_text":"pin","old_text":"needle"}],"path":"/proj/sub/f.txt"} asks Read+Write /proj/sub/f.txt
        fs_list {"path":"/proj/sub"} asks Read /proj/sub/**
        fs_delete {"path":"/proj/sub","recursive":true} asks Write /proj/sub/**
        fs_move {"destination":"/proj/sub/g.txt","source":"/proj/sub/f.txt"} asks Read+Write /proj/sub/f.txt, Write /proj/sub/g.txt
        fs_copy {"destination":"/proj/other/g.txt","source":"/proj/sub/f.txt"} asks Read /proj/sub/f.txt, Write /proj/other/g.txt
        fs_stat {"path":"/proj/sub"} asks Read /proj/sub/**
        fs_stat {"path":"/proj/sub/f.txt"} asks Read /proj/sub/f.txt
        fs_diff {"file_a":"/proj/sub/f.txt","file_b":"/proj/sub/deep/g.txt"} asks Read /proj/sub/f.txt, Read /proj/sub/deep/g.txt
        fs_mkdir {"path":"/proj/newdir"} asks Read+Write /proj/newdir
        memory {"command":"view","path":"/memories"} asks Read+Write /memories/**
        str_replace_based_edit_tool {"command":"view","path":"/proj/sub"} asks Read+Write /proj/sub/**
        str_replace_based_edit_tool {"command":"str_replace","new_str":"pin","old_str":"needle","path":"/proj/sub/f.txt"} asks Read+Write /proj/sub/f.txt
        str_replace_based_edit_tool {"command":"insert","insert_line":0,"insert_text":"x","path":"/proj/sub/f.txt"} asks Read+Write /proj/sub/f.txt
        str_replace_based_edit_tool {"command":"create","file_text":"x","path":"/proj/sub/n.txt"} asks Write /proj/sub/n.txt
        read_text_file {"path":"/proj/sub/f.txt"} asks Read /proj/sub/f.txt
        read_multiple_files {"paths":["/proj/sub/f.txt","/proj/sub/deep/g.txt"]} asks Read /proj/sub/f.txt, Read /proj/sub/deep/g.txt
        edit_file@reference {"edits":[{"newText":"pin","oldText":"needle"}],"path":"/proj/sub/f.txt"} asks Read+Write /proj/sub/f.txt
        write_file@reference {"content":"x","path":"/proj/sub/n.txt"} asks Read+Write /proj/sub/n.txt
        create_directory {"path":"/proj/newdir"} asks Write /proj/newdir
        list_directory {"path":"/proj/sub"} asks Read /proj/sub/**
        list_directory {"path":"/proj"} asks Read /proj/**
        list_directory_with_sizes {"path":"/proj/sub"} asks Read /proj/sub/**
        directory_tree {"path":"/proj/sub"} asks Read /proj/sub/**
        move_file {"destination":"/proj/sub/g.txt","source":"/proj/sub/f.txt"} asks Read+Write /proj/sub/g.txt, Read+Write /proj/sub/f.txt
        search_files {"path":"/proj/sub","pattern":"**/*.txt"} asks Read /proj/sub/**
        get_file_info {"path":"/proj/sub"} asks Read /proj/sub/**
        apply_patch {"patch":"*** Begin Patch\n*** Update File: proj/sub/f.txt\n@@\n-needle\n+pin\n*** End Patch"} asks Read+Write /proj/sub/f.txt
        file_stats {"path":"/proj/sub/f.txt"} asks Read /proj/sub/f.txt
        query {"path":"/proj/sub/f.json","query":"."} asks Read /proj/sub/f.json
        execute {"command":"cat proj/sub/f.txt; cat proj/sub/f.txt > proj/sub/deep/h.txt; ls proj/sub"} asks Read /proj/sub/f.txt, Read /proj/sub/deep/h.txt, Write /proj/sub/deep/h.txt, Read /proj/sub/**
        execute {"command":"sed -i s/needle/pin/ proj/sub/f.txt; rm proj/sub/deep/g.txt"} asks Read /proj/sub/f.txt, Write /proj/sub/f.txt, Read /proj/sub/deep/g.txt, Write /proj/sub/deep/g.txt
        context {"paths":["/proj/sub"]} asks Read /proj/sub/**
        context {} asks Read /memories/**, Read /proj/**
        grep {"pattern":"needle"} asks Read /memories/**, Read /proj/**
        glob {"pattern":"**/*.txt"} asks Read /memories/**, Read /proj/**
        ls {"path":"/"} asks 
    "#]].assert_eq(&table);
}

/// After a refusal, a call asks neither again, nor about what holds the object or is below it, in
/// the hope of another answer.
#[tokio::test]
async fn a_refusal_is_for_the_call() {
    for (tool, arguments) in calls() {
        let decision = ApprovalDecision::Refuse;
        let broker = Arc::new(OneAnswer { decision, asked: Mutex::default() });
        let (fixture, name) = fixture_for(served(broker.clone()).await, tool);
        drop(fixture.call(name, arguments.clone()).await);
        let asked: Vec<(String, VPath)> =
            broker.asked.lock().iter().map(|text| question_parts(text)).collect();
        assert_unrelated(&format!("{tool} {arguments}"), &asked);

        let answer = DirectoryAnswer::No;
        let asker = Arc::new(Asker { answer, asked: Mutex::default() });
        let fs = served(Arc::new(without_file(asker.clone()))).await;
        let (fixture, name) = fixture_for(fs, tool);
        drop(fixture.call(name, arguments.clone()).await);
        let asked: Vec<_> =
            asker.asked.lock().iter().map(|at| ("Use".to_owned(), at.clone())).collect();
        assert_unrelated(&format!("directories: {tool} {arguments}"), &asked);
    }
}

/// Returns the kinds of access that a question of [`OneAnswer`] names, and the object.
fn question_parts(text: &str) -> (String, VPath) {
    let (access, path) = text.split_once(' ').expect("an access and a path");
    (access.to_owned(), parse(path.strip_suffix("/**").unwrap_or(path)))
}

/// Asserts that no question has an access and an object in common with an earlier one.
fn assert_unrelated(call: &str, asked: &[(String, VPath)]) {
    for (n, (access, object)) in asked.iter().enumerate() {
        for (earlier, above) in &asked[..n] {
            let is_same = access.split('+').any(|kind| earlier.split('+').any(|one| one == kind));
            let is_related = object.starts_with(above) || above.starts_with(object);
            assert!(!(is_same && is_related), "{call} asks after a refusal: {asked:?}");
        }
    }
}

async fn check_search(decision: ApprovalDecision, rules: &str, script: &str, expected: Expect) {
    let inner = Arc::new(MemoryFs::new());
    for path in ["/docs/a.txt", "/docs/sub/b.txt", "/docs/sub/c.md", "/free/d.txt"] {
        inner.write_text(&parse(path), "needle\n").await.expect("written");
    }
    let ask = rules.split(' ').map(|path| PermissionRule::new(RuleMode::Interrupt, &BOTH, path));
    let rules = vec![PermissionRules::new(ask).expect("rules")];
    let broker = Arc::new(OneAnswer { decision, asked: Mutex::default() });
    let limits = AccessLimits {
        is_read_only: false,
        rules,
        guarded: Vec::new(),
        quota: None,
        broker: broker.clone(),
    };
    let fs = limits.apply(inner).expect("a handle without links");
    let mut printed = String::new();
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (tool, arguments) = line.split_once(' ').expect("a tool and its arguments");
        let arguments = serde_json::from_str(arguments).expect("JSON");
        let (fixture, name) = fixture_for(fs.clone(), tool);
        let reply = fixture.call(name, arguments).await;
        let asked: Vec<String> = std::mem::take(&mut *broker.asked.lock());
        let asked = asked.join(", ");
        let structured = reply.structured.as_ref().map(|value| value["n_left_out"].to_string());
        let texts = reply.blocks.iter().map(|block| match block {
            ReplyBlock::Text(text) => text.trim_end().replace('\n', "|"),
            _ => "[another block]".to_owned(),
        });
        let texts = texts.collect::<Vec<_>>().join(" // ");
        let structured = structured.filter(|count| count != "null").unwrap_or_default();
        printed += &format!("> {line}\nasked: {asked}\n{texts} {structured}\n");
    }
    expected.assert_eq(&printed);
}

const SEARCHES: &str = r#"
    grep {"pattern": "needle", "output_mode": "files_with_matches"}
    grep {"pattern": "needle", "output_mode": "files_with_matches", "glob": "*.md"}
    grep {"pattern": "needle", "output_mode": "files_with_matches", "path": "/docs/sub"}
    glob {"pattern": "**/*.txt"}
    search_files {"path": "/", "pattern": "**/*.txt"}
    directory_tree {"path": "/free"}
"#;

#[tokio::test]
async fn a_search_says_how_much_it_left_out_for_want_of_an_approval() {
    check_search(
        ApprovalDecision::Refuse,
        "/docs/**",
        SEARCHES,
        expect![[r#"
        > grep {"pattern": "needle", "output_mode": "files_with_matches"}
        asked: 
        /free/d.txt // 3 files were left out: approval needed 3
        > grep {"pattern": "needle", "output_mode": "files_with_matches", "glob": "*.md"}
        asked: 
        No matches found // 1 file was left out: approval needed 1
        > grep {"pattern": "needle", "output_mode": "files_with_matches", "path": "/docs/sub"}
        asked: Read /docs/sub/**
        Error: permission denied for read on /docs/sub 
        > glob {"pattern": "**/*.txt"}
        asked: 
        ['/docs/a.txt', '/free/d.txt'] // 1 file was left out: approval needed 1
        > search_files {"path": "/", "pattern": "**/*.txt"}
        asked: 
        /docs/a.txt|/free/d.txt // 2 files were left out: approval needed 
        > directory_tree {"path": "/free"}
        asked: 
        [|  {|    "name": "d.txt",|    "type": "file"|  }|] 
    "#]],
    )
    .await;
}

#[tokio::test]
async fn a_search_finds_what_was_approved_above_it() {
    check_search(
        ApprovalDecision::Once,
        "/**",
        SEARCHES,
        expect![[r#"
        > grep {"pattern": "needle", "output_mode": "files_with_matches"}
        asked: Read //**
        /docs/a.txt|/docs/sub/b.txt|/docs/sub/c.md|/free/d.txt 
        > grep {"pattern": "needle", "output_mode": "files_with_matches", "glob": "*.md"}
        asked: Read //**
        /docs/sub/c.md 
        > grep {"pattern": "needle", "output_mode": "files_with_matches", "path": "/docs/sub"}
        asked: Read /docs/sub/**
        /docs/sub/b.txt|/docs/sub/c.md 
        > glob {"pattern": "**/*.txt"}
        asked: Read //**
        ['/docs/a.txt', '/docs/sub/b.txt', '/free/d.txt'] 
        > search_files {"path": "/", "pattern": "**/*.txt"}
        asked: Read //**
        /docs/a.txt|/docs/sub/b.txt|/free/d.txt 
        > directory_tree {"path": "/free"}
        asked: Read /free/**
        [|  {|    "name": "d.txt",|    "type": "file"|  }|] 
    "#]],
    )
    .await;
}

#[tokio::test]
async fn an_approval_for_the_session_covers_later_searches_below_it() {
    let script = r#"
        grep {"pattern": "needle", "output_mode": "files_with_matches", "path": "/docs"}
        fs_list {"path": "/docs/sub"}
        grep {"pattern": "needle", "output_mode": "files_with_matches"}
    "#;
    check_search(
        ApprovalDecision::Session,
        "/docs /docs/**",
        script,
        expect![[r#"
        > grep {"pattern": "needle", "output_mode": "files_with_matches", "path": "/docs"}
        asked: Read /docs/**
        /docs/a.txt|/docs/sub/b.txt|/docs/sub/c.md 
        > fs_list {"path": "/docs/sub"}
        asked: 
        [{"name":"b.txt","type":"file","size":7},{"name":"c.md","type":"file","size":7}] 
        > grep {"pattern": "needle", "output_mode": "files_with_matches"}
        asked: 
        /docs/a.txt|/docs/sub/b.txt|/docs/sub/c.md|/free/d.txt 
    "#]],
    )
    .await;
}

/// A session that asks, over a workspace in which the same session has worked without questions.
async fn session_with_past(broker: Arc<OneAnswer>) -> (Workspace, ToolFixture) {
    let store = Arc::new(yfs_store::MemoryStore::new());
    let workspace = Workspace::create(store, WorkspaceOptions::default()).expect("made");
    let own = workspace.fs_for(crate::support::fixture::agent("ada")).labelled("s1 c1");
    let others = workspace.fs();
    for path in ["/docs/a.txt", "/docs/b.txt", "/docs/gone.txt", "/docs/named.txt"] {
        others.write_text(&parse(path), "needle\n").await.expect("written");
    }
    for path in ["/docs/a.txt", "/docs/b.txt"] {
        let edit = yfs_vfs::TextReplacement::once("needle", "pin");
        own.edit(&parse(path), &edit).await.expect("edited");
    }
    own.rm_all(&parse("/docs/gone.txt")).await.expect("removed");
    let options = yfs_vfs::MoveOptions::default();
    let (from, to) = (parse("/docs/named.txt"), parse("/docs/other.txt"));
    own.mv(&from, &to, &options).await.expect("moved");
    let ask = PermissionRule::new(RuleMode::Interrupt, &BOTH, "/**");
    let rules = vec![PermissionRules::new([ask]).expect("a rule")];
    let limits =
        AccessLimits { is_read_only: false, rules, guarded: Vec::new(), quota: None, broker };
    let fs = limits.apply(Arc::new(workspace.fs())).expect("a handle without links");
    let fixture = ToolFixture::over(fs.clone(), &[ToolVocabulary::Beyond]);
    let builder = AgentSession::builder(fs, crate::support::fixture::agent("ada")).id("s1");
    let history = Arc::new(WorkspaceHistory::new(workspace.clone()));
    let session = builder.history(history).build();
    (workspace, ToolFixture { session, ..fixture })
}

/// The history knows no permissions, so its tools ask about the files first, and about what they
/// do with them: an undo changes each file, one that is gone and one that was renamed, too.
#[tokio::test]
async fn tools_of_history_ask_about_the_files_that_they_touch() {
    let calls = r#"
        history {"path": "/docs/a.txt"}
        diff_versions {"path": "/docs/a.txt", "from": 1}
        restore {"path": "/docs/a.txt", "version": 1}
        undo_session {"dry_run": true}
        undo_session {}
    "#;
    let mut table = String::new();
    for (decision, says) in [(ApprovalDecision::Once, "yes"), (ApprovalDecision::Refuse, "no")] {
        for line in calls.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let broker = Arc::new(OneAnswer { decision, asked: Mutex::default() });
            let (workspace, fixture) = session_with_past(broker.clone()).await;
            let before = workspace.fs().cursor().await.expect("a cursor");
            let (tool, arguments) = line.split_once(' ').expect("a tool and its arguments");
            let arguments = serde_json::from_str(arguments).expect("JSON");
            let reply = fixture.call(tool, arguments).await;
            assert_eq!(reply.is_error, says == "no", "{line}: {}", reply.joined_text());
            let changes = workspace.fs().changes(&before, &Default::default()).await;
            let is_changed = !changes.expect("changes").events.is_empty();
            let asked = broker.asked.lock().join(", ");
            table += &format!("{line} {says}: changes {is_changed}, asks {asked}\n");
        }
    }
    expect![[r#"
        history {"path": "/docs/a.txt"} yes: changes false, asks Read /docs/a.txt
        diff_versions {"path": "/docs/a.txt", "from": 1} yes: changes false, asks Read /docs/a.txt
        restore {"path": "/docs/a.txt", "version": 1} yes: changes true, asks Read+Write /docs/a.txt
        undo_session {"dry_run": true} yes: changes false, asks Read+Write /docs/a.txt, Read+Write /docs/b.txt, Read+Write /docs/gone.txt, Read+Write /docs/other.txt
        undo_session {} yes: changes true, asks Read+Write /docs/a.txt, Read+Write /docs/b.txt, Read+Write /docs/gone.txt, Read+Write /docs/other.txt
        history {"path": "/docs/a.txt"} no: changes false, asks Read /docs/a.txt
        diff_versions {"path": "/docs/a.txt", "from": 1} no: changes false, asks Read /docs/a.txt
        restore {"path": "/docs/a.txt", "version": 1} no: changes false, asks Read+Write /docs/a.txt
        undo_session {"dry_run": true} no: changes false, asks Read+Write /docs/a.txt
        undo_session {} no: changes false, asks Read+Write /docs/a.txt
    "#]].assert_eq(&table);
}
