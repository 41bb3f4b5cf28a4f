//! Commands that try to use more than they may. Each ends within its limits.

use std::{sync::Arc, time::Duration};

use yfs_agent::{CommandExecutor, ExecuteError, ExecuteOptions};
use yfs_shell::{ShellExecutor, ShellLimits};
use yfs_vfs::{CancellationToken, FileSystemExt, MemoryFs};

/// The most output that a command may print.
const MAX_OUTPUT: usize = 10_000;

/// The most memory that the tests of this file may have used at any time, in KiB. The limits of one
/// command are a fraction of it; a bomb that goes off needs many times more.
const MAX_RESIDENT_KIB: u64 = 2_000_000;

const BOMBS: &[&str] = &[
    "while :; do :; done",
    "while true; do echo x; done",
    "for ((;;)); do :; done",
    "until false; do :; done",
    "f() { f; }; f",
    "f() { f | f & }; f",
    ":(){ :|:& };:",
    "f() { f & f & }; f; wait",
    "f() { $(f); }; f",
    "f() { (f); }; f",
    "eval() { builtin eval \"$1\"; }; x='eval \"$x\"'; eval \"$x\"",
    "x=a; while :; do x=$x$x; done",
    "a=(x); while :; do a+=(\"${a[@]}\"); done",
    "echo {1..1000000000}",
    "x={a,b}{a,b}{a,b}{a,b}{a,b}{a,b}; eval echo $x$x$x$x",
    "printf '%1000000000d' 1",
    "printf '%.0sx' {1..10000000}",
    "x=$(printf '%099999999d' 0); echo ${#x}",
    "seq 1 1000000000",
    "seq 1 1000000000 > big",
    "yes",
    "yes > big",
    "cat /dev/zero",
    "head -c 100000000000 /dev/zero",
    "head -c 100000000000 /dev/zero > big",
    "cat /dev/zero | tr '\\0' x | sort",
    "awk 'BEGIN { while (1) {} }'",
    "awk 'BEGIN { x = \"a\"; while (1) x = x x }'",
    "awk 'function f() { f() } BEGIN { f() }'",
    "echo x | sed ':a;s/x/xx/;ba'",
    "jq -n 'def f: f; f'",
    "jq -n '[range(1e12)]'",
    "jq -n '\"x\" * 1000000000'",
    "jq -n 'last(repeat(1))'",
    "[[ aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab =~ ^(a+)+$ ]]",
    "echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab | grep -E '^(a|aa)+$'",
    "echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab | grep -E '((((a{1,100}){1,100}){1,100}){1,100})'",
    "[[ aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa == *a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b ]]",
    "echo x > f; while :; do cat f f > g; mv g f; done",
    "while :; do echo x >> f; done",
    "i=0; while :; do mkdir d$i; i=$((i+1)); done",
    "mkdir d; cd d; while :; do mkdir d; cd d; done",
    "find / -exec find / -exec find / \\; \\; \\;",
    "xargs -I{} sh -c 'yes' < /dev/zero",
    "exec 3< /dev/zero; while read -u 3 x; do :; done",
    "read x < /dev/zero",
    "trap 'kill -TERM $$' TERM; kill -TERM $$",
    "source /dev/stdin <<< 'while :; do :; done'",
    "echo 'sh ./s' > s; sh ./s",
    "sleep 1000000",
    "timeout 1000000 sleep 1000000",
    "wait; sleep 100000 & wait",
    "make -f - <<< $'a: b\\nb: a'",
    "dd if=/dev/zero of=big bs=1000000000 count=1000",
    "truncate -s 1000000000000 big",
    "fallocate -l 1000000000000 big",
    "sort -R <(yes)",
    "paste <(yes) <(yes) | tail -1",
    "tac <(yes)",
    "echo $(( 2 ** 2 ** 2 ** 2 ** 2 ** 2 ))",
    "factor 1000000000000000003000000000000000000000001",
    "bc <<< '2^2^2^2^2^2^2'",
    "base64 /dev/urandom | head -c 10000000000 | md5sum",
];

