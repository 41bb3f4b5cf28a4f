//! The operations of the script language.

use std::borrow::Cow;

use bytes::Bytes;
use futures::StreamExt;
use yfs_types::{path::VPath, time::Millis};

use super::{Outcome, ScriptRunner, mark, show_bytes, words::ScriptLine};
use yfs_vfs::{
    FileSystem, FileSystemExt,
    edit::TextReplacement,
    error::{FsError, Op},
    glob::GlobQuery,
    grep::GrepQuery,
    options::{
        CopyOptions, CreateMode, MkdirOptions, MoveOptions, RemoveOptions, StreamOptions,
        VersionBase, WalkOptions, WriteOptions,
    },
    stat::{FileKind, Stat},
};

/// The failure of a line: it is malformed, or the filesystem rejected the operation.
enum LineError {
    Script(String),
    Refused(FsError),
}

type Step = Result<String, LineError>;

impl From<FsError> for LineError {
    fn from(error: FsError) -> Self {
        Self::Refused(error)
    }
}

pub(super) async fn execute(
    session: &mut ScriptRunner,
    line: &ScriptLine,
) -> Result<Outcome, String> {
    let result = match line.op.as_str() {
        "write" | "append" | "cat" | "range" | "lines" | "stream" | "edit" => {
            content(session, line).await
        }
        "mkdir" | "rm" | "cp" | "mv" | "ln" | "link" | "chmod" | "utimes" => {
            change(&*session.fs, line).await
        }
        "glob" => glob(&*session.fs, line).await,
        "grep" => grep(&*session.fs, line).await,
        "id" | "is" | "version" | "same" => identity(session, line).await,
        _ => read_entry(&*session.fs, line).await,
    };
    match result {
        Ok(output) => Ok(Ok(output)),
        Err(LineError::Refused(error)) => Ok(Err(error)),
        Err(LineError::Script(why)) => Err(why),
    }
}

async fn content(session: &ScriptRunner, line: &ScriptLine) -> Step {
    let fs = &*session.fs;
    let path = line.path(0)?;
    Ok(match line.op.as_str() {
        "write" | "append" => {
            let data = Bytes::from(line.word(1)?.to_owned());
            let options = write_options(session, line)?;
            let written = match line.op.as_str() {
                "write" => fs.write(&path, data, &options).await?,
                _ => fs.append(&path, data, &options).await?,
            };
            (if written.created { "created" } else { "changed" }).to_owned()
        }
        "cat" => show_bytes(&fs.read(&path).await?.data),
        "range" => show_bytes(&fs.read_range(&path, line.number(1)?, line.number(2)?).await?),
        "lines" => {
            let page = fs.read_lines(&path, line.number(1)?, line.number(2)?).await?;
            let next = page.next_offset.map_or("end".to_owned(), |next| next.to_string());
            let total = page.n_total.map_or("?".to_owned(), |total| total.to_string());
            let newline = if page.ends_with_newline { " newline" } else { "" };
            format!(
                "{} next {next} of {total}{newline}",
                show_bytes(page.lines.join("|").as_bytes())
            )
        }
        "stream" => {
            let chunk_len = line.number(1)? as usize;
            let options = StreamOptions { chunk_len, ..StreamOptions::default() };
            let mut stream = fs.read_stream(&path, &options).await?;
            let mut shown = Vec::new();
            while let Some(chunk) = stream.next().await {
                let chunk = chunk?;
                let (index, total) = (chunk.index + 1, chunk.total_chunks);
                let last = if chunk.is_last { "!" } else { "" };
                shown.push(format!("{index}/{total}:{}{last}", show_bytes(&chunk.data)));
            }
            shown.join(" ")
        }
        _ => {
            let (old, new) = (line.word(1)?, line.word(2)?);
            let mut edit = if line.has("-all") {
                TextReplacement::all(old, new)
            } else {
                TextReplacement::once(old, new)
            };
            edit.expected_version =
                line.value("-if").map(|name| session.version(name)).transpose()?;
            fs.edit(&path, &edit).await?.n_replaced.to_string()
        }
    })
}

fn write_options(session: &ScriptRunner, line: &ScriptLine) -> Result<WriteOptions, LineError> {
    let create = match () {
        () if line.has("-new") => CreateMode::New,
        () if line.has("-existing") => CreateMode::Never,
        () => CreateMode::IfMissing,
    };
    let base = match (line.value("-base"), line.value("-was")) {
        (Some(name), _) => Some(VersionBase::Version(session.version(name)?)),
        (None, Some(text)) => Some(VersionBase::Content(Bytes::from(text.to_owned()))),
        (None, None) => None,
    };
    Ok(WriteOptions {
        create,
        base,
        expected_version: line.value("-if").map(|name| session.version(name)).transpose()?,
        mode: line.value("-m").map(octal).transpose()?,
        parents: !line.has("-noparents"),
        follow: !line.has("-nofollow"),
        ..WriteOptions::default()
    })
}

