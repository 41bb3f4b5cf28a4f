//! `yfs grep`: prints lines that match a pattern, in the format of POSIX `grep`.

use clap::Args;
use serde_json::{Value, json};
use yfs_vfs::{FileKind, FileMatches, FsCode, GrepLine, GrepQuery, GrepResult};
use yfs_wire::GrepLineJson;

use crate::{
    commands::input_content::read_stdin,
    context::{CommandContext, Fs},
    errors::{CommandError, EXIT_USAGE, Result},
    format_text::counted,
    json,
    output::TextRole,
    posix_regex::{self, RegexDialect},
    typed_path::TypedPath,
};

const HELP: &str = "\
Directories are searched recursively, without names that begin with a dot unless --hidden is given.
Files that are not text are skipped unless -a is given. If the pattern has words that every match
must have, an index of the contents chooses the files to read. The syntax of patterns is that of
Rust's regex crate: POSIX extended expressions (as grep -E) with \\d, \\w, \\b and others; -G
selects POSIX basic expressions, in which ( ) { } | + ? need a backslash. `-NUM` is `-C NUM`.

Not supported: -b, -T, -z, -U, --binary-files, --line-buffered, --label, and backreferences.

Exit status: 0 if a line matched, 1 if none did, 2 on errors.

Examples:
  yfs grep TODO                       search everything
  yfs grep -n -C 2 'fn \\w+' src
  yfs grep -F -l 'a.b(c)' --include '*.rs'
  yfs grep -c . notes.md              count the lines that are not empty
  yfs grep -o '#[a-z]+' | sort -u     print the matches only
  yfs grep -L Licence --include '*.rs'  the files without a match
  yfs grep -vxf ignore.txt list.txt   the lines of list.txt that are no line of ignore.txt

JSON: one object for each line: {path, line, text, matches: [[start, end]], is_match[, cut]};
with -l and -L {path}; with -c {path, count}.";

/// Print lines that match a pattern
#[derive(Debug, Args)]
#[command(after_help = HELP, disable_help_flag = true)]
pub(crate) struct GrepArgs {
    /// The pattern
    #[arg(value_name = "PATTERN", required_unless_present_any = ["regexp", "file"])]
    pattern: Option<String>,
    /// The files and directories to search; default: /
    #[arg(value_name = "PATH")]
    paths: Vec<String>,
    /// A pattern, which may begin with a dash; with several, a line must match one of them
    #[arg(short = 'e', long, value_name = "PATTERN", allow_hyphen_values = true)]
    regexp: Vec<String>,
    /// Read patterns from this file of the workspace, one per line; - is standard input
    #[arg(short, long, value_name = "PATH", allow_hyphen_values = true)]
    file: Vec<String>,
    /// Ignore case
    #[arg(short, long)]
    ignore_case: bool,
    /// Print the lines that do not match
    #[arg(short = 'v', long)]
    invert_match: bool,
    /// Print only the matching parts of lines, each on its own line
    #[arg(short, long)]
    only_matching: bool,
    /// Match only whole lines
    #[arg(short = 'x', long)]
    line_regexp: bool,
    /// Print line numbers
    #[arg(short = 'n', long)]
    line_number: bool,
    /// Print only the names of files with matches
    #[arg(short = 'l', long)]
    files_with_matches: bool,
    /// Print only the names of files without matches
    #[arg(short = 'L', long, overrides_with = "files_with_matches")]
    files_without_match: bool,
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
    /// Match POSIX basic expressions
    #[arg(short = 'G', long, conflicts_with = "fixed_strings")]
    basic_regexp: bool,
    /// Accepted for compatibility: always on
    #[arg(short = 'E', long, hide = true, short_alias = 'P', overrides_with = "basic_regexp")]
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
    /// Skip directories that match GLOB
    #[arg(long, value_name = "GLOB")]
    exclude_dir: Vec<String>,
    /// Also search files that are not text
    #[arg(short = 'a', long)]
    text: bool,
    /// Accepted for compatibility: always on
    #[arg(short = 'I', hide = true)]
    skip_binary: bool,
    /// Print at most N lines of each file
    #[arg(short, long, value_name = "N")]
    max_count: Option<usize>,
    /// Also search names that begin with a dot
    #[arg(long)]
    hidden: bool,
    /// Read all files, without the index for searches; the lines are the same
    #[arg(long)]
    no_index: bool,
    /// Never print file names
    #[arg(short = 'h', long)]
    no_filename: bool,
    /// Always print file names
    #[arg(short = 'H', long)]
    with_filename: bool,
    /// Report no missing or unreadable files
    #[arg(short = 's', long)]
    no_messages: bool,
    /// Print a zero byte after each file name, instead of a colon or newline
    #[arg(short = 'Z', long)]
    null: bool,
    /// Print help
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
}

