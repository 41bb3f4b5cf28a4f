//! Comparison with the host's own tools: where the formats coincide, the same command prints the
//! same on an exported tree.

#![expect(clippy::unwrap_used, reason = "a panic fails the test, which is what it is for")]

use std::{env, path::Path, process::Command};

/// Creates a tree with all the cases that the commands distinguish.
const TREE: &str = r"
mkdir -p tree/src/deep tree/docs 'tree/with space' tree/empty
printf 'fn main() {\n    todo!()\n}\n' > tree/src/main.rs
printf 'one\ntwo\nthree\nfour\n' > tree/src/deep/numbers.txt
printf 'no newline at the end' > tree/docs/open.md
printf 'ünïcödé Straße\nsecond\n' > 'tree/docs/é.md'
printf 'a b c\n' > 'tree/with space/a file.txt'
seq 1 5000 > tree/long.txt
: > tree/empty.txt
printf 'hidden two\n' > tree/.hidden
ln -s src/main.rs tree/link
chmod 755 tree/src/main.rs
chmod 600 tree/docs/open.md
touch -d '2020-01-02 03:04:05 UTC' tree/src/main.rs tree/long.txt
yfs init ws --quiet
yfs --workspace ws --quiet import --no-ignore tree
yfs --workspace ws --quiet export / out
";

/// Commands with the same meaning in both, run in the root of the tree; a `!` means that order does
/// not matter.
const CASES: &[&str] = &[
    "ls",
    "ls -a",
    "ls -A docs",
    "ls -R .",
    "ls -r src",
    "ls -S -1 docs",
    "ls -d docs src",
    "ls src docs",
    "!find .",
    "!find . -type f",
    "!find . -type d",
    "!find . -type l",
    "!find src -name '*.rs'",
    "!find . -name '.*'",
    "!find ./ -name '.*'",
    "!find docs/.. -name '.*' -o -name docs",
    "!find . -iname '*.TXT'",
    "!find . -path './src/*'",
    "!find . -size +1 -type f",
    "!find . -size -3c -type f",
    "!find . -empty",
    "!find . -maxdepth 1",
    "!find . -mindepth 2 -not -name '*.md'",
    "!find . ( -name '*.md' -o -name '*.rs' ) -type f",
    "!find . -name src -prune -o -type f -print",
    "!find . -mtime +1000 -type f",
    "!find . -newermt 2021-01-01 -type f",
    "!find . -perm 755 -type f",
    "!find . -perm -600 -type f",
    "!find . -perm /111 -type f",
    "find src -depth -name deep",
    "head -n 3 long.txt",
    "head -n -4998 long.txt",
    "head -c 7 long.txt",
    "head src/main.rs docs/open.md",
    "tail -n 2 long.txt",
    "tail -n +4999 long.txt",
    "tail -c 5 long.txt",
    "tail -c +23880 long.txt",
    "tail -n 1 docs/open.md src/deep/numbers.txt",
    "cat docs/open.md src/deep/numbers.txt",
    "cat -n src/deep/numbers.txt",
    "grep -n two src/deep/numbers.txt",
    "grep two src/deep/numbers.txt long.txt",
    "!grep -rn two src docs",
    "!grep -rl o docs src",
    "grep -c 9 long.txt",
    "grep -ci STRA docs/é.md",
    "grep -w one src/deep/numbers.txt",
    "grep -F 'todo!(' src/main.rs",
    "grep -E 't(w|h)' src/deep/numbers.txt",
    "grep -n -A 1 two src/deep/numbers.txt",
    "grep -n -B 1 three src/deep/numbers.txt",
    "grep -n -C 1 49 long.txt",
    "grep -m 2 1 long.txt",
    "grep -h two src/deep/numbers.txt long.txt",
    "grep -q two src/deep/numbers.txt",
    "grep nothing long.txt",
    "grep -n ^ docs/open.md",
    "readlink link",
    "stat -c '%n %s %a %F' src/main.rs docs/open.md empty.txt",
    "stat -c '%s %Y' long.txt src/main.rs",
    "stat -c %N link",
];

#[test]
fn the_same_command_says_the_same_on_both_sides() {
    let dir = tempfile::tempdir().unwrap();
    let made = sh(dir.path(), TREE);
    assert_eq!(made.0, Some(0), "{}", made.1);
    // First the tree itself, byte for byte.
    let same = sh(dir.path(), "diff -r --no-dereference tree out");
    assert_eq!(same, (Some(0), String::new()));
    let mut differences = Vec::new();
    for case in CASES {
        let (case, sorted) = case.strip_prefix('!').map_or((*case, false), |case| (case, true));
        let shell = case.replace('(', r"\(").replace(')', r"\)");
        let shell = if case.starts_with("find") { shell } else { case.to_owned() };
        let ours = sh(dir.path(), &format!("cd out && yfs --workspace ../ws {shell}"));
        let theirs = sh(dir.path(), &format!("cd out && {shell}"));
        if tidy(ours.clone(), sorted) != tidy(theirs.clone(), sorted) {
            differences.push(format!(
                "{case}\n--- ours {:?}\n{}--- theirs {:?}\n{}",
                ours.0, ours.1, theirs.0, theirs.1
            ));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

fn tidy((code, text): (Option<i32>, String), sorted: bool) -> (Option<i32>, Vec<String>) {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if sorted {
        lines.sort();
    }
    (code, lines)
}

fn sh(dir: &Path, script: &str) -> (Option<i32>, String) {
    let program = Path::new(env!("CARGO_BIN_EXE_yfs")).parent().unwrap().to_owned();
    let path = env::var_os("PATH").unwrap();
    let path = env::join_paths(std::iter::once(program).chain(env::split_paths(&path))).unwrap();
    let output = Command::new("sh")
        .args(["-ec", script])
        .current_dir(dir)
        .env("PATH", path)
        .envs([("TZ", "UTC"), ("LC_ALL", "C.UTF-8"), ("LANGUAGE", "C")])
        .env_remove("YFS_WORKSPACE")
        .env_remove("GREP_OPTIONS")
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}
