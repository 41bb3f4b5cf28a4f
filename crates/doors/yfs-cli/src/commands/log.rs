//! `yfs log`: prints who changed which files, and when.

use std::cell::RefCell;

use unicode_width::UnicodeWidthStr;
use yfs::{
    History,
    workspace::{
        change_list::{HistoryChange, HistoryEntry},
        noted_imports::NotedImport,
    },
};
use yfs_engine::actor::Actor;

use crate::{
    compare::{self, ComparedSides, changed_lines, painted_counts, text_of},
    history_steps::{ListedStep, ListedSteps, imported},
    output::TextRole,
    prelude::*,
};

const HELP: &str = "\
One line per change, the latest first: local time, actor, change, path, added and removed lines, and
the number of the version (`yfs versions show PATH N`). A file keeps its history when it is renamed
or moved, and is listed under its present path; what is in the trash, under its former path.
Of what is made, renamed, moved, restored or gets other permission bits, the last 16 changes of each
file and directory are known. An import is one line, unless --files, --patch or --json lists its
files.

TIME is a date, a time or an age, such as '2 days ago', 2h, yesterday, 2026-11-21 or '09:30'. ACTOR
is a part of an actor's name, such as ana, agent: or human:ana.

On a terminal, the output goes to $YFS_PAGER, $PAGER or less.

Examples:
  yfs log                               the whole workspace
  yfs log -n 20 --author agent: /docs   the last 20 changes that agents made in /docs
  yfs log --since yesterday --patch     with the changed lines
  yfs log --graph                       a column for each actor
  yfs log --files                       with the files of imports

JSON: one object per line: {at, path, id, kind, change, actor, label, step, version, names,
redacted, added, removed, from, to, modes}; with --patch also diff. change is created, edited,
renamed, moved, mode, restored or deleted; step is the id of what one command did; from and
to are the paths of a rename or move, modes are [BEFORE, AFTER] in octal.";

/// List the changes of all files, the latest first
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct LogArgs {
    /// Only changes of this file, or below this directory
    #[arg(value_name = "PATH", default_value = "/")]
    path: String,
    /// Print at most N changes
    #[arg(short = 'n', long, value_name = "N")]
    max_count: Option<usize>,
    /// Only changes at or after this time
    #[arg(long, value_name = "TIME", value_parser = parse_time::parse_option)]
    since: Option<Millis>,
    /// Only changes at or before this time
    #[arg(long, value_name = "TIME", value_parser = parse_time::parse_option)]
    until: Option<Millis>,
    /// Only changes of this actor
    #[arg(long, value_name = "ACTOR")]
    author: Option<String>,
    /// Print the oldest of the changes first
    #[arg(long)]
    reverse: bool,
    /// Print the changed lines
    #[arg(short, long)]
    patch: bool,
    /// Print the changed lines, with the changed words marked
    #[arg(long)]
    word_diff: bool,
    /// Show each actor in a column of its own
    #[arg(long)]
    graph: bool,
    /// List each file of an import
    #[arg(long)]
    files: bool,
    /// Do not count the changed lines, which reads two versions of each file
    #[arg(long, conflicts_with_all = ["patch", "word_diff"])]
    no_count: bool,
    /// Follow renames, as `yfs log` always does
    #[arg(long, hide = true)]
    follow: bool,
}

/// Prints the changes.
pub(crate) async fn run(args: LogArgs, context: &mut CommandContext) -> Result {
    let path = context.path(&args.path)?;
    let workspace = context.readable()?;
    let history = workspace.history();
    let mut printer = LogPrinter { args: &args, columns: Vec::new(), actor_width: ACTOR_WIDTH };
    let mut entries = history.changes(&path.path)?;
    let is_grouped = !args.files && !args.prints_diff() && !context.out.json;
    let mut imports = history.noted_imports()?;
    // Those that are read change by change are neither left out nor shown as a whole.
    imports.retain(|import| {
        args.leaves_out(import) || is_grouped && args.shows_whole(import, &path.path)
    });
    entries.skip_imports(&imports)?;
    imports.retain(|import| !args.leaves_out(import));
    // Files whose history cannot be read do not end the list.
    let damaged = RefCell::new(Vec::new());
    let entries = entries.filter_map(|entry| match entry {
        Err(error) if error.is_damage() => {
            damaged.borrow_mut().push(CommandError::from(error));
            None
        }
        entry => Some(entry),
    });
    // An error ends the list, so it is kept.
    let selected = entries
        .filter(|entry| entry.as_ref().map_or(true, |entry| args.selects(entry)))
        .take_while(|entry| entry.as_ref().map_or(true, |entry| args.is_recent(entry)));
    let selected = ListedSteps::new(selected, imports, is_grouped);
    let selected = selected.take(args.max_count.unwrap_or(usize::MAX));
    context.out.start_pager();
    if args.reverse {
        let mut steps = selected.collect::<std::result::Result<Vec<_>, _>>()?;
        steps.reverse();
        steps.iter().try_for_each(|step| printer.print_step(&history, step, context))?;
    } else {
        for step in selected {
            printer.print_step(&history, &step?, context)?;
        }
    }
    damaged.into_inner().iter().for_each(|failure| context.fail(failure));
    Ok(())
}

