//! What the commands do, one file each.

use tokio::runtime::{Builder, Runtime};

use crate::{args::Command, context::Context, errors::Result};

pub(crate) mod anchor;
pub(crate) mod append;
pub(crate) mod blame;
pub(crate) mod cat;
pub(crate) mod chmod;
pub(crate) mod clone;
pub(crate) mod completions;
pub(crate) mod content;
pub(crate) mod cp;
pub(crate) mod destination;
pub(crate) mod du;
pub(crate) mod edit;
pub(crate) mod export;
pub(crate) mod find;
pub(crate) mod glob;
pub(crate) mod grep;
pub(crate) mod head;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod label;
pub(crate) mod ln;
pub(crate) mod ls;
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
pub(crate) mod trash;
pub(crate) mod tree;
pub(crate) mod upkeep;
pub(crate) mod versions;
pub(crate) mod write;

/// Makes the runtime that a command needs.
pub(crate) fn runtime(command: &Command) -> std::io::Result<Runtime> {
    match command {
        Command::Serve(_) | Command::Clone(_) | Command::Sync(_) => {
            Builder::new_multi_thread().enable_all().build()
        }
        #[cfg(target_os = "linux")]
        Command::Mirror(_) => Builder::new_multi_thread().worker_threads(1).enable_all().build(),
        _ => Builder::new_current_thread().enable_all().build(),
    }
}

/// Runs a command.
pub(crate) async fn run(command: Command, context: &mut Context) -> Result {
    match command {
        Command::Init(args) => init::run(args, context),
        Command::Import(args) => import::run(args, context),
        Command::Export(args) => export::run(args, context),
        Command::Ls(args) => ls::run(args, context).await,
        Command::Tree(args) => tree::run(args, context).await,
        Command::Cat(args) => cat::run(args, context).await,
        Command::Head(args) => head::run(args, context).await,
        Command::Tail(args) => tail::run(args, context).await,
        Command::Write(args) => write::run(args, context).await,
        Command::Append(args) => append::run(args, context).await,
        Command::Edit(args) => edit::run(args, context).await,
        Command::Mkdir(args) => mkdir::run(args, context).await,
        Command::Mv(args) => mv::run(args, context).await,
        Command::Cp(args) => cp::run(args, context).await,
        Command::Rm(args) => rm::run(args, context).await,
        Command::Ln(args) => ln::run(args, context).await,
        Command::Readlink(args) => readlink::run(args, context).await,
        Command::Stat(args) => stat::run(args, context).await,
        Command::Touch(args) => touch::run(args, context).await,
        Command::Chmod(args) => chmod::run(args, context).await,
        Command::Find(args) => find::run(args, context).await,
        Command::Glob(args) => glob::run(args, context).await,
        Command::Grep(args) => grep::run(args, context).await,
        Command::Du(args) => du::run(args, context).await,
        Command::Trash(args) => trash::run(args, context),
        Command::Versions(args) => versions::run(args, context).await,
        Command::Label(args) => label::run(&args, context),
        Command::Blame(args) => blame::run(&args, context),
        Command::Anchor(args) => anchor::run(&args, context),
        Command::Redact(args) => redact::run(&args, context),
        Command::Conflicts(_) => upkeep::conflicts(context),
        Command::Quarantine(args) => quarantine::run(args, context),
        Command::Info(_) => upkeep::info(context).await,
        Command::Compact(_) => upkeep::compact(context),
        Command::Fsck(_) => upkeep::fsck(context),
        Command::Backup(args) => upkeep::backup(args, context),
        Command::Profile(args) => profile::run(args, context),
        Command::Repair(args) => profile::repair(args, context),
        Command::Serve(args) => serve::run(args, context).await,
        Command::Clone(args) => clone::run(args, context).await,
        Command::Sync(args) => sync::run(args, context).await,
        Command::Token(args) => token::run(args, context),
        #[cfg(target_os = "linux")]
        Command::Mirror(args) => mirror::run(args, context).await,
        Command::Completions(args) => completions::run(args, context),
    }
}
