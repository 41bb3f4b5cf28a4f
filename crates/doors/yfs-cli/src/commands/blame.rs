//! `yfs blame`: prints the author of each line.

use std::{ops::RangeInclusive, str::FromStr};

use unicode_width::UnicodeWidthStr;
use yfs::{WorkspaceError, workspace::blame::BlameLine};
use yfs_wire::{BlameLineJson, Rfc3339Time};

use crate::{output::TextRole, prelude::*};

const HELP: &str = "\
The author of a line is the actor that edited it last: that typed in it, deleted within it, or
changed a format of it. A `+` behind the name marks a line in which others have a share too;
--json has the shares. Moving, renaming or restoring the file changes no attribution. The first
column is the number of the version that contains the last edit (`yfs versions show PATH N`). The
author `-` is a peer that recorded no actor.

Examples:
  yfs blame plan.md
  yfs blame -L 10,20 plan.md
  yfs blame --json plan.md              all authors of each line

JSON: one object per line: {line, text, actor, at, version,
shares: [{actor, at, label, version, chars}]}. `chars` is 0 for an edit that left no text.";

/// Print the author of each line of a file
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct BlameArgs {
    /// The file
    path: String,
    /// Print only these lines: 10,20 or 10, or ,20
    #[arg(short = 'L', long = "lines", value_name = "FROM,TO")]
    lines: Option<LineSelection>,
}

/// A range of lines.
#[derive(Debug, Clone)]
struct LineSelection(RangeInclusive<usize>);

impl FromStr for LineSelection {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("invalid range of lines '{text}' (expected FROM,TO, such as 10,20)");
        let number = |text: &str, missing| match text {
            "" => Ok(missing),
            digits => digits.parse().ok().filter(|line| *line > 0).ok_or_else(bad),
        };
        let (from, to) = text.split_once(',').unwrap_or((text, text));
        let (from, to) = (number(from, 1)?, number(to, usize::MAX)?);
        if from <= to { Ok(Self(from..=to)) } else { Err(bad()) }
    }
}

/// Runs `yfs blame`.
pub(crate) async fn run(args: BlameArgs, context: &mut CommandContext) -> Result {
    let path = context.path(&args.path)?;
    let lines = context.readable()?.history().blame(&path.path);
    let mut lines = lines.map_err(|error| match error {
        // Not a matter of permissions.
        WorkspaceError::Fs(error) if error.code == FsCode::EPERM => CommandError::other(format!(
            "{}: only a text has lines with authors, and this file is stored as bytes: it is not \
             text, or markdown of too many parts",
            context.out.safe(&args.path)
        )),
        error => error.into(),
    })?;
    if let Some(LineSelection(range)) = &args.lines {
        lines.retain(|line| range.contains(&line.number));
    }
    if context.out.json {
        return lines
            .iter()
            .try_for_each(|line| context.out.json_line(&BlameLineJson::<Rfc3339Time>::from(line)));
    }
    context.out.start_pager();
    let name =
        |line: &BlameLine| line.actor.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
    let widest = lines.iter().map(|line| name(line).width()).max().unwrap_or(0);
    let digits = lines.last().map_or(1, |line| line.number.to_string().len());
    for line in &lines {
        let version = line.version.map_or_else(|| "-".to_owned(), |number| number.to_string());
        let time = line.at.map_or_else(|| " ".repeat(16), parse_time::minute);
        let actor = context.out.safe(&name(line)).into_owned();
        let pad = " ".repeat(widest.saturating_sub(actor.width()));
        // The mark takes the place of a space, so that the columns stay.
        let (mark, gap) = if line.is_shared() { ("+", " ") } else { ("", "  ") };
        let head = format!("{version:>4}  {actor}{mark}{pad}{gap}{time}");
        let number = context.out.painted(TextRole::Number, &format!("{:>digits$}", line.number));
        let text = context.out.safe(&line.text).into_owned();
        context.out.line(format!("{head}  {number}  {text}").trim_end())?;
    }
    Ok(())
}
