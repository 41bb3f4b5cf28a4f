//! Comparison of the commands with the host's coreutils, findutils and grep, case by case.
//!
//! A case is a line of shell that runs twice in the same tree: with the host's tools in a
//! directory, and with the commands of yfs in a workspace. `tests/compared/read.txt` has cases that
//! only read; their standard output must be the same. `tests/compared/state.txt` has cases that
//! change the tree; their output and the tree afterwards (names, kinds, modes, contents, targets of
//! links) must be the same. In both, success or failure must be the same.
//!
//! A line `~ CASE  # REASON` is a difference that yfs intends; the test fails if there is none any
//! more. `docs/guides/commands-compared.md` explains these differences.

#![expect(clippy::unwrap_used, reason = "a panic fails the test, which is what it is for")]
#![expect(clippy::print_stdout, reason = "a skipped case is named in the output of the test")]

use std::{
    collections::BTreeMap,
    env, fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use yfs::{Workspace, WorkspaceOptions};
use yfs_engine::{actor::Actor, path::VPath};
use yfs_vfs::{FileKind, FileSystem, FileSystemExt, WalkOptions};

/// Creates the tree, in the current directory.
const TREE: &str = r"
umask 022
mkdir -p src/deep docs/empty
printf 'int main() {\n  return 0; // TODO\n}\n' > src/a.c
printf 'int main() {\n  return 1;\n}\n' > src/a.bak
printf 'hello world\nTODO one\nfoo bar\nlast line\n' > src/deep/d.txt
printf 'one\ntwo\nthree' > docs/nonl.txt
: > docs/empty.txt
printf '\000\001\002\377bin' > docs/bin.dat
printf 'naïve café\nübung\n日本語\n\nend\n' > docs/utf8.txt
printf 'TODO\nmain\n' > docs/pats.txt
printf 'a\tb\n\n' > docs/tabs.txt
printf 'a\n\n\n\nb\n' > docs/blank.txt
seq 1 100 > docs/num.txt
printf '#!/bin/sh\necho hi\n' > run.sh
chmod 755 run.sh
printf 'dash\n' > ./-dash
printf 'sp\n' > 'with space'
printf 'h\n' > .hidden
: > old.txt
ln -s src/a.c link
ln -s docs dirlink
ln -s nowhere dangling
find . -type f -exec touch -d '2022-03-04 05:06:07 UTC' {} +
touch -d '2020-01-02 03:04:05 UTC' old.txt
touch -d '2021-01-02 03:04:05 UTC' src/a.c
";

/// The commands that the cases run: on one side the host's, on the other those of yfs.
const TOOLS: [&str; 17] = [
    "cat", "chmod", "cp", "du", "find", "grep", "head", "ln", "ls", "mkdir", "mv", "readlink",
    "rm", "rmdir", "stat", "tail", "touch",
];

#[test]
fn cat_head_and_tail_print_the_same() {
    compare_reading(&["cat", "head", "tail"]);
}

#[test]
fn grep_prints_the_same() {
    compare_reading(&["grep"]);
}

#[test]
fn find_prints_the_same() {
    compare_reading(&["find"]);
}

#[test]
fn ls_stat_du_and_readlink_print_the_same() {
    compare_reading(&["ls", "stat", "du", "readlink"]);
}

#[test]
fn cp_leaves_the_same_tree() {
    compare_changing(&["cp"]);
}

#[test]
fn mv_leaves_the_same_tree() {
    compare_changing(&["mv"]);
}

#[test]
fn rm_and_rmdir_leave_the_same_tree() {
    compare_changing(&["rm", "rmdir"]);
}

#[test]
fn mkdir_ln_and_touch_leave_the_same_tree() {
    compare_changing(&["mkdir", "ln", "touch"]);
}

#[test]
fn chmod_leaves_the_same_tree() {
    compare_changing(&["chmod"]);
}

#[test]
fn every_case_is_in_a_test() {
    let tested = "cat head tail grep find ls stat du readlink cp mv rm rmdir mkdir ln touch chmod";
    for file in ["read.txt", "state.txt"] {
        for case in cases(file) {
            assert!(tested.split(' ').any(|tool| tool == case.tool), "{}", case.script);
        }
    }
}

/// A line of the tables.
struct ComparedCase {
    script: String,
    /// The command that the case is about.
    tool: String,
    /// Whether yfs intends to differ.
    differs: bool,
}

/// The result of a case.
#[derive(Debug, PartialEq, Eq)]
struct CaseResult {
    succeeded: bool,
    output: Vec<u8>,
    /// One line for each object in the tree; empty for cases that only read.
    tree: BTreeMap<String, String>,
}

/// The two sides, in a temporary directory.
struct ComparedSides {
    dir: tempfile::TempDir,
    /// A directory with a script for each command, which runs that command of yfs.
    scripts: PathBuf,
}

fn cases(file: &str) -> Vec<ComparedCase> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compared").join(file);
    let text = fs::read_to_string(file).unwrap();
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (line, differs) = match line.strip_prefix("~ ") {
                Some(line) => (line.split("  # ").next().unwrap(), true),
                None => (line, false),
            };
            let mut words = line.split(' ').filter(|word| !word.contains('='));
            let tool = words.next().unwrap().to_owned();
            ComparedCase { script: line.to_owned(), tool, differs }
        })
        .collect()
}

