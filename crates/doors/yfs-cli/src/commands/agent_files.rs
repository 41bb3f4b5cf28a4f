//! The files that an agent works on, and what it may do there: shared by `yfs mcp` and `yfs tool`.

mod host_directories;
mod protected_files;

use std::{
    io::{self, Write},
    path::PathBuf,
    sync::Arc,
};

use async_trait::async_trait;
use yfs_agent::{
    AgentSession, AgentSessionBuilder,
    audit::{AuditOrigin, AuditSink, AuditedFs, FileAudit},
    hooks::StorageQuota,
    permissions::{
        AccessKind, AccessLimits, ApprovalBroker, PermissionRule, PermissionRules, RuleMode,
        parse_rules,
    },
};
use yfs_agent_workspace::{open_workspace_audit, session_over};
use yfs_engine::actor::{Actor, ActorKind};
use yfs_mcp::{
    ClientIdentity, DirectoryBroker, ElicitingBroker, McpProfile, OpenedSession, SessionOpener,
    SessionRefusal, shell_over,
};
use yfs_server::AgentSigns;
use yfs_vfs::FileSystem;

use self::{
    host_directories::HostDirectories,
    protected_files::{ProtectedFiles, ProtectedRules},
};
use crate::{discover, json_query_runner, prelude::*, settings};

/// What an agent may do.
#[derive(Debug, Args)]
pub(super) struct AgentArgs {
    /// Which tools to offer
    #[arg(long, value_name = "PROFILE")]
    pub(super) profile: Option<McpProfile>,
    /// Offer only tools that read, and reject every change
    #[arg(long)]
    read_only: bool,
    /// Only this file, or what is below this directory; may be repeated
    #[arg(long, value_name = "PATH")]
    allow: Vec<String>,
    /// Reject what would make all files larger than this, in bytes or like 500M
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    max_bytes: Option<u64>,
    /// Reject what would make more files than this
    #[arg(long, value_name = "N")]
    max_files: Option<u64>,
    /// Apply the permission rules in this JSON file
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    /// Ask about directories as a whole, and keep the approvals in this file
    #[arg(long, value_name = "FILE")]
    pub(super) approvals: Option<PathBuf>,
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
    quota: Option<StorageQuota>,
    rules: Option<PermissionRules>,
    /// The files that decide what the agent may do.
    protected: ProtectedFiles,
    /// The side that answers the questions of rules.
    broker: Arc<dyn ApprovalBroker>,
    /// The actor; if absent, an agent with the name of the client.
    actor: Option<Actor>,
    label: String,
}

/// Opens sessions over a workspace.
#[derive(Debug)]
struct WorkspaceOpener {
    workspace: Workspace,
    policy: SessionPolicy,
    /// The rules about the policy's own files, where the workspace mirrors their directory.
    protected: Option<ProtectedRules>,
    audit: Option<Arc<dyn AuditSink>>,
    /// The servers that show where the agent reads.
    signs: Option<AgentSigns>,
    has_shell: bool,
}

/// Opens the files: those of a workspace, or directories of the host.
pub(super) fn open(
    args: &AgentArgs,
    dirs: &[PathBuf],
    context: &mut CommandContext,
) -> Result<Arc<dyn SessionOpener>> {
    if args.shell && shell_over(Arc::new(yfs_vfs::MemoryFs::new())).is_none() {
        return Err(CommandError::other(
            "this build has no shell: it needs `--features full`, which released builds have",
        ));
    }
    let policy = policy_of(args, dirs, context)?;
    // A client of the reference server may name all directories itself.
    let has_roots_only = args.profile == Some(McpProfile::Reference)
        && context.globals.workspace.is_none()
        && context.file().is_err();
    if !dirs.is_empty() || has_roots_only {
        let report = if context.globals.quiet { |_: &str| () } else { print_remark };
        return Ok(Arc::new(HostDirectories::open(dirs, policy, report)?));
    }
    let options = settings::following(context.actor());
    let workspace = context.open_at(&context.file()?, options)?;
    // Fails if the table of files is damaged: an agent would see a part of them.
    workspace.nodes().path_of(workspace.id())?;
    context.remark(&format!("the label of this session's changes is {}", policy.label));
    let audit = open_workspace_audit(&workspace)
        .map_err(|error| CommandError::other(format!("cannot record what agents do: {error}")))?;
    let file = context.file()?;
    let protected = discover::mirrored_directory(&file)
        .and_then(|mirrored| policy.protected.rules_below(mirrored));
    let signs = AgentSigns::beside(&discover::store_dir(&file), workspace.id()).ok();
    let has_shell = args.shell;
    Ok(Arc::new(WorkspaceOpener { workspace, policy, protected, audit, signs, has_shell }))
}

