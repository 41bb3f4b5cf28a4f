//! What commands do to files: permissions, authors, concurrent edits, undo.

use std::sync::Arc;

use yfs::{Workspace, WorkspaceOptions};
use yfs_agent::{
    CommandExecutor, ExecuteOptions,
    permissions::{AccessKind, PermissionRule, PermissionRules, PermittedFs, RuleMode},
};
use yfs_shell::{ShellExecutor, ShellLimits};
use yfs_types::{
    actor::{Actor, ActorKind},
    path::VPath,
};
use yfs_vfs::{FileSystem, FileSystemExt, MemoryFs, TextReplacement};

fn parse(path: &str) -> VPath {
    path.parse().expect("a path")
}

fn new_workspace() -> Workspace {
    let store = Arc::new(yfs_store::MemoryStore::new());
    Workspace::create(store, WorkspaceOptions::default()).expect("a new workspace")
}

async fn run(shell: &ShellExecutor, script: &str) -> (String, Option<i32>) {
    let ran = shell.execute(script, &ExecuteOptions::default()).await;
    let ran = ran.unwrap_or_else(|error| panic!("{script}: {error}"));
    (ran.output, ran.exit_code)
}

/// Attempts of a shell to reach what the rules deny, one a line.
const ATTEMPTS: &str = include_str!("attempts.txt");

#[tokio::test(flavor = "multi_thread")]
async fn no_command_gets_through() {
    let both = [AccessKind::Read, AccessKind::Write];
    let rules = PermissionRules::new([
        PermissionRule::new(RuleMode::Deny, &both, "/{secret,secret/**}"),
        PermissionRule::new(RuleMode::Deny, &[AccessKind::Read], "/drop/**"),
        PermissionRule::new(RuleMode::Deny, &[AccessKind::Write], "/{locked,locked/**}"),
    ])
    .expect("rules");
    let mut n_worked = 0;
    for attempt in ATTEMPTS.lines() {
        for with_rules in [true, false] {
            for inner in [
                Arc::new(MemoryFs::new()) as Arc<dyn FileSystem>,
                Arc::new(new_workspace().fs()) as Arc<dyn FileSystem>,
            ] {
                for (path, text) in [
                    ("/secret/hush", "TOPSECRET\n"),
                    ("/drop/hush3", "TOPSECRET\n"),
                    ("/locked/cfg", "LOCKED\n"),
                    ("/pub/note", "note\n"),
                ] {
                    inner.write_text(&parse(path), text).await.unwrap();
                }
                let rules =
                    if with_rules { rules.clone() } else { PermissionRules::new([]).unwrap() };
                let fs = Arc::new(PermittedFs::new(inner.clone(), rules).unwrap());
                let shell = ShellExecutor::new(fs, ShellLimits::default());
                let ran = shell.execute(attempt, &ExecuteOptions::default()).await.unwrap();
                let locked = inner.read_to_string(&parse("/locked/cfg")).await.ok();
                let secret = inner.read_to_string(&parse("/secret/hush")).await.ok();
                let leaks = ran.output.contains("TOPSECRET")
                    || ran.output.lines().any(|line| line.contains("hush-is-there"));
                let got_through = leaks
                    || locked.as_deref() != Some("LOCKED\n")
                    || secret.as_deref() != Some("TOPSECRET\n");
                assert!(!(with_rules && got_through), "{attempt}: {}", ran.output);
                n_worked += usize::from(!with_rules && got_through);
            }
        }
    }
    // Some need a program that the shell does not have, but most would work without the rules.
    assert!(
        n_worked > ATTEMPTS.lines().count(),
        "only {n_worked} attempts would work without rules"
    );
}

/// Returns a shell whose commands are labelled changes of one agent.
fn labelled_shell(workspace: &Workspace) -> ShellExecutor {
    let workspace = workspace.clone();
    let files = move |command: &str| {
        let actor = Actor::new(ActorKind::Agent, "coder");
        Arc::new(workspace.fs_for(actor).labelled(command)) as Arc<dyn FileSystem>
    };
    ShellExecutor::for_each_command(Arc::new(files), ShellLimits::default())
}