#[tokio::test(flavor = "multi_thread")]
async fn bombs_end_within_their_limits() {
    let limits = ShellLimits { max_memory: 8_000_000, ..ShellLimits::default() };
    let mut failures = Vec::new();
    for bomb in BOMBS {
        let files = Arc::new(MemoryFs::new());
        let shell = ShellExecutor::new(files.clone(), limits);
        let options = ExecuteOptions {
            timeout: Some(Duration::from_millis(1_500)),
            max_output_bytes: MAX_OUTPUT,
            ..ExecuteOptions::default()
        };
        let ran = shell.execute(bomb, &options).await;
        let output = match &ran {
            Ok(output) => output,
            Err(ExecuteError::TimedOut { partial, .. }) => partial,
            Err(error) => {
                failures.push(format!("{bomb}: {error}: {error:?}"));
                continue;
            }
        };
        // The reason of a refusal may follow the output.
        if output.output.len() > MAX_OUTPUT {
            failures.push(format!("{bomb}: {} bytes of output", output.output.len()));
        }
        let totals = files.totals(&"/".parse().unwrap()).await.unwrap();
        if totals.n_bytes > limits.max_written_bytes {
            failures.push(format!("{bomb}: {} bytes of files", totals.n_bytes));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let peak = peak_resident_kib();
    assert!(peak < MAX_RESIDENT_KIB, "the bombs used {peak} KiB");
}

fn peak_resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a Linux host");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// Programs that end when their reader does.
#[tokio::test]
async fn endless_producers_end_with_their_reader() {
    let shell = ShellExecutor::new(Arc::new(MemoryFs::new()), ShellLimits::default());
    for (script, expected) in [
        ("yes | head -3", "y\ny\ny\n"),
        ("while :; do echo z; done | head -2", "z\nz\n"),
        ("yes | head -c 4 | wc -c", "4\n"),
    ] {
        let ran = shell.execute(script, &ExecuteOptions::default()).await;
        assert_eq!(ran.map(|ran| ran.output.replace(' ', "")).ok().as_deref(), Some(expected));
    }
}

#[tokio::test]
async fn a_cancelled_command_changes_nothing_afterwards() {
    let files = Arc::new(MemoryFs::new());
    let shell = ShellExecutor::new(files.clone(), ShellLimits::default());
    let cancel = CancellationToken::new();
    let options = ExecuteOptions { cancel: cancel.clone(), ..ExecuteOptions::default() };
    let script = "echo begun > begun; sleep 100000; echo late > late";
    let (ran, ()) = futures::join!(shell.execute(script, &options), async {
        while !files.exists(&"/begun".parse().unwrap()).await {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    });
    assert!(matches!(ran, Err(ExecuteError::Cancelled { .. })), "{ran:?}");
    assert!(!files.exists(&"/late".parse().unwrap()).await);
}

#[tokio::test]
async fn output_is_cut_and_reported() {
    let shell = ShellExecutor::new(Arc::new(MemoryFs::new()), ShellLimits::default());
    let options = ExecuteOptions { max_output_bytes: 5, ..ExecuteOptions::default() };
    let ran = shell.execute("echo 123456789; exit 3", &options).await.unwrap();
    assert_eq!((ran.output.as_str(), ran.truncated, ran.exit_code), ("12345", true, Some(3)));
    let ran = shell.execute("echo 1234", &options).await.unwrap();
    assert_eq!((ran.output.as_str(), ran.truncated), ("1234\n", false));
}

#[tokio::test]
async fn there_is_no_network() {
    let shell = ShellExecutor::new(Arc::new(MemoryFs::new()), ShellLimits::default());
    for script in [
        "curl http://127.0.0.1:1/",
        "wget http://127.0.0.1:1/",
        "http http://127.0.0.1:1/",
        "ssh localhost true",
        "git clone http://127.0.0.1:1/x",
        "exec 3<>/dev/tcp/127.0.0.1/1",
    ] {
        let ran = shell.execute(script, &ExecuteOptions::default()).await.unwrap();
        assert_ne!(ran.exit_code, Some(0), "{script}: {}", ran.output);
    }
}

/// A command that a limit of its own cuts short says so on standard error, and fails.
#[tokio::test]
async fn a_command_that_is_cut_short_says_so() {
    let shell = ShellExecutor::new(Arc::new(MemoryFs::new()), ShellLimits::default());
    for (script, expected) in [
        ("seq 1 2000000 > /f; echo $?", "seq: line limit (100000) exceeded; output truncated\n1\n"),
        ("yes > /f; echo $?", "yes: output limit (10000 lines) exceeded; output truncated\n1\n"),
        (
            "yes | head -c 5000000 | wc -c | tr -d ' '",
            "yes: output limit (10000 lines) exceeded; output truncated\n20000\n",
        ),
    ] {
        let ran = shell.execute(script, &ExecuteOptions::default()).await.unwrap();
        let sorted = |text: &str| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted(&ran.output), sorted(expected), "{script}");
    }
}
