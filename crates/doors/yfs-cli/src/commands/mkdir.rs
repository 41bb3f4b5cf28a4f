//! `yfs mkdir`: creates directories.

use yfs_vfs::MkdirOptions;

use crate::{mode::ModeChange, prelude::*};

const HELP: &str = "\
Examples:
  yfs mkdir docs
  yfs mkdir -p src/deep/er      also creates missing parents; no error if it exists
  yfs mkdir -m 700 private

JSON: one object per line: {path, id}.";

/// Create directories
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct MkdirArgs {
    /// The directories to create
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<String>,
    /// Also create missing parent directories; no error if the directory exists
    #[arg(short, long)]
    parents: bool,
    /// Set these permission bits, as in chmod
    #[arg(short, long, value_name = "MODE")]
    mode: Option<String>,
    /// Print the directories that are created
    #[arg(short, long)]
    verbose: bool,
}

/// Creates the directories.
pub(crate) async fn run(args: MkdirArgs, context: &mut CommandContext) -> Result {
    let change =
        args.mode.as_deref().map(ModeChange::parse).transpose().map_err(CommandError::Usage)?;
    // Symbolic modes apply to the default mode of directories.
    let mode = change.map(|change| change.apply(yfs_vfs::stat::DEFAULT_DIRECTORY_MODE, true));
    let options = MkdirOptions { recursive: args.parents, mode };
    let fs = context.writer()?;
    for path in context.paths(&args.paths) {
        let part = create(&args, context, &fs, &path, &options).await;
        context.continue_after(part)?;
    }
    Ok(())
}

async fn create(
    args: &MkdirArgs,
    context: &mut CommandContext,
    fs: &Fs,
    path: &TypedPath,
    options: &MkdirOptions,
) -> Result {
    let missing = match args.verbose && !context.out.json {
        true => missing_directories(fs, path, args.parents).await,
        false => Vec::new(),
    };
    let created = fs.mkdir(&path.path, options).await;
    let hint = "-p creates missing parents";
    created.map_err(|error| CommandError::hinted(error, FsCode::ENOENT, hint))?;
    for directory in missing {
        context.out.safe_line(&format!("mkdir: created directory '{directory}'"))?;
    }
    if context.out.json {
        let id = fs.stat(&path.path).await?.id;
        context.out.json_line(&json!({ "path": path.path.as_str(), "id": id.as_str() }))?;
    }
    Ok(())
}

/// Returns the directories that are missing at a path, and above it if parents are created, as
/// typed.
async fn missing_directories(fs: &Fs, path: &TypedPath, parents: bool) -> Vec<String> {
    let mut missing = Vec::new();
    let (mut typed, mut at) = (path.typed.trim_end_matches('/'), path.path.clone());
    while fs.lstat(&at).await.is_err() {
        missing.push(typed.to_owned());
        match (parents, typed.rsplit_once('/'), at.parent()) {
            (true, Some((above, _)), Some(parent)) => (typed, at) = (above, parent),
            _ => break,
        }
    }
    missing.reverse();
    missing
}
