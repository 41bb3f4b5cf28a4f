//! A little language for tests of filesystems: one operation a line, and what must come of it.
//!
//! ```text
//! # a comment
//! write /a/b "hello\n"
//! cat /a/b => hello\n
//! ls / => a/
//! rm /a !! ENOTEMPTY
//! ```
//!
//! A line without `=>` or `!!` must succeed. After a line with `!!` the whole tree must be as it was
//! before: a refused call changes nothing. Words are separated by spaces; quotes allow `\n`, `\t`,
//! `\r`, `\0`, `\\`, `\"` and `\u{..}`; `{x*300}` in a bare word is 300 times `x`. Words that begin
//! with `-` right after the operation are options.

mod run;
mod words;

use std::{collections::BTreeMap, sync::Arc};

use yfs_types::path::VPath;

use self::words::{ScriptLine, parse};
use crate::{
    error::{FsCode, FsError},
    file_system::FileSystem,
    options::WalkOptions,
    stat::{FileKind, VersionToken},
};

/// Runs lines against one filesystem, and remembers what they name.
#[derive(Debug)]
pub struct ScriptRunner {
    fs: Arc<dyn FileSystem>,
    /// What `id NAME PATH` remembered.
    ids: BTreeMap<String, String>,
    /// What `version NAME PATH` remembered.
    versions: BTreeMap<String, VersionToken>,
}

/// What an operation came to: what it returns, as text, or its error.
pub type Outcome = Result<String, FsError>;

impl ScriptRunner {
    /// Begins on a filesystem.
    pub fn new(fs: Arc<dyn FileSystem>) -> Self {
        Self { fs, ids: BTreeMap::new(), versions: BTreeMap::new() }
    }

    /// Runs one operation, whatever the line expects. The outer error says that the line makes no
    /// sense.
    pub async fn run(&mut self, line: &str) -> Result<Outcome, String> {
        match parse(line)? {
            Some(line) => self.execute(&line).await,
            None => Ok(Ok(String::new())),
        }
    }

    /// Runs one line and checks what it expects.
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

/// Runs a script and checks what it expects. The error says which line failed and why.
pub async fn check(fs: &Arc<dyn FileSystem>, script: &str) -> Result<(), String> {
    let mut session = ScriptRunner::new(fs.clone());
    for line in script.lines() {
        session.check(line).await.map_err(|why| format!("`{}`: {why}", line.trim()))?;
    }
    Ok(())
}

/// Shows all that a filesystem holds, one object a line: path, kind, permission bits, content.
pub async fn tree<F: FileSystem + ?Sized>(fs: &F) -> Result<String, FsError> {
    let mut shown = String::new();
    for item in fs.walk(&VPath::root(), &WalkOptions::default()).await? {
        let content = match item.entry.kind {
            FileKind::File => show_bytes(&fs.read(&item.path).await?.data),
            FileKind::Symlink => format!("-> {}", fs.readlink(&item.path).await?),
            FileKind::Directory | FileKind::Other => String::new(),
        };
        let (path, mark, mode) = (&item.path, mark(item.entry.kind), item.entry.mode);
        shown.push_str(&format!("{path}{mark} {mode:o} {content}\n"));
    }
    Ok(shown)
}

/// Shows content on one line; what is not UTF-8 as `\xNN`.
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

/// Returns the mark that `ls -F` puts after a name.
pub(crate) fn mark(kind: FileKind) -> &'static str {
    match kind {
        FileKind::File => "",
        FileKind::Directory => "/",
        FileKind::Symlink => "@",
        FileKind::Other => "|",
    }
}

/// What a line expects: an output, an error, or neither.
type Expected = (Option<String>, Option<FsCode>);
