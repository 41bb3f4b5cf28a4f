//! `yfs admin profile`: prints or converts the schema of rich text.

use clap::{Args, Subcommand, ValueEnum};
use yfs_engine::kind::{SchemaProfile, profile_name};

use crate::{prelude::*, progress::CommandProgress};

const HELP: &str = "\
Editors delete nodes that their schema does not contain. Therefore all markdown files of a workspace
use the node names of one schema:
  gfm         names of Milkdown: tables, tasks, strikethrough, footnotes, HTML
  commonmark  names of prosemirror-markdown

Examples:
  yfs admin profile                       print the schema
  yfs admin profile convert commonmark    convert all documents; close all editors first

JSON: {profile}; of convert: {profile, files, converted}.";

/// Print or convert the schema of rich text
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ProfileArgs {
    /// The subcommand; without it, print the profile.
    #[command(subcommand)]
    command: Option<ProfileCommand>,
}

/// The subcommands of `yfs admin profile`.
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
pub(crate) async fn run(args: ProfileArgs, context: &mut CommandContext) -> Result {
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
