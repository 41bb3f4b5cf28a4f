//! The sources of file content: an option, a file of the host, standard input.

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use bytes::Bytes;
use clap::Args;

use crate::errors::{CommandError, Result};

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
        match self.content {
            Some(text) => Ok(text.into()),
            None => read_stdin(),
        }
    }
}

/// Reads standard input to its end.
pub(crate) fn read_stdin() -> Result<Bytes> {
    let mut data = Vec::new();
    let read = io::stdin().lock().read_to_end(&mut data);
    read.map_err(|error| CommandError::host(Path::new("standard input"), &error))?;
    Ok(data.into())
}

/// Reads a file of the host, or standard input if it is `-`.
pub(crate) fn read_host(path: &PathBuf) -> Result<Bytes> {
    if path.as_os_str() == "-" {
        return read_stdin();
    }
    fs::read(path).map(Bytes::from).map_err(|error| CommandError::host(path, &error))
}

/// Reads text from a file of the host, or standard input if it is `-`.
pub(crate) fn read_host_text(path: &PathBuf) -> Result<String> {
    let text = String::from_utf8(read_host(path)?.into());
    text.map_err(|_| CommandError::other(format!("{}: the file is not UTF-8 text", path.display())))
}
