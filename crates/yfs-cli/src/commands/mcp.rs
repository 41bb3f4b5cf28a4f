//! `yfs mcp`: serves files to an agent by the Model Context Protocol.

mod host_directories;

use std::{
    io::{self, Write},
    path::PathBuf,
    sync::Arc,
};

use async_trait::async_trait;
use clap::Args;
use yfs::Workspace;
use yfs_agent::{
    AgentSession, AgentSessionBuilder,
    audit::{AuditOrigin, AuditSink, AuditedFs, open_workspace_audit},
    permissions::{PermissionRules, PermittedFs},
};
use yfs_engine::{
    actor::{Actor, ActorKind},
    path::VPath,
};
use yfs_mcp::{
    ClientIdentity, ElicitingBroker, McpProfile, McpServer, OpenedSession, SessionOpener,
    SessionRefusal, parse_rules, serve_stdio, serve_stdio_reporting, shell_over,
};
use yfs_vfs::FileSystem;

use self::host_directories::HostDirectories;
use crate::{
    context::CommandContext,
    errors::{CommandError, Result},
    json_query_runner, settings,
};

const HELP: &str = "\
Speaks the Model Context Protocol on standard input and output, for a client that starts the command
itself; it ends with the client. Without DIR, the files are those of the workspace: edits that
others make at the same time are kept, and all of a session's changes have one label, which is
printed on standard error: `yfs audit --session LABEL` lists what it did, and `yfs undo --session
LABEL` takes it back. With DIR, they are directories of this machine, under their full paths, as in
the reference filesystem server; roots of the client replace them.

With --shell there is `execute`, a bash inside of this process on the same files. It has no
processes, no network and no other files. It is in builds with the feature `shell`: `cargo install
--path crates/yfs-cli --features shell`.

Profiles: full (fs and deepagents, versions, undo, patches), fs, reference, deepagents,
deepagents-create, memory. The default is full; with DIR it is reference.