#[tokio::test]
async fn each_command_is_a_labelled_change_that_can_be_undone() {
    let workspace = new_workspace();
    workspace.fs().write_text(&parse("/notes.txt"), "one\n").await.unwrap();
    let shell = labelled_shell(&workspace);
    run(&shell, "sed -i s/one/two/ notes.txt").await;
    run(&shell, "rm notes.txt").await;
    let history = workspace.history();
    let changes = history.changes(&VPath::root()).unwrap();
    let entries: Vec<_> = changes.map(|entry| entry.expect("a readable history")).collect();
    let shown = format!("{entries:?}");
    assert!(shown.contains("sed -i s/one/two/ notes.txt"), "{shown}");
    assert!(shown.contains("coder"), "{shown}");
    for command in ["rm notes.txt", "sed -i s/one/two/ notes.txt"] {
        let mut own = entries.iter().filter(|entry| entry.label.as_deref() == Some(command));
        let entry = own.next();
        let entry = entry.unwrap_or_else(|| panic!("{command} is not in {shown}"));
        history.undo(entry).unwrap();
    }
    assert_eq!(workspace.fs().read_to_string(&parse("/notes.txt")).await.unwrap(), "one\n");
}

#[tokio::test]
async fn a_command_keeps_what_others_type_meanwhile() {
    let workspace = new_workspace();
    let fs = workspace.fs();
    fs.write_text(&parse("/plan.txt"), "first line\nlast line\n").await.unwrap();
    let shell = labelled_shell(&workspace);
    // The command reads, waits for the file `go`, and writes what it read with a change.
    let script = "text=$(cat plan.txt); : > ready; while [ ! -e go ]; do sleep 0; done; \
                  echo \"${text/last/final}\" > plan.txt";
    let options = ExecuteOptions::default();
    let (ran, ()) = futures::join!(shell.execute(script, &options), async {
        while !fs.exists(&parse("/ready")).await {
            tokio::task::yield_now().await;
        }
        let edit = TextReplacement::once("first", "very first");
        fs.edit(&parse("/plan.txt"), &edit).await.unwrap();
        fs.write_text(&parse("/go"), "").await.unwrap();
    });
    assert_eq!(ran.unwrap().exit_code, Some(0));
    let text = fs.read_to_string(&parse("/plan.txt")).await.unwrap();
    assert_eq!(text, "very first line\nfinal line\n");
}

#[tokio::test]
async fn common_names_are_not_written_to_the_files() {
    let fs = Arc::new(MemoryFs::new());
    let shell = ShellExecutor::new(fs.clone(), ShellLimits::default());
    let (output, _) = run(&shell, "echo x > /dev/null; cat <(echo y); which ls; id -un").await;
    assert!(output.starts_with("y\n"), "{output}");
    let left = fs.walk(&VPath::root(), &Default::default()).await.unwrap();
    assert!(left.is_empty(), "{left:?}");
}

/// One session with its rules, and a labelled handle of the files for each command.
#[tokio::test]
async fn rules_hold_across_the_commands_of_a_session() {
    let workspace = new_workspace();
    workspace.fs().write_text(&parse("/drop/hush"), "TOPSECRET\n").await.unwrap();
    let rule = PermissionRule::new(RuleMode::Deny, &[AccessKind::Read], "/drop/**");
    let rules = PermissionRules::new([rule]).expect("a rule");
    let session = PermittedFs::new(Arc::new(workspace.fs()), rules).unwrap();
    let files = {
        let workspace = workspace.clone();
        move |command: &str| {
            let actor = Actor::new(ActorKind::Agent, "coder");
            let fs = workspace.fs_for(actor).labelled(command);
            Arc::new(session.with_inner(Arc::new(fs)).unwrap()) as Arc<dyn FileSystem>
        }
    };
    let shell = ShellExecutor::for_each_command(Arc::new(files), ShellLimits::default());
    run(&shell, "mkdir /pub; mv /drop/hush /pub/x").await;
    let (output, code) = run(&shell, "cat /pub/x").await;
    assert!(!output.contains("TOPSECRET") && code != Some(0), "{output}");
    run(&shell, "echo note > /pub/note").await;
    let history = workspace.history();
    let mut labels = history.changes(&VPath::root()).unwrap().map(|entry| entry.unwrap().label);
    assert!(labels.any(|label| label.as_deref() == Some("echo note > /pub/note")));
}

