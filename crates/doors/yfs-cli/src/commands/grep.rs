//! `yfs grep`: prints lines that match a pattern, in the format of POSIX `grep`.

use std::ops::ControlFlow;

use yfs_vfs::{FileMatches, GrepLine, GrepQuery, GrepSink, grep::describe_binary};
use yfs_wire::GrepLineJson;

use crate::{
    commands::input_content::read_stdin,
    errors::EXIT_USAGE,
    output::TextRole,
    posix_regex::{self, RegexDialect},
    prelude::*,
};

const HELP: &str = "\
Directories are searched recursively, without names that begin with a dot unless --hidden is given.
Text in UTF-16 is decoded. Files that are not text are skipped unless -a is given; a remark at the
end counts and names them, unless -I or -s is given. If the pattern has words that every match must
have, an index of the contents chooses the files to read. The syntax
of patterns is that of Rust's regex crate: POSIX extended expressions (as grep -E) with \\d, \\w,
\\b and others; -G selects POSIX basic expressions, in which ( ) { } | + ? need a backslash. `-NUM`
is `-C NUM`.

A file of 16 MiB or more is searched as a stream: only a line, with the lines before it that -B asks
for, is held in memory. If these exceed 256 MiB, the file counts as unreadable. No pattern matches
across lines.

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
with -l and -L {path}; with -c {path, count}. The last object is {binary, binary_paths} if files are
not text: their number, and the paths of the first 20 for each PATH.";

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
    /// Do not mention the files that are not text
    #[arg(short = 'I')]
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
    let roots = if n_operands == 0 { vec![context.here()] } else { context.paths(&args.paths) };
    let (mut n_found, mut failed_silently) = (0, false);
    let mut first = true;
    let mut skipped = SkippedFiles::default();
    for root in roots {
        let query = args.query(&patterns, &root);
        let is_directory = is_directory(&fs, &root).await;
        let several = n_operands > 1 || is_directory;
        let with_names = args.with_filename || (several && !args.no_filename);
        let mut printer = MatchPrinter {
            args: &args,
            context: &mut *context,
            root: &root,
            with_names,
            first,
            previous: None,
            n_files: 0,
            printed: Ok(()),
        };
        let found = fs.grep_each(&query, &mut printer).await;
        let MatchPrinter { n_files, printed, .. } = printer;
        first = printer.first;
        printed?;
        let found = match found {
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
        if args.silent {
            continue;
        }
        args.print_no_count(context, &root, with_names, is_directory || n_files > 0)?;
        skipped.add(found.n_binary, &found.binary_paths, |path| root.below(path).into_owned());
        if found.n_unreadable > 0 && !args.no_messages {
            let files = counted(found.n_unreadable as u64, "file", "files");
            let message = format!("{}: {files} could not be read", root.typed);
            context.fail(&CommandError::other(message));
        }
    }
    if !args.skip_binary && !args.no_messages {
        let remedy = if skipped.n_files == 1 { " (-a searches it)" } else { " (-a searches them)" };
        skipped.print(context, remedy)?;
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

/// The files that a search skipped because they are not text.
#[derive(Debug, Default)]
pub(crate) struct SkippedFiles {
    n_files: u64,
    /// The first paths.
    paths: Vec<String>,
    /// The same, as they are shown.
    names: Vec<String>,
}

impl SkippedFiles {
    pub(crate) fn add<P: ToString>(
        &mut self,
        n_files: u64,
        paths: &[P],
        name: impl Fn(&P) -> String,
    ) {
        self.n_files += n_files;
        self.names.extend(paths.iter().map(name));
        self.paths.extend(paths.iter().map(ToString::to_string));
    }

    /// Prints a remark, or the last object of JSON, if files were skipped.
    pub(crate) fn print(&self, context: &mut CommandContext, remedy: &str) -> Result {
        let names = self.names.iter().map(|name| context.out.safe(name));
        let Some(text) = describe_binary(self.n_files, names) else { return Ok(()) };
        context.conclude(
            &json!({ "binary": self.n_files, "binary_paths": self.paths }),
            &(text + remedy),
        )
    }
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
            counts_only: only_names || self.count,
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

/// A printer of matches as they are found.
struct MatchPrinter<'a> {
    args: &'a GrepArgs,
    context: &'a mut CommandContext,
    root: &'a TypedPath,
    with_names: bool,
    /// Whether no group was printed yet, so that no `--` is needed before the next one.
    first: bool,
    /// The number of the last line that was printed of the file.
    previous: Option<u64>,
    /// The number of files that were found.
    n_files: usize,
    /// Why printing ended, if it did.
    printed: Result,
}

impl GrepSink for MatchPrinter<'_> {
    fn add(&mut self, part: FileMatches, is_last: bool) -> ControlFlow<()> {
        self.printed = if self.args.silent { Ok(()) } else { self.print(&part) };
        if is_last {
            self.previous = None;
            self.n_files += 1;
        }
        if self.printed.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl GrepArgs {
    /// Prints the count 0 of a file that is not text, if it is an operand itself.
    fn print_no_count(
        &self,
        context: &mut CommandContext,
        root: &TypedPath,
        with_names: bool,
        has_others: bool,
    ) -> Result {
        if !self.count || self.files_with_matches || self.files_without_match || has_others {
            return Ok(());
        }
        self.print_count(context, root.path.as_str(), &root.typed, with_names, 0)
    }

    fn print_count(
        &self,
        context: &mut CommandContext,
        path: &str,
        name: &str,
        with_names: bool,
        count: usize,
    ) -> Result {
        if context.out.json {
            return context.out.json_line(&json!({ "path": path, "count": count }));
        }
        let prefix = self.prefix(context, name, with_names, None, true);
        context.out.line(&format!("{prefix}{count}"))
    }

    fn prefix(
        &self,
        context: &CommandContext,
        name: &str,
        with_names: bool,
        number: Option<u64>,
        is_match: bool,
    ) -> String {
        let out = &context.out;
        let separator = out.painted(TextRole::Separator, if is_match { ":" } else { "-" });
        let mut prefix = String::new();
        if with_names {
            prefix += &out.painted(TextRole::Place, &out.safe(name));
            prefix += if self.null { "\0" } else { &separator };
        }
        if let Some(number) = number.filter(|_| self.line_number) {
            prefix += &out.painted(TextRole::Number, &number.to_string());
            prefix += &separator;
        }
        prefix
    }
}

impl MatchPrinter<'_> {
    /// Prints a part of the matches of a file.
    fn print(&mut self, part: &FileMatches) -> Result {
        let (args, root) = (self.args, self.root);
        let name = root.below(&part.path);
        if args.files_with_matches || args.files_without_match {
            if (part.n_matches == 0) == args.files_without_match {
                self.print_name(part, &name)?;
            }
            Ok(())
        } else if args.count {
            let path = part.path.as_str();
            args.print_count(self.context, path, &name, self.with_names, part.n_matches)
        } else if args.only_matching && !self.context.out.json {
            self.print_matches(part, &name)
        } else {
            self.print_lines(part, &name)
        }
    }

    fn print_name(&mut self, file: &FileMatches, name: &str) -> Result {
        let out = &mut self.context.out;
        if out.json {
            return out.json_line(&json!({ "path": file.path.as_str() }));
        }
        let name = out.painted(TextRole::Place, &out.safe(name));
        out.raw(name.as_bytes())?;
        out.raw(if self.args.null { b"\0" } else { b"\n" })
    }

    /// Prints the matching parts of lines, with `-o`.
    fn print_matches(&mut self, part: &FileMatches, name: &str) -> Result {
        for line in &part.lines {
            for range in line.matches.iter().filter(|range| range.start < range.end) {
                let prefix = self.prefix(name, line.number, true);
                let out = &mut self.context.out;
                let text = out.painted(TextRole::Match, &out.safe(&line.text[range.clone()]));
                out.line(&format!("{prefix}{text}"))?;
            }
        }
        Ok(())
    }

    fn print_lines(&mut self, part: &FileMatches, name: &str) -> Result {
        let args = self.args;
        let has_context =
            args.context.is_some() || args.after_context.is_some() || args.before_context.is_some();
        for line in &part.lines {
            if self.context.out.json {
                self.context.out.json_line(&line_json(part, line))?;
                continue;
            }
            let adjoins = self.previous.is_some_and(|previous| previous + 1 == line.number);
            if has_context && !adjoins && !self.first {
                let separator = self.context.out.painted(TextRole::Separator, "--");
                self.context.out.line(&separator)?;
            }
            (self.previous, self.first) = (Some(line.number), false);
            let prefix = self.prefix(name, line.number, line.is_match);
            let text = painted_line(self.context, line);
            self.context.out.line(&format!("{prefix}{text}"))?;
        }
        Ok(())
    }

    fn prefix(&self, name: &str, number: u64, is_match: bool) -> String {
        self.args.prefix(self.context, name, self.with_names, Some(number), is_match)
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
