//! The parser of `find` expressions.

use regex::{Regex, RegexBuilder};
use yfs_vfs::FileKind;

use super::{
    exec_command::ExecCommand,
    expression::{FindAction, FindExpression, FindPlan, FindTest, NumberRange},
    print_format::PrintFormat,
};
use crate::{
    mode::ModeChange,
    parse_time,
    pattern::fnmatch,
    posix_regex::{self, RegexDialect},
};

/// The maximum nesting of parentheses and negations.
const MAX_NESTING: usize = 256;

/// Reports whether a word starts the expression; the words before it are paths.
pub(super) fn begins_expression(word: &str) -> bool {
    word == "!" || word == "(" || (word.len() > 1 && word.starts_with('-'))
}

/// Parses an expression.
pub(super) fn parse(words: &[String]) -> Result<FindPlan, String> {
    let now = parse_time::now();
    let root = FindExpression::And(Vec::new());
    let mut parser = FindParser {
        words: words.iter(),
        plan: FindPlan { root, max_depth: None, min_depth: 0, depth_first: false, now },
        nesting: 0,
        peeked: None,
        dialect: Some(RegexDialect::Emacs),
    };
    let root = if words.is_empty() { FindExpression::And(Vec::new()) } else { parser.or()? };
    if let Some(word) = parser.next() {
        return Err(match word {
            ")" => "')' without '('".to_owned(),
            word => format!("paths must precede the expression: '{word}'"),
        });
    }
    let has_action = root.any(&|node| matches!(node, FindExpression::Action(_)));
    let root = match has_action {
        true => root,
        false if words.is_empty() => FindExpression::Action(FindAction::Print),
        false => FindExpression::And(vec![root, FindExpression::Action(FindAction::Print)]),
    };
    Ok(FindPlan { root, ..parser.plan })
}

struct FindParser<'a> {
    words: std::slice::Iter<'a, String>,
    plan: FindPlan,
    nesting: usize,
    peeked: Option<&'a str>,
    /// The syntax of `-regex`; none is that of the regex crate.
    dialect: Option<RegexDialect>,
}

