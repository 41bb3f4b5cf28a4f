//! The tools of each vocabulary: names, annotations and schemas. And what a call must survive:
//! faults of the backend, and calls that wait for each other's files.

use std::sync::Arc;

use expect_test::expect;
use serde_json::{Value, json};
use yfs_agent::{
    AgentSession, CallContext, DeepAgentsProfile, ToolCatalog, ToolDefinition, ToolVocabulary,
    path_locks::PathLocks,
};
use yfs_conformance::{FsFault, fault_fs};
use yfs_types::{
    actor::{Actor, ActorKind},
    path::VPath,
};
use yfs_vfs::{FileKind, FileSystem, FileSystemExt, FsCode, MemoryFs, WalkOptions};

const REPLACING: ToolVocabulary = ToolVocabulary::DeepAgents(DeepAgentsProfile::Replacing);

const ALL: [ToolVocabulary; 6] = [
    REPLACING,
    ToolVocabulary::FileTools,
    ToolVocabulary::Memory,
    ToolVocabulary::TextEditor,
    ToolVocabulary::Reference,
    ToolVocabulary::Beyond,
];

fn path(text: &str) -> VPath {
    text.parse().expect("a path")
}

/// Checks a definition, and returns its annotations, its name and its arguments.
fn line_of(tool: &ToolDefinition, vocabulary: ToolVocabulary) -> String {
    assert!(!tool.title.is_empty() && !tool.description.is_empty(), "{}", tool.name);
    assert_eq!(tool.input_schema["type"], "object", "{}", tool.name);
    // The reference server ignores unknown arguments.
    let is_closed = tool.input_schema.get("additionalProperties") == Some(&json!(false));
    assert_eq!(is_closed, vocabulary != ToolVocabulary::Reference, "{}", tool.name);
    let schemas = format!("{:?}{:?}", tool.input_schema, tool.output_schema);
    assert!(!schemas.contains("\"format\""), "{}: {schemas}", tool.name);
    if let Some(output) = &tool.output_schema {
        assert_eq!(output["type"], "object", "{}", tool.name);
    }
    let required = tool.input_schema.get("required").and_then(Value::as_array);
    let required: Vec<_> = required.into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = tool.input_schema.get("properties").and_then(Value::as_object);
    let names = properties.into_iter().flat_map(|names| names.keys());
    let arguments: Vec<String> = names
        .map(|name| match required.contains(&name.as_str()) {
            true => name.clone(),
            false => format!("[{name}]"),
        })
        .collect();
    let notes = tool.annotations;
    let mark = |is_set: bool, mark| if is_set { mark } else { "-" };
    let marks = [
        mark(notes.read_only, "r"),
        mark(notes.destructive, "d"),
        mark(notes.idempotent, "i"),
        mark(notes.open_world, "o"),
    ];
    let (marks, arguments) = (marks.concat(), arguments.join(" "));
    format!("  {marks} {} {arguments}\n", tool.name)
}