async fn change(fs: &dyn FileSystem, line: &ScriptLine) -> Step {
    match line.op.as_str() {
        "mkdir" => {
            let mode = line.value("-m").map(octal).transpose()?;
            let options = MkdirOptions { recursive: line.has("-p"), mode };
            fs.mkdir(&line.path(0)?, &options).await?;
        }
        "rm" => {
            let (recursive, force) = (line.has("-r"), line.has("-f"));
            fs.rm(&line.path(0)?, &RemoveOptions { recursive, force }).await?;
        }
        "cp" => {
            let (replace, parents) = (!line.has("-n"), !line.has("-noparents"));
            let options = CopyOptions { recursive: line.has("-r"), replace, parents };
            fs.cp(&line.path(0)?, &line.path(1)?, &options).await?;
        }
        "mv" => {
            let (replace, parents) = (!line.has("-n"), !line.has("-noparents"));
            fs.mv(&line.path(0)?, &line.path(1)?, &MoveOptions { replace, parents }).await?;
        }
        "ln" => fs.symlink(line.word(0)?, &line.path(1)?).await?,
        "link" => fs.link(&line.path(0)?, &line.path(1)?).await?,
        "chmod" => fs.chmod(&line.path(1)?, octal(line.word(0)?)?).await?,
        _ => fs.utimes(&line.path(1)?, Millis(line.number(0)? as i64)).await?,
    }
    Ok(String::new())
}

async fn read_entry(fs: &dyn FileSystem, line: &ScriptLine) -> Step {
    let show = |stat: Stat| format!("{:?} {}", stat.kind, stat.size).to_lowercase();
    Ok(match line.op.as_str() {
        "stat" => show(fs.stat(&line.path(0)?).await?),
        "lstat" => show(fs.lstat(&line.path(0)?).await?),
        "mode" => format!("{:o}", fs.stat(&line.path(0)?).await?.mode),
        "mtime" => fs.stat(&line.path(0)?).await?.mtime.0.to_string(),
        "mime" => fs.stat(&line.path(0)?).await?.mime.unwrap_or_default().to_string(),
        "exists" => match fs.stat(&line.path(0)?).await {
            Ok(_) => "yes".to_owned(),
            Err(_) => "no".to_owned(),
        },
        "readlink" => fs.readlink(&line.path(0)?).await?,
        "realpath" => fs.realpath(&line.path(0)?).await?.to_string(),
        "ls" => {
            let entries = fs.readdir(&line.path(0)?).await?;
            let names = entries.iter().map(|entry| format!("{}{}", entry.name, mark(entry.kind)));
            list(names.collect())
        }
        "walk" => {
            let max_depth = line.value("-d").map_or(Ok(usize::MAX), |text| number(text, "-d"))?;
            let max_entries =
                line.value("-max").map_or(Ok(usize::MAX), |text| number(text, "-max"))?;
            let hidden = !line.has("-shown");
            let options = WalkOptions { max_depth, hidden, max_entries, ..WalkOptions::default() };
            let path = line.path(0)?;
            let items = fs.walk(&path, &options).await;
            let items: Result<Vec<String>, _> = items.map(|items| {
                let items = items.iter();
                items.map(|item| format!("{}{}", item.path, mark(item.entry.kind))).collect()
            });
            let by_directory = walk_by_directory(fs, &path, &options).await;
            let shown = |found: &Result<_, FsError>| format!("{found:?}");
            if shown(&by_directory) != shown(&items) {
                let found = format!("walk_directories: {by_directory:?}, walk: {items:?}");
                return Err(LineError::Script(found));
            }
            list(items?)
        }
        "totals" => {
            let totals = fs.totals(&line.path(0)?).await?;
            format!("{} {} {}", totals.n_files, totals.n_directories, totals.n_bytes)
        }
        "tree" => super::tree(fs).await?,
        other => return Err(LineError::Script(format!("no such operation: {other}"))),
    })
}

/// Lists a tree as `walk` does, from the listings of its directories.
async fn walk_by_directory(
    fs: &dyn FileSystem,
    path: &VPath,
    options: &WalkOptions,
) -> Result<Vec<String>, FsError> {
    let mut listings = fs.walk_directories(path, options);
    let (mut found, mut open) = (Vec::new(), Vec::new());
    open.extend(listings.next().await.transpose()?.map(|listing| (listing, 0)));
    while let Some((listing, next)) = open.last_mut() {
        let Some((_, kind)) = listing.get(*next) else {
            open.pop();
            continue;
        };
        let path = listing.path_of(*next).map_or_else(VPath::root, Cow::into_owned);
        *next += 1;
        found.push(format!("{path}{}", mark(kind)));
        if kind == FileKind::Directory && open.len() < options.max_depth {
            let below = listings.next().await.transpose()?;
            found.extend(below.iter().filter(|below| *below.path() != path).map(|_| "?".into()));
            open.extend(below.map(|listing| (listing, 0)));
        }
    }
    let rest = listings.next().await.transpose()?;
    found.extend(rest.map(|listing| format!("and {}", listing.path())));
    Ok(found)
}

