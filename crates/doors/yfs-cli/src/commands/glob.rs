//! `yfs glob`: finds paths that match a pattern.

use yfs_vfs::GlobQuery;

use crate::prelude::*;

const HELP: &str = "\
* matches any characters except /, ** any number of directories, ? one character, [a-z] one
character of a class, {a,b} either alternative. A pattern without / matches names at every depth.
Quote patterns, or the shell expands them.

Examples:
  yfs glob '*.md'
  yfs glob 'src/**/*.{ts,tsx}'
  yfs glob --hidden --root docs '.*'

JSON: one object per line: {path, name, id, kind, size, mode, mtime}.";

/// Find paths that match a pattern
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct GlobArgs {
    /// The patterns
    #[arg(value_name = "PATTERN", required = true)]
    patterns: Vec<String>,
    /// The directory to search
    #[arg(long, value_name = "PATH", default_value = "/")]
    root: String,
    /// Also match names that begin with a dot
    #[arg(long)]
    hidden: bool,
    /// Ignore case
    #[arg(short, long)]
    ignore_case: bool,
    /// Also match directories
    #[arg(short, long)]
    directories: bool,
    /// Print at most N paths for each pattern
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Terminate each path with NUL instead of a newline
    #[arg(short = '0', long)]
    null: bool,
}

/// Prints the matching paths.
pub(crate) async fn run(args: GlobArgs, context: &mut CommandContext) -> Result {
    let fs = context.reader()?;
    let root = context.path(&args.root)?;
    for pattern in &args.patterns {
        let query = GlobQuery {
            root: root.path.clone(),
            hidden: args.hidden,
            ignore_case: args.ignore_case,
            directories: args.directories,
            limit: args.limit.unwrap_or(usize::MAX),
            ..GlobQuery::new(pattern)
        };
        let found = match fs.glob(&query).await {
            Ok(found) => found,
            Err(error) => {
                context.fail(&error.into());
                continue;
            }
        };
        for item in &found.entries {
            if context.out.json {
                context.out.json_line(&json::entry(item.path.as_str(), &item.entry))?;
            } else if args.null {
                context.out.raw(item.path.as_str().as_bytes())?;
                context.out.raw(b"\0")?;
            } else {
                let path = context.out.name(item.entry.kind, item.path.as_str());
                context.out.line(&path)?;
            }
        }
        if found.cut.is_some() {
            context.remark(&format!(
                "{pattern}: only the first {} paths are printed",
                found.entries.len()
            ));
        }
    }
    Ok(())
}
