//! `yfs anchor`: positions that move with their text while others write.

use clap::Args;
use serde_json::json;
use yfs::workspace::anchors::{AnchorTarget, FileAnchor};
use yfs_engine::content::AnchorSide;
use yfs_wire::AnchorJson;

use crate::{
    context::CommandContext,
    errors::{CommandError, Result},
    json,
};

const HELP: &str = "\
An anchor is a short text that names a character of a file, not a number of a line. Whatever is written,
renamed or moved meanwhile, --resolve says where it is now. Where the character was deleted it says
where that was, and says so. After the colon an anchor is what editors know as a relative position
(Y.encodeRelativePosition), in base64url.

Examples:
  yfs anchor plan.md:12                 the beginning of line 12
  yfs anchor plan.md --offset 340       a place in bytes
  yfs anchor --resolve k2f9…:AIz…       prints PATH:LINE

JSON: {path, line, anchor}, or with --offset {path, offset, anchor}; of --resolve: {path, line, offset,
exact}.";

/// The arguments of `yfs anchor`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct AnchorArgs {
    /// The file and the line; or the anchor
    #[arg(value_name = "PATH:LINE|ANCHOR")]
    place: String,
    /// Print the present position of an anchor
    #[arg(long, conflicts_with_all = ["offset", "left"])]
    resolve: bool,
    /// A byte offset from the beginning of the file, instead of a line
    #[arg(long, value_name = "N")]
    offset: Option<usize>,
    /// Attach to the character before the position: text inserted there goes behind the anchor
    #[arg(long)]
    left: bool,
}

/// Runs `yfs anchor`.
pub(crate) fn run(args: &AnchorArgs, context: &mut CommandContext) -> Result {
    if args.resolve {
        return resolve(&args.place, context);
    }
    let (typed, spot) = match args.offset {
        Some(offset) => (args.place.as_str(), AnchorTarget::Offset(offset)),
        None => {
            let parts = args.place.rsplit_once(':');
            let parts = parts.and_then(|(path, line)| Some((path, line.parse().ok()?)));
            let parts = parts.ok_or_else(|| CommandError::usage("PATH:LINE, or --offset"))?;
            (parts.0, AnchorTarget::Line(parts.1))
        }
    };
    let path = context.path(typed)?;
    let stick = if args.left { AnchorSide::Left } else { AnchorSide::Right };
    let anchor = context.readable()?.history().anchor(&path.path, spot, stick)?.to_string();
    if !context.out.json {
        return context.out.line(&anchor);
    }
    let (name, number) = match spot {
        AnchorTarget::Line(line) => ("line", line),
        AnchorTarget::Offset(offset) => ("offset", offset),
    };
    let mut value = json!({ "path": path.path.as_str(), "anchor": anchor });
    value[name] = number.into();
    context.out.json_line(&value)
}

fn resolve(text: &str, context: &mut CommandContext) -> Result {
    let anchor: FileAnchor =
        text.parse().map_err(|error| CommandError::other(format!("{text}: {error}")))?;
    let place = context.readable()?.history().resolve_anchor(&anchor)?;
    if context.out.json {
        return context.out.json_line(&json::value(&AnchorJson::from(&place)));
    }
    let path = context.out.safe(place.path.as_str()).into_owned();
    context.out.line(&format!("{path}:{}", place.line))?;
    if !place.exact {
        context.remark("what stood there was deleted; this is where it was");
    }
    Ok(())
}
