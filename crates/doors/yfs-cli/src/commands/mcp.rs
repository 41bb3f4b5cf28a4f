//! `yfs mcp`: serves files to an agent by the Model Context Protocol.

use std::path::PathBuf;

use yfs_agent::approval::DirectoryApprovals;
use yfs_mcp::{McpProfile, McpServer, serve_stdio, serve_stdio_reporting};

use super::agent_files::{self, AgentArgs, print_remark};
use crate::prelude::*;

const HELP: &str = "\
Speaks the Model Context Protocol on standard input and output, for a client that starts the command
itself; it ends with the client. Without DIR, the files are those of the workspace: edits that
others make at the same time are kept, and all of a session's changes have one label, which is
printed on standard error: `yfs audit --session LABEL` lists what it did, and `yfs undo --session
LABEL` takes it back. With DIR, they are directories of this machine, under their full paths, as in
the reference filesystem server; roots of the client replace them.

With --shell there is `execute`, a bash inside of this process on the files of the workspace. It has
no processes, no network and no other files.

Profiles: full (fs and deepagents, versions, undo, patches), fs, reference, deepagents,
deepagents-create, memory. The default is full; with DIR it is reference.

A file of rules is a JSON list; the first rule that matches a path decides, and `interrupt` asks the
person in front of the client:
  [{\"operations\": [\"read\", \"write\"], \"paths\": [\"/secret/**\"], \"mode\": \"deny\"},
   {\"operations\": [\"write\"], \"paths\": [\"/**\"], \"mode\": \"interrupt\"}]

With --approvals, a rule that interrupts asks about the directory of the file, with everything
below it: yes (kept in the file), session, or no. Without --rules, every directory needs an
approval. --list-approvals prints the directories in the file, --revoke removes one, also for
servers that run.

Examples:
  yfs mcp --workspace ~/notes
  yfs mcp --workspace ~/notes --read-only --allow /docs --allow /plan.md
  yfs mcp --workspace ~/notes --rules rules.json --actor agent:scout
  yfs mcp --workspace ~/notes --approvals ~/.yfs-approvals.json
  yfs mcp --approvals ~/.yfs-approvals.json --revoke /private
  yfs mcp --workspace ~/notes --shell
  yfs mcp --profile reference ~/notes ~/src";

/// Serve files to an agent by the Model Context Protocol
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct McpArgs {
    /// Directories of this machine to serve instead of a workspace
    #[arg(value_name = "DIR")]
    dirs: Vec<PathBuf>,
    #[command(flatten)]
    agent: AgentArgs,
    /// Print the approved directories, and end
    #[arg(long, requires = "approvals")]
    list_approvals: bool,
    /// Remove the approval of this directory, and end; may be repeated
    #[arg(long, value_name = "PATH", requires = "approvals")]
    revoke: Vec<String>,
}

/// Serves until standard input ends.
pub(crate) async fn run(args: McpArgs, context: &mut CommandContext) -> Result {
    if let Some(file) = args.agent.approvals.as_ref().filter(|_| args.edits_approvals()) {
        let broker = agent_files::open_approvals(file)?;
        return edit_approvals(&args, broker.approvals(), context);
    }
    let opener = agent_files::open(&args.agent, &args.dirs, context)?;
    let is_reference = opener.profile() == McpProfile::Reference;
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

impl McpArgs {
    fn edits_approvals(&self) -> bool {
        self.list_approvals || !self.revoke.is_empty()
    }
}

fn edit_approvals(
    args: &McpArgs,
    approvals: &DirectoryApprovals,
    context: &mut CommandContext,
) -> Result {
    for path in &args.revoke {
        let path = context.path(path)?.path;
        let revoked = approvals.revoke(&path);
        if !revoked.map_err(|error| CommandError::Other(error.into()))? {
            return Err(CommandError::other(format!("{path} is not approved")));
        }
    }
    if args.list_approvals {
        for grant in approvals.grants() {
            let directory = context.out.safe(grant.directory.as_str()).into_owned();
            match context.out.json {
                true => context.out.json_line(&serde_json::json!({ "directory": directory }))?,
                false => context.out.line(&directory)?,
            }
        }
    }
    Ok(())
}
