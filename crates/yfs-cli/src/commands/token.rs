//! `yfs token`: manages access to the server of a workspace.

use std::time::Duration;

use clap::{Args, Subcommand};
use nanoid::nanoid;
use serde_json::{Value, json};
use yfs_engine::{actor::Actor, path::VPath, time::Millis};
use yfs_server::access::{AccessGrant, GrantRights, TokenKeys};

use crate::{context::CommandContext, errors::Result, parse_time};

const HELP: &str = "\
A token is text that says what it grants, and that only a server of this workspace believes. Whoever has
it may use it: hand it over as you would a password. A token for a folder opens the files below it, and
not the table of all files, so that peers that copy the workspace need one for all of it.

Examples:
  yfs token new                                   everything, for ever
  yfs token new --read --path /docs --for human:ana --expires 7d
  yfs token new --for agent:reviewer
  yfs token show yfs_...                          what it grants
  yfs token revoke 4f7c2a9e1b                     by the id that `new` and `show` print
  yfs token revoke --all                          the owner's included; `serve` prints a new one

JSON: new, owner and show: {id, token, rights, path, actor, expires}; revoke: {revoked}.";

/// The length of an id in characters: 60 bits distinguish all grants. Ids are not secret.
const ID_LEN: usize = 10;

/// The arguments of `yfs token`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct TokenArgs {
    /// The subcommand.
    #[command(subcommand)]
    what: TokenAction,
}

/// The subcommands of `yfs token`.
#[derive(Debug, Subcommand)]
enum TokenAction {
    /// Create a token
    New(NewArgs),
    /// Print the owner's token, which `serve` prints as well
    Owner,
    /// Print what a token grants
    Show {
        /// The token
        token: String,
    },
    /// Revoke a token for good
    Revoke {
        /// The id of the grant
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        id: Option<String>,
        /// Revoke all tokens of this workspace
        #[arg(long)]
        all: bool,
    },
}

/// The permissions of a new token.
#[derive(Debug, Args)]
struct NewArgs {
    /// Grant only reading
    #[arg(long)]
    read: bool,
    /// Grant only this directory or file, and everything below it
    #[arg(long, value_name = "PATH", default_value = "/")]
    path: String,
    /// The lifetime: 7d, 12h; default: until it is revoked
    #[arg(long, value_name = "AGE", value_parser = parse_time::parse_duration)]
    expires: Option<Duration>,
    /// The actor of the holder's changes: human:NAME or agent:NAME
    #[arg(long = "for", value_name = "KIND:NAME")]
    actor: Option<Actor>,
}

/// Runs `yfs token`.
pub(crate) fn run(args: TokenArgs, context: &mut CommandContext) -> Result {
    let workspace = context.writable()?;
    let keys = TokenKeys::of(workspace.store().clone());
    match args.what {
        TokenAction::New(args) => {
            let grant = new_grant(&args, context)?;
            print(&keys, &grant, context)
        }
        TokenAction::Owner => print(&keys, &AccessGrant::owner(context.actor()), context),
        TokenAction::Show { token } => {
            let grant = keys.check(&token).map_err(anyhow::Error::from)?;
            describe(&grant, None, context)
        }
        TokenAction::Revoke { id, all: _ } => {
            match &id {
                Some(id) => keys.revoke(id).map_err(anyhow::Error::from)?,
                None => keys.revoke_all().map_err(anyhow::Error::from)?,
            }
            if context.out.json {
                context.out.json_line(&json!({ "revoked": id.as_deref().unwrap_or("all") }))?;
            }
            Ok(())
        }
    }
}

fn new_grant(args: &NewArgs, context: &CommandContext) -> Result<AccessGrant> {
    let path: VPath = context.path(&args.path)?.path;
    let expires = args.expires.map(|age| {
        let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        Millis(parse_time::now().0.saturating_add(age))
    });
    let rights = if args.read { GrantRights::Read } else { GrantRights::Write };
    let actor = args.actor.clone().unwrap_or_else(|| context.actor());
    Ok(AccessGrant { id: nanoid!(ID_LEN), rights, path, expires, actor })
}

fn print(keys: &TokenKeys, grant: &AccessGrant, context: &mut CommandContext) -> Result {
    let token = keys.issue(grant).map_err(anyhow::Error::from)?;
    if context.out.json {
        return describe(grant, Some(&token), context);
    }
    context.out.line(&token)?;
    context.remark(&format!("id {}", grant.id));
    Ok(())
}

fn describe(grant: &AccessGrant, token: Option<&str>, context: &mut CommandContext) -> Result {
    let (path, actor) = (grant.path.to_string(), grant.actor.to_string());
    if context.out.json {
        let expires = grant.expires.map(parse_time::rfc3339);
        let mut value = json!({
            "id": grant.id,
            "rights": grant.rights.as_str(),
            "path": path,
            "actor": actor,
            "expires": expires,
        });
        if let Some(token) = token {
            value["token"] = Value::from(token);
        }
        return context.out.json_line(&value);
    }
    let until = grant
        .expires
        .map_or_else(|| "for ever".to_owned(), |at| format!("until {}", parse_time::rfc3339(at)));
    let text = format!("{}  {} {path} as {actor}, {until}", grant.id, grant.rights.as_str());
    let text = context.out.safe(&text).into_owned();
    context.out.line(&text)
}