#[test]
fn tools_are_described() {
    let mut printed = String::new();
    for vocabulary in ALL {
        let catalog = ToolCatalog::new(&[vocabulary]).expect("names differ");
        printed.push_str(&format!("{vocabulary:?}\n"));
        for tool in catalog.definitions() {
            printed.push_str(&line_of(tool, vocabulary));
        }
    }
    expect![[r#"
        DeepAgents(Replacing)
          r-i- ls path
          r-i- read_file [char_offset] file_path [limit] [offset]
          -di- write_file content file_path
          -d-- edit_file file_path new_string old_string [replace_all]
          -di- delete file_path
          r-i- glob [path] pattern
          r-i- grep [glob] [max_count] [output_mode] [path] pattern
          -d-o execute command [timeout]
        FileTools
          r-i- fs_read path
          r-i- fs_read_lines [limit] [offset] path
          r-i- fs_list path
          r-i- fs_stat path
          r-i- fs_diff file_a file_b
          -di- fs_write content path
          -d-- fs_edit new_text old_text path
          -di- fs_delete path [recursive]
          -d-- fs_move destination source
          -di- fs_copy destination source
          -d-- fs_patch hunks path
          --i- fs_mkdir path
        Memory
          -d-- memory command [file_text] [insert_line] [insert_text] [new_path] [new_str] [old_path] [old_str] [path] [view_range]
        TextEditor
          -d-- str_replace_based_edit_tool command [file_text] [insert_line] [insert_text] [new_str] [old_str] path [view_range]
        Reference
          r-i- read_file [head] path [tail]
          r-i- read_text_file [head] path [tail]
          r-i- read_media_file path
          r-i- read_multiple_files paths
          -di- write_file content path
          -d-- edit_file [dryRun] edits path
          --i- create_directory path
          r-i- list_directory path
          r-i- list_directory_with_sizes path [sortBy]
          r-i- directory_tree [excludePatterns] path
          -d-- move_file destination source
          r-i- search_files [excludePatterns] path pattern
          r-i- get_file_info path
          r-i- list_allowed_directories 
        Beyond
          r-i- history [limit] path
          r-i- diff_versions from path [to]
          -d-- restore path version
          -di- undo_session [dry_run]
          r--- changes_since [cursor] [own]
          r-i- query [dialect] path query [slurp]
          -d-- apply_patch [keep_earlier] patch
          r-i- file_stats path [preview]
          r-i- context [exclude] [hidden] [ignored] [include] [max_tokens] [paths] [preview]
    "#]].assert_eq(&printed);
    let clash = ToolCatalog::new(&[REPLACING, ToolVocabulary::Reference]).map(drop);
    assert_eq!(clash.expect_err("a clash").to_string(), "two tools are named \"read_file\"");
}

#[tokio::test]
async fn an_unknown_tool_is_an_error() {
    let catalog = ToolCatalog::new(&[REPLACING]).expect("names differ");
    let actor = Actor::new(ActorKind::Agent, "bob");
    let session = AgentSession::builder(Arc::new(MemoryFs::new()), actor).build();
    for name in ["rm", "execute"] {
        let called = catalog.call_tool(&session, name, json!({}), CallContext::default()).await;
        assert_eq!(called.expect_err("unknown").name, name);
    }
}

async fn files_of(fs: &dyn FileSystem) -> String {
    let entries = fs.walk(&VPath::root(), &WalkOptions::default()).await.expect("a tree");
    let mut printed = String::new();
    for item in entries.into_iter().filter(|item| item.entry.kind == FileKind::File) {
        let text = fs.read_to_string(&item.path).await.expect("text");
        printed.push_str(&format!("{}={text:?}\n", item.path));
    }
    printed
}

/// Whatever call of the backend fails, a patch of many files is applied or has changed no file.
#[tokio::test]
async fn a_patch_is_put_back_if_the_backend_fails() {
    let patch = "*** Begin Patch\n*** Add File: new\n+new\n*** Update File: a\n@@\n-a\n+A\n\
        *** Delete File: b\n*** Update File: c\n*** Move to: d\n@@\n-c\n+C\n*** End Patch";
    let catalog = ToolCatalog::new(&[ToolVocabulary::Beyond]).expect("names differ");
    let mut n_failed = 0;
    for n in 1.. {
        let memory = Arc::new(MemoryFs::new());
        for name in ["a", "b", "c", "d"] {
            memory
                .write_text(&path(&format!("/{name}")), &format!("{name}\n"))
                .await
                .expect("written");
        }
        let before = files_of(&*memory).await;
        let faulty = fault_fs(memory.clone());
        faulty.guard().inject(FsFault::nth(n, FsCode::EIO));
        let actor = Actor::new(ActorKind::Agent, "bob");
        let session = AgentSession::builder(Arc::new(faulty), actor).build();
        let arguments = json!({"patch": patch});
        let called = catalog.call_tool(&session, "apply_patch", arguments, CallContext::default());
        if called.await.expect("a tool").is_error {
            n_failed += 1;
            assert_eq!(files_of(&*memory).await, before, "call {n} failed");
        } else {
            let after = files_of(&*memory).await;
            assert_eq!(after, "/a=\"A\\n\"\n/d=\"C\\n\"\n/new=\"new\\n\"\n");
            break;
        }
    }
    assert!(n_failed >= 8, "{n_failed} calls failed");
}

/// Two calls that name the same two paths in opposite orders do not wait for each other for ever,
/// and a lock of a directory waits for those of its files.
#[tokio::test]
async fn locks_are_taken_in_one_order() {
    let locks = Arc::new(PathLocks::default());
    let tasks: Vec<_> = (0..100)
        .map(|number| {
            let locks = locks.clone();
            let paths = [path("/a/x"), path("/b"), path("/a")];
            tokio::spawn(async move {
                let (first, second) = (paths[number % 3].clone(), paths[(number + 1) % 3].clone());
                let _guard = locks.lock([first, second]).await;
                tokio::task::yield_now().await;
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("it ends");
    }
    let file = locks.lock([path("/a/x/y")]).await;
    let mut directory = Box::pin(locks.lock([path("/a")]));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(directory.as_mut().poll(&mut context).is_pending());
    drop(file);
    assert!(directory.as_mut().poll(&mut context).is_ready());
}
