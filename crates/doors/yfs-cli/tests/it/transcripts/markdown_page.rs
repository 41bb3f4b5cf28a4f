//! Runs the examples of a markdown page, in the order of the page, in one empty directory.
//!
//! A block ` ```console ` is a transcript: each line that begins with `$ ` runs, and the lines
//! after it are its output. The current directory and the variables of one command are those of the
//! next.
//! Two words may follow `console`:
//!
//! - `background`: the last command of the block keeps running until the end of the page; the next
//!   block waits until its output is what the page has.
//! - `no-output`: the commands must succeed, and the page does not have their output.
//!
//! Port 4680 stands for the port of the server, and `/home/ada` for the empty directory.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use expect_test::expect_file;
use regex::Regex;

use super::{run, stable};

/// The time within which a background command prints what the page has.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// The time without further output after which a background command is ready, if the page is
/// written.
const QUIET_TIME: Duration = Duration::from_secs(3);

/// The time that a command may take, in seconds.
const COMMAND_TIMEOUT: u32 = 120;

/// What a block of code is to the test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockKind {
    Transcript,
    Background,
    NoOutput,
}

/// The shell that runs the examples of one page.
struct PageShell {
    /// The directory of the page.
    dir: tempfile::TempDir,
    /// The directory of the state between two commands, and of the output of background commands.
    state_dir: tempfile::TempDir,
    /// The port of the server of the page, once it listens.
    port: Option<String>,
    running: Vec<Child>,
}

impl Drop for PageShell {
    fn drop(&mut self) {
        for child in &mut self.running {
            child.kill().ok();
            child.wait().ok();
        }
    }
}

/// Returns README and the pages of the book that have examples.
pub(crate) fn pages_with_examples() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let mut pages = vec![root.join("README.md")];
    let mut pending = vec![root.join("docs")];
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.retain(|page| fs::read_to_string(page).unwrap().contains("```console"));
    pages
}

/// Runs the examples of a page, and compares their output with the page.
pub(crate) fn check(page: &Path) {
    let source = fs::read_to_string(page).unwrap();
    let mut shell = PageShell::new();
    let mut happened = String::new();
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        happened += &format!("{line}\n");
        let Some(kind) = BlockKind::of(line) else { continue };
        let block: Vec<_> = lines.by_ref().take_while(|line| *line != "```").collect();
        happened += &shell.run_block(kind, &block, page);
        happened += "```\n";
    }
    expect_file![page].assert_eq(&happened);
}

impl BlockKind {
    /// Returns the kind of the block that a line opens.
    fn of(line: &str) -> Option<Self> {
        match line {
            "```console" => Some(Self::Transcript),
            "```console background" => Some(Self::Background),
            "```console no-output" => Some(Self::NoOutput),
            _ => {
                assert!(!line.starts_with("```console"), "an unknown kind of block: {line}");
                None
            }
        }
    }
}

impl PageShell {
    fn new() -> Self {
        let [dir, state_dir] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let home = dir.path().display();
        fs::write(state_dir.path().join("state"), format!("export HOME='{home}'\n")).unwrap();
        Self { dir, state_dir, port: None, running: Vec::new() }
    }

    /// Runs the commands of a block, and returns them with their output.
    fn run_block(&mut self, kind: BlockKind, block: &[&str], page: &Path) -> String {
        assert!(block.first().is_some_and(|line| line.starts_with("$ ")), "{}", page.display());
        let n_commands = block.iter().filter(|line| line.starts_with("$ ")).count();
        let mut happened = String::new();
        let mut lines = block.iter().copied().peekable();
        for number in 1..=n_commands {
            let command = lines.next().and_then(|line| line.strip_prefix("$ ")).unwrap();
            let mut expected = String::new();
            while let Some(line) = lines.next_if(|line| !line.starts_with("$ ")) {
                expected += &format!("{line}\n");
            }
            let is_last = number == n_commands;
            let mut output = match kind {
                BlockKind::Background if is_last => self.start(command, &expected),
                _ => self.run(command),
            };
            if kind == BlockKind::NoOutput {
                let has_failed = output.lines().any(|line| line.starts_with("[exit "));
                assert!(!has_failed, "{}: $ {command}\n{output}", page.display());
                output.clear();
            }
            happened += &format!("$ {command}\n{output}");
        }
        happened
    }

