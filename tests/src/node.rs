//! Real Yjs and live editors, for Rust tests: installs the packages that `tests/node` locks, and
//! exchanges lines with its scripts.
//!
//! Tests need Node.js and npm, and fail with a message when they are missing; they do not skip,
//! because compatibility that no test checks does not exist. Every function here panics on failure:
//! only tests call them.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{BufRead, BufReader, ErrorKind, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio},
    sync::Mutex,
    thread,
};

use serde_json::{Value, json};

/// The Node package with live editors, under [`dir`]. It is large, so only the tests that need it
/// install it.
pub const EDITORS: &str = "editors";

/// Returns the folder of the Node package.
pub fn dir() -> PathBuf {
    crate::root().join("tests/node")
}

/// Installs the locked packages of a folder under [`dir`], unless they are there.
///
/// Several test processes may call this at once: the first one installs, under a lock on the lock
/// file itself, and the others wait.
///
/// # Panics
///
/// Panics if Node.js or npm is missing, or npm fails.
pub fn ensure_installed(folder: &str) {
    static INSTALLED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut installed = INSTALLED.lock().expect("installing failed before");
    if installed.contains(folder) {
        return;
    }
    install(&dir().join(folder));
    installed.insert(folder.to_owned());
}

/// As [`ensure_installed`], for a package that is elsewhere in this repository.
///
/// # Panics
///
/// As [`ensure_installed`].
pub fn ensure_installed_in(package: &Path) {
    install(package);
}

fn install(dir: &Path) {
    let locked = dir.join("package-lock.json");
    let stamp = dir.join("node_modules/.installed-lock.json");
    let file = File::open(&locked).expect("the lock file is tracked");
    file.lock().expect("a local file can be locked");
    let wanted = fs::read(&locked).expect("the lock file was just opened");
    if fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
        return;
    }
    let flags = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
    let output = output_of(Command::new("npm").args(flags).current_dir(dir), "npm");
    assert!(output.status.success(), "npm ci failed in {}: {}", dir.display(), stderr_of(&output));
    fs::write(&stamp, wanted).expect("npm ci made node_modules");
}

/// Runs a script of `tests/node` to its end, with this on its stdin.
///
/// # Panics
///
/// Panics if it cannot be run or fails; the message holds what it wrote to stderr.
pub fn run_script(name: &str, args: &[&str], stdin: &[u8]) -> Vec<u8> {
    let mut child = spawn(name, args);
    let mut pipe = child.stdin.take().expect("stdin was piped");
    let stdin = stdin.to_vec();
    // On a thread of its own, since a script may answer before it has read everything. Ends when
    // everything is written or the script has closed its end.
    let writer = thread::spawn(move || pipe.write_all(&stdin));
    let output = child.wait_with_output().expect("a child can be waited for");
    let written = writer.join().expect("the writer does not panic");
    assert!(output.status.success(), "{name} failed: {}", stderr_of(&output));
    written.unwrap_or_else(|error| panic!("{name} did not read its input: {error}"));
    output.stdout
}

/// Starts a script of `tests/node` with piped stdin and stdout; stderr goes to the test's.
///
/// # Panics
///
/// Panics if Node.js is missing.
pub fn spawn(name: &str, args: &[&str]) -> Child {
    let script = dir().join(name);
    let folder = Path::new(name).parent().and_then(Path::to_str).unwrap_or_default();
    ensure_installed(folder);
    let mut command = Command::new("node");
    command.arg(&script).args(args).current_dir(dir().join(folder));
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command.spawn().unwrap_or_else(|error| missing("node", &error))
}

/// A running `y-tool.mjs`: documents of real Yjs, by name. Ends when dropped.
#[derive(Debug)]
pub struct Yjs {
    child: Child,
    /// `None` only while it is dropped: closing it tells the script to end.
    requests: Option<ChildStdin>,
    replies: BufReader<ChildStdout>,
}

impl Yjs {
    /// Starts it, without documents.
    pub fn start() -> Self {
        let mut child = spawn("y-tool.mjs", &[]);
        let requests = child.stdin.take();
        let replies = BufReader::new(child.stdout.take().expect("stdout was piped"));
        Self { child, requests, replies }
    }

