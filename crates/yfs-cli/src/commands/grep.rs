//! `yfs grep`: prints lines that match a pattern, in the format of POSIX `grep`.

use clap::Args;
use serde_json::{Value, json};
use yfs_vfs::{FileKind, FileMatches, GrepLine, GrepQuery, GrepResult};
use yfs_wire::GrepLineJson;

use crate::{
    context::{CommandContext, Fs},
    errors::{CommandError, EXIT_USAGE, Result},
    format_text::counted,
    json,
    output::TextRole,
    typed_path::TypedPath,
};

const HELP: &str = "\
Directories are searched recursively. The syntax of patterns is that of Rust's regex crate: POSIX
extended expressions with \\d, \\w, \\b and others.

Exit status: 0 if a line matched, 1 if none did, 2 on errors.

Examples:
  yfs grep TODO                       search everything
  yfs grep -n -C 2 'fn \\w+' src
  yfs grep -F -l 'a.b(c)' --include '*.rs'
  yfs grep -c . notes.md              count the lines that are not empty

JSON: one object for each line: {path, line, text, matches: [[start, end]], is_match[, cut]};
with -l {path}; with -c {path, count}.";

/// Print lines that match a pattern
#[derive(Debug, Args)]
#[command(after_help = HELP, disable_help_flag = true)]
pub(crate) struct GrepArgs {
    /// The pattern
    #[arg(value_name = "PATTERN", required_unless_present = "regexp", allow_hyphen_values = true)]
    pattern: Option<String>,
    /// The files and directories to search; default: /
    #[arg(value_name = "PATH")]
    paths: Vec<String>,
    /// A pattern, which may begin with a dash; with several, a line must match one of them
    #[arg(short = 'e', long, value_name = "PATTERN", allow_hyphen_values = true)]
    regexp: Vec<String>,
    /// Ignore case
    #[arg(short, long)]
    ignore_case: bool,
    /// Print line numbers
    #[arg(short = 'n', long)]
    line_number: bool,
    /// Print only the names of files with matches
    #[arg(short = 'l', long)]
    files_with_matches: bool,
    /// Print only the number of matching lines
    #[arg(short, long)]
    count: bool,
    /// Print nothing; only set the exit status
    #[arg(short = 'q', long)]
    silent: bool,
    /// Match only whole words
    #[arg(short, long)]
    word_regexp: bool,
    /// Match the pattern as literal text
    #[arg(short = 'F', long)]
    fixed_strings: bool,
    /// Accepted for compatibility: always on
    #[arg(short = 'E', long, hide = true)]
    extended_regexp: bool,
    /// Accepted for compatibility: always on
    #[arg(short = 'r', long, hide = true, short_alias = 'R')]
    recursive: bool,
    /// Print N lines after each match
    #[arg(short = 'A', long, value_name = "N")]
    after_context: Option<usize>,
    /// Print N lines before each match
    #[arg(short = 'B', long, value_name = "N")]
    before_context: Option<usize>,
    /// Print N lines before and after each match
    #[arg(short = 'C', long, value_name = "N")]
    context: Option<usize>,
    /// Search only files that match GLOB, as in `yfs glob`
    #[arg(long, value_name = "GLOB")]
    include: Vec<String>,
    /// Skip files that match GLOB
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,
    /// Print at most N lines of each file
    #[arg(short, long, value_name = "N")]
    max_count: Option<usize>,
    /// Also search names that begin with a dot
    #[arg(long)]
    hidden: bool,
    /// Never print file names
    #[arg(short = 'h', long)]
    no_filename: bool,
    /// Always print file names
    #[arg(short = 'H', long)]
    with_filename: bool,
    /// Print help
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
}

/// Prints the matching lines.
pub(crate) async fn run(mut args: GrepArgs, context: &mut CommandContext) -> Result {
    if !args.regexp.is_empty() {
        // With -e the first operand is a path.
        args.paths.splice(0..0, args.pattern.take());
    }
    let pattern = args.joined_pattern();
    let fs = context.reader()?;
    let n_operands = args.paths.len();
    let roots = if n_operands == 0 { vec![TypedPath::root()] } else { context.paths(&args.paths) };
    let mut n_matches = 0;
    let mut printer = MatchPrinter { args: &args, with_names: false, first: true };
    for root in roots {
        let query = args.query(&pattern, &root);
        let found = match fs.grep(&query).await {
            Ok(found) => found,
            Err(error) => {
                context.fail(&error.into());
                continue;
            }
        };
        n_matches += found.n_matches;
        let is_directory = is_directory(&fs, &root).await;
        let several = n_operands > 1 || is_directory;
        printer.with_names = args.with_filename || (several && !args.no_filename);
        if args.silent {
            continue;
        }
        printer.print(context, &root, &found, is_directory)?;
        if found.n_unreadable > 0 {
            let files = counted(found.n_unreadable as u64, "file", "files");
            let message = format!("{}: {files} could not be read", root.typed);
            context.fail(&CommandError::other(message));
        }
    }
    let code = match (n_matches > 0, context.has_failed()) {
        (true, _) if args.silent => 0,
        (_, true) => EXIT_USAGE,
        (found, false) => u8::from(!found),
    };
    context.exit_with(code);
    Ok(())
}

async fn is_directory(fs: &Fs, root: &TypedPath) -> bool {
    matches!(fs.stat(&root.path).await, Ok(stat) if stat.kind == FileKind::Directory)
}

