//! Tests of commands on the host.

use std::time::Duration;

use yfs_vfs::{CancellationToken, FileSystemExt};

use super::{
    super::{
        AgentBackend, ContainerShell, HostShell, LocalBackend, SandboxBackend,
        find_container_engine, transfer::transfer_path,
    },
    parse,
};
use crate::execute::{CommandExecutor, ExecuteError, ExecuteOptions};

/// A limit that no command in these tests reaches.
const LONG: Duration = Duration::from_secs(600);

fn options() -> ExecuteOptions {
    ExecuteOptions { timeout: Some(LONG), ..ExecuteOptions::default() }
}

#[tokio::test]
async fn commands_run_in_the_directory_of_the_files() {
    let directory = tempfile::tempdir().unwrap();
    let shell = HostShell::new(directory.path()).unwrap().with_env("GREETING", "hi");
    let local = LocalBackend::open(directory.path()).unwrap().with_shell(shell);
    local.fs().write_text(&parse("/sub/f"), "content\n").await.unwrap();
    let executor = local.executor().unwrap();
    let run = async |command: &str| executor.execute(command, &options()).await.unwrap();
    let ran = run("cat sub/f; echo $GREETING; echo err >&2; exit 3").await;
    assert_eq!((ran.output.as_str(), ran.exit_code), ("content\nhi\nerr\n", Some(3)));
    run("echo made > out").await;
    assert_eq!(local.fs().read_to_string(&parse("/out")).await.unwrap(), "made\n");
    assert_eq!(run("kill -9 $$").await.exit_code, None);
    assert_eq!(run("cat").await.output, "");
}

#[tokio::test]
async fn the_environment_is_inherited_only_on_request() {
    let directory = tempfile::tempdir().unwrap();
    // Cargo sets this variable for tests.
    let command = "echo \"<$CARGO_PKG_NAME>\"";
    let own = HostShell::new(directory.path()).unwrap();
    let ran = own.execute(command, &options()).await.unwrap();
    assert_eq!(ran.output, "<>\n");
    let ran = own.inheriting_env(true).execute(command, &options()).await.unwrap();
    assert_eq!(ran.output, "<yfs-agent>\n");
}

#[tokio::test]
async fn output_is_bounded_while_it_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let shell = HostShell::new(directory.path()).unwrap();
    let limits = ExecuteOptions { max_output_bytes: 1_000, ..options() };
    let ran = shell.execute("yes | head -c 50000000; printf end", &limits).await.unwrap();
    assert_eq!((ran.output.len(), ran.truncated, ran.exit_code), (1_000, true, Some(0)));
    let ran = shell.execute("printf 1234", &limits).await.unwrap();
    assert!(!ran.truncated);
    let limits = ExecuteOptions { max_output_bytes: 5, ..options() };
    let ran = shell.execute("printf '\\303\\244\\303\\244\\303\\244'", &limits).await.unwrap();
    assert!(ran.output.len() <= 5 && ran.truncated, "{ran:?}");
    // 500 KB pass whole.
    let limits = ExecuteOptions { max_output_bytes: 1_000_000, ..options() };
    let ran = shell.execute("yes | head -c 500000", &limits).await.unwrap();
    assert_eq!((ran.output.len(), ran.truncated), (500_000, false));
}

/// The shell prints the number of a process that it leaves behind. That process must be gone.
#[tokio::test]
async fn a_timeout_and_a_cancellation_kill_the_whole_group() {
    let directory = tempfile::tempdir().unwrap();
    let shell = HostShell::new(directory.path()).unwrap();
    let command = "sleep 1000 & echo $! ; (sleep 1000; echo late) & wait";
    let mut timeout = Duration::from_millis(300);
    let printed = loop {
        let limits = ExecuteOptions { timeout: Some(timeout), ..options() };
        let error = shell.execute(command, &limits).await.unwrap_err();
        let ExecuteError::TimedOut { partial, .. } = error else { panic!("{error}") };
        if partial.output.ends_with('\n') {
            break partial.output;
        }
        // Too short for a shell on this machine.
        timeout *= 2;
        assert!(timeout < LONG, "the shell prints nothing");
    };
    assert_gone(&printed);

    let cancel = CancellationToken::new();
    let limits = ExecuteOptions { cancel: cancel.clone(), ..options() };
    let command = "sleep 1000 & echo $! > started; echo $!; wait";
    let (ran, ()) = futures::join!(shell.execute(command, &limits), async {
        while !std::fs::read_to_string(directory.path().join("started"))
            .is_ok_and(|text| text.ends_with('\n'))
        {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    });
    let started = std::fs::read_to_string(directory.path().join("started")).unwrap();
    assert!(matches!(ran, Err(ExecuteError::Cancelled { .. })), "{ran:?}");
    assert_gone(&started);
}

#[tokio::test]
async fn what_a_command_leaves_behind_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let shell = HostShell::new(directory.path()).unwrap();
    let ran = shell.execute("sleep 1000 & echo $!", &options()).await.unwrap();
    assert_eq!(ran.exit_code, Some(0));
    assert_gone(&ran.output);
}

