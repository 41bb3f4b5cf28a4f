//! `yfs profile`: prints or converts the schema of rich text. `yfs repair`: repairs files whose
//! content is duplicated or has the wrong form.

use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;
use yfs_engine::kind::{SchemaProfile, profile_name};

use crate::{
    context::CommandContext,
    errors::{CommandError, Result},
    progress::CommandProgress,
};

const HELP: &str = "\
Editors delete nodes that their schema does not contain. Therefore all markdown files of a workspace
use the node names of one schema:
  gfm         names of Milkdown: tables, tasks, strikethrough, footnotes, HTML
  commonmark  names of prosemirror-markdown

Examples:
  yfs profile                       print the schema
  yfs profile convert commonmark    convert all documents; close all editors first

JSON: {profile}; of convert: {profile, files, converted}.";

/// The arguments of `yfs profile`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ProfileArgs {
    /// The subcommand; without it, print the profile.
    #[command(subcommand)]
    command: Option<ProfileCommand>,
}

/// The subcommands of `yfs profile`.
#[derive(Debug, Subcommand)]
enum ProfileCommand {
    /// Convert all documents to another schema
    Convert {
        /// The schema
        profile: ProfileName,
    },
}

/// The name of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileName {
    /// Node names of prosemirror-markdown
    Commonmark,
    /// Node names of Milkdown
    Gfm,
}

impl From<ProfileName> for SchemaProfile {
    fn from(name: ProfileName) -> Self {
        match name {
            ProfileName::Commonmark => Self::CommonMark,
            ProfileName::Gfm => Self::Gfm,
        }
    }
}

/// Prints or changes the profile.
pub(crate) fn run(args: ProfileArgs, context: &mut CommandContext) -> Result {
    let Some(ProfileCommand::Convert { profile }) = args.command else {
        let name = profile_name(context.readable()?.profile());
        return match context.out.json {
            true => context.out.json_line(&json!({ "profile": name })),
            false => context.out.line(name),
        };
    };
    let workspace = context.writable()?;
    let bar = CommandProgress::new(&context.globals, "converting");
    let report =
        workspace.maintenance().convert_profile(profile.into(), &mut |done, n| bar.set(done, n));
    drop(bar);
    let (report, name) = (report?, profile_name(profile.into()));
    workspace.close()?;
    if context.out.json {
        return context.out.json_line(&json!({
            "profile": name,
            "files": report.n_files,
            "converted": report.n_converted,
        }));
    }
    let (n_converted, n_files) = (report.n_converted, report.n_files);
    context.remark(&format!("{n_converted} of {n_files} documents converted to {name}"));
    Ok(())
}

const REPAIR_HELP: &str = "\
Repairs the files that `yfs conflicts` lists as `doubled` or `unsettled`: files whose content is
there twice because peers converted it concurrently without following the rules, and files with
edits in the form that they had before a rename.

Examples:
  yfs repair plan.md
  yfs repair --all

JSON: one object for each file that changed: {path}.";

/// The arguments of `yfs repair`.
#[derive(Debug, Args)]
#[command(after_help = REPAIR_HELP)]
pub(crate) struct RepairArgs {
    /// The files to repair
    #[arg(value_name = "PATH", required_unless_present = "all")]
    paths: Vec<String>,
    /// Repair all files that `yfs conflicts` lists
    #[arg(long, conflicts_with = "paths")]
    all: bool,
}

/// Repairs the contents of files.
pub(crate) fn repair(args: RepairArgs, context: &mut CommandContext) -> Result {
    let workspace = context.writable()?;
    let typed = if args.all { paths_to_repair(&workspace)? } else { args.paths };
    for path in context.paths(&typed) {
        match workspace.maintenance().repair(&path.path) {
            Ok(false) => {}
            Ok(true) if context.out.json => {
                context.out.json_line(&json!({ "path": path.path.as_str() }))?;
            }
            Ok(true) => {
                let name = context.out.safe(&path.typed).into_owned();
                context.out.line(&name)?;
            }
            Err(error) => context.fail(&CommandError::from(error)),
        }
    }
    Ok(workspace.close()?)
}

fn paths_to_repair(workspace: &yfs::Workspace) -> Result<Vec<String>> {
    use yfs::workspace::conflicts::ConflictKind;
    let conflicts = workspace.conflicts()?.into_iter();
    let broken = conflicts.filter(|conflict| {
        matches!(conflict.kind, ConflictKind::Doubled | ConflictKind::Unsettled)
    });
    Ok(broken.map(|conflict| conflict.path).collect())
}
