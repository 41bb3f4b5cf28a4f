//! The list of commands. Each command is one file, with its arguments, its help and `run`.

use clap::{Args, Command, Subcommand};
use tokio::runtime::{Builder, Runtime};

use crate::{context::CommandContext, errors::Result};

mod agent_files;
mod confirm_prompt;
mod input_content;
mod mirrored_sides;
#[cfg(feature = "peer")]
mod peer_run;
#[cfg(feature = "peer")]
mod share_code;
mod transfer_operands;

/// Declares the commands, in the order of `yfs --help`.
///
/// A line `wc::WcArgs,` declares the file `commands/wc.rs` and the command `yfs wc`. The file has
/// the arguments, `WcArgs`, and `async fn run(args: WcArgs, context: &mut CommandContext)`. The doc
/// comment of the arguments is the description of the command in `yfs --help` and `yfs help wc`.
///
/// A line `wc::WcArgs => RUNTIME,` names the function below that creates the runtime of the
/// command. Without it, the runtime has one thread.
macro_rules! declare_commands {
    ($($(#[$cfg:meta])? $module:ident :: $args:ident $(=> $runtime:ident)?),* $(,)?) => {
        $($(#[$cfg])? mod $module;)*

        /// A command and its arguments.
        #[derive(Debug, Subcommand)]
        #[expect(clippy::enum_variant_names, reason = "a variant has the name of its arguments")]
        pub(crate) enum CliCommand {
            $($(#[$cfg])? #[command(name = stringify!($module))] $args($module::$args),)*
        }

        impl CliCommand {
            /// Returns the name of the command, as messages show it.
            pub(crate) fn name(&self) -> &'static str {
                match self {
                    $($(#[$cfg])? Self::$args(_) => stringify!($module),)*
                }
            }

            /// Returns the definition of one command, without those of all others.
            pub(crate) fn definition_of(name: &str) -> Option<Command> {
                match name {
                    $($(#[$cfg])? stringify!($module) => {
                        Some($module::$args::augment_args(Command::new(stringify!($module))))
                    })*
                    _ => None,
                }
            }

            /// Creates the async runtime that the command needs.
            pub(crate) fn create_runtime(&self) -> std::io::Result<Runtime> {
                match self {
                    $($(#[$cfg])? Self::$args(_) => select_runtime!($($runtime)?)(),)*
                }
            }

            /// Runs the command.
            pub(crate) async fn run(self, context: &mut CommandContext) -> Result {
                match self {
                    $($(#[$cfg])? Self::$args(args) => $module::run(args, context).await,)*
                }
            }
        }
    };
}

/// Selects the function that creates a runtime: the one given, or the default.
macro_rules! select_runtime {
    () => {
        one_thread
    };
    ($runtime:ident) => {
        $runtime
    };
}

declare_commands! {
    init::InitArgs,
    demo::DemoArgs,
    import::ImportArgs,
    export::ExportArgs,
    ls::LsArgs,
    tree::TreeArgs,
    cat::CatArgs,
    head::HeadArgs,
    tail::TailArgs,
    write::WriteArgs,
    append::AppendArgs,
    edit::EditArgs,
    mkdir::MkdirArgs,
    mv::MvArgs,
    cp::CpArgs,
    rm::RmArgs,
    rmdir::RmdirArgs,
    ln::LnArgs,
    readlink::ReadlinkArgs,
    stat::StatArgs,
    stats::StatsArgs,
    thumbnail::ThumbnailArgs,
    touch::TouchArgs,
    chmod::ChmodArgs,
    find::FindArgs,
    glob::GlobArgs,
    grep::GrepArgs,
    query::QueryArgs,
    du::DuArgs,
    trash::TrashArgs,
    status::StatusArgs,
    log::LogArgs,
    diff::DiffArgs,
    undo::UndoArgs,
    audit::AuditArgs,
    at::AtArgs,
    thread::ThreadArgs,
    artifact::ArtifactArgs,
    watch::WatchArgs,
    versions::VersionsArgs,
    label::LabelArgs,
    blame::BlameArgs,
    anchor::AnchorArgs,
    redact::RedactArgs,
    conflicts::ConflictsArgs,
    quarantine::QuarantineArgs,
    parked::ParkedArgs,
    info::InfoArgs,
    compact::CompactArgs,
    fsck::FsckArgs,
    backup::BackupArgs,
    key::KeyCommandArgs,
    profile::ProfileArgs,
    repair::RepairArgs,
    serve::ServeArgs => multi_threaded,
    clone::CloneArgs => multi_threaded,
    sync::SyncArgs => resident,
    #[cfg(feature = "peer")]
    share::ShareArgs => resident,
    #[cfg(feature = "peer")]
    join::JoinArgs => resident,
    #[cfg(feature = "peer")]
    relay::RelayArgs => multi_threaded,
    #[cfg(feature = "peer")]
    peers::PeersArgs,
    #[cfg(feature = "peer")]
    id::IdArgs,
    mcp::McpArgs => two_workers,
    tool::ToolArgs => two_workers,
    token::TokenArgs,
    #[cfg(target_os = "linux")]
    mirror::MirrorArgs => one_worker,
    config::ConfigArgs,
    completions::CompletionsArgs,
    man::ManArgs,
}

/// Creates the runtime of a command that opens a workspace and ends.
fn one_thread() -> std::io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// Creates the runtime of a command that serves connections, with a thread per core.
fn multi_threaded() -> std::io::Result<Runtime> {
    Builder::new_multi_thread().enable_all().build()
}

/// Creates the runtime of a command that runs for days and is idle most of the time.
fn resident() -> std::io::Result<Runtime> {
    yfs::limit_arenas(2);
    multi_threaded()
}

/// Creates the runtime of a command that waits on the main thread and on one other thread.
#[cfg(target_os = "linux")]
fn one_worker() -> std::io::Result<Runtime> {
    yfs::limit_arenas(2);
    Builder::new_multi_thread().worker_threads(1).enable_all().build()
}

/// Creates the runtime of a command that serves one client, and reads its messages while a call
/// runs.
fn two_workers() -> std::io::Result<Runtime> {
    Builder::new_multi_thread().worker_threads(2).enable_all().build()
}
