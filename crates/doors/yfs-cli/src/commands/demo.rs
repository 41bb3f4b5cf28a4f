//! `yfs demo`: creates a directory with example files and a workspace.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use yfs::ImportOptions;

use crate::{
    commands::{import::report_skipped, init, mirror},
    discover,
    prelude::*,
    settings,
};

const HELP: &str = "\
DIR gets a few small files and a workspace that contains them. A directory that exists must be
empty. To remove the demo, delete DIR.

Examples:
  yfs demo
  cd yfs-demo && yfs tree
  yfs serve yfs-demo               in another terminal

JSON: {dir, files}.";

/// The paths and the contents of the example files.
const EXAMPLE_FILES: &[(&str, &str)] = &[
    ("README.md", include_str!("../../demo/README.md")),
    ("gauges.csv", include_str!("../../demo/gauges.csv")),
    ("notes/log.txt", include_str!("../../demo/notes/log.txt")),
    ("people/ana.md", include_str!("../../demo/people/ana.md")),
    ("people/ben.md", include_str!("../../demo/people/ben.md")),
    ("plan.md", include_str!("../../demo/plan.md")),
    ("runbooks/gauge-offline.md", include_str!("../../demo/runbooks/gauge-offline.md")),
    ("runbooks/on-call.md", include_str!("../../demo/runbooks/on-call.md")),
];

/// What to try after the demo was created.
const NEXT_COMMANDS: &str = "  yfs tree
  yfs edit /runbooks/on-call.md --old 'within ten minutes' --new 'within five minutes'
  yfs versions diff /runbooks/on-call.md 1
  yfs rm -r /people && yfs trash restore /people
  yfs serve .                      # editors, HTTP, and this directory in sync";

/// Create a directory with example files to try yfs on
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct DemoArgs {
    /// The directory, which is created if it is missing
    #[arg(value_name = "DIR", default_value = "yfs-demo")]
    dir: PathBuf,
}

/// Creates the directory, its files and its workspace.
pub(crate) async fn run(args: DemoArgs, context: &mut CommandContext) -> Result {
    require_empty(&args.dir)?;
    for (path, content) in EXAMPLE_FILES {
        write_file(&args.dir.join(path), content)?;
    }
    let file = discover::file_below(&args.dir);
    let workspace = init::create(&file, settings::one_shot(context.actor()), false)?;
    // A .gitignore above the directory does not apply to the demo.
    let options = ImportOptions { gitignore: false, ..ImportOptions::default() };
    let report = workspace.import(&args.dir, &VPath::root(), &options, &|_| ())?;
    report_skipped(context, &report.skipped);
    // `serve` and `mirror` then know what was renamed or removed in the workspace before they ran.
    mirror::synchronize_once(&workspace, &args.dir, mirror::DEFAULT_POLICY, context)?;
    workspace.close()?;
    let dir = args.dir.display().to_string();
    if context.out.json {
        return context.out.json_line(&json!({ "dir": dir, "files": report.n_created }));
    }
    let files = counted(report.n_created, "file", "files");
    context.remark(&format!(
        "created {dir} with {files} and a workspace; try:\n  cd {dir}\n{NEXT_COMMANDS}"
    ));
    Ok(())
}

/// Fails if the directory exists and is not empty.
fn require_empty(dir: &Path) -> Result {
    match fs::read_dir(dir).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Ok(false) => {
            let message = format!("{}: the directory is not empty", dir.display());
            Err(CommandError::other(message))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(CommandError::host(dir, &error)),
    }
}

/// Writes a file, and creates the directories that contain it.
fn write_file(path: &Path, content: &str) -> Result {
    let parent = path.parent().map_or(Ok(()), fs::create_dir_all);
    let written = parent.and_then(|()| fs::write(path, content));
    written.map_err(|error| CommandError::host(path, &error))
}
