//! `yfs man`: writes manual pages.

use std::{fs, path::PathBuf};

use crate::{args::CliArgs, prelude::*};

const HELP: &str = "\
Writes yfs.1 and a page for each command, such as yfs-edit.1. Existing pages are replaced.

Examples:
  yfs man ~/.local/share/man/man1 && man yfs-edit

JSON: {dir, pages}.";

/// Write manual pages to a directory
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ManArgs {
    /// The directory, which is created if it is missing
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

/// Writes the pages.
pub(crate) async fn run(args: ManArgs, context: &mut CommandContext) -> Result {
    let dir = &args.dir;
    let failure = |error| CommandError::host(dir, &error);
    fs::create_dir_all(dir).map_err(failure)?;
    let mut command = CliArgs::definition().disable_help_subcommand(true);
    command.build();
    let mut pages = vec![("yfs".to_owned(), command)];
    let mut n_pages = 0;
    while let Some((name, command)) = pages.pop() {
        for subcommand in command.get_subcommands() {
            pages.push((format!("{name}-{}", subcommand.get_name()), subcommand.clone()));
        }
        let source = concat!("yfs ", env!("CARGO_PKG_VERSION"));
        let page = clap_mangen::Man::new(command.display_name(&name)).title(&name).source(source);
        let mut text = Vec::new();
        page.render(&mut text).map_err(failure)?;
        fs::write(dir.join(format!("{name}.1")), text).map_err(failure)?;
        n_pages += 1;
    }
    let dir = dir.display().to_string();
    context.conclude(
        &json!({ "dir": dir, "pages": n_pages }),
        &format!("{} written to {dir}", counted(n_pages, "page", "pages")),
    )
}
