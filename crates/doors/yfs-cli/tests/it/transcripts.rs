//! Runs the real command as transcripts say: `sh` runs a line, and its output is compared.
//!
//! A transcript is a text file. `sh` runs each line that begins with `$ `, in one empty directory
//! for the whole file. The lines after it are its output on standard output and standard error, and
//! the exit status if that is not 0. `UPDATE_EXPECT=1` writes the actual output into the file; read
//! the difference before you keep it. Ids and times that differ between runs are replaced.
//!
//! The blocks `console` of README and of the book are transcripts, too: see [`markdown_page`].

#![expect(clippy::unwrap_used, reason = "a panic fails the test, which is what it is for")]

mod markdown_page;

use std::{env, ffi::OsString, fs, path::Path, process::Command};

use expect_test::expect_file;
use regex::Regex;

#[test]
fn files_are_written_and_read() {
    check("files");
}

#[test]
fn trees_are_listed_and_changed() {
    check("trees");
}

#[test]
fn things_are_found() {
    check("find");
}

#[test]
fn lines_are_found() {
    check("grep");
}

#[test]
fn what_was_removed_comes_back() {
    check("trash");
}

#[test]
#[cfg(target_os = "linux")]
fn a_mirror_deletes_only_what_the_store_proves() {
    check("mirror");
}

/// A mirror's directory was a place from which no file of a subdirectory was found.
#[test]
#[cfg(target_os = "linux")]
fn paths_begin_where_one_stands_below_a_mirror() {
    check("standing");
}

#[test]
fn what_a_file_was_before_is_kept() {
    check("versions");
}

#[test]
fn history_is_told_and_erased() {
    check("history");
}

#[test]
fn changes_of_all_files_are_listed() {
    check("log");
}

#[test]
fn earlier_states_are_read_and_compared() {
    check("past");
}

#[test]
fn changes_are_undone() {
    check("undo");
}

#[test]
fn settings_are_kept_in_files() {
    check("config");
}

#[test]
fn directories_come_in_and_go_out() {
    check("transfer");
}

#[test]
fn a_demo_is_created() {
    check("demo");
}

#[test]
fn refused_updates_are_listed_shown_and_dropped() {
    check_after("quarantine", |dir| {
        assert_eq!(run(dir, "yfs init --quiet && yfs write a.txt --content a"), "");
        let store = yfs_store::SqliteStore::open(&dir.join(".yfs/workspace.db")).unwrap();
        let mut documents = yfs_store::UpdateLog::documents(&store).unwrap();
        documents.sort_by_key(|document| document.head);
        for (at, update, times) in [(1, &b"\x01\x02"[..], 3), (2, &[7; 5000], 1)] {
            for _ in 0..times {
                let (doc, at) = (&documents[at - 1].doc, yfs_engine::time::Millis(at as i64));
                yfs_store::LocalState::quarantine(&store, doc, update, "it is malformed", at)
                    .unwrap();
            }
        }
    });
}

#[test]
fn updates_that_wait_are_listed_and_dropped() {
    check_after("parked", |dir| {
        assert_eq!(run(dir, "yfs init --quiet && yfs write a.txt --content a"), "");
        let store = yfs_store::SqliteStore::open(&dir.join(".yfs/workspace.db")).unwrap();
        let documents = yfs_store::UpdateLog::documents(&store).unwrap();
        let last = documents.into_iter().max_by_key(|document| document.head).unwrap();
        // The text that a client wrote after another one, which is not there.
        let update = b"\x01\x01\x07\x05\x84\x07\x04\x04late\x00".to_vec();
        let at = yfs_engine::time::Millis(1);
        let batch = yfs_store::AppendBatch::one(last.doc, update, at);
        yfs_store::UpdateLog::append(&store, batch).unwrap();
    });
}

#[test]
fn other_users_are_kept_out() {
    check("private");
}

#[test]
fn programs_get_json() {
    check("json");
}