impl<'a> FindParser<'a> {
    fn next(&mut self) -> Option<&'a str> {
        self.peeked.take().or_else(|| self.words.next().map(String::as_str))
    }

    fn peek(&mut self) -> Option<&'a str> {
        if self.peeked.is_none() {
            self.peeked = self.words.next().map(String::as_str);
        }
        self.peeked
    }

    fn or(&mut self) -> Result<FindExpression, String> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return Err("the expression nests too deeply".to_owned());
        }
        let mut nodes = vec![self.and()?];
        while matches!(self.peek(), Some("-o" | "-or")) {
            self.next();
            nodes.push(self.and()?);
        }
        self.nesting -= 1;
        Ok(if nodes.len() == 1 { nodes.remove(0) } else { FindExpression::Or(nodes) })
    }

    fn and(&mut self) -> Result<FindExpression, String> {
        let mut nodes = vec![self.factor()?];
        loop {
            match self.peek() {
                Some("-a" | "-and") => {
                    self.next();
                    nodes.push(self.factor()?);
                }
                None | Some("-o" | "-or" | ")") => return Ok(FindExpression::And(nodes)),
                Some(_) => nodes.push(self.factor()?),
            }
        }
    }

    fn factor(&mut self) -> Result<FindExpression, String> {
        let mut negated = false;
        while matches!(self.peek(), Some("!" | "-not")) {
            self.next();
            negated = !negated;
        }
        let node = match self.next() {
            Some("(") => {
                let node = self.or()?;
                match self.next() {
                    Some(")") => node,
                    _ => return Err("'(' without ')'".to_owned()),
                }
            }
            Some(word @ (")" | "-o" | "-or" | "-a" | "-and")) => {
                return Err(format!("expected a test before '{word}'"));
            }
            Some(word) => self.primary(word)?,
            None => return Err("expected a test at the end of the expression".to_owned()),
        };
        Ok(if negated { FindExpression::Not(Box::new(node)) } else { node })
    }

    fn primary(&mut self, word: &str) -> Result<FindExpression, String> {
        let test = match word {
            "-print" => return Ok(FindExpression::Action(FindAction::Print)),
            "-print0" => return Ok(FindExpression::Action(FindAction::Print0)),
            "-delete" => {
                self.plan.depth_first = true;
                return Ok(FindExpression::Action(FindAction::Delete));
            }
            "-printf" => {
                let format = PrintFormat::parse(self.value(word)?)?;
                return Ok(FindExpression::Action(FindAction::Printf(format)));
            }
            "-ls" => return Ok(FindExpression::Action(FindAction::Ls)),
            "-exec" | "-ok" => {
                let command = ExecCommand::parse(word == "-ok", || self.next())?;
                return Ok(FindExpression::Action(FindAction::Exec(command)));
            }
            "-regextype" => {
                self.dialect = dialect(self.value(word)?)?;
                FindTest::Constant(true)
            }
            // There is one filesystem, without a trap of directories that another process moves.
            "-xdev" | "-mount" | "-noleaf" | "-nowarn" | "-warn" | "-ignore_readdir_race" => {
                FindTest::Constant(true)
            }
            "-prune" => return Ok(FindExpression::Prune),
            "-quit" => return Ok(FindExpression::Quit),
            "-depth" => {
                self.plan.depth_first = true;
                FindTest::Constant(true)
            }
            "-maxdepth" => {
                self.plan.max_depth = Some(self.number(word)?);
                FindTest::Constant(true)
            }
            "-mindepth" => {
                self.plan.min_depth = self.number(word)?;
                FindTest::Constant(true)
            }
            _ => self.test(word)?,
        };
        Ok(FindExpression::Test(test))
    }

    fn test(&mut self, word: &str) -> Result<FindTest, String> {
        let day_ms = 86_400_000;
        Ok(match word {
            "-true" => FindTest::Constant(true),
            "-false" => FindTest::Constant(false),
            "-name" => FindTest::Name(fnmatch(self.value(word)?, false)?),
            "-iname" => FindTest::Name(fnmatch(self.value(word)?, true)?),
            "-path" | "-wholename" => FindTest::Path(fnmatch(self.value(word)?, false)?),
            "-ipath" | "-iwholename" => FindTest::Path(fnmatch(self.value(word)?, true)?),
            "-regex" => FindTest::PathRegex(self.path_regex(word, false)?),
            "-iregex" => FindTest::PathRegex(self.path_regex(word, true)?),
            "-lname" => FindTest::Target(fnmatch(self.value(word)?, false)?),
            "-ilname" => FindTest::Target(fnmatch(self.value(word)?, true)?),
            "-xtype" => FindTest::KindFollowed(kinds(self.value(word)?)?),
            "-samefile" => FindTest::SameFile(self.value(word)?.to_owned(), None),
            "-executable" => FindTest::ModeFollowed(0o111),
            "-readable" => FindTest::ModeFollowed(0o444),
            "-writable" => FindTest::ModeFollowed(0o222),
            "-type" => FindTest::Kind(kinds(self.value(word)?)?),
            "-size" => size(self.value(word)?)?,
            "-empty" => FindTest::Empty,
            "-mtime" => FindTest::Age(range(self.value(word)?)?, day_ms),
            "-mmin" => FindTest::Age(range(self.value(word)?)?, 60_000),
            "-newer" => FindTest::Newer(self.value(word)?.to_owned(), None),
            "-newermt" => FindTest::NewerThan(parse_time::parse(self.value(word)?, self.plan.now)?),
            "-perm" => mode(self.value(word)?)?,
            _ => return Err(explain_unknown(word)),
        })
    }

    fn path_regex(&mut self, word: &str, ignore_case: bool) -> Result<Regex, String> {
        let pattern = self.value(word)?;
        let expression = match self.dialect {
            Some(dialect) => posix_regex::translate(pattern, dialect),
            None => pattern.to_owned(),
        };
        let mut builder = RegexBuilder::new(&format!(r"\A(?:{expression})\z"));
        let regex = builder.dot_matches_new_line(true).case_insensitive(ignore_case).build();
        regex.map_err(|_| format!("invalid pattern '{pattern}'"))
    }

    fn value(&mut self, word: &str) -> Result<&'a str, String> {
        self.next().ok_or_else(|| format!("missing argument to '{word}'"))
    }

    fn number(&mut self, word: &str) -> Result<usize, String> {
        let value = self.value(word)?;
        value.parse().map_err(|_| format!("{word}: '{value}' is not a number"))
    }
}

/// Returns the message for a word that is no test or action, and for those of other tools.
fn explain_unknown(word: &str) -> String {
    let why = match word {
        "-execdir" | "-okdir" => "use -exec",
        "-L" | "-follow" => "links are listed, not followed; -xtype tests what they refer to",
        "-H" | "-P" => "links are never followed",
        "-user" | "-group" | "-uid" | "-gid" | "-nouser" | "-nogroup" => "there are no owners",
        "-links" | "-inum" => "there are no link counts and no inodes",
        "-atime" | "-amin" | "-anewer" | "-ctime" | "-cmin" | "-cnewer" | "-used" => {
            "a file has one time; use -mtime, -mmin or -newer"
        }
        "-daystart" => "use -newermt DATE",
        "-fprint" | "-fprint0" | "-fprintf" | "-fls" => "redirect the output",
        _ => return format!("unknown predicate '{word}'"),
    };
    format!("{word} is not supported: {why}")
}

