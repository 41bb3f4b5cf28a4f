//! The list of commands. Each command is one file, with its arguments, its help and `run`.

use clap::Command;
use tokio::runtime::{Builder, Runtime};

use crate::{arenas::limit_arenas, context::CommandContext, errors::Result};

mod agent_files;
mod confirm_prompt;
mod input_content;
mod mirrored_sides;
mod transfer_operands;

/// A list of commands: those of `yfs`, or those of a group.
pub(crate) trait CommandList: Sized {
    /// Returns the name of the command behind `yfs`, as messages show it.
    fn name(&self) -> &'static str;

    /// Returns the definition of one command, without those of all others.
    fn definition_of(name: &str) -> Option<Command>;

    /// Creates the async runtime that the command needs.
    fn create_runtime(&self) -> std::io::Result<Runtime>;

    /// Runs the command.
    async fn run(self, context: &mut CommandContext) -> Result;
}

/// Declares the commands of `yfs`, or of a group of commands, in the order of its help.
///
/// A line `wc::WcArgs,` declares the file `wc.rs` beside the other commands of the list, and the
/// command `yfs wc`. The file has the arguments, `WcArgs`, and
/// `async fn run(args: WcArgs, context: &mut CommandContext)`. The doc comment of the arguments is
/// the description of the command in `yfs --help` and `yfs help wc`.
///
/// A line `wc::WcArgs => RUNTIME,` names the function of this module that creates the runtime of
/// the command. Without it, the runtime has one thread.
///
/// A line `admin::AdminArgs,` after `groups:` declares the group `yfs admin`. The file has the
/// arguments, whose field `command` is the list of the group: its own use of this macro, with the
/// name of the group before the names of its commands.
macro_rules! declare_commands {
    (
        $(#[$doc:meta])* enum $list:ident = $parent:literal;
        $($(#[$cfg:meta])? $module:ident :: $args:ident $(=> $runtime:ident)?),* $(,)?
        $(; groups: $($group:ident :: $group_args:ident),* $(,)?)?
    ) => {
        $($(#[$cfg])? mod $module;)*
        $($(mod $group;)*)?

        $(#[$doc])*
        #[derive(Debug, clap::Subcommand)]
        #[expect(clippy::enum_variant_names, reason = "a variant has the name of its arguments")]
        pub(crate) enum $list {
            $($(#[$cfg])? #[command(name = stringify!($module))] $args($module::$args),)*
            $($(#[command(name = stringify!($group))] $group_args($group::$group_args),)*)?
        }

        impl $crate::commands::CommandList for $list {
            fn name(&self) -> &'static str {
                match self {
                    $($(#[$cfg])? Self::$args(_) => concat!($parent, stringify!($module)),)*
                    $($(Self::$group_args(args) => args.command.name(),)*)?
                }
            }

            fn definition_of(name: &str) -> Option<clap::Command> {
                use clap::{Args, Command};
                match name {
                    $($(#[$cfg])? stringify!($module) => {
                        Some($module::$args::augment_args(Command::new(stringify!($module))))
                    })*
                    $($(stringify!($group) => {
                        Some($group::$group_args::augment_args(Command::new(stringify!($group))))
                    })*)?
                    _ => None,
                }
            }

            fn create_runtime(&self) -> std::io::Result<tokio::runtime::Runtime> {
                match self {
                    $($(#[$cfg])? Self::$args(_) => select_runtime!($($runtime)?)(),)*
                    $($(Self::$group_args(args) => args.command.create_runtime(),)*)?
                }
            }

            async fn run(
                self,
                context: &mut $crate::context::CommandContext,
            ) -> $crate::errors::Result {
                match self {
                    $($(#[$cfg])? Self::$args(args) => $module::run(args, context).await,)*
                    $($(Self::$group_args(args) => args.command.run(context).await,)*)?
                }
            }
        }
    };
}

/// Selects the function that creates a runtime: the one given, or the default.
macro_rules! select_runtime {
    () => {
        $crate::commands::one_thread
    };
    ($runtime:ident) => {
        $crate::commands::$runtime
    };
}

declare_commands! {
    /// A command and its arguments.
    enum CliCommand = "";
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
    describe::DescribeArgs,
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
    conflicts::ConflictsArgs,
    serve::ServeArgs => multi_threaded,
    clone::CloneArgs => multi_threaded,
    sync::SyncArgs => resident,
    mcp::McpArgs => two_workers,
    tool::ToolArgs => two_workers,
    token::TokenArgs,
    #[cfg(target_os = "linux")]
    mirror::MirrorArgs => one_worker,
    #[cfg(target_os = "linux")]
    mount::MountArgs => one_worker,
    #[cfg(target_os = "linux")]
    umount::UmountArgs,
    config::ConfigArgs,
    completions::CompletionsArgs,
    man::ManArgs;
    groups:
    admin::AdminArgs,
    peer::PeerArgs,
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
    limit_arenas(2);
    multi_threaded()
}

/// Creates the runtime of a command that waits on the main thread and on one other thread.
#[cfg(target_os = "linux")]
fn one_worker() -> std::io::Result<Runtime> {
    limit_arenas(2);
    Builder::new_multi_thread().worker_threads(1).enable_all().build()
}

/// Creates the runtime of a command that serves one client, and reads its messages while a call
/// runs.
fn two_workers() -> std::io::Result<Runtime> {
    Builder::new_multi_thread().worker_threads(2).enable_all().build()
}
