//! `yfs find`: finds files by name, type, size or time, in the syntax of POSIX `find`.

mod expression;
mod parse;

use clap::Args;
use yfs_vfs::{DirEntry, RemoveOptions, WalkEntry, WalkOptions};

use self::expression::{FindAction, FindCandidate, FindOutcome, FindPlan};
use crate::{
    context::{CommandContext, Fs},
    errors::{CommandError, Result},
    json,
    typed_path::TypedPath,
};

const HELP: &str = "\
Tests: -name GLOB, -iname, -path GLOB, -ipath, -type f|d|l, -size [+-]N[ckMG], -empty,
-newer PATH, -mtime [+-]DAYS, -mmin [+-]MINUTES, -newermt DATE, -perm MODE, -true, -false.
Operators: -a (or nothing), -o, ! or -not, ( ).
Actions: -print, -print0, -delete (to the trash), -prune, -quit.
Depth: -maxdepth N, -mindepth N, -depth.

Examples:
  yfs find / -name '*.md' -newer plan.md
  yfs find src -type f -size +1M
  yfs find . -name node_modules -prune -o -type f -print
  yfs find /tmp -mtime +30 -delete

JSON: one object per line: {path, name, id, kind, size, mode, mtime}.";

/// Find files by name, type, size or time
#[derive(Debug, Args)]
#[command(after_help = HELP, disable_help_flag = true)]
pub(crate) struct FindArgs {
    /// The paths to search (default: /), and the expression
    #[arg(value_name = "PATH... EXPRESSION", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
    /// Print help
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
}

/// Finds the files, and performs the actions.
pub(crate) async fn run(mut args: FindArgs, context: &mut CommandContext) -> Result {
    // All words after the first path belong to the expression, except the global option `--json`.
    let n_words = args.words.len();
    args.words.retain(|word| word != "--json");
    if args.words.len() < n_words {
        context.enable_json();
    }
    let n_paths = args.words.iter().take_while(|word| !parse::begins_expression(word)).count();
    let (paths, words) = args.words.split_at(n_paths);
    let mut plan = parse::parse(words).map_err(CommandError::Usage)?;
    let fs = if plan.deletes() { context.writer()? } else { context.reader()? };
    plan.resolve(&fs, context).await?;
    let roots = if paths.is_empty() { vec![TypedPath::root()] } else { context.paths(paths) };
    for root in roots {
        let part = search(&plan, context, &fs, &root).await;
        if !matches!(part, Ok(FindOutcome::Quit)) {
            context.continue_after(part.map(drop))?;
            continue;
        }
        break;
    }
    Ok(())
}

/// Evaluates the expression for a path and the entries below it.
async fn search(
    plan: &FindPlan,
    context: &mut CommandContext,
    fs: &Fs,
    root: &TypedPath,
) -> Result<FindOutcome> {
    let stat = fs.lstat(&root.path).await?;
    let mut entry = DirEntry::new(root.name(), stat.id, stat.kind);
    (entry.size, entry.mtime, entry.mode) = (stat.size, stat.mtime, stat.mode);
    let mut items = vec![WalkEntry::new(root.path.clone(), entry)];
    let max_depth = plan.max_depth.unwrap_or(usize::MAX);
    if items[0].entry.kind == yfs_vfs::FileKind::Directory && max_depth > 0 {
        // The entry that follows shows whether a directory is empty, so one level more is listed.
        let max_depth = max_depth.saturating_add(1);
        let options = WalkOptions { max_depth, ..WalkOptions::default() };
        items.extend(fs.walk(&root.path, &options).await?);
    }
    let order = if plan.depth_first { postorder(&items) } else { (0..items.len()).collect() };
    let base = root.path.components().count();
    let mut pruned: Option<&yfs_engine::path::VPath> = None;
    for at in order {
        let item = &items[at];
        let depth = item.path.components().count() - base;
        let below_pruned = pruned.is_some_and(|pruned| item.path.starts_with(pruned));
        if depth > max_depth || below_pruned || depth < plan.min_depth {
            continue;
        }
        let has_children = items.get(at + 1).is_some_and(|next| next.path.starts_with(&item.path));
        let shown = root.below(&item.path);
        let candidate = FindCandidate { shown: &shown, item, has_children };
        let verdict = plan.evaluate(&candidate);
        for action in &verdict.actions {
            perform(*action, context, fs, &shown, item).await?;
        }
        if verdict.prunes && !plan.depth_first {
            pruned = Some(&item.path);
        }
        if verdict.quits {
            return Ok(FindOutcome::Quit);
        }
    }
    Ok(FindOutcome::Done)
}

/// Returns the order that puts the content of each directory before the directory.
fn postorder(items: &[WalkEntry]) -> Vec<usize> {
    let mut order = Vec::with_capacity(items.len());
    let mut open: Vec<usize> = Vec::new();
    for (at, item) in items.iter().enumerate() {
        while let Some(last) = open.pop_if(|last| !item.path.starts_with(&items[*last].path)) {
            order.push(last);
        }
        open.push(at);
    }
    order.extend(open.into_iter().rev());
    order
}

/// Performs an action on an entry.
async fn perform(
    action: FindAction,
    context: &mut CommandContext,
    fs: &Fs,
    shown: &str,
    item: &WalkEntry,
) -> Result {
    match action {
        FindAction::Delete => {
            let options = RemoveOptions { recursive: false, force: false };
            let part = fs.rm(&item.path, &options).await.map_err(CommandError::from);
            context.continue_after(part)
        }
        _ if context.out.json => {
            context.out.json_line(&json::entry(item.path.as_str(), &item.entry))
        }
        FindAction::Print0 => {
            context.out.raw(shown.as_bytes())?;
            context.out.raw(b"\0")
        }
        FindAction::Print => {
            let name = context.out.name(item.entry.kind, shown);
            context.out.line(&name)
        }
    }
}
