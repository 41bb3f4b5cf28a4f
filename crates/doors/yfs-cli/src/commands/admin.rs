//! `yfs admin`: counts, checks, copies and repairs what the workspace keeps.

use clap::Args;

pub(super) use self::profile::ProfileName;

const HELP: &str = "\
Examples:
  yfs admin info                              how much is in the workspace
  yfs admin backup ~/backups/monday.db
  yfs admin fsck
  yfs help admin fsck";

/// Back up, check, compact and repair the workspace, and change its key and schema
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct AdminArgs {
    /// The command.
    #[command(subcommand)]
    pub(super) command: AdminCommand,
}

declare_commands! {
    /// A command of `yfs admin` and its arguments.
    enum AdminCommand = "admin ";
    info::InfoArgs,
    backup::BackupArgs,
    fsck::FsckArgs,
    compact::CompactArgs,
    repair::RepairArgs,
    redact::RedactArgs,
    key::KeyCommandArgs,
    profile::ProfileArgs,
    quarantine::QuarantineArgs,
    parked::ParkedArgs,
}
