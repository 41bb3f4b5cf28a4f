//! The implementations of the commands, one file each.

use tokio::runtime::{Builder, Runtime};

use crate::{args::CliCommand, context::CommandContext, errors::Result};

pub(crate) mod anchor;
pub(crate) mod append;
pub(crate) mod blame;
pub(crate) mod cat;
pub(crate) mod chmod;
pub(crate) mod clone;
pub(crate) mod completions;
pub(crate) mod cp;
pub(crate) mod du;
pub(crate) mod edit;
pub(crate) mod export;
pub(crate) mod find;
pub(crate) mod glob;
pub(crate) mod grep;
pub(crate) mod head;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod input_content;
pub(crate) mod label;
pub(crate) mod ln;
pub(crate) mod ls;
pub(crate) mod maintenance;
#[cfg(target_os = "linux")]
pub(crate) mod mirror;
pub(crate) mod mkdir;
pub(crate) mod mv;
pub(crate) mod profile;
pub(crate) mod quarantine;
pub(crate) mod readlink;
pub(crate) mod redact;
pub(crate) mod rm;
pub(crate) mod serve;
pub(crate) mod stat;
pub(crate) mod sync;
pub(crate) mod tail;
pub(crate) mod token;
pub(crate) mod touch;
pub(crate) mod transfer_operands;
pub(crate) mod trash;
pub(crate) mod tree;
pub(crate) mod versions;
pub(crate) mod write;

/// Creates the async runtime that a command needs.
pub(crate) fn runtime(command: &CliCommand) -> std::io::Result<Runtime> {
    match command {
        CliCommand::Serve(_) | CliCommand::Clone(_) | CliCommand::Sync(_) => {
            Builder::new_multi_thread().enable_all().build()
        }
        #[cfg(target_os = "linux")]
        CliCommand::Mirror(_) => Builder::new_multi_thread().worker_threads(1).enable_all().build(),
        _ => Builder::new_current_thread().enable_all().build(),
    }
}

/// Runs a command.
pub(crate) async fn run(command: CliCommand, context: &mut CommandContext) -> Result {
    match command {
        CliCommand::Init(args) => init::run(args, context),
        CliCommand::Import(args) => import::run(args, context),
        CliCommand::Export(args) => export::run(args, context),
        CliCommand::Ls(args) => ls::run(args, context).await,
        CliCommand::Tree(args) => tree::run(args, context).await,
        CliCommand::Cat(args) => cat::run(args, context).await,
        CliCommand::Head(args) => head::run(args, context).await,
        CliCommand::Tail(args) => tail::run(args, context).await,
        CliCommand::Write(args) => write::run(args, context).await,
        CliCommand::Append(args) => append::run(args, context).await,
        CliCommand::Edit(args) => edit::run(args, context).await,
        CliCommand::Mkdir(args) => mkdir::run(args, context).await,
        CliCommand::Mv(args) => mv::run(args, context).await,
        CliCommand::Cp(args) => cp::run(args, context).await,
        CliCommand::Rm(args) => rm::run(args, context).await,
        CliCommand::Ln(args) => ln::run(args, context).await,
        CliCommand::Readlink(args) => readlink::run(args, context).await,
        CliCommand::Stat(args) => stat::run(args, context).await,
        CliCommand::Touch(args) => touch::run(args, context).await,
        CliCommand::Chmod(args) => chmod::run(args, context).await,
        CliCommand::Find(args) => find::run(args, context).await,
        CliCommand::Glob(args) => glob::run(args, context).await,
        CliCommand::Grep(args) => grep::run(args, context).await,
        CliCommand::Du(args) => du::run(args, context).await,
        CliCommand::Trash(args) => trash::run(args, context),
        CliCommand::Versions(args) => versions::run(args, context).await,
        CliCommand::Label(args) => label::run(&args, context),
        CliCommand::Blame(args) => blame::run(&args, context),
        CliCommand::Anchor(args) => anchor::run(&args, context),
        CliCommand::Redact(args) => redact::run(&args, context),
        CliCommand::Conflicts(_) => maintenance::conflicts(context),
        CliCommand::Quarantine(args) => quarantine::run(args, context),
        CliCommand::Info(_) => maintenance::info(context).await,
        CliCommand::Compact(_) => maintenance::compact(context),
        CliCommand::Fsck(args) => maintenance::fsck(args, context),
        CliCommand::Backup(args) => maintenance::backup(args, context),
        CliCommand::Profile(args) => profile::run(args, context),
        CliCommand::Repair(args) => profile::repair(args, context),
        CliCommand::Serve(args) => serve::run(args, context).await,
        CliCommand::Clone(args) => clone::run(args, context).await,
        CliCommand::Sync(args) => sync::run(args, context).await,
        CliCommand::Token(args) => token::run(args, context),
        #[cfg(target_os = "linux")]
        CliCommand::Mirror(args) => mirror::run(args, context).await,
        CliCommand::Completions(args) => completions::run(args, context),
    }
}