fn compare_reading(tools: &[&str]) {
    let sides = ComparedSides::new();
    compare("read.txt", tools, |case| {
        (sides.run_host("tree", &case.script), sides.run_yfs("workspace", &case.script))
    });
}

fn compare_changing(tools: &[&str]) {
    let sides = ComparedSides::new();
    compare("state.txt", tools, |case| {
        for copy in ["host", "ours"] {
            fs::remove_dir_all(sides.dir.path().join(copy)).ok();
        }
        let copied = sides.sh("cp -a tree host && cp -a workspace ours", None);
        assert!(copied.succeeded, "the tree was not copied");
        let mut host = sides.run_host("host", &case.script);
        let mut ours = sides.run_yfs("ours", &case.script);
        read_host_tree(&sides.dir.path().join("host"), "", &mut host.tree);
        ours.tree = read_workspace_tree(&sides.dir.path().join("ours/.yfs/workspace.db"));
        (host, ours)
    });
}

fn compare(
    file: &str,
    tools: &[&str],
    mut run: impl FnMut(&ComparedCase) -> (CaseResult, CaseResult),
) {
    let mut wrong = Vec::new();
    for case in cases(file).iter().filter(|case| tools.contains(&case.tool.as_str())) {
        if !is_gnu(&case.tool) {
            println!("skipped, because this host has no GNU {}: {}", case.tool, case.script);
            continue;
        }
        let (host, ours) = run(case);
        match (host == ours, case.differs) {
            (true, true) => wrong.push(format!("{}\nis the same on both sides", case.script)),
            (false, false) => wrong.push(describe_difference(&case.script, &host, &ours)),
            _ => (),
        }
    }
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}

fn describe_difference(script: &str, host: &CaseResult, ours: &CaseResult) -> String {
    let mut text =
        format!("{script}\n  succeeded: host {}, yfs {}\n", host.succeeded, ours.succeeded);
    if host.output != ours.output {
        let shown = |output: &[u8]| String::from_utf8_lossy(output).into_owned();
        text += &format!("--- host\n{}--- yfs\n{}", shown(&host.output), shown(&ours.output));
    }
    for (path, object) in &host.tree {
        if ours.tree.get(path) != Some(object) {
            text += &format!("  host {path}: {object}\n");
        }
    }
    for (path, object) in &ours.tree {
        if host.tree.get(path) != Some(object) {
            text += &format!("  yfs  {path}: {object}\n");
        }
    }
    text
}

/// Reports whether the host's tool is GNU's, whose behavior the cases expect.
fn is_gnu(tool: &str) -> bool {
    let output = Command::new(tool).arg("--version").stderr(Stdio::null()).output();
    output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("GNU"))
}

