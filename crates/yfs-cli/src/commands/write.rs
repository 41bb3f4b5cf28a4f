//! `yfs write`: the whole content of a file, merged with what others did meanwhile.

use std::path::PathBuf;

use clap::Args;
use yfs_vfs::{CreateMode, VersionBase, VersionToken, WriteOptions, WriteOutcome};

use crate::{
    commands::input_content::{ContentArgs, read_host},
    context::CommandContext,
    errors::{CommandError, Result},
    format_text::counted,
    json,
    mode::ModeChange,
    typed_path::TypedPath,
};

const HELP: &str = "\
What is written is the least change from what is there, so that editors keep their place. With --base
or --base-version it is the change from what you had read, and what others wrote since stays.

Examples:
  echo 'hello' | yfs write greeting.txt
  yfs write empty.txt --content ''
  yfs write lock --create-new --content \"$$\"        only one of many succeeds
  yfs cat plan.md > base; sed s/draft/final/ base > mine
  yfs write plan.md --base base < mine               keeps what others did meanwhile

JSON: {path, id, version, size, created, overlaps: [{offset, len, actor}]}.";

/// The arguments of `yfs write`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct WriteArgs {
    /// The file; directories above it are made
    #[arg(value_name = "PATH")]
    path: String,
    /// Where the content comes from.
    #[command(flatten)]
    content: ContentArgs,
    /// Fail if something is there already
    #[arg(long, conflicts_with_all = ["no_create", "base", "base_version"])]
    create_new: bool,
    /// Fail if nothing is there
    #[arg(long)]
    no_create: bool,
    /// Fail if the directory above is missing
    #[arg(long)]
    no_parents: bool,
    /// A file on this machine that holds what you had read
    #[arg(long, value_name = "FILE", conflicts_with = "base_version")]
    base: Option<PathBuf>,
    /// The version that you had read
    #[arg(long, value_name = "VERSION", value_parser = version)]
    base_version: Option<VersionToken>,
    /// Fail unless this is the version now
    #[arg(long, value_name = "VERSION", value_parser = version)]
    expect: Option<VersionToken>,
    /// Permission bits
    #[arg(short, long, value_name = "MODE")]
    mode: Option<String>,
}

/// Writes.
pub(crate) async fn run(args: WriteArgs, context: &mut CommandContext) -> Result {
    let path = context.path(&args.path)?;
    let base = match (&args.base, args.base_version) {
        (Some(file), _) => Some(VersionBase::Content(read_host(file)?)),
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
        mode: mode_of(args.mode.as_deref())?,
        parents: !args.no_parents,
        ..WriteOptions::default()
    };
    let fs = context.writer()?;
    let data = args.content.read()?;
    let written = fs.write(&path.path, data, &options).await?;
    report(context, &path, &written)
}

/// Tells what a write did: nothing to people, unless it met somebody else's change.
pub(crate) fn report(
    context: &mut CommandContext,
    path: &TypedPath,
    written: &WriteOutcome,
) -> Result {
    if context.out.json {
        return context.out.json_line(&json::written(path.path.as_str(), written));
    }
    if !written.overlaps.is_empty() {
        let places = counted(written.overlaps.len() as u64, "place", "places");
        context.remark(&format!("{}: somebody else changed the same text in {places}", path.path));
    }
    Ok(())
}

/// Reads permission bits for something new.
pub(crate) fn mode_of(text: Option<&str>) -> Result<Option<u32>> {
    let Some(text) = text else { return Ok(None) };
    let change = ModeChange::parse(text).map_err(CommandError::Usage)?;
    Ok(Some(change.apply(yfs_vfs::stat::DEFAULT_FILE_MODE, false)))
}

/// Reads a version token.
pub(crate) fn version(text: &str) -> Result<VersionToken, std::convert::Infallible> {
    Ok(VersionToken::new(text))
}