A file of rules is a JSON list; the first rule that matches a path decides, and `interrupt` asks the
person in front of the client:
  [{\"operations\": [\"read\", \"write\"], \"paths\": [\"/secret/**\"], \"mode\": \"deny\"},
   {\"operations\": [\"write\"], \"paths\": [\"/**\"], \"mode\": \"interrupt\"}]

Examples:
  yfs mcp --workspace ~/notes
  yfs mcp --workspace ~/notes --read-only --allow /docs --allow /plan.md
  yfs mcp --workspace ~/notes --rules rules.json --actor agent:scout
  yfs mcp --workspace ~/notes --shell
  yfs mcp --profile reference ~/notes ~/src";

/// Serve files to an agent by the Model Context Protocol
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct McpArgs {
    /// Directories of this machine to serve instead of a workspace
    #[arg(value_name = "DIR")]
    dirs: Vec<PathBuf>,
    /// Which tools to offer
    #[arg(long, value_name = "PROFILE")]
    profile: Option<McpProfile>,
    /// Offer only tools that read, and reject every change
    #[arg(long)]
    read_only: bool,
    /// Only this file, or what is below this directory; may be repeated
    #[arg(long, value_name = "PATH")]
    allow: Vec<String>,
    /// Apply the permission rules in this JSON file
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    /// Offer a bash on the files of the workspace
    #[arg(long, conflicts_with = "dirs")]
    shell: bool,
}

/// What every session of the command may do.
#[derive(Debug)]
struct SessionPolicy {
    profile: McpProfile,
    is_read_only: bool,
    allowed: Vec<VPath>,
    rules: Option<PermissionRules>,
    /// The actor; if absent, an agent with the name of the client.
    actor: Option<Actor>,
    label: String,
}

/// Opens sessions over a workspace.
#[derive(Debug)]
struct WorkspaceOpener {
    workspace: Workspace,
    policy: SessionPolicy,
    audit: Option<Arc<dyn AuditSink>>,
    has_shell: bool,
}

/// Serves until standard input ends.
pub(crate) async fn run(args: McpArgs, context: &mut CommandContext) -> Result {
    if args.shell && shell_over(Arc::new(yfs_vfs::MemoryFs::new())).is_none() {
        return Err(CommandError::other(
            "this build has no shell: cargo install --path crates/yfs-cli --features shell",
        ));
    }
    let policy = policy_of(&args, context)?;
    // A client of the reference server may name all directories itself.
    let has_roots_only = args.profile == Some(McpProfile::Reference)
        && context.globals.workspace.is_none()
        && context.file().is_err();
    let is_reference = policy.profile == McpProfile::Reference;
    let report = if context.globals.quiet { |_: &str| () } else { print_remark };
    let opener: Arc<dyn SessionOpener> = match args.dirs.is_empty() && !has_roots_only {
        true => {
            let options = settings::following(context.actor());
            let workspace = context.open_at(&context.file()?, options)?;
            context.remark(&format!("the label of this session's changes is {}", policy.label));
            let audit = open_workspace_audit(&workspace).map_err(|error| {
                CommandError::other(format!("cannot record what agents do: {error}"))
            })?;
            Arc::new(WorkspaceOpener { workspace, policy, audit, has_shell: args.shell })
        }
        false => Arc::new(HostDirectories::open(&args.dirs, policy, report)?),
    };
    // The transport writes to standard output itself.
    context.out.unlock()?;
    let server = McpServer::new(opener);
    let served = match is_reference && !context.globals.quiet {
        true => {
            print_remark("Secure MCP Filesystem Server running on stdio");
            let report = |reason: &str| {
                print_remark(&format!("MCP filesystem transport error: {reason}"));
            };
            serve_stdio_reporting(server, report).await
        }
        false => serve_stdio(server).await,
    };
    served.map_err(|error| CommandError::Other(error.into()))
}

/// Prints a line on standard error, as the reference server does.
fn print_remark(text: &str) {
    // Without a reader there is no one to report to.
    writeln!(io::stderr().lock(), "{text}").ok();
}

fn policy_of(args: &McpArgs, context: &CommandContext) -> Result<SessionPolicy> {
    let default = if args.dirs.is_empty() { McpProfile::Full } else { McpProfile::Reference };
    let paths = args.allow.iter().map(|path| context.path(path));
    let mut allowed = paths.map(|path| path.map(|path| path.path)).collect::<Result<Vec<_>>>()?;
    allowed.sort();
    allowed.dedup();
    let rules = match &args.rules {
        None => None,
        Some(file) => {
            let text = std::fs::read_to_string(file);
            let text = text.map_err(|error| CommandError::host(file, &error))?;
            let refused = |error: Box<dyn std::error::Error + Send + Sync>| {
                CommandError::Other(format!("{}: {}", file.display(), chain(&*error)).into())
            };
            let rules = parse_rules(&text).map_err(|error| refused(error.into()))?;
            Some(PermissionRules::new(rules).map_err(|error| refused(error.into()))?)
        }
    };
    Ok(SessionPolicy {
        profile: args.profile.unwrap_or(default),
        is_read_only: args.read_only,
        allowed,
        rules,
        actor: context.globals.actor.clone(),
        label: format!("mcp-{}", nanoid::nanoid!(10, &LABEL_LETTERS)),
    })
}

const LABEL_LETTERS: [char; 32] = [
    'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'm', 'n', 'p', 'q', 'r', 's', 't', 'u',
    'v', 'w', 'x', 'y', 'z', '2', '3', '4', '5', '6', '7', '8', '9',
];

/// Returns an error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text += &format!(": {cause}");
        source = cause.source();
    }
    text
}

#[async_trait]
impl SessionOpener for WorkspaceOpener {
    async fn open_session(&self, client: &ClientIdentity) -> Result<OpenedSession, SessionRefusal> {
        let policy = &self.policy;
        let actor = policy.actor_of(client);
        let fs = self.workspace.fs_for(actor.clone()).labelled(&policy.label);
        let fs = policy.permitted(Arc::new(fs), &policy.allowed)?;
        // The tools of history do not pass through the rules.
        let builder = match policy.is_restricted() {
            true => AgentSession::builder(fs.clone(), actor.clone()).id(policy.label.as_str()),
            false => AgentSession::over_workspace(&self.workspace, actor.clone(), &policy.label),
        };
        let root = [VPath::root()];
        let directories = if policy.allowed.is_empty() { &root } else { &policy.allowed[..] };
        let agent = self.with_tools(builder, &fs, &actor).fs(fs).build();
        let session = OpenedSession::with_directories(agent, policy.profile, directories);
        Ok(session.read_only(policy.is_read_only))
    }

    fn profile(&self) -> McpProfile {
        self.policy.profile
    }
}

impl WorkspaceOpener {
    /// Adds the record of calls, queries and the shell to a session.
    fn with_tools(
        &self,
        builder: AgentSessionBuilder,
        fs: &Arc<dyn FileSystem>,
        actor: &Actor,
    ) -> AgentSessionBuilder {
        let mut builder = builder;
        if let Some(runner) = json_query_runner() {
            builder = builder.json_query(runner);
        }
        let mut shell_files = fs.clone();
        if let Some(audit) = &self.audit {
            let session = self.policy.label.as_str().into();
            let tool = Some("execute".into());
            let origin = AuditOrigin { actor: actor.clone(), session, call_id: None, tool };
            shell_files = Arc::new(AuditedFs::new(shell_files, audit.clone(), origin));
            builder = builder.audit(audit.clone());
        }
        if let Some(shell) = self.has_shell.then(|| shell_over(shell_files)).flatten() {
            builder = builder.executor(shell);
        }
        builder
    }
}

impl SessionPolicy {
    fn actor_of(&self, client: &ClientIdentity) -> Actor {
        let named = || Actor::new(ActorKind::Agent, client.name.as_deref().unwrap_or("mcp"));
        self.actor.clone().unwrap_or_else(named)
    }

    fn is_restricted(&self) -> bool {
        !self.allowed.is_empty() || self.rules.is_some()
    }

    /// Returns a filesystem that allows what the policy allows, below some directories only.
    fn permitted(
        &self,
        fs: Arc<dyn FileSystem>,
        directories: &[VPath],
    ) -> Result<Arc<dyn FileSystem>, SessionRefusal> {
        let mut fs = fs;
        if self.is_read_only {
            fs = Arc::new(yfs_vfs::ReadOnlyFs::wrap(fs));
        }
        if !directories.is_empty() {
            let rules = PermissionRules::only_below(directories)
                .map_err(|error| SessionRefusal(format!("bad directory: {error}")))?;
            fs = Arc::new(PermittedFs::new(fs, rules));
        }
        if let Some(rules) = &self.rules {
            let asking = PermittedFs::new(fs, rules.clone()).with_broker(Arc::new(ElicitingBroker));
            fs = Arc::new(asking);
        }
        Ok(fs)
    }
}