impl GrepArgs {
    fn joined_pattern(&self) -> String {
        let patterns = self.pattern.iter().chain(&self.regexp);
        // A newline separates alternative patterns, as in POSIX.
        let parts: Vec<&str> = patterns.flat_map(|pattern| pattern.split('\n')).collect();
        match parts.as_slice() {
            [one] => (*one).to_owned(),
            parts if self.fixed_strings => {
                let escaped: Vec<String> = parts.iter().map(|part| regex::escape(part)).collect();
                escaped.join("|")
            }
            parts => parts.iter().map(|part| format!("(?:{part})")).collect::<Vec<_>>().join("|"),
        }
    }

    fn query(&self, pattern: &str, root: &TypedPath) -> GrepQuery {
        let several =
            self.pattern.iter().chain(&self.regexp).flat_map(|text| text.split('\n')).count() > 1;
        let around = self.context.unwrap_or(0);
        let only_names = self.silent || self.files_with_matches;
        let shows_context = !only_names && !self.count;
        let lines =
            |n_lines: Option<usize>| if shows_context { n_lines.unwrap_or(around) } else { 0 };
        GrepQuery {
            root: root.path.clone(),
            literal: self.fixed_strings && !several,
            ignore_case: self.ignore_case,
            whole_word: self.word_regexp,
            before: lines(self.before_context),
            after: lines(self.after_context),
            include: self.include.clone(),
            exclude: self.exclude.clone(),
            hidden: self.hidden,
            max_per_file: if only_names { 1 } else { self.max_count.unwrap_or(usize::MAX) },
            max_total: if self.silent { 1 } else { usize::MAX },
            ..GrepQuery::new(pattern)
        }
    }
}

/// A printer of matches.
struct MatchPrinter<'a> {
    args: &'a GrepArgs,
    with_names: bool,
    /// Whether no group was printed yet, so that no `--` is needed before the next one.
    first: bool,
}

impl MatchPrinter<'_> {
    fn print(
        &mut self,
        context: &mut CommandContext,
        root: &TypedPath,
        found: &GrepResult,
        is_directory: bool,
    ) -> Result {
        for file in &found.files {
            let name = root.below(&file.path);
            if self.args.files_with_matches {
                self.print_name(context, file, &name)?;
            } else if self.args.count {
                self.print_count(context, file.path.as_str(), &name, file.n_matches)?;
            } else {
                self.print_lines(context, file, &name)?;
            }
        }
        // The count 0 is printed only for a file that is an operand itself.
        if self.args.count && found.files.is_empty() && !is_directory {
            self.print_count(context, root.path.as_str(), &root.typed, 0)?;
        }
        Ok(())
    }

    fn print_name(&self, context: &mut CommandContext, file: &FileMatches, name: &str) -> Result {
        if context.out.json {
            return context.out.json_line(&json!({ "path": file.path.as_str() }));
        }
        let name = context.out.painted(TextRole::Place, &context.out.safe(name));
        context.out.line(&name)
    }

    fn print_count(
        &self,
        context: &mut CommandContext,
        path: &str,
        name: &str,
        count: usize,
    ) -> Result {
        if context.out.json {
            return context.out.json_line(&json!({ "path": path, "count": count }));
        }
        let prefix = self.prefix(context, name, None, true);
        context.out.line(&format!("{prefix}{count}"))
    }

    fn print_lines(
        &mut self,
        context: &mut CommandContext,
        file: &FileMatches,
        name: &str,
    ) -> Result {
        let has_context = self.args.context.is_some()
            || self.args.after_context.is_some()
            || self.args.before_context.is_some();
        let mut previous: Option<u64> = None;
        for line in &file.lines {
            if context.out.json {
                context.out.json_line(&line_json(file, line))?;
                continue;
            }
            let adjoins = previous.is_some_and(|previous| previous + 1 == line.number);
            if has_context && !adjoins && !self.first {
                let separator = context.out.painted(TextRole::Separator, "--");
                context.out.line(&separator)?;
            }
            (previous, self.first) = (Some(line.number), false);
            let prefix = self.prefix(context, name, Some(line.number), line.is_match);
            let text = painted_line(context, line);
            context.out.line(&format!("{prefix}{text}"))?;
        }
        Ok(())
    }

    fn prefix(
        &self,
        context: &CommandContext,
        name: &str,
        number: Option<u64>,
        is_match: bool,
    ) -> String {
        let out = &context.out;
        let separator = out.painted(TextRole::Separator, if is_match { ":" } else { "-" });
        let mut prefix = String::new();
        if self.with_names {
            prefix += &out.painted(TextRole::Place, &out.safe(name));
            prefix += &separator;
        }
        if let Some(number) = number.filter(|_| self.args.line_number) {
            prefix += &out.painted(TextRole::Number, &number.to_string());
            prefix += &separator;
        }
        prefix
    }
}

fn painted_line(context: &CommandContext, line: &GrepLine) -> String {
    let mut text = String::new();
    let mut at = 0;
    for range in &line.matches {
        text += &context.out.safe(&line.text[at..range.start]);
        text += &context.out.painted(TextRole::Match, &context.out.safe(&line.text[range.clone()]));
        at = range.end;
    }
    text += &context.out.safe(&line.text[at..]);
    if line.cut {
        text += " [...]";
    }
    text
}

fn line_json(file: &FileMatches, line: &GrepLine) -> Value {
    let path = Some(file.path.to_string());
    json::value(&GrepLineJson { path, ..GrepLineJson::from(line) })
}