async fn glob(fs: &dyn FileSystem, line: &ScriptLine) -> Step {
    let mut query = GlobQuery::new(line.word(0)?);
    if line.words.len() > 1 {
        query.root = line.path(1)?;
    }
    query.hidden = line.has("-hidden");
    query.ignore_case = line.has("-i");
    query.directories = line.has("-d");
    query.limit = line.value("-n").map_or(Ok(usize::MAX), |text| number(text, "-n"))?;
    let result = fs.glob(&query).await?;
    let cut = result.cut.map(|cut| format!("cut:{cut:?}"));
    let paths = result.entries.iter().map(|item| format!("{}{}", item.path, mark(item.entry.kind)));
    Ok(list(paths.chain(cut).collect()))
}

async fn grep(fs: &dyn FileSystem, line: &ScriptLine) -> Step {
    let mut query = GrepQuery::new(line.word(0)?);
    if line.words.len() > 1 {
        query.root = line.path(1)?;
    }
    query.literal = line.has("-F");
    query.ignore_case = line.has("-i");
    query.whole_word = line.has("-w");
    query.hidden = line.has("-hidden");
    query.before = line.value("-B").map_or(Ok(0), |text| number(text, "-B"))?;
    query.after = line.value("-A").map_or(Ok(0), |text| number(text, "-A"))?;
    query.max_per_file = line.value("-m").map_or(Ok(usize::MAX), |text| number(text, "-m"))?;
    query.max_total = line.value("-M").map_or(Ok(usize::MAX), |text| number(text, "-M"))?;
    query.max_file_len = line.value("-size").map_or(Ok(u64::MAX), |text| number(text, "-size"))?;
    query.include = line.value("-include").map(str::to_owned).into_iter().collect();
    query.exclude = line.value("-exclude").map(str::to_owned).into_iter().collect();
    let result = fs.grep(&query).await?;
    let mut shown = Vec::new();
    for file in &result.files {
        for found in &file.lines {
            let mark = if found.is_match { ':' } else { '-' };
            shown.push(format!("{}:{}{mark}{}", file.path, found.number, found.text));
        }
        shown.extend(file.cut.then(|| "more".to_owned()));
    }
    shown.extend(result.cut.map(|cut| format!("cut:{cut:?}")));
    let counts = [("binary", result.n_binary), ("large", result.n_too_large)];
    let counts = counts.iter().filter(|(_, count)| *count > 0);
    shown.extend(counts.map(|(what, count)| format!("{what}:{count}")));
    Ok(list(shown))
}

async fn identity(session: &mut ScriptRunner, line: &ScriptLine) -> Step {
    let name = line.word(0)?.to_owned();
    let stat = session.fs.lstat(&line.path(1)?).await?;
    let yes_or_no = |yes| (if yes { "yes" } else { "no" }).to_owned();
    Ok(match line.op.as_str() {
        "id" => {
            session.ids.insert(name, stat.id.to_string());
            String::new()
        }
        "is" => yes_or_no(session.ids.get(&name).is_some_and(|id| *id == stat.id.as_str())),
        "version" => {
            let version = stat.version.ok_or_else(|| LineError::Script("no version".to_owned()))?;
            session.versions.insert(name, version);
            String::new()
        }
        _ => yes_or_no(session.versions.get(&name) == stat.version.as_ref()),
    })
}

impl ScriptRunner {
    fn version(&self, name: &str) -> Result<yfs_vfs::stat::VersionToken, LineError> {
        let version = self.versions.get(name).cloned();
        version.ok_or_else(|| LineError::Script(format!("no version {name} was remembered")))
    }
}

impl ScriptLine {
    fn word(&self, at: usize) -> Result<&str, LineError> {
        let word = self.words.get(at).map(String::as_str);
        word.ok_or_else(|| LineError::Script(format!("`{}` lacks an argument", self.op)))
    }

    fn path(&self, at: usize) -> Result<VPath, LineError> {
        let text = self.word(at)?;
        VPath::parse(text).map_err(|error| FsError::bad_path(Op::Open, text, error).into())
    }

    fn number(&self, at: usize) -> Result<u64, LineError> {
        number(self.word(at)?, "a number")
    }

    fn has(&self, option: &str) -> bool {
        self.options.iter().any(|given| given == option)
    }

    fn value(&self, option: &str) -> Option<&str> {
        let values = self.options.iter().filter_map(|given| given.strip_prefix(option));
        values.filter_map(|value| value.strip_prefix('=')).next()
    }
}

fn number<T: std::str::FromStr>(text: &str, what: &str) -> Result<T, LineError> {
    text.parse().map_err(|_| LineError::Script(format!("{what} is not a number: {text}")))
}

fn octal(text: &str) -> Result<u32, LineError> {
    u32::from_str_radix(text, 8).map_err(|_| LineError::Script(format!("not octal: {text}")))
}

fn list(items: Vec<String>) -> String {
    if items.is_empty() { "(nothing)".to_owned() } else { items.join(" ") }
}