#[tokio::test]
async fn a_dropped_call_kills_the_group() {
    let directory = tempfile::tempdir().unwrap();
    let shell = HostShell::new(directory.path()).unwrap();
    let started = directory.path().join("started");
    let task = tokio::spawn(async move {
        shell.execute("sleep 1000 & echo $! > started; wait", &options()).await
    });
    while !std::fs::read_to_string(&started).is_ok_and(|text| text.ends_with('\n')) {
        tokio::task::yield_now().await;
    }
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    assert_gone(&std::fs::read_to_string(&started).unwrap());
}

/// Waits until a process that was killed is gone, or is a zombie that its new parent has not reaped
/// yet. A process that was not killed would run for longer than any test.
fn assert_gone(number: &str) {
    let pid: u32 = number.trim().parse().expect("the number of a process");
    loop {
        let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let state = status.rsplit(") ").next().unwrap_or_default().chars().next();
        if matches!(state, None | Some('Z' | 'X')) {
            return;
        }
        assert_ne!(state, Some('S'), "process {pid} sleeps on: {status}");
        std::thread::yield_now();
    }
}

#[tokio::test]
async fn a_sandbox_runs_commands_on_its_files() {
    let sandbox = SandboxBackend::local().unwrap();
    sandbox.fs().write_text(&parse("/in"), "data").await.unwrap();
    let executor = sandbox.executor().unwrap();
    let ran = executor.execute("cp in out; cd; pwd > home", &options()).await.unwrap();
    assert_eq!(ran.exit_code, Some(0));
    assert_eq!(sandbox.fs().read_to_string(&parse("/out")).await.unwrap(), "data");
}

/// Needs a container engine with an image that has `sh`, named by `YFS_TEST_IMAGE`.
#[tokio::test]
async fn a_container_runs_commands_on_its_files() {
    let Some(engine) = find_container_engine() else { return };
    let Ok(image) = std::env::var("YFS_TEST_IMAGE") else { return };
    let directory = tempfile::tempdir().unwrap();
    let shell = ContainerShell::new(engine, &image, directory.path()).unwrap();
    let sandbox = SandboxBackend::container(shell).unwrap();
    sandbox.fs().write_text(&parse("/in"), "data").await.unwrap();
    let executor = sandbox.executor().unwrap();
    let ran = executor.execute("cat in", &options()).await.unwrap();
    assert_eq!((ran.output.as_str(), ran.exit_code), ("data", Some(0)));
}

#[tokio::test]
async fn local_paths_stay_below_the_root() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "SECRET").unwrap();
    let root = outside.path().join("root");
    std::fs::create_dir_all(root.join("lib")).unwrap();
    std::fs::write(root.join("lib/app"), "app").unwrap();
    std::os::unix::fs::symlink("../secret", root.join("up")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("secret"), root.join("abs")).unwrap();
    std::os::unix::fs::symlink("..", root.join("dir")).unwrap();
    let local = LocalBackend::open(&root).unwrap();
    assert_eq!(local.fs().read_to_string(&parse("/lib/app")).await.unwrap(), "app");
    for path in ["/up", "/abs", "/dir/secret", "/~/x", "/~root", "/C:/x", "/c:"] {
        assert!(local.fs().read(&parse(path)).await.is_err(), "{path}");
        assert!(local.fs().write_text(&parse(path), "x").await.is_err(), "{path}");
    }
    assert_eq!(std::fs::read_to_string(outside.path().join("secret")).unwrap(), "SECRET");
    for text in ["../x", "/a/../b", "~", "~/x", "C:/x", "C:\\x", "a\\b", "lib/app", "", "/\0"] {
        assert!(transfer_path(text).is_err(), "{text:?}");
    }
    assert_eq!(transfer_path("//lib/./app").unwrap(), parse("/lib/app"));
}
