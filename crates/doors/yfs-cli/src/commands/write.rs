//! `yfs write`: replaces the whole content of a file, merged with concurrent changes.

use std::path::PathBuf;

use yfs_vfs::{CreateMode, FileSystem, VersionBase, VersionToken, WriteOptions, WriteOutcome};
use yfs_wire::WriteOutcomeJson;

use crate::{
    commands::input_content::{ContentArgs, read_base, stream_stdin},
    mode::ModeChange,
    prelude::*,
};

const HELP: &str = "\
yfs writes the smallest edit that changes the current content to the new one, so that editors keep
their cursors. With --base or --base-version, the edit is computed from the content that you had
read, and merged with the changes that others made since. What is longer than a text may be (see
`yfs config max-text`) goes to the store piece by piece, and is not held in memory; with --base it
replaces only that content.

Examples:
  echo 'hello' | yfs write greeting.txt
  yfs write empty.txt --content ''
  yfs write lock --create-new --content \"$$\"        succeeds for one of many processes
  yfs cat plan.md > base; sed s/draft/final/ base > mine
  yfs write plan.md --base base < mine              keeps concurrent changes

JSON: {path, id, version, size, created, merged, overlaps: [{offset, length, actor}]}.";

/// Replace the content of a file with standard input or a text
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct WriteArgs {
    /// The file; it and its parent directories are created if they are missing
    #[arg(value_name = "PATH")]
    path: String,
    /// The source of the content.
    #[command(flatten)]
    content: ContentArgs,
    /// Fail if the file exists
    #[arg(long, conflicts_with_all = ["no_create", "base", "base_version"])]
    create_new: bool,
    /// Fail if the file does not exist
    #[arg(long)]
    no_create: bool,
    /// Fail if the parent directory is missing
    #[arg(long)]
    no_parents: bool,
    /// A file on this machine with the content that you had read
    #[arg(long, value_name = "FILE", conflicts_with = "base_version")]
    base: Option<PathBuf>,
    /// The version that you had read
    #[arg(long, value_name = "VERSION", value_parser = parse_version)]
    base_version: Option<VersionToken>,
    /// Fail unless this is the current version
    #[arg(long, value_name = "VERSION", value_parser = parse_version)]
    expect: Option<VersionToken>,
    /// Set these permission bits, as in chmod
    #[arg(short, long, value_name = "MODE")]
    mode: Option<String>,
}

/// Writes the content.
pub(crate) async fn run(args: WriteArgs, context: &mut CommandContext) -> Result {
    let path = context.path(&args.path)?;
    let base = match (&args.base, args.base_version) {
        (Some(file), _) => Some(read_base(file)?),
        (None, version) => version.map(VersionBase::Version),
    };
    let options = WriteOptions {
        create: match (args.create_new, args.no_create) {
            (true, _) => CreateMode::New,
            (_, true) => CreateMode::Never,
            _ => CreateMode::IfMissing,
        },
        base,
        expected_version: args.expect,
        mode: parse_mode(args.mode.as_deref())?,
        parents: !args.no_parents,
        ..WriteOptions::default()
    };
    let fs = context.writer_of_streams()?;
    let written = match args.content.text() {
        Some(text) => fs.write(&path.path, text, &options).await?,
        None => stream_stdin(|data| fs.write_from(&path.path, data, &options))??,
    };
    report_write(context, &path, &written)
}

/// Prints the result of a write: as JSON, or a remark if another author changed the same text.
pub(crate) fn report_write(
    context: &mut CommandContext,
    path: &TypedPath,
    written: &WriteOutcome,
) -> Result {
    if context.out.json {
        return context.out.json_line(&WriteOutcomeJson::from(written).at(path.path.as_str()));
    }
    if !written.overlaps.is_empty() {
        let places = counted(written.overlaps.len() as u64, "place", "places");
        context.remark(&format!("{}: another author changed the same text in {places}", path.path));
    }
    Ok(())
}

/// Parses permission bits for a new file.
pub(crate) fn parse_mode(text: Option<&str>) -> Result<Option<u32>> {
    let Some(text) = text else { return Ok(None) };
    let change = ModeChange::parse(text).map_err(CommandError::Usage)?;
    Ok(Some(change.apply(yfs_vfs::stat::DEFAULT_FILE_MODE, false)))
}

/// Parses a version token.
pub(crate) fn parse_version(text: &str) -> Result<VersionToken, std::convert::Infallible> {
    Ok(VersionToken::new(text))
}
