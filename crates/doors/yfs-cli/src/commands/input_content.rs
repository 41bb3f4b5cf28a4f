//! The sources of file content: an option, a file of the host, standard input.

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use bytes::Bytes;
use yfs_engine::content::MAX_TEXT_BYTES;
use yfs_vfs::VersionBase;

use crate::prelude::*;

/// The name of standard input in messages.
const STDIN: &str = "standard input";

/// The source of the content.
#[derive(Debug, Args)]
pub(crate) struct ContentArgs {
    /// The content, instead of standard input; no newline is added
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    content: Option<String>,
}

impl ContentArgs {
    /// Reads the content.
    pub(crate) fn read(self) -> Result<Bytes> {
        self.text().map_or_else(read_stdin, Ok)
    }

    /// Returns the content of the option; `None` if standard input has it.
    pub(crate) fn text(self) -> Option<Bytes> {
        self.content.map(Bytes::from)
    }
}

/// A reader of standard input that keeps its failure, to report it as such.
struct StdinReader {
    failure: Option<io::Error>,
}

impl Read for StdinReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match io::stdin().lock().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                Err(error) => {
                    let kind = error.kind();
                    self.failure = Some(error);
                    return Err(kind.into());
                }
                read => return read,
            }
        }
    }
}

/// Calls a function that reads standard input as a stream. A failure of standard input is the
/// outer error.
pub(crate) fn stream_stdin<T>(call: impl FnOnce(&mut dyn Read) -> T) -> Result<T> {
    let mut stdin = StdinReader { failure: None };
    let called = call(&mut stdin);
    match stdin.failure {
        Some(error) => Err(CommandError::host(Path::new(STDIN), &error)),
        None => Ok(called),
    }
}

/// Reads standard input to its end.
pub(crate) fn read_stdin() -> Result<Bytes> {
    let mut data = Vec::new();
    let read = io::stdin().lock().read_to_end(&mut data);
    read.map_err(|error| CommandError::host(Path::new(STDIN), &error))?;
    Ok(data.into())
}

/// Reads a file of the host, or standard input if it is `-`.
pub(crate) fn read_host(path: &PathBuf) -> Result<Bytes> {
    if path.as_os_str() == "-" {
        return read_stdin();
    }
    fs::read(path).map(Bytes::from).map_err(|error| CommandError::host(path, &error))
}

/// Reads the base of a write from a file of the host, or standard input if it is `-`. A file larger
/// than any text is read piece by piece, and named by its hash.
pub(crate) fn read_base(path: &PathBuf) -> Result<VersionBase> {
    let failed = |error: io::Error| CommandError::host(path, &error);
    let is_large = |stat: fs::Metadata| stat.is_file() && stat.len() > MAX_TEXT_BYTES as u64;
    if path.as_os_str() == "-" || !fs::metadata(path).is_ok_and(is_large) {
        return read_host(path).map(VersionBase::Content);
    }
    let mut file = fs::File::open(path).map_err(failed)?;
    yfs::blob_version_of(&mut file).map(VersionBase::Version).map_err(failed)
}

/// Reads text from a file of the host, or standard input if it is `-`.
pub(crate) fn read_host_text(path: &PathBuf) -> Result<String> {
    let text = String::from_utf8(read_host(path)?.into());
    text.map_err(|_| CommandError::other(format!("{}: the file is not UTF-8 text", path.display())))
}