#[test]
fn threads_have_files_of_their_own() {
    check("threads");
}

#[test]
fn statistics_say_what_files_contain() {
    check("describe");
}

#[test]
fn documents_are_queried() {
    check("query");
}

#[test]
fn large_results_become_files() {
    check("artifacts");
}

#[test]
fn tokens_are_listed_and_revoked() {
    check("tokens");
}

#[test]
fn rare_commands_and_those_of_peers_have_groups() {
    check("groups");
}

#[test]
fn bad_input_gives_one_clear_error() {
    check("errors");
}

#[test]
fn examples_of_the_book_run() {
    let pages = markdown_page::pages_with_examples();
    assert!(pages.len() >= 6, "the pages are found: {pages:?}");
    std::thread::scope(|scope| {
        for page in &pages {
            scope.spawn(|| markdown_page::check(page));
        }
    });
}

fn check(name: &str) {
    check_after(name, |_| ());
}

/// Runs a transcript in a directory that `prepare` has filled.
fn check_after(name: &str, prepare: impl FnOnce(&Path)) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/transcripts/{name}.txt"));
    let script = fs::read_to_string(&file).unwrap();
    let dir = tempfile::tempdir().unwrap();
    prepare(dir.path());
    let mut happened = String::new();
    let mut in_output = false;
    for line in script.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            happened += &format!("$ {command}\n{}", run(dir.path(), command));
            in_output = true;
        } else if line.starts_with('#') || line.is_empty() && !in_output {
            happened += &format!("{line}\n");
            in_output = false;
        }
    }
    expect_file![file].assert_eq(&happened);
}

fn run(dir: &Path, command: &str) -> String {
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1\n{command}")])
        .current_dir(dir)
        .env("PATH", path_with_command())
        .envs([("TZ", "UTC"), ("LC_ALL", "C"), ("YFS_ACTOR", "human:ada"), ("COLUMNS", "80")])
        .env("YFS_CONFIG", dir.join("account.toml"))
        .env_remove("YFS_WORKSPACE")
        .env_remove("NO_COLOR")
        .output()
        .unwrap();
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !text.is_empty() && !text.ends_with('\n') {
        text += "[no newline]\n";
    }
    if !output.status.success() {
        text += &format!("[exit {}]\n", output.status.code().unwrap_or(-1));
    }
    stable(&text, dir)
}

/// Returns the search path of shells, which begins with the directory of the command.
fn path_with_command() -> OsString {
    let dir = Path::new(env!("CARGO_BIN_EXE_yfs")).parent().map(Path::to_owned);
    let inherited = env::var_os("PATH").unwrap();
    env::join_paths(dir.into_iter().chain(env::split_paths(&inherited))).unwrap()
}

/// Replaces text that differs between runs.
fn stable(text: &str, dir: &Path) -> String {
    let text = text.replace(dir.canonicalize().unwrap().to_str().unwrap(), "<dir>");
    let text = text.replace(dir.to_str().unwrap(), "<dir>");
    let rules = [
        (r"\b(\d{4})-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?( [+-]\d{4}|Z)", "<time $1>"),
        (r"<time 20(2[5-9]|[3-9]\d)>", "<now>"),
        (r"\b(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d\b", "<recent>"),
        (r"\b20\d\d-\d\d-\d\d \d\d:\d\d\b", "<minute>"),
        (r"\b[0-9a-z]{15}\b", "<id>"),
        (r#""version":"[^"]*""#, r#""version":"<version>""#),
        (r#""step":"[0-9a-z]{14}""#, r#""step":"<step>""#),
        (r"\b\d+-[0-9a-f]{6,12}\b", "<version>"),
        (r#""(main|record|snapshot|file|blob)_bytes":\d+"#, r#""${1}_bytes":<n>"#),
    ];
    rules.iter().fold(text, |text, (pattern, with)| {
        Regex::new(pattern).unwrap().replace_all(&text, *with).into_owned()
    })
}
