//! `yfs stat`: prints the metadata of files.

use yfs_vfs::Stat;

use crate::{commands::transfer_operands::require_found_directory, mode, prelude::*};

const HELP: &str = "\
Times are in the zone of TZ, or else of the system. %y and %w have milliseconds.

Format directives, as in GNU stat, without widths: %n name, %N name with the target of a link,
%s size, %a and %A mode, %F type, %Y and %y modification time, %W and %w creation time, %i id,
%h number of names, %% a percent sign. In addition: %v the version, for `yfs write --expect`.

Examples:
  yfs stat plan.md
  yfs stat -c '%s %n' a.md b.md
  yfs stat -L current             the file that a link refers to

JSON: one object per line:
{path, id, kind, size, mode, mtime, created, mime, version, metadata[, target]}.";

/// Print the metadata of files
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct StatArgs {
    /// The files
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<String>,
    /// Follow a link at the end of the path
    #[arg(short = 'L', long)]
    dereference: bool,
    /// Print each file in this format
    #[arg(short = 'c', long, value_name = "FORMAT")]
    format: Option<String>,
    /// Like --format, but with escapes such as \\n and without a newline at the end
    #[arg(long, value_name = "FORMAT", conflicts_with = "format")]
    printf: Option<String>,
}

/// Prints the metadata.
pub(crate) async fn run(args: StatArgs, context: &mut CommandContext) -> Result {
    let fs = context.reader()?;
    for path in context.paths(&args.paths) {
        let part = describe(&args, context, &fs, &path).await;
        context.continue_after(part)?;
    }
    Ok(())
}

async fn describe(
    args: &StatArgs,
    context: &mut CommandContext,
    fs: &Fs,
    path: &TypedPath,
) -> Result {
    require_found_directory(fs, path, Op::Stat).await?;
    let (stat, target) = read_stat(fs, path, args.dereference).await?;
    if context.out.json {
        return context.out.json_line(&json::stat(path.path.as_str(), &stat, target.as_deref()));
    }
    if let Some(format) = &args.format {
        let text = formatted(format, path, &stat, target.as_deref())?;
        return context.out.line(&text);
    }
    if let Some(format) = &args.printf {
        let text = formatted(&unescaped(format), path, &stat, target.as_deref())?;
        return context.out.raw(text.as_bytes());
    }
    let name = context.out.safe(&path.typed).into_owned();
    let link = match &target {
        Some(target) => format!(" -> {}", context.out.safe(target)),
        None => String::new(),
    };
    let octal = json::octal(stat.mode);
    let mode = mode::format_mode(stat.kind, stat.mode);
    context.out.line(&format!("    Path: {name}{link}"))?;
    context.out.line(&format!("    Kind: {}", kind_name(&stat)))?;
    context.out.line(&format!("    Size: {}", stat.size))?;
    context.out.line(&format!("      Id: {}", stat.id))?;
    context.out.line(&format!("    Mode: ({octal}/{mode})"))?;
    context.out.line(&format!("  Modify: {}", parse_time::long(stat.mtime)))?;
    context.out.line(&format!("   Birth: {}", parse_time::long(stat.created)))?;
    if let Some(mime) = &stat.mime {
        context.out.line(&format!("    Mime: {mime}"))?;
    }
    if let Some(version) = &stat.version {
        context.out.line(&format!(" Version: {version}"))?;
    }
    if !stat.metadata.is_empty() {
        let metadata = Value::Object(stat.metadata.clone());
        context.out.line(&format!("Metadata: {metadata}"))?;
    }
    Ok(())
}

/// Returns the metadata of a file, and the target if it is a link.
async fn read_stat(
    fs: &Fs,
    path: &TypedPath,
    follow: bool,
) -> Result<(Stat, Option<String>), FsError> {
    let stat = if follow { fs.stat(&path.path).await? } else { fs.lstat(&path.path).await? };
    let target = match stat.kind {
        FileKind::Symlink => Some(fs.readlink(&path.path).await?),
        _ => None,
    };
    Ok((stat, target))
}

fn kind_name(stat: &Stat) -> &'static str {
    match stat.kind {
        FileKind::File if stat.size == 0 => "regular empty file",
        FileKind::File => "regular file",
        FileKind::Directory => "directory",
        FileKind::Symlink => "symbolic link",
        _ => "other",
    }
}

/// Replaces the escapes of a format.
fn unescaped(format: &str) -> String {
    let mut text = String::with_capacity(format.len());
    let mut chars = format.chars();
    while let Some(char) = chars.next() {
        match (char, char == '\\') {
            (char, false) => text.push(char),
            (_, true) => match chars.next() {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some('r') => text.push('\r'),
                Some('0') => text.push('\0'),
                Some(other) => text.push(other),
                None => text.push('\\'),
            },
        }
    }
    text
}

fn formatted(format: &str, path: &TypedPath, stat: &Stat, target: Option<&str>) -> Result<String> {
    let mut text = String::new();
    let mut chars = format.chars();
    while let Some(char) = chars.next() {
        if char != '%' {
            text.push(char);
            continue;
        }
        let seconds = |millis: i64| millis.div_euclid(1000).to_string();
        text += &match chars.next() {
            Some('n') => path.typed.clone(),
            Some('N') => match target {
                Some(target) => format!("'{}' -> '{target}'", path.typed),
                None => format!("'{}'", path.typed),
            },
            Some('s') => stat.size.to_string(),
            Some('a') => format!("{:o}", stat.mode),
            Some('A') => mode::format_mode(stat.kind, stat.mode),
            Some('F') => kind_name(stat).to_owned(),
            Some('Y') => seconds(stat.mtime.0),
            Some('y') => parse_time::long(stat.mtime),
            Some('W') => seconds(stat.created.0),
            Some('w') => parse_time::long(stat.created),
            Some('i') => stat.id.to_string(),
            Some('h') => stat.n_links.to_string(),
            Some('v') => stat.version.as_ref().map_or("-", |version| version.as_str()).to_owned(),
            Some('%') => "%".to_owned(),
            Some(other) => {
                return Err(CommandError::usage(format!(
                    "invalid directive '%{other}' in the format"
                )));
            }
            None => {
                return Err(CommandError::usage(
                    "the format ends with an incomplete directive '%'",
                ));
            }
        };
    }
    Ok(text)
}