/// Prints the matching lines.
pub(crate) async fn run(mut args: GrepArgs, context: &mut CommandContext) -> Result {
    if !args.regexp.is_empty() || !args.file.is_empty() {
        // With -e and -f the first operand is a path.
        args.paths.splice(0..0, args.pattern.take());
    }
    let fs = context.reader()?;
    let patterns = args.patterns(context, &fs).await?;
    let n_operands = args.paths.len();
    let roots = if n_operands == 0 { vec![TypedPath::root()] } else { context.paths(&args.paths) };
    let (mut n_found, mut failed_silently) = (0, false);
    let mut printer = MatchPrinter { args: &args, with_names: false, first: true };
    for root in roots {
        let query = args.query(&patterns, &root);
        let found = match fs.grep(&query).await {
            Ok(found) => found,
            Err(error) if args.no_messages && error.code != FsCode::EINVAL => {
                context.exit_with(EXIT_USAGE);
                failed_silently = true;
                continue;
            }
            Err(error) => {
                context.fail(&error.into());
                continue;
            }
        };
        n_found += found.n_matches;
        let is_directory = is_directory(&fs, &root).await;
        let several = n_operands > 1 || is_directory;
        printer.with_names = args.with_filename || (several && !args.no_filename);
        if args.silent {
            continue;
        }
        printer.print(context, &root, &found, is_directory)?;
        if found.n_unreadable > 0 && !args.no_messages {
            let files = counted(found.n_unreadable as u64, "file", "files");
            let message = format!("{}: {files} could not be read", root.typed);
            context.fail(&CommandError::other(message));
        }
    }
    let code = match (n_found > 0, context.has_failed() || failed_silently) {
        (true, _) if args.silent => 0,
        (_, true) => EXIT_USAGE,
        (found, false) => u8::from(!found),
    };
    context.exit_with(code);
    context.out.flush()?;
    context.index_if_wanted();
    Ok(())
}

async fn is_directory(fs: &Fs, root: &TypedPath) -> bool {
    matches!(fs.stat(&root.path).await, Ok(stat) if stat.kind == FileKind::Directory)
}

impl GrepArgs {
    /// Returns the patterns, each without a newline.
    async fn patterns(&self, context: &CommandContext, fs: &Fs) -> Result<Vec<String>> {
        // A newline separates alternative patterns, as in POSIX.
        let operands = self.pattern.iter().chain(&self.regexp).flat_map(|text| text.split('\n'));
        let mut patterns: Vec<String> = operands.map(str::to_owned).collect();
        for file in &self.file {
            let data = match file.as_str() {
                "-" => read_stdin()?,
                file => fs.read(&context.path(file)?.path).await?.data,
            };
            let text = String::from_utf8(data.to_vec())
                .map_err(|_| CommandError::other(format!("{file}: the patterns are not UTF-8")))?;
            patterns.extend(text.lines().map(str::to_owned));
        }
        if self.basic_regexp {
            for pattern in &mut patterns {
                *pattern = posix_regex::translate(pattern, RegexDialect::Basic);
            }
        }
        Ok(patterns)
    }