/// Returns the syntax that an argument of `-regextype` names; none is that of the regex crate.
fn dialect(name: &str) -> Result<Option<RegexDialect>, String> {
    Ok(match name {
        "emacs" | "findutils-default" => Some(RegexDialect::Emacs),
        "posix-basic" | "grep" | "sed" | "ed" => Some(RegexDialect::Basic),
        "posix-extended" | "posix-egrep" | "egrep" | "rust" => None,
        other => return Err(format!("unknown argument to -regextype: '{other}'")),
    })
}

fn kinds(text: &str) -> Result<Vec<FileKind>, String> {
    let kind = |letter: &str| match letter {
        "f" => Ok(FileKind::File),
        "d" => Ok(FileKind::Directory),
        "l" => Ok(FileKind::Symlink),
        other => Err(format!("unknown argument to -type: '{other}'")),
    };
    text.split(',').map(kind).collect()
}

fn range(text: &str) -> Result<NumberRange, String> {
    let number = |digits: &str| digits.parse().map_err(|_| format!("'{text}' is not a number"));
    Ok(match text.chars().next() {
        Some('+') => NumberRange::Above(number(&text[1..])?),
        Some('-') => NumberRange::Below(number(&text[1..])?),
        _ => NumberRange::Exactly(number(text)?),
    })
}

fn size(text: &str) -> Result<FindTest, String> {
    let (number, unit) = match text.char_indices().last() {
        Some((at, 'c')) => (&text[..at], 1),
        Some((at, 'w')) => (&text[..at], 2),
        Some((at, 'b')) => (&text[..at], 512),
        Some((at, 'k')) => (&text[..at], 1 << 10),
        Some((at, 'M')) => (&text[..at], 1 << 20),
        Some((at, 'G')) => (&text[..at], 1 << 30),
        _ => (text, 512),
    };
    Ok(FindTest::Size(range(number)?, unit))
}

fn mode(text: &str) -> Result<FindTest, String> {
    let sign = text.chars().next().filter(|sign| matches!(sign, '-' | '/')).unwrap_or('=');
    let bits = ModeChange::parse(text.trim_start_matches(['-', '/']))?;
    Ok(FindTest::Mode(sign, bits.apply(0, false)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<FindPlan, String> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        parse(&words)
    }

    #[test]
    fn good_expressions_are_read() {
        for text in [
            "",
            "-name *.rs",
            "-name a -o -name b",
            "! -name a -print",
            "( -name a -o -name b ) -type f,l -size +10k",
            "-maxdepth 2 -mtime -7 -print0",
            "-name x -prune -o -print",
            "-not -not -empty",
            "-exec rm {} ; -ok yfs cat {} ; -exec echo a {} +",
            "-regextype posix-extended -regex (a|b)+ -printf %p\\n -ls",
        ] {
            check(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        }
    }

    const SHELL: &str = "-exec runs commands of yfs, and 'sh' is none: for programs that read \
        standard input, pipe `yfs cat`; for others, `yfs export` the files first";

    #[test]
    fn bad_expressions_say_why() {
        let cases = [
            ("-name", "missing argument to '-name'"),
            ("-type x", "unknown argument to -type: 'x'"),
            ("-size big", "'big' is not a number"),
            ("( -name a", "'(' without ')'"),
            ("-name a )", "')' without '('"),
            ("-o -name a", "expected a test before '-o'"),
            ("-name a -o", "expected a test at the end of the expression"),
            ("-frobnicate", "unknown predicate '-frobnicate'"),
            ("-maxdepth x", "-maxdepth: 'x' is not a number"),
            ("-exec rm", "missing ';' or '{} +' at the end of -exec"),
            ("-exec ;", "missing the command of -exec"),
            ("-exec rm {} x {} +", "-exec with '+' takes '{}' once, at the end"),
            ("-exec sh {} ;", SHELL),
            ("-printf %q", "unknown directive '%q' of -printf"),
            ("-execdir rm ;", "-execdir is not supported: use -exec"),
            ("-regex [", "invalid pattern '['"),
            ("!", "expected a test at the end of the expression"),
        ];
        for (text, why) in cases {
            assert_eq!(check(text).unwrap_err(), why, "{text}");
        }
        let deep = format!("{}-true", "( ".repeat(100_000));
        assert_eq!(check(&deep).unwrap_err(), "the expression nests too deeply");
    }
}