impl LogArgs {
    fn selects(&self, entry: &HistoryEntry) -> bool {
        let in_time = self.until.is_none_or(|until| entry.at <= until);
        in_time && self.selects_actor(entry.actor.as_ref())
    }

    fn selects_actor(&self, actor: Option<&Actor>) -> bool {
        self.author.as_ref().is_none_or(|wanted| {
            let actor = actor.map(|actor| actor.to_string().to_lowercase());
            actor.is_some_and(|actor| actor.contains(&wanted.to_lowercase()))
        })
    }

    /// Reports whether no change of an import is selected.
    fn leaves_out(&self, import: &NotedImport) -> bool {
        let in_time = self.until.is_none_or(|until| import.begun_at <= until)
            && self.since.is_none_or(|since| import.at >= since);
        !in_time || !self.selects_actor(Some(&import.actor))
    }

    /// Reports whether all changes of an import are selected.
    fn shows_whole(&self, import: &NotedImport, below: &VPath) -> bool {
        let in_time = self.until.is_none_or(|until| import.at <= until)
            && self.since.is_none_or(|since| import.begun_at >= since);
        in_time && below.is_root() && self.selects_actor(Some(&import.actor))
    }

    fn is_recent(&self, entry: &HistoryEntry) -> bool {
        self.since.is_none_or(|since| entry.at >= since)
    }

    fn prints_diff(&self) -> bool {
        self.patch || self.word_diff
    }
}

/// The width of the column of actors, if no name is longer.
const ACTOR_WIDTH: usize = 10;

/// The printer of entries, with what it knows of those before.
struct LogPrinter<'a> {
    args: &'a LogArgs,
    /// The actors that have a column of the graph.
    columns: Vec<String>,
    actor_width: usize,
}

/// The contents before and after a change, if both are text.
struct ChangedText {
    before: String,
    after: String,
}

