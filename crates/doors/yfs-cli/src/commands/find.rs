//! `yfs find`: finds files by name, type, size or time, in the syntax of POSIX `find`.

mod exec_command;
mod expression;
mod find_run;
mod parse;
mod print_all;
mod print_format;

use futures::StreamExt;
use yfs_vfs::{DirEntry, FileSystemExt, WalkEntry, WalkOptions};

use self::{
    exec_command::ExecEnvironment,
    expression::{FindCandidate, FindOutcome},
    find_run::{FindRun, read_link},
};
use crate::prelude::*;

const HELP: &str = "\
Tests: -name GLOB, -iname, -path GLOB, -ipath, -regex PATTERN, -iregex, -lname GLOB, -ilname,
-type f|d|l, -xtype f|d|l, -size [+-]N[ckMG], -empty, -newer PATH, -mtime [+-]DAYS,
-mmin [+-]MINUTES, -newermt DATE, -perm MODE, -executable, -samefile PATH, -true, -false.
Operators: -a (or nothing), -o, ! or -not, ( ).
Actions: -print, -print0, -printf FORMAT, -ls, -delete (to the trash), -prune, -quit,
-exec COMMAND {} \\;, -exec COMMAND {} +, -ok COMMAND {} \\;.
Depth: -maxdepth N, -mindepth N, -depth.

-exec runs commands of yfs (`-exec rm {} +` runs `yfs rm`), and echo, printf, true and false:
other programs would take the paths for those of the disk. -regex uses Emacs expressions, as GNU
find does, unless `-regextype posix-extended` precedes it. -printf knows %p %P %H %h %f %s %m %M
%y %Y %l %d %t %T@ and %T with a letter of strftime, %i (the id), and widths.

Not supported: -L, because links are never followed; owners, link counts, inodes, -atime, -ctime.

Examples:
  yfs find / -name '*.md' -newer plan.md
  yfs find src -type f -size +1M
  yfs find . -name node_modules -prune -o -type f -print
  yfs find /tmp -mtime +30 -delete
  yfs find . -name '*.sh' -exec chmod +x {} +
  yfs find . -type f -printf '%s %p\\n' | sort -n

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
    let environment = ExecEnvironment {
        workspace: context.file()?,
        actor: context.actor().to_string(),
        past: context.past(),
    };
    let mut run = FindRun::new(&plan, fs, environment);
    let roots = if paths.is_empty() { vec![context.here()] } else { context.paths(paths) };
    for root in roots {
        let part = search(&mut run, context, &root).await;
        if !matches!(part, Ok(FindOutcome::Quit)) {
            context.continue_after(part.map(drop))?;
            continue;
        }
        break;
    }
    run.finish(context)
}

/// Evaluates the expression for a path and the entries below it.
async fn search(
    run: &mut FindRun<'_>,
    context: &mut CommandContext,
    root: &TypedPath,
) -> Result<FindOutcome> {
    let stat = run.fs.lstat(&root.path).await?;
    let mut entry = DirEntry::new(root.name(), stat.id, stat.kind);
    (entry.size, entry.mtime, entry.mode) = (stat.size, stat.mtime, stat.mode);
    let first = WalkEntry::new(root.path.clone(), entry);
    let max_depth = run.plan.max_depth.unwrap_or(usize::MAX);
    let mut tree = SearchedTree { root, max_depth, pruned: None };
    if first.entry.kind != FileKind::Directory || max_depth == 0 {
        return tree.visit(run, context, &first, None).await;
    }
    // The entry that follows shows whether a directory is empty, so one level more is listed.
    let max_depth = max_depth.saturating_add(1);
    let measured = context.out.json || run.plan.reads_sizes();
    let kinds_only = !measured && !run.plan.reads_modes();
    let options = WalkOptions { max_depth, measured, kinds_only, ..WalkOptions::default() };
    if run.plan.depth_first || run.plan.changes_files() {
        let mut items = vec![first];
        items.extend(run.fs.walk(&root.path, &options).await?);
        return tree.visit_all(run, context, &items).await;
    }
    let fs = run.fs.clone();
    if run.plan.prints_all() && !context.out.json {
        print_all::print_all(context, &fs, root).await?;
        return Ok(FindOutcome::Done);
    }
    let mut batches = fs.walk_batches(&root.path, &options);
    let mut item = first;
    while let Some(batch) = batches.next().await {
        for next in batch? {
            if tree.visit(run, context, &item, Some(&next)).await? == FindOutcome::Quit {
                return Ok(FindOutcome::Quit);
            }
            item = next;
        }
    }
    tree.visit(run, context, &item, None).await
}

/// The tree that is searched.
struct SearchedTree<'a> {
    root: &'a TypedPath,
    max_depth: usize,
    /// The directory whose content is skipped.
    pruned: Option<VPath>,
}

impl SearchedTree<'_> {
    /// Evaluates the expression for all entries.
    async fn visit_all(
        &mut self,
        run: &mut FindRun<'_>,
        context: &mut CommandContext,
        items: &[WalkEntry],
    ) -> Result<FindOutcome> {
        let depth_first = run.plan.depth_first;
        let order = if depth_first { postorder(items) } else { (0..items.len()).collect() };
        for at in order {
            let outcome = self.visit(run, context, &items[at], items.get(at + 1)).await?;
            if outcome == FindOutcome::Quit {
                return Ok(outcome);
            }
        }
        Ok(FindOutcome::Done)
    }

    /// Evaluates the expression for an entry; `next` is the one that follows it in the tree.
    async fn visit(
        &mut self,
        run: &mut FindRun<'_>,
        context: &mut CommandContext,
        item: &WalkEntry,
        next: Option<&WalkEntry>,
    ) -> Result<FindOutcome> {
        let depth = depth_of(&item.path) - depth_of(&self.root.path);
        let below_pruned = self.pruned.as_ref().is_some_and(|pruned| item.path.starts_with(pruned));
        if depth > self.max_depth || below_pruned || depth < run.plan.min_depth {
            return Ok(FindOutcome::Done);
        }
        let has_children = item.entry.kind == FileKind::Directory
            && next.is_some_and(|next| next.path.starts_with(&item.path));
        let shown = self.root.below(&item.path);
        let link = match item.entry.kind {
            FileKind::Symlink if run.plan.reads_links() => read_link(&run.fs, &item.path).await,
            _ => None,
        };
        let root = self.root.typed.as_str();
        let candidate = FindCandidate { shown: &shown, item, root, depth, has_children, link };
        run.evaluate(context, &candidate).await?;
        if run.prunes && !run.plan.depth_first {
            self.pruned = Some(item.path.clone());
        }
        Ok(if run.quits { FindOutcome::Quit } else { FindOutcome::Done })
    }
}

/// Returns the number of names in a path.
fn depth_of(path: &VPath) -> usize {
    if path.is_root() { 0 } else { path.as_str().bytes().filter(|byte| *byte == b'/').count() }
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