/// Prints a line on standard error, as the reference server does.
pub(super) fn print_remark(text: &str) {
    // Without a reader there is no one to report to.
    writeln!(io::stderr().lock(), "{text}").ok();
}

fn policy_of(
    args: &AgentArgs,
    dirs: &[PathBuf],
    context: &CommandContext,
) -> Result<SessionPolicy> {
    let default = if dirs.is_empty() { McpProfile::Full } else { McpProfile::Reference };
    let paths = args.allow.iter().map(|path| context.path(path));
    let mut allowed = paths.map(|path| path.map(|path| path.path)).collect::<Result<Vec<_>>>()?;
    allowed.sort();
    allowed.dedup();
    let mut rules = args.rules.as_ref().map(read_rules).transpose()?;
    let mut broker: Arc<dyn ApprovalBroker> = Arc::new(ElicitingBroker);
    if let Some(file) = &args.approvals {
        let approvals = open_approvals(file)?;
        // A file that is there keeps its directory where it is.
        let made = approvals.approvals().keep_file();
        made.map_err(|error| CommandError::other(chain(&error)))?;
        broker = Arc::new(approvals);
        if rules.is_none() {
            let both = [AccessKind::Read, AccessKind::Write];
            let ask = PermissionRule::new(RuleMode::Interrupt, &both, "/**");
            rules = PermissionRules::new([ask]).ok();
        }
    }
    let protected = ProtectedFiles::find(args.rules.as_deref(), args.approvals.as_deref());
    let protected = protected.map_err(|error| CommandError::other(chain(&error)))?;
    Ok(SessionPolicy {
        profile: args.profile.unwrap_or(default),
        is_read_only: args.read_only,
        allowed,
        quota: StorageQuota::limiting(args.max_bytes, args.max_files),
        rules,
        protected,
        broker,
        actor: context.globals.actor.clone(),
        label: format!("mcp-{}", nanoid::nanoid!(10, &LABEL_LETTERS)),
    })
}

fn read_rules(file: &PathBuf) -> Result<PermissionRules> {
    let text = std::fs::read_to_string(file);
    let text = text.map_err(|error| CommandError::host(file, &error))?;
    let refused = |error: Box<dyn std::error::Error + Send + Sync>| {
        CommandError::Other(format!("{}: {}", file.display(), chain(&*error)).into())
    };
    let rules = parse_rules(&text).map_err(|error| refused(error.into()))?;
    PermissionRules::new(rules).map_err(|error| refused(error.into()))
}

/// Opens the file of approvals.
pub(super) fn open_approvals(file: &PathBuf) -> Result<DirectoryBroker> {
    DirectoryBroker::open(file).map_err(|error| CommandError::other(chain(&error)))
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
        let fs = policy.permitted(Arc::new(fs), &[&policy.allowed], self.protected.as_ref())?;
        let fs = match &self.signs {
            Some(signs) => signs.shown(fs, &actor),
            None => fs,
        };
        // The tools of history do not pass through the rules.
        let builder = match policy.is_restricted() || self.protected.is_some() {
            true => AgentSession::builder(fs.clone(), actor.clone()).id(policy.label.as_str()),
            false => session_over(&self.workspace, actor.clone(), &policy.label),
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

    fn directories(&self) -> &[VPath] {
        &self.policy.allowed
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
            shell_files =
                Arc::new(AuditedFs::new(shell_files, FileAudit::new(audit.clone(), origin)));
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

    /// Returns a filesystem that allows what the policy allows, below all of some lists of
    /// directories, and what rules about the policy's own files allow.
    fn permitted(
        &self,
        fs: Arc<dyn FileSystem>,
        lists: &[&[VPath]],
        protected: Option<&ProtectedRules>,
    ) -> Result<Arc<dyn FileSystem>, SessionRefusal> {
        let mut rules = Vec::new();
        for directories in lists.iter().filter(|directories| !directories.is_empty()) {
            let only = PermissionRules::only_below(directories);
            rules.push(only.map_err(|error| SessionRefusal(format!("bad directory: {error}")))?);
        }
        rules.extend(self.rules.clone());
        rules.extend(protected.map(|protected| protected.rules.clone()));
        let guarded = protected.map(|protected| protected.files.clone()).unwrap_or_default();
        let (is_read_only, quota, broker) = (self.is_read_only, self.quota, self.broker.clone());
        let limits = AccessLimits { is_read_only, rules, guarded, broker, quota };
        limits.apply(fs).map_err(|error| SessionRefusal(error.to_string()))
    }
}