/// `rm -f` hides that a file does not exist, and nothing else.
#[tokio::test]
async fn a_forced_removal_reports_what_it_could_not_remove() {
    let inner = Arc::new(MemoryFs::new());
    for path in ["/secret/hush", "/locked/cfg", "/pub/deep/note"] {
        inner.write_text(&parse(path), "text\n").await.unwrap();
    }
    let both = [AccessKind::Read, AccessKind::Write];
    let rules = PermissionRules::new([
        PermissionRule::new(RuleMode::Deny, &both, "/{secret,secret/**}"),
        PermissionRule::new(RuleMode::Deny, &[AccessKind::Write], "/{locked,locked/**}"),
    ]);
    let fs = Arc::new(PermittedFs::new(inner.clone(), rules.unwrap()).unwrap());
    let shell = ShellExecutor::new(fs, ShellLimits::default());
    for (script, expected) in [
        ("rm -rf /secret", "rm: cannot remove '/secret': Permission denied\n"),
        ("rm -rf /locked", "rm: cannot remove '/locked': Permission denied\n"),
        ("rm -f /locked/cfg", "rm: cannot remove '/locked/cfg': Permission denied\n"),
        ("rm -f /pub", "rm: cannot remove '/pub': Is a directory\n"),
        ("rm /none", "rm: cannot remove '/none': No such file or directory\n"),
        ("rm -z /pub", "rm: invalid option -- 'z'\n"),
        (
            "cd /pub; rm -rf .",
            "rm: cannot remove '.': It is '/', '.' or '..', which rm does not remove\n",
        ),
    ] {
        assert_eq!(run(&shell, script).await, (expected.to_owned(), Some(1)), "{script}");
    }
    let script = "rm -rf /none /pub/none/x; rm -f; rm -rfv /pub/deep /none";
    assert_eq!(run(&shell, script).await, ("removed '/pub/deep'\n".to_owned(), Some(0)));
    assert!(
        inner.exists(&parse("/secret/hush")).await && inner.exists(&parse("/locked/cfg")).await
    );
    assert!(!inner.exists(&parse("/pub/deep")).await && inner.exists(&parse("/pub")).await);
}

/// A file has one name. A command that asks for a second one fails and makes nothing.
#[tokio::test]
async fn hard_links_are_refused_and_symbolic_ones_made() {
    let fs = Arc::new(MemoryFs::new());
    fs.write_text(&parse("/a"), "a\n").await.unwrap();
    fs.write_text(&parse("/dir/x"), "x\n").await.unwrap();
    let shell = ShellExecutor::new(fs.clone(), ShellLimits::default());
    let (output, code) = run(&shell, "ln a b").await;
    assert!(output.starts_with("ln: cannot create hard link 'b' to 'a'"), "{output}");
    assert!(output.contains("ln -s") && output.contains("cp") && code == Some(1), "{output}");
    assert!(fs.lstat(&parse("/b")).await.is_err(), "nothing was made");
    let script = "ln -s ../a dir && ln -sv a b && cat dir/a b && ln -s a b; ln -sf dir b; \
                  ln -sfn x b; readlink dir/a b";
    let expected = "'b' -> 'a'\na\na\nln: cannot create symbolic link 'b': File exists\n../a\nx\n";
    assert_eq!(run(&shell, script).await, (expected.to_owned(), Some(0)));
}