    /// Runs a command, and returns its output.
    fn run(&self, command: &str) -> String {
        let state = self.state_dir.path().join("state").display().to_string();
        let script = format!(
            "set -a; . '{state}'\n{}\nexample_status=$?\n\
             {{ export -p; echo \"cd '$PWD'\"; }} > '{state}'\nexit $example_status",
            self.with_port(command)
        );
        let file = self.state_dir.path().join("script");
        fs::write(&file, script).unwrap();
        let bounded = format!("timeout {COMMAND_TIMEOUT} sh '{}'", file.display());
        self.readable(&run(self.dir.path(), &bounded))
    }

    /// Starts a command that keeps running, and waits until its output is the expected one.
    fn start(&mut self, command: &str, expected: &str) -> String {
        let log = self.state_dir.path().join(format!("background-{}", self.running.len()));
        let state = self.state_dir.path().join("state");
        let script = format!(". '{}'; exec {}", state.display(), self.with_port(command));
        let output = fs::File::create(&log).unwrap();
        let child = Command::new("sh")
            .args(["-c", &script])
            .current_dir(self.dir.path())
            .env_remove("YFS_WORKSPACE")
            .envs([("TZ", "UTC"), ("LC_ALL", "C"), ("YFS_ACTOR", "human:ada")])
            .env("PATH", super::path_with_command())
            .stdin(Stdio::null())
            .stderr(output.try_clone().unwrap())
            .stdout(output)
            .spawn()
            .unwrap();
        self.running.push(child);
        let is_update = std::env::var_os("UPDATE_EXPECT").is_some();
        let started = Instant::now();
        let mut changed = (started, String::new());
        loop {
            let text = fs::read_to_string(&log).unwrap();
            if let Some((_, rest)) = text.split_once("http://127.0.0.1:") {
                self.port = rest.split('/').next().map(str::to_owned);
            }
            let text = self.readable(&stable(&text, self.dir.path()));
            if !text.is_empty() && text == expected || started.elapsed() > START_TIMEOUT {
                return text;
            }
            if text != changed.1 {
                changed = (Instant::now(), text);
            } else if is_update && !changed.1.is_empty() && changed.0.elapsed() > QUIET_TIME {
                return changed.1;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Replaces the port of the page by the one of the server, which is any free one.
    fn with_port(&self, command: &str) -> String {
        let command = command.replace("yfs serve ", "yfs serve --port 0 ");
        let port = self.port.as_ref();
        port.map_or(command.clone(), |port| command.replace("4680", port))
    }

    /// Replaces what differs between runs and has no rule in the transcripts.
    fn readable(&self, output: &str) -> String {
        let output = output.replace("<dir>", "/home/ada");
        let port = self.port.as_ref();
        let output =
            port.map_or(output.clone(), |port| output.replace(&format!(":{port}"), ":4680"));
        // A word with as many letters as an id.
        let output = output.replace("the first <id>", "the first synchronization");
        let rules = [
            (r"\byfs_[A-Za-z0-9_-]{40,}\.[A-Za-z0-9_-]+", "yfs_<token>"),
            (r"\bid [0-9a-z]{12}\b", "id <id>"),
            (r"(?m)^[0-9a-z]{12}  (read|write) ", "<id>  $1 "),
            (r#""mtime":\d{13}\b"#, r#""mtime":<n>"#),
            (r"\b(save|edit) \d{13} [0-9a-f]{8}\b", "$1 <n>"),
            (r"\bmirror:([a-z]+)-[0-9a-f]{8}\b", "mirror:$1-<n>"),
        ];
        rules.iter().fold(output, |output, (pattern, with)| {
            Regex::new(pattern).unwrap().replace_all(&output, *with).into_owned()
        })
    }
}
