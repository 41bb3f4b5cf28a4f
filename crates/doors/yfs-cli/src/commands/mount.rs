//! `yfs mount`: shows a workspace as a directory of this machine.

use std::{
    fs::File,
    io::{self, BufRead, BufReader},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use tokio::time::interval;
use yfs_engine::actor::Actor;
use yfs_mount::{Mount, MountError, MountOptions};

use crate::{commands::umount, discover, prelude::*, settings, stop_signal::wait_for_signal};

/// How often the command checks whether the directory was unmounted.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// The file, beside the workspace, that has the messages of a mount in the background.
const LOG: &str = "mount.log";

const HELP: &str = "\
Any program can use DIR. What it writes becomes an edit when it closes the file, and merges with
what others wrote meanwhile; what others write appears in DIR at once. A file that a program is in
the middle of reading stays as it was for that program. The log names the program (`via vim`).

The command returns once DIR can be used; a process in the background answers until
`yfs umount DIR`. With --foreground the command itself does, until Ctrl-C.

Hard links are copies. Owners cannot be changed: everything belongs to the user who mounts. What is
deleted is in the trash (`yfs trash`). Programs that watch DIR by inotify are not informed of the
changes of others: `yfs watch` is.

The passphrase of an encrypted workspace must be in a file or in YFS_PASSPHRASE, unless
--foreground is given.

What a program wrote and the workspace did not accept, for example because the disk is full, is in
the directory `unsaved` beside the workspace; the program gets the error.

Examples:
  yfs mount ~/notes-live
  yfs --workspace ~/notes mount /mnt/notes --read-only
  yfs umount ~/notes-live

Exit status: 0; 1 if DIR cannot be mounted, or the connection to the kernel failed.

JSON: one object as soon as DIR can be used: {directory, workspace}.";

/// Show the workspace as a directory of this machine, for all programs
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct MountArgs {
    /// The directory, which is created if it is missing
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// The person or agent who uses DIR: NAME, human:NAME or agent:NAME. Default: --actor
    #[arg(long = "as", value_name = "NAME")]
    author: Option<String>,
    /// Change nothing
    #[arg(long)]
    read_only: bool,
    /// Let other users of this machine use DIR, as the permission bits say
    #[arg(long)]
    allow_other: bool,
    /// Answer in this process, until Ctrl-C
    #[arg(long)]
    foreground: bool,
}

/// Mounts the workspace.
pub(crate) async fn run(args: MountArgs, context: &mut CommandContext) -> Result {
    let file = context.file()?;
    let directory = prepare(&args.dir)?;
    if !args.foreground {
        return start(&args, &file, &directory, context);
    }
    let actor = author(&args, context)?;
    let workspace = context.open_at(&file, settings::following(actor.clone()))?;
    let unsaved = discover::store_dir(&file).join("unsaved");
    let mut options = MountOptions::new(actor, unsaved);
    options.is_read_only = args.read_only;
    options.allows_others = args.allow_other;
    options.source = file.display().to_string();
    let mount = Mount::new(&workspace, &directory, options).map_err(failure)?;
    announce(&file, &directory, context)?;
    let mut stopped = std::pin::pin!(wait_for_signal());
    let mut checks = interval(CHECK_INTERVAL);
    loop {
        tokio::select! {
            () = &mut stopped => break,
            _ = checks.tick() => if mount.has_ended() { break },
        }
    }
    mount.unmount().map_err(failure)?;
    Ok(workspace.close()?)
}

/// Makes the directory if it is missing. A mount whose process was killed is ended.
fn prepare(dir: &Path) -> Result<PathBuf> {
    if dir.metadata().is_err_and(|error| error.raw_os_error() == Some(libc::ENOTCONN)) {
        umount::end(dir, true)?;
    }
    let host = |error| CommandError::host(dir, &error);
    if dir.exists() && !dir.is_dir() {
        return Err(host(io::Error::from(io::ErrorKind::NotADirectory)));
    }
    std::fs::create_dir_all(dir).map_err(host)?;
    dir.canonicalize().map_err(host)
}

fn failure(error: MountError) -> CommandError {
    CommandError::Other(error.into())
}

fn announce(file: &Path, directory: &Path, context: &mut CommandContext) -> Result {
    if context.out.json {
        context.out.json_line(&json!({ "directory": directory, "workspace": file }))?;
        return context.out.flush();
    }
    context.remark(&format!("mounted at {}", directory.display()));
    Ok(())
}

/// Returns the author of what programs change.
fn author(args: &MountArgs, context: &CommandContext) -> Result<Actor> {
    let Some(name) = &args.author else { return Ok(context.actor()) };
    let text = if name.contains(':') { name.clone() } else { format!("human:{name}") };
    text.parse().map_err(|error| CommandError::usage(format!("--as {name}: {error}")))
}

/// Starts a process that mounts the workspace, and waits until it has.
fn start(args: &MountArgs, file: &Path, directory: &Path, context: &mut CommandContext) -> Result {
    let log = discover::store_dir(file).join(LOG);
    let mut command = Command::new(std::env::current_exe()?);
    let actor = author(args, context)?.to_string();
    command.arg("--workspace").arg(file).args(["--actor", &actor]);
    command.args(context.globals.key.to_arguments());
    command.args(["--json", "mount", "--foreground"]).arg(directory);
    for (flag, is_set) in [("--read-only", args.read_only), ("--allow-other", args.allow_other)] {
        if is_set {
            command.arg(flag);
        }
    }
    let stderr = File::create(&log)?;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr);
    // Ctrl-C in the terminal is for the programs that use the directory.
    command.process_group(0);
    let mut child = command.spawn()?;
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut line)?;
    }
    if line.is_empty() {
        child.wait()?;
        return Err(CommandError::other(reason_in(&std::fs::read_to_string(&log)?)));
    }
    announce(file, directory, context)
}

/// Returns the message of an error that a command printed as JSON, or all that it printed.
fn reason_in(printed: &str) -> String {
    let error = printed.lines().find_map(|line| serde_json::from_str::<Value>(line).ok());
    let message = error.as_ref().and_then(|error| error["error"]["message"].as_str());
    message.unwrap_or(printed.trim_end()).to_owned()
}
