//! `yfs umount`: ends what `yfs mount` began.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use rustix::{
    io::Errno,
    mount::{UnmountFlags, unmount},
};

use crate::prelude::*;

const HELP: &str = "\
What programs have written is in the workspace when the command returns. If a program still uses
DIR, the command fails and changes nothing; `fuser -vm DIR` lists such programs. With --lazy, DIR
goes away at once, and for those programs when they end.

Examples:
  yfs umount ~/notes-live
  yfs umount --lazy ~/notes-live";

/// End a mount of a workspace
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct UmountArgs {
    /// The directory
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Also if programs still use DIR
    #[arg(long)]
    lazy: bool,
}

/// Unmounts a directory.
pub(crate) async fn run(args: UmountArgs, _context: &mut CommandContext) -> Result {
    end(&args.dir, args.lazy)
}

/// Ends the mount at a directory; a lazy one also while programs use it.
pub(crate) fn end(dir: &Path, lazy: bool) -> Result {
    let flags = if lazy { UnmountFlags::DETACH } else { UnmountFlags::empty() };
    let fail = |reason: &str| Err(CommandError::other(format!("{}: {reason}", dir.display())));
    match unmount(dir, flags) {
        Ok(()) => Ok(()),
        Err(Errno::PERM) => end_as_user(dir, lazy),
        Err(Errno::BUSY) => fail("a program uses the directory; see yfs umount --help"),
        Err(Errno::INVAL) => fail("nothing is mounted here"),
        Err(error) => Err(CommandError::host(dir, &error.into())),
    }
}

/// Unmounts as the user who mounted, by the program of FUSE that may.
fn end_as_user(dir: &Path, lazy: bool) -> Result {
    let mut command = Command::new("fusermount3");
    command.arg("-u").args(lazy.then_some("-z")).arg("--").arg(dir);
    let output = command.stdin(Stdio::null()).output().map_err(|error| {
        CommandError::other(format!("fusermount3: {error} (Debian has it in the package fuse3)"))
    })?;
    if output.status.success() {
        return Ok(());
    }
    Err(CommandError::other(String::from_utf8_lossy(&output.stderr).trim_end().to_owned()))
}