impl ComparedSides {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let scripts = dir.path().join("scripts");
        fs::create_dir(&scripts).unwrap();
        let program = env!("CARGO_BIN_EXE_yfs");
        for tool in TOOLS {
            let script = scripts.join(tool);
            fs::write(&script, format!("#!/bin/sh\nexec '{program}' {tool} \"$@\"\n")).unwrap();
            fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let sides = Self { dir, scripts };
        fs::create_dir(sides.dir.path().join("tree")).unwrap();
        let made = sides.run_host("tree", &format!("set -e\n{TREE}"));
        assert!(made.succeeded, "the tree was not created");
        let import = format!(
            "'{program}' init workspace --quiet && \
             '{program}' --workspace workspace --quiet import --no-ignore tree"
        );
        let imported = sides.sh(&import, None);
        assert!(imported.succeeded, "the tree was not imported");
        sides
    }

    fn run_host(&self, dir: &str, script: &str) -> CaseResult {
        self.sh(&format!("umask 022\ncd {dir}\n{script}"), None)
    }

    fn run_yfs(&self, workspace: &str, script: &str) -> CaseResult {
        // The current directory has the same names, because the shell expands patterns there.
        self.sh(&format!("umask 022\ncd tree\n{script}"), Some(workspace))
    }

    fn sh(&self, script: &str, workspace: Option<&str>) -> CaseResult {
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(self.dir.path()).stdin(Stdio::null());
        command.envs([("TZ", "UTC"), ("LC_ALL", "C.UTF-8"), ("LANGUAGE", "C")]);
        for name in ["YFS_WORKSPACE", "POSIXLY_CORRECT", "GREP_OPTIONS", "GREP_COLORS"] {
            command.env_remove(name);
        }
        if let Some(workspace) = workspace {
            let path = env::var_os("PATH").unwrap();
            let paths = std::iter::once(self.scripts.clone()).chain(env::split_paths(&path));
            command.env("PATH", env::join_paths(paths).unwrap());
            command.env("YFS_WORKSPACE", self.dir.path().join(workspace));
        }
        let output = command.output().unwrap();
        let succeeded = output.status.success();
        CaseResult { succeeded, output: output.stdout, tree: BTreeMap::new() }
    }
}

/// Describes the objects below a directory of the host.
fn read_host_tree(dir: &Path, prefix: &str, tree: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{prefix}/{}", entry.file_name().to_str().unwrap());
        let metadata = entry.metadata().unwrap();
        let mode = metadata.permissions().mode() & 0o7777;
        let open_up = || {
            // A user other than root reads only what the mode allows; the mode is recorded before.
            fs::set_permissions(entry.path(), fs::Permissions::from_mode(mode | 0o700)).unwrap();
        };
        if metadata.is_symlink() {
            let target = fs::read_link(entry.path()).unwrap();
            tree.insert(path, format!("link {}", target.display()));
        } else if metadata.is_dir() {
            open_up();
            tree.insert(path.clone(), format!("directory {mode:o}"));
            read_host_tree(&entry.path(), &path, tree);
        } else {
            open_up();
            let content = fs::read(entry.path()).unwrap();
            tree.insert(path, format!("file {mode:o} {:?}", String::from_utf8_lossy(&content)));
        }
    }
}

/// Describes the objects of a workspace.
fn read_workspace_tree(file: &Path) -> BTreeMap<String, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let workspace = Workspace::open_at(file, WorkspaceOptions::reading()).unwrap();
        let fs = workspace.fs_for("human:test".parse::<Actor>().unwrap());
        let mut tree = BTreeMap::new();
        for item in fs.walk(&VPath::root(), &WalkOptions::default()).await.unwrap() {
            let mode = item.entry.mode;
            let object = match item.entry.kind {
                FileKind::Symlink => format!("link {}", fs.readlink(&item.path).await.unwrap()),
                FileKind::Directory => format!("directory {mode:o}"),
                _ => {
                    let content = fs.read(&item.path).await.unwrap().data;
                    format!("file {mode:o} {:?}", String::from_utf8_lossy(&content))
                }
            };
            tree.insert(item.path.to_string(), object);
        }
        tree
    })
}
