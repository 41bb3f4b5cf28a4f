//! The pager: the program that shows long output a page at a time.
//!
//! It is `YFS_PAGER`, else the setting, else `PAGER`, else `less`, and the shell runs it, as git
//! does. `LESS=FRX` is set unless it is set already, so that `less` ends at once if the output fits
//! on a page, and keeps colors.

use std::{
    env,
    process::{Child, ChildStdin, Command, Stdio},
};

use crate::settings;

/// The pager of a person who names none.
const DEFAULT: &str = "less";

/// A running pager.
pub(crate) struct Pager(Child);

impl Pager {
    /// Starts the pager, and returns it with its standard input. Returns `None` if the person
    /// turned it off (an empty name, or `cat`), or it cannot be started.
    pub(crate) fn start() -> Option<(Self, ChildStdin)> {
        let named = env::var_os("YFS_PAGER").or_else(|| settings::pager().map(Into::into));
        let named = named.or_else(|| env::var_os("PAGER"));
        let program = named.or_else(|| is_installed(DEFAULT).then(|| DEFAULT.into()))?;
        if program.is_empty() || program == "cat" {
            return None;
        }
        let mut command = Command::new("sh");
        command.arg("-c").arg(&program).stdin(Stdio::piped());
        if env::var_os("LESS").is_none() {
            command.env("LESS", "FRX");
        }
        let mut child = command.spawn().ok()?;
        let stdin = child.stdin.take()?;
        Some((Self(child), stdin))
    }

    /// Waits until the person leaves the pager.
    pub(crate) fn wait(mut self) {
        self.0.wait().ok();
    }
}

fn is_installed(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|dir| dir.join(program).is_file())
}
