//! `yfs tail`: prints the last lines of files.

use std::time::Duration;

use bytes::Bytes;
use yfs_vfs::{ChangeCursor, ChangesOptions};

use crate::{
    commands::head::{self, CutRule, HeadingMode, SignedCount, end_of_first, start_of_last},
    prelude::*,
};

const HELP: &str = "\
`-NUM` is `-n NUM`. The command reads no more of a large file than it prints, except with +N.

-f prints what any writer appends, until the command is interrupted. If a file is edited before its
end, a remark says so, and printing continues at the new end. It follows the path, as tail -F does.

Not supported: -z, --pid, -s (changes arrive at once), `tail +N` without -n.

Examples:
  yfs tail log.txt            the last ten lines
  yfs tail -n 1 log.txt
  yfs tail -n +5 log.txt      line 5 and all that follow
  yfs tail -c 100 data.bin
  yfs tail -f log.txt         prints what is appended

JSON: one object per line: {path, size, content}; base64 instead of content if it is not UTF-8.";

/// Print the last lines of files
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct TailArgs {
    /// The files to print
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<String>,
    /// Print the last N lines; +N starts at line N
    #[arg(short = 'n', long, value_name = "N", default_value = "10", allow_hyphen_values = true)]
    lines: String,
    /// Print the last N bytes; +N starts at byte N
    #[arg(short = 'c', long, value_name = "N", allow_hyphen_values = true)]
    bytes: Option<String>,
    /// Print what is appended, until interrupted
    #[arg(short, long, short_alias = 'F', conflicts_with = "json")]
    follow: bool,
    #[command(flatten)]
    headings: HeadingMode,
}

/// The longest wait for a change before the command asks again.
const CHANGE_WAIT: Duration = Duration::from_secs(30);

/// The most changes that one question returns.
const CHANGES_PER_PAGE: usize = 1_000;

/// A file that is followed.
struct FollowedFile {
    path: TypedPath,
    /// The content that has been printed, or skipped; none while the file is missing.
    seen: Option<Bytes>,
}

/// Prints the last lines or bytes of each file.
pub(crate) async fn run(args: TailArgs, context: &mut CommandContext) -> Result {
    let cut = CutRule { from_end: true, lines: last_lines, bytes: last_bytes };
    let count = (args.lines.as_str(), args.bytes.as_deref());
    if !args.follow {
        return head::print(context, &args.paths, args.headings, count, cut).await;
    }
    let fs = context.follower()?;
    // What is written after this is printed by the loop, and what was written before is seen.
    let cursor = fs.cursor().await?;
    let mut files = Vec::with_capacity(args.paths.len());
    for path in context.paths(&args.paths) {
        let seen = fs.read(&path.path).await.ok().map(|content| content.data);
        files.push(FollowedFile { path, seen });
    }
    let with_headings = args.headings.shows_headings(files.len());
    let (count, cut) = head::parse_count(count, cut)?;
    let mut printed = None;
    for (at, file) in files.iter().enumerate() {
        match &file.seen {
            Some(seen) => {
                print_heading(context, with_headings, file, printed.is_none())?;
                printed = Some(at);
                context.out.raw(cut(seen, count))?;
            }
            None => {
                let missing = fs.read(&file.path.path).await.err();
                let message = missing.map_or_else(
                    || CommandError::other(format!("{}: it appeared just now", file.path.typed)),
                    CommandError::from,
                );
                context.fail(&message);
            }
        }
    }
    let printed = printed.filter(|_| with_headings);
    follow(context, &fs, &mut files, cursor, (with_headings, printed)).await
}

/// Prints what is appended to the files, until the reader of the output is gone.
///
/// Prints headings if the flag says so, unless the file is the one whose text was printed last.
async fn follow(
    context: &mut CommandContext,
    fs: &Fs,
    files: &mut [FollowedFile],
    mut cursor: ChangeCursor,
    (with_headings, mut printed): (bool, Option<usize>),
) -> Result {
    loop {
        context.out.flush()?;
        let options = ChangesOptions { limit: CHANGES_PER_PAGE, wait: Some(CHANGE_WAIT) };
        cursor = match fs.changes(&cursor, &options).await {
            Ok(page) if page.events.is_empty() => {
                cursor = page.next;
                continue;
            }
            Ok(page) => page.next,
            // The log was compacted meanwhile: what the files hold now is compared instead.
            Err(error) if error.code == FsCode::ESTALE => fs.cursor().await?,
            Err(error) => return Err(error.into()),
        };
        for (at, file) in files.iter_mut().enumerate() {
            let now = match fs.read(&file.path.path).await {
                Ok(content) => Some(content.data),
                Err(error) if error.code == FsCode::ENOENT => None,
                Err(error) => return Err(error.into()),
            };
            let before = std::mem::replace(&mut file.seen, now.clone());
            let appended = match (&before, &now) {
                (None, Some(now)) => now.clone(),
                (Some(before), Some(now)) if now.starts_with(before) => now.slice(before.len()..),
                (Some(_), Some(_)) => {
                    context.remark(&format!("{}: edited before its end", file.path.typed));
                    continue;
                }
                (Some(_), None) => {
                    context.remark(&format!("{}: removed", file.path.typed));
                    continue;
                }
                (None, None) => continue,
            };
            if appended.is_empty() {
                continue;
            }
            if with_headings && printed != Some(at) {
                print_heading(context, true, file, printed.is_none())?;
                printed = Some(at);
            }
            context.out.raw(&appended)?;
        }
    }
}

fn print_heading(
    context: &mut CommandContext,
    with_headings: bool,
    file: &FollowedFile,
    is_first: bool,
) -> Result {
    if !with_headings {
        return Ok(());
    }
    let gap = if is_first { "" } else { "\n" };
    let name = context.out.safe(&file.path.typed).into_owned();
    context.out.line(&format!("{gap}==> {name} <=="))
}

fn last_bytes(data: &[u8], count: SignedCount) -> &[u8] {
    let start = match count.sign {
        Some('+') => count.number.saturating_sub(1).min(data.len()),
        _ => data.len().saturating_sub(count.number),
    };
    &data[start..]
}

fn last_lines(data: &[u8], count: SignedCount) -> &[u8] {
    let start = match count.sign {
        Some('+') => end_of_first(data, count.number.saturating_sub(1)),
        _ => start_of_last(data, count.number),
    };
    &data[start..]
}
