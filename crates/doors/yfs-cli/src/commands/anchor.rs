//! `yfs anchor`: creates and resolves positions that move with their text.

use yfs::workspace::anchors::{AnchorTarget, FileAnchor};
use yfs_engine::content::AnchorSide;
use yfs_wire::AnchorJson;

use crate::prelude::*;

const HELP: &str = "\
An anchor is a short text that identifies a character of a file, not a line number. Edits, renames
and moves do not invalidate it: --resolve prints the current position. If the character was deleted,
--resolve prints where it was, and a remark. The part after the colon is a Yjs relative position
(Y.encodeRelativePosition) in base64url.

Examples:
  yfs anchor plan.md:12                 the beginning of line 12
  yfs anchor plan.md --offset 340       a byte offset
  yfs anchor --resolve k2f9…:AIz…       prints PATH:LINE

JSON: {path, line, anchor}, or with --offset {path, offset, anchor};
with --resolve {path, line, offset, exact}.";

/// Create an anchor that keeps its position while the file is edited, or resolve one
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct AnchorArgs {
    /// A file and a line number; with --resolve, an anchor
    #[arg(value_name = "PATH:LINE|ANCHOR")]
    place: String,
    /// Print the current position of an anchor
    #[arg(long, conflicts_with_all = ["offset", "left"])]
    resolve: bool,
    /// A byte offset from the beginning of the file, instead of a line
    #[arg(long, value_name = "N")]
    offset: Option<usize>,
    /// Attach to the character before the position, so that insertions go after the anchor
    #[arg(long)]
    left: bool,
}

/// Runs `yfs anchor`.
pub(crate) async fn run(args: AnchorArgs, context: &mut CommandContext) -> Result {
    if args.resolve {
        return resolve(&args.place, context);
    }
    let (typed, target) = match args.offset {
        Some(offset) => (args.place.as_str(), AnchorTarget::Offset(offset)),
        None => {
            let parts = args.place.rsplit_once(':');
            let parts = parts.and_then(|(path, line)| Some((path, line.parse().ok()?)));
            let parts = parts.ok_or_else(|| CommandError::usage(missing_line(&args.place)))?;
            (parts.0, AnchorTarget::Line(parts.1))
        }
    };
    let path = context.path(typed)?;
    let side = if args.left { AnchorSide::Left } else { AnchorSide::Right };
    let anchor = context.readable()?.history().anchor(&path.path, target, side)?.to_string();
    if !context.out.json {
        return context.out.line(&anchor);
    }
    let (name, number) = match target {
        AnchorTarget::Line(line) => ("line", line),
        AnchorTarget::Offset(offset) => ("offset", offset),
    };
    let mut value = json!({ "path": path.path.as_str(), "anchor": anchor });
    value[name] = number.into();
    context.out.json_line(&value)
}

/// Returns the message for an operand without a line number.
fn missing_line(typed: &str) -> String {
    format!("'{typed}' has no line number: pass PATH:LINE, or PATH and --offset N")
}

/// Prints the current position of an anchor.
fn resolve(text: &str, context: &mut CommandContext) -> Result {
    let anchor: FileAnchor = text
        .parse()
        .map_err(|error| CommandError::other(format!("invalid anchor '{text}': {error}")))?;
    let place = context.readable()?.history().resolve_anchor(&anchor)?;
    if context.out.json {
        return context.out.json_line(&AnchorJson::from(&place));
    }
    let path = context.out.safe(place.path.as_str()).into_owned();
    context.out.line(&format!("{path}:{}", place.line))?;
    if !place.exact {
        context.remark("the anchored text was deleted; this is its former position");
    }
    Ok(())
}
