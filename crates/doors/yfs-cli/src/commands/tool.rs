//! `yfs tool`: calls a tool of agents from the command line.

use std::{io, path::PathBuf};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Value, json};
use yfs_agent::{CallContext, ReplyBlock, ToolDefinition, ToolReply};
use yfs_mcp::{ClientIdentity, OpenedSession};

use super::agent_files::{self, AgentArgs};
use crate::prelude::*;

const HELP: &str = "\
Calls one of the tools that `yfs mcp` offers, with the same profiles, texts and permission rules.
ARGS is a JSON object with the arguments of the tool; `-` reads it from standard input. The tool
`list` prints the names and descriptions of all tools.

Each command is a session of its own, which has read nothing: to keep the changes of others, edit
with edit_file or fs_edit. Rules that interrupt refuse, unless an approval is in the file of
--approvals.

Examples:
  yfs tool list --profile fs
  yfs tool grep '{\"pattern\": \"TODO\"}'
  yfs tool fs_edit '{\"path\": \"/a.md\", \"old_text\": \"one\", \"new_text\": \"two\"}'
  yfs tool read_text_file '{\"path\": \"a.md\"}' --dir ~/notes

Exit codes: 0 done, 1 the tool reports an error.

JSON: {text, structured, is_error} of a call; of `list`, one object per tool: {name, title,
description, input_schema, output_schema, annotations}.";

/// Call a tool of agents, or list the tools
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ToolArgs {
    /// The tool, or `list`
    name: String,
    /// The arguments, as a JSON object
    #[arg(value_name = "ARGS")]
    arguments: Option<String>,
    /// A directory of this machine to use instead of a workspace; may be repeated
    #[arg(long = "dir", id = "dirs", value_name = "DIR")]
    dirs: Vec<PathBuf>,
    #[command(flatten)]
    agent: AgentArgs,
}

/// Calls the tool.
pub(crate) async fn run(args: ToolArgs, context: &mut CommandContext) -> Result {
    let opener = agent_files::open(&args.agent, &args.dirs, context)?;
    let mut client = ClientIdentity::default();
    client.name = Some("yfs-tool".to_owned());
    let session = opener.open_session(&client).await;
    let session = session.map_err(|refusal| CommandError::other(refusal.to_string()))?;
    if args.name == "list" {
        return list(&session, context);
    }
    let arguments = parse_arguments(args.arguments.as_deref())?;
    let is_offered = session.offered_tools().any(|tool| tool.name == args.name);
    let unknown =
        || CommandError::other(format!("there is no tool {}; see `yfs tool list`", args.name));
    if !is_offered {
        return Err(unknown());
    }
    let (agent, call) = (&session.agent, CallContext::default());
    let called = session.tools.call_tool(agent, &args.name, arguments, call).await;
    print(&called.map_err(|_| unknown())?, context)
}

fn parse_arguments(text: Option<&str>) -> Result<Value> {
    let text = match text {
        None => return Ok(Value::Object(Map::new())),
        Some("-") => {
            let text = io::read_to_string(io::stdin().lock());
            text.map_err(|error| CommandError::other(format!("standard input: {error}")))?
        }
        Some(text) => text.to_owned(),
    };
    match serde_json::from_str(&text) {
        Ok(arguments @ Value::Object(_)) => Ok(arguments),
        Ok(_) => Err(CommandError::usage("ARGS is not a JSON object")),
        Err(error) => Err(CommandError::usage(format!("ARGS is not JSON: {error}"))),
    }
}

fn list(session: &OpenedSession, context: &mut CommandContext) -> Result {
    for tool in session.offered_tools() {
        if context.out.json {
            context.out.json_line(&shown(tool))?;
        } else {
            context.out.line(&format!("{:<26}  {}", tool.name, tool.description))?;
        }
    }
    Ok(())
}

fn shown(tool: &ToolDefinition) -> Value {
    json!({
        "name": tool.name.as_str(),
        "title": tool.title,
        "description": tool.description,
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
        "annotations": tool.annotations,
    })
}

fn print(reply: &ToolReply, context: &mut CommandContext) -> Result {
    if context.out.json {
        let (text, structured) = (text_of(reply), &reply.structured);
        let is_error = reply.is_error;
        context
            .out
            .json_line(&json!({ "text": text, "structured": structured, "is_error": is_error }))?;
    } else if reply.is_error {
        return Err(CommandError::other(text_of(reply)));
    } else {
        let text = text_of(reply);
        match context.out.is_terminal {
            true => context.out.safe_lines(&text)?,
            false => {
                context.out.raw(text.as_bytes())?;
                if !text.is_empty() && !text.ends_with('\n') {
                    context.out.raw(b"\n")?;
                }
            }
        }
    }
    if reply.is_error {
        context.exit_with(1);
    }
    Ok(())
}

/// Returns the blocks of a reply as text; what is no text, as a data URI.
fn text_of(reply: &ToolReply) -> String {
    let uri = |data: &[u8], mime: &str| format!("data:{mime};base64,{}", STANDARD.encode(data));
    let blocks = reply.blocks.iter().map(|block| match block {
        ReplyBlock::Text(text) => text.clone(),
        ReplyBlock::Image { data, mime }
        | ReplyBlock::Audio { data, mime }
        | ReplyBlock::Resource { data, mime, .. } => uri(data, mime),
        _ => String::new(),
    });
    blocks.collect::<Vec<_>>().join("\n")
}