    /// Asks for one operation; `fields` is an object with what it needs (see `y-tool.mjs`).
    pub fn try_call(&mut self, op: &str, fields: Value) -> Result<Value, String> {
        let mut request = fields;
        request["op"] = json!(op);
        let requests = self.requests.as_mut().expect("it is taken in drop only");
        writeln!(requests, "{request}").expect("y-tool reads until its stdin ends");
        let mut line = String::new();
        self.replies.read_line(&mut line).expect("y-tool writes UTF-8");
        assert!(!line.is_empty(), "y-tool died at {request}");
        let mut reply: Value = serde_json::from_str(&line).expect("y-tool writes JSON");
        match reply.get("error") {
            Some(error) => Err(error.as_str().unwrap_or_default().to_owned()),
            None => Ok(reply["ok"].take()),
        }
    }

    /// As [`Yjs::try_call`].
    ///
    /// # Panics
    ///
    /// Panics if Yjs throws.
    pub fn call(&mut self, op: &str, fields: Value) -> Value {
        self.try_call(op, fields).unwrap_or_else(|error| panic!("{op}: {error}"))
    }

    /// Makes a document. Main documents collect garbage, content documents do not.
    pub fn make(&mut self, doc: &str, client: u64, gc: bool) {
        self.call("new", json!({ "doc": doc, "client": client, "gc": gc }));
    }

    /// Applies an update, and tells whether the document now waits for others.
    pub fn apply(&mut self, doc: &str, update: &[u8]) -> bool {
        self.call("apply", json!({ "doc": doc, "update": to_hex(update) }));
        self.call("incomplete", json!({ "doc": doc })) == json!(true)
    }

    /// Returns the document's whole state as an update.
    pub fn encode(&mut self, doc: &str) -> Vec<u8> {
        bytes(&self.call("encode", json!({ "doc": doc })))
    }

    /// Returns what the document has beyond a state vector, as an update.
    pub fn encode_diff(&mut self, doc: &str, state_vector: &[u8]) -> Vec<u8> {
        bytes(&self.call("encode", json!({ "doc": doc, "sv": to_hex(state_vector) })))
    }

    /// Returns the document's state vector.
    pub fn state_vector(&mut self, doc: &str) -> Vec<u8> {
        bytes(&self.call("sv", json!({ "doc": doc })))
    }

    /// Returns `Text("text")` of the document.
    pub fn text(&mut self, doc: &str) -> String {
        self.call("text", json!({ "doc": doc })).as_str().expect("text is a string").to_owned()
    }

    /// Returns the winning element of each key of a table, `{key, val, ts}`, as a plain peer reads
    /// it.
    pub fn rows(&mut self, doc: &str, table: &str) -> Value {
        self.call("rows", json!({ "doc": doc, "table": table }))
    }

    /// Asks for an operation that changes a document, and returns the updates that it emitted.
    pub fn change(&mut self, op: &str, fields: Value) -> Vec<Vec<u8>> {
        let updates = self.call(op, fields);
        updates.as_array().expect("a change returns updates").iter().map(bytes).collect()
    }
}

impl Drop for Yjs {
    fn drop(&mut self) {
        drop(self.requests.take());
        // It has ended or is about to; a test that panics must not hang on it either way.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Spells bytes as the scripts read them.
pub fn to_hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes all");
        text
    })
}

/// Reads bytes as the scripts spell them.
///
/// # Panics
///
/// Panics if the text is not hexadecimal.
pub fn from_hex(text: &str) -> Vec<u8> {
    let pairs = text.as_bytes().chunks(2);
    let pair = |pair| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16);
    pairs.map(|digits| pair(digits).expect("y-tool spells bytes in hexadecimal")).collect()
}

fn bytes(value: &Value) -> Vec<u8> {
    from_hex(value.as_str().expect("bytes are spelt as a string"))
}

fn output_of(command: &mut Command, program: &str) -> Output {
    command.output().unwrap_or_else(|error| missing(program, &error))
}

fn stderr_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn missing(program: &str, error: &std::io::Error) -> ! {
    match error.kind() {
        ErrorKind::NotFound => panic!(
            "{program} is not installed: these tests hold yfs against real Yjs and need Node.js 20 \
             or later with npm"
        ),
        _ => panic!("cannot run {program}: {error}"),
    }
}