    fn query(&self, patterns: &[String], root: &TypedPath) -> GrepQuery {
        let around = self.context.unwrap_or(0);
        let only_names = self.silent || self.files_with_matches || self.files_without_match;
        let shows_context = !only_names && !self.count && !self.only_matching;
        let lines =
            |n_lines: Option<usize>| if shows_context { n_lines.unwrap_or(around) } else { 0 };
        // A glob that ends with a slash matches directories only.
        let directories =
            self.exclude_dir.iter().map(|glob| format!("{}/", glob.trim_end_matches('/')));
        let exclude = self.exclude.iter().cloned().chain(directories).collect();
        GrepQuery {
            root: root.path.clone(),
            literal: self.fixed_strings && patterns.len() == 1,
            ignore_case: self.ignore_case,
            whole_word: self.word_regexp,
            whole_line: self.line_regexp,
            invert: self.invert_match,
            binary: self.text,
            unmatched_files: self.files_without_match || self.count,
            before: lines(self.before_context),
            after: lines(self.after_context),
            include: self.include.clone(),
            exclude,
            hidden: self.hidden,
            use_index: !self.no_index,
            max_per_file: if only_names { 1 } else { self.max_count.unwrap_or(usize::MAX) },
            max_total: if self.silent { 1 } else { usize::MAX },
            ..GrepQuery::new(join_patterns(patterns, self.fixed_strings))
        }
    }
}

/// Joins alternative patterns to one.
fn join_patterns(patterns: &[String], literal: bool) -> String {
    let joined = |parts: Vec<String>| parts.join("|");
    match patterns {
        // No pattern matches nothing, as with an empty file for -f.
        [] => "[a&&b]".to_owned(),
        [one] => one.clone(),
        parts if literal => joined(parts.iter().map(|part| regex::escape(part)).collect()),
        parts => joined(parts.iter().map(|part| format!("(?:{part})")).collect()),
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
            if self.args.files_with_matches || self.args.files_without_match {
                if (file.n_matches == 0) == self.args.files_without_match {
                    self.print_name(context, file, &name)?;
                }
            } else if self.args.count {
                self.print_count(context, file.path.as_str(), &name, file.n_matches)?;
            } else if self.args.only_matching && !context.out.json {
                self.print_matches(context, file, &name)?;
            } else {
                self.print_lines(context, file, &name)?;
            }
        }
        // The count 0 of a file that is not text is printed only if it is an operand itself.
        let only_names = self.args.files_with_matches || self.args.files_without_match;
        if self.args.count && !only_names && found.files.is_empty() && !is_directory {
            self.print_count(context, root.path.as_str(), &root.typed, 0)?;
        }
        Ok(())
    }

    fn print_name(&self, context: &mut CommandContext, file: &FileMatches, name: &str) -> Result {
        if context.out.json {
            return context.out.json_line(&json!({ "path": file.path.as_str() }));
        }
        let name = context.out.painted(TextRole::Place, &context.out.safe(name));
        context.out.raw(name.as_bytes())?;
        context.out.raw(if self.args.null { b"\0" } else { b"\n" })
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

    /// Prints the matching parts of lines, with `-o`.
    fn print_matches(
        &self,
        context: &mut CommandContext,
        file: &FileMatches,
        name: &str,
    ) -> Result {
        for line in &file.lines {
            for range in line.matches.iter().filter(|range| range.start < range.end) {
                let prefix = self.prefix(context, name, Some(line.number), true);
                let text = context.out.safe(&line.text[range.clone()]);
                let text = context.out.painted(TextRole::Match, &text);
                context.out.line(&format!("{prefix}{text}"))?;
            }
        }
        Ok(())
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
            prefix += if self.args.null { "\0" } else { &separator };
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