impl LogPrinter<'_> {
    fn print_step(
        &mut self,
        history: &History<'_>,
        step: &ListedStep,
        context: &mut CommandContext,
    ) -> Result {
        let step = match step {
            ListedStep::Import(import) => {
                let summary = imported(import.n_files, import.source());
                return self.print_import(import.at, Some(&import.actor), &summary, context);
            }
            ListedStep::Changes(step) => step,
        };
        match (step.import_summary(), step.entries.as_slice()) {
            (Some(summary), [first, ..]) => {
                self.print_import(first.at, first.actor.as_ref(), &summary, context)
            }
            (_, entries) => {
                entries.iter().try_for_each(|entry| self.print(history, entry, context))
            }
        }
    }

    fn print_import(
        &mut self,
        at: Millis,
        actor: Option<&Actor>,
        summary: &str,
        context: &mut CommandContext,
    ) -> Result {
        let head = self.line_head(at, actor, context);
        let summary = context.out.safe(summary).into_owned();
        context.out.line(&format!("{head}imported {summary}"))
    }

    fn print(
        &mut self,
        history: &History<'_>,
        entry: &HistoryEntry,
        context: &mut CommandContext,
    ) -> Result {
        let text = if self.args.no_count { None } else { changed_text(history, entry)? };
        let counts = text.as_ref().map(|text| changed_lines(&text.before, &text.after));
        if context.out.json {
            let mut value = entry_json(entry, counts);
            if let Some(text) = text.filter(|_| self.args.prints_diff()) {
                let (names, texts) = text.sides(entry);
                let sides = ComparedSides { names, texts };
                value["diff"] = compare::rendered(&sides, self.args.word_diff).into();
            }
            return context.out.json_line(&value);
        }
        let line = self.line(entry, counts, context);
        context.out.line(line.trim_end())?;
        if let Some(text) = text.filter(|_| self.args.prints_diff()) {
            let (names, texts) = text.sides(entry);
            let sides = ComparedSides { names, texts };
            compare::print(context, &sides, self.args.word_diff)?;
            context.out.line("")?;
        }
        Ok(())
    }

    /// Returns the beginning of a line: the graph, the time and the actor.
    fn line_head(&mut self, at: Millis, actor: Option<&Actor>, context: &CommandContext) -> String {
        let out = &context.out;
        let actor = actor.map_or_else(|| "-".to_owned(), ToString::to_string);
        let mut line = if self.args.graph { self.graph(&actor, context) } else { String::new() };
        let actor = out.safe(&actor).into_owned();
        self.actor_width = self.actor_width.max(actor.width());
        let pad = " ".repeat(self.actor_width - actor.width());
        let time = out.painted(TextRole::Number, &parse_time::minute(at));
        line += &format!("{time}  {actor}{pad}  ");
        line
    }

    fn line(
        &mut self,
        entry: &HistoryEntry,
        counts: Option<[usize; 2]>,
        context: &CommandContext,
    ) -> String {
        let mut line = self.line_head(entry.at, entry.actor.as_ref(), context);
        let out = &context.out;
        let path = out.name(entry.kind, entry.path.as_str());
        line += &format!("{:<7}  {path}", entry.change.as_str());
        if let Some([from, to]) = &entry.paths {
            line += &format!("  from {}", out.safe(from.as_str()));
            if *to != entry.path {
                line += &format!(" to {}", out.safe(to.as_str()));
            }
        }
        if let Some([before, after]) = entry.modes {
            line += &format!("  {before:o} -> {after:o}");
        }
        if let Some(counts) = counts {
            line += &format!("  {}", painted_counts(counts, out));
        }
        if let Some(version) = entry.version {
            line += &format!("  v{version}");
        }
        match (entry.import_source(), &entry.label) {
            (Some(""), _) => line += "  imported",
            (Some(source), _) => line += &format!("  imported from {}", out.safe(source)),
            (None, Some(label)) => line += &format!("  {}", out.safe(label)),
            (None, None) => (),
        }
        for name in &entry.names {
            line += &format!("  [{}]", out.safe(name));
        }
        if entry.is_redacted {
            line += "  (redacted)";
        }
        line
    }

    /// Returns the graph's part of a line: a column for each actor so far, with a mark in one.
    fn graph(&mut self, actor: &str, context: &CommandContext) -> String {
        let known = self.columns.iter().position(|known| known == actor);
        let own = known.unwrap_or_else(|| {
            self.columns.push(actor.to_owned());
            self.columns.len() - 1
        });
        let column = |at: usize| if at == own { "*" } else { "|" };
        let columns = (0..self.columns.len()).map(|at| format!("{} ", column(at)));
        context.out.painted(TextRole::Separator, &columns.collect::<String>()) + " "
    }
}

impl ChangedText {
    /// Returns the names and the texts of the two sides of a comparison.
    fn sides(&self, entry: &HistoryEntry) -> ([String; 2], [&str; 2]) {
        let name = |number: u64| match number {
            0 => "/dev/null".to_owned(),
            number => format!("{} (version {number})", entry.path),
        };
        let number = entry.version.unwrap_or(0);
        ([name(number.saturating_sub(1)), name(number)], [&self.before, &self.after])
    }
}

/// Returns the contents of both sides of a change; `None` if one is no text, or was erased.
fn changed_text(history: &History<'_>, entry: &HistoryEntry) -> Result<Option<ChangedText>> {
    let [before, after] = history.contents_of(entry)?;
    let before = match before {
        Some(before) => before,
        None if entry.change == HistoryChange::Created => bytes::Bytes::new(),
        None => return Ok(None),
    };
    let Some(after) = after else { return Ok(None) };
    let both = text_of(&before).zip(text_of(&after));
    Ok(both.map(|(before, after)| ChangedText { before: before.into(), after: after.into() }))
}

/// Describes an entry.
fn entry_json(entry: &HistoryEntry, counts: Option<[usize; 2]>) -> Value {
    let names: Vec<&str> = entry.names.iter().map(AsRef::as_ref).collect();
    json!({
        "at": parse_time::rfc3339(entry.at),
        "path": entry.path.as_str(),
        "id": entry.id.as_str(),
        "kind": json::kind(entry.kind),
        "change": entry.change.as_str(),
        "actor": entry.actor.as_ref().map(ToString::to_string),
        "label": entry.label.as_deref(),
        "step": entry.step.as_ref().map(ToString::to_string),
        "version": entry.version,
        "names": names,
        "redacted": entry.is_redacted,
        "added": counts.map(|counts| counts[0]),
        "removed": counts.map(|counts| counts[1]),
        "from": entry.paths.as_ref().map(|paths| paths[0].as_str()),
        "to": entry.paths.as_ref().map(|paths| paths[1].as_str()),
        "modes": entry.modes.map(|modes| modes.map(|mode| format!("{mode:o}"))),
    })
}
