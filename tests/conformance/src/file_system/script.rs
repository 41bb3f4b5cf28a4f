//! A small language for tests of filesystems: one operation per line, with its expected result.
//!
//! ```text
//! # a comment
//! write /a/b "hello\n"
//! cat /a/b => hello\n
//! ls / => a/
//! rm /a !! ENOTEMPTY
//! ```
//!
//! A line without `=>` or `!!` must succeed. After a line with `!!` the whole tree must be the same
//! as before: a rejected call changes nothing. Words are separated by spaces; quotes allow `\n`,
//! `\t`, `\r`, `\0`, `\\`, `\"` and `\u{..}`; `{x*300}` in a bare word is 300 times `x`. Words that
//! begin with `-` right after the operation are options.

mod run;
mod words;

use std::{collections::BTreeMap, sync::Arc};

use yfs_types::path::VPath;

use self::words::{ScriptLine, parse};
use yfs_vfs::{
    FileSystem, FileSystemExt,
    error::{FsCode, FsError},
    options::WalkOptions,
    stat::{FileKind, VersionToken},
};

/// A runner of lines against one filesystem, with the ids and versions that they named.
#[derive(Debug)]
pub struct ScriptRunner {
    fs: Arc<dyn FileSystem>,
    /// The ids that `id NAME PATH` stored.
    ids: BTreeMap<String, String>,
    /// The versions that `version NAME PATH` stored.
    versions: BTreeMap<String, VersionToken>,
}

/// The result of an operation: its return value as text, or its error.
pub type Outcome = Result<String, FsError>;

impl ScriptRunner {
    /// Makes a runner for a filesystem.
    pub fn new(fs: Arc<dyn FileSystem>) -> Self {
        Self { fs, ids: BTreeMap::new(), versions: BTreeMap::new() }
    }

    /// Runs one operation, without comparing its result with the expected one. The outer error
    /// means that the line is malformed.
    pub async fn run(&mut self, line: &str) -> Result<Outcome, String> {
        match parse(line)? {
            Some(line) => self.execute(&line).await,
            None => Ok(Ok(String::new())),
        }
    }

    /// Runs one line and compares its result with the expected one.
    async fn check(&mut self, text: &str) -> Result<(), String> {
        let Some(line) = parse(text)? else { return Ok(()) };
        let before = if line.code.is_some() { tree(&*self.fs).await } else { Ok(String::new()) };
        let before = before.map_err(|error| error.to_string())?;
        let outcome = self.execute(&line).await?;
        match (outcome, &line.output, line.code) {
            (Ok(_), None, None) => Ok(()),
            (Ok(output), Some(expected), _) if output == *expected => Ok(()),
            (Ok(output), Some(expected), _) => Err(format!("expected {expected}, got {output}")),
            (Ok(output), None, Some(code)) => Err(format!("expected {code}, got {output:?}")),
            (Err(error), _, Some(code)) if error.code == code => {
                let after = tree(&*self.fs).await.map_err(|error| error.to_string())?;
                let unchanged = before == after;
                let changed = || format!("refused, but changed\n{before}into\n{after}");
                if unchanged { Ok(()) } else { Err(changed()) }
            }
            (Err(error), _, Some(code)) => Err(format!("expected {code}, got {error}")),
            (Err(error), _, None) => Err(format!("failed with {error}")),
        }
    }

    async fn execute(&mut self, line: &ScriptLine) -> Result<Outcome, String> {
        run::execute(self, line).await
    }
}

/// Runs a script and checks every result. The error names the line that failed and the reason.
pub async fn check(fs: &Arc<dyn FileSystem>, script: &str) -> Result<(), String> {
    let mut session = ScriptRunner::new(fs.clone());
    for line in script.lines() {
        session.check(line).await.map_err(|why| format!("`{}`: {why}", line.trim()))?;
    }
    Ok(())
}

/// Returns a listing of the whole filesystem, one object per line: path, kind, permission bits,
/// content.
pub async fn tree<F: FileSystem + ?Sized>(fs: &F) -> Result<String, FsError> {
    let mut shown = String::new();
    for item in fs.walk(&VPath::root(), &WalkOptions::default()).await? {
        let content = match item.entry.kind {
            FileKind::File => show_bytes(&fs.read(&item.path).await?.data),
            FileKind::Symlink => format!("-> {}", fs.readlink(&item.path).await?),
            _ => String::new(),
        };
        let (path, mark, mode) = (&item.path, mark(item.entry.kind), item.entry.mode);
        shown.push_str(&format!("{path}{mark} {mode:o} {content}\n"));
    }
    Ok(shown)
}

/// Returns content on one line; bytes that are not UTF-8 appear as `\xNN`.
pub(crate) fn show_bytes(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "(empty)".to_owned();
    }
    let mut shown = String::new();
    for chunk in bytes.utf8_chunks() {
        for char in chunk.valid().chars() {
            match char {
                '\n' => shown.push_str("\\n"),
                '\r' => shown.push_str("\\r"),
                '\t' => shown.push_str("\\t"),
                '\0' => shown.push_str("\\0"),
                char => shown.push(char),
            }
        }
        chunk.invalid().iter().for_each(|byte| shown.push_str(&format!("\\x{byte:02X}")));
    }
    shown
}

/// Returns the mark that `ls -F` prints after a name.
pub(crate) fn mark(kind: FileKind) -> &'static str {
    match kind {
        FileKind::File => "",
        FileKind::Directory => "/",
        FileKind::Symlink => "@",
        _ => "|",
    }
}

/// The expected result of a line: an output, an error, or neither.
type Expected = (Option<String>, Option<FsCode>);
