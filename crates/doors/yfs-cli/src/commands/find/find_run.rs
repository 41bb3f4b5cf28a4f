//! A run of `find`: evaluates the expression for each object, and performs the actions.
//!
//! An action is performed at its place in the expression, because the result of `-exec` and
//! `-delete` decides what follows.

use futures::future::{FutureExt, LocalBoxFuture};
use yfs_vfs::RemoveOptions;

use super::{
    exec_command::{ExecCommand, ExecEnvironment},
    expression::{FindAction, FindCandidate, FindExpression, FindPlan, LinkDetails},
};
use crate::{commands::confirm_prompt::confirm, mode, prelude::*};

/// A run of `find`.
pub(super) struct FindRun<'a> {
    /// The parsed command line.
    pub(super) plan: &'a FindPlan,
    /// The files.
    pub(super) fs: Fs,
    /// The environment of commands.
    pub(super) environment: ExecEnvironment,
    /// The paths that wait for a run of a command with `+`.
    batches: Vec<(&'a ExecCommand, Vec<String>)>,
    /// Whether the search skips the content of the object.
    pub(super) prunes: bool,
    /// Whether the search ends.
    pub(super) quits: bool,
}

impl<'a> FindRun<'a> {
    /// Starts a run.
    pub(super) fn new(plan: &'a FindPlan, fs: Fs, environment: ExecEnvironment) -> Self {
        Self { plan, fs, environment, batches: Vec::new(), prunes: false, quits: false }
    }

    /// Evaluates the expression for an object.
    pub(super) async fn evaluate(
        &mut self,
        context: &mut CommandContext,
        candidate: &FindCandidate<'_>,
    ) -> Result {
        self.prunes = false;
        match &self.plan.root {
            // Without tests, the evaluation costs more than the listing.
            FindExpression::Action(action) => {
                self.perform(context, action, candidate).await.map(drop)
            }
            root => self.eval(context, root, candidate).await.map(drop),
        }
    }

    /// Runs the commands with `+` that have paths left.
    pub(super) fn finish(&mut self, context: &mut CommandContext) -> Result {
        for (command, paths) in std::mem::take(&mut self.batches) {
            self.run_batch(context, command, &paths)?;
        }
        Ok(())
    }

    // Recursive, but no deeper than the nesting limit of the parser.
    fn eval<'b>(
        &'b mut self,
        context: &'b mut CommandContext,
        node: &'a FindExpression,
        candidate: &'b FindCandidate<'_>,
    ) -> LocalBoxFuture<'b, Result<bool>> {
        async move {
            Ok(match node {
                FindExpression::And(nodes) => {
                    for node in nodes {
                        if self.quits || !self.eval(context, node, candidate).await? {
                            return Ok(false);
                        }
                    }
                    true
                }
                FindExpression::Or(nodes) => {
                    for node in nodes {
                        if self.quits || self.eval(context, node, candidate).await? {
                            return Ok(true);
                        }
                    }
                    false
                }
                FindExpression::Not(node) => !self.eval(context, node, candidate).await?,
                FindExpression::Test(test) => test.holds(candidate, self.plan.now),
                FindExpression::Action(action) => self.perform(context, action, candidate).await?,
                FindExpression::Prune => {
                    self.prunes = true;
                    true
                }
                FindExpression::Quit => {
                    self.quits = true;
                    true
                }
            })
        }
        .boxed_local()
    }

    /// Performs an action on an object. Reports whether it succeeded.
    async fn perform(
        &mut self,
        context: &mut CommandContext,
        action: &'a FindAction,
        candidate: &FindCandidate<'_>,
    ) -> Result<bool> {
        let (shown, item) = (candidate.shown, candidate.item);
        match action {
            FindAction::Delete => {
                let options = RemoveOptions { recursive: false, force: false };
                let part = self.fs.rm(&item.path, &options).await.map_err(CommandError::from);
                let is_removed = part.is_ok();
                context.continue_after(part)?;
                return Ok(is_removed);
            }
            FindAction::Exec(command) => return self.exec(context, command, shown),
            FindAction::Printf(format) => context.out.raw(format.format(candidate).as_bytes())?,
            _ if context.out.json => {
                context.out.json_line(&json::entry(item.path.as_str(), &item.entry))?;
            }
            FindAction::Print0 => {
                context.out.raw(shown.as_bytes())?;
                context.out.raw(b"\0")?;
            }
            FindAction::Print => {
                let name = context.out.name(item.entry.kind, shown);
                context.out.line(&name)?;
            }
            FindAction::Ls => print_long(context, candidate)?,
        }
        Ok(true)
    }

    fn exec(
        &mut self,
        context: &mut CommandContext,
        command: &'a ExecCommand,
        shown: &str,
    ) -> Result<bool> {
        if command.is_batch {
            let at = self.batches.iter().position(|(other, _)| std::ptr::eq(*other, command));
            let at = at.unwrap_or_else(|| {
                self.batches.push((command, Vec::new()));
                self.batches.len() - 1
            });
            self.batches[at].1.push(shown.to_owned());
            if ExecCommand::is_full(&self.batches[at].1) {
                let paths = std::mem::take(&mut self.batches[at].1);
                self.run_batch(context, command, &paths)?;
            }
            return Ok(true);
        }
        if command.asks && !confirm(context, &format!("run {}", command.describe(shown)))? {
            return Ok(false);
        }
        context.out.flush()?;
        Ok(command.run(&[shown.to_owned()], &self.environment)?)
    }

    /// Runs a command with many paths. `find` fails if the command does.
    fn run_batch(
        &self,
        context: &mut CommandContext,
        command: &ExecCommand,
        paths: &[String],
    ) -> Result {
        context.out.flush()?;
        if !paths.is_empty() && !command.run(paths, &self.environment)? {
            context.exit_with(crate::errors::EXIT_FAILED);
        }
        Ok(())
    }
}

/// Prints an object as `ls -l` does.
fn print_long(context: &mut CommandContext, candidate: &FindCandidate<'_>) -> Result {
    let entry = &candidate.item.entry;
    let mode = mode::format_mode(entry.kind, entry.mode);
    let time = parse_time::short(entry.mtime, parse_time::now());
    let name = context.out.name(entry.kind, candidate.shown);
    let target = match &candidate.link {
        Some(link) => format!(" -> {}", context.out.safe(&link.target)),
        None => String::new(),
    };
    context.out.line(&format!("{mode} {:>8} {time} {name}{target}", entry.size))
}

/// Reads what a link refers to.
pub(super) async fn read_link(fs: &Fs, path: &VPath) -> Option<LinkDetails> {
    // A link that was removed meanwhile has no target.
    let target = fs.readlink(path).await.ok()?;
    let stat = fs.stat(path).await.ok();
    let mode = stat.as_ref().map(|stat| stat.mode);
    let referent = stat.map(|stat| (stat.kind, stat.id));
    debug_assert!(referent.as_ref().is_none_or(|(kind, _)| *kind != FileKind::Symlink));
    Some(LinkDetails { target, referent, mode })
}
