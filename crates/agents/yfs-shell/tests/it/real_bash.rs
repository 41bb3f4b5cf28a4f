//! Common scripts, run by real bash in a directory and by this shell in another. Both must print
//! the same and leave the same files.

use std::{path::Path, process::Command, sync::Arc};

use proptest::prelude::*;
use yfs_agent::{CommandExecutor, ExecuteOptions};
use yfs_conformance::file_system::script::tree;
use yfs_shell::{ShellExecutor, ShellLimits};
use yfs_vfs::{FileSystem, HostFs};

/// The scripts, separated by lines of dashes.
const SCRIPTS: &str = include_str!("scripts.txt");

/// The output, the exit code, and the files afterwards.
type ShellRun = (String, Option<i32>, String);

fn prepare(directory: &Path) {
    std::fs::create_dir_all(directory.join("src/deep")).expect("a directory of this test");
    std::fs::write(directory.join("a.txt"), "banana\napple\ncherry\napple\n")
        .expect("a directory of this test");
    std::fs::write(directory.join("data.csv"), "name,age\nada,36\ngrace,85\n")
        .expect("a directory of this test");
    std::fs::write(directory.join("data.json"), "{\"a\":[1,2,{\"b\":\"c\"}]}\n")
        .expect("a directory of this test");
    std::fs::write(directory.join("src/main.rs"), "fn main() {\n    // TODO: x\n}\n")
        .expect("a directory of this test");
    std::fs::write(directory.join("src/deep/lib.rs"), "// TODO: y\npub fn f() {}\n")
        .expect("a directory of this test");
    std::fs::write(directory.join("with space.txt"), "s p a c e\n")
        .expect("a directory of this test");
}

async fn files_of(directory: &Path) -> String {
    tree(&HostFs::open(directory).expect("a directory of this test"))
        .await
        .expect("a directory of this test")
}

async fn run_real(script: &str) -> ShellRun {
    let directory = tempfile::tempdir().expect("a directory of this test");
    prepare(directory.path());
    let ran = Command::new("bash")
        .args(["-c", script])
        .current_dir(directory.path())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("LC_ALL", "C.UTF-8")
        .output()
        .expect("these tests need bash");
    let output = String::from_utf8_lossy(&ran.stdout).into_owned();
    (output, ran.status.code(), files_of(directory.path()).await)
}

async fn run_ours(script: &str) -> ShellRun {
    let directory = tempfile::tempdir().expect("a directory of this test");
    prepare(directory.path());
    let fs = Arc::new(HostFs::open(directory.path()).expect("a directory of this test"))
        as Arc<dyn FileSystem>;
    let shell = ShellExecutor::new(fs, ShellLimits::default()).with_env("LC_ALL", "C.UTF-8");
    // Only the standard output is compared: messages differ between versions of bash.
    let script = format!("exec 2>/dev/null\n{script}");
    let ran = shell.execute(&script, &ExecuteOptions::default()).await;
    let ran = ran.unwrap_or_else(|error| panic!("{script}: {error}"));
    (ran.output, ran.exit_code, files_of(directory.path()).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn common_scripts_do_what_bash_does() {
    let scripts: Vec<&str> = SCRIPTS.split("\n----\n").map(str::trim).collect();
    assert!(scripts.len() >= 60, "there are {} scripts", scripts.len());
    let mut failures = Vec::new();
    for script in scripts {
        let (real, ours) = (run_real(script).await, run_ours(script).await);
        if real != ours {
            failures.push(format!("{script}\n  bash: {real:?}\n  ours: {ours:?}"));
        }
    }
    assert!(failures.is_empty(), "{} differ:\n{}", failures.len(), failures.join("\n\n"));
}

/// A word of a random script, without characters that either shell would treat as more than text.
fn word() -> impl Strategy<Value = String> {
    prop::sample::select(&["a", "b c", "x*y", "$v", "é", "", "-n", "\\", "a'b"][..])
        .prop_map(|word| if word == "$v" { "\"$v\"".to_owned() } else { quoted(word) })
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn line() -> impl Strategy<Value = String> {
    let file = || prop::sample::select(&["f", "g", "src/h"][..]);
    prop_oneof![
        (word(), file()).prop_map(|(word, file)| format!("printf '%s\\n' {word} > {file}")),
        (word(), file()).prop_map(|(word, file)| format!("printf '%s\\n' {word} >> {file}")),
        file().prop_map(|file| format!("cat {file} 2>/dev/null || printf 'none\\n'")),
        (file(), file()).prop_map(|(from, to)| format!("cp {from} {to} 2>/dev/null; echo $?")),
        (file(), file()).prop_map(|(from, to)| format!("mv {from} {to} 2>/dev/null; echo $?")),
        file().prop_map(|file| format!("rm {file} 2>/dev/null; echo $?")),
        word().prop_map(|word| format!("v={word}; printf '<%s>\\n' \"$v\"")),
        word().prop_map(|word| format!("for w in {word} z; do printf '[%s]' \"$w\"; done; echo")),
        file().prop_map(|file| format!("[ -s {file} ] && echo full || echo empty")),
        file().prop_map(|file| format!("sort {file} 2>/dev/null | uniq -c | wc -l | tr -d ' '")),
        file().prop_map(|file| format!("sed -i s/a/b/g {file} 2>/dev/null; echo $?")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_scripts_do_what_bash_does(lines in prop::collection::vec(line(), 1..12)) {
        let script = format!("v=; {}", lines.join("\n"));
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.expect("a runtime");
        let (real, ours) =
            runtime.block_on(async { (run_real(&script).await, run_ours(&script).await) });
        prop_assert_eq!(real, ours, "{}", script);
    }
}
