//! `yfs token`: creates, shows and revokes access tokens of the server.

use std::time::Duration;

use nanoid::nanoid;
use yfs_engine::{
    actor::{Actor, ActorKind},
    id::ID_ALPHABET,
};
use yfs_server::access::{AccessGrant, GrantRights, TokenKeys};

use crate::{commands::serve, prelude::*};

const HELP: &str = "\
A token is a signed text that states what it grants. Only servers of this workspace accept it.
Everyone who has a token can use it, so treat it like a password. A token for a directory grants
access to the files below it, but not to the table of all files; peers that replicate the workspace
need a token for `/`.

Examples:
  yfs token new                                   access to everything, without expiry
  yfs token new --for human:ben --url https://files.example.com   prints the link to send, too
  yfs token new --read --path /docs --for human:ana --expires 7d
  yfs token new --for agent:reviewer
  yfs token show yfs_...                          print what the token grants
  yfs token ls                                    the tokens that `new` created
  yfs token owner                                 the token of the owner, as `serve` prints it
  yfs token revoke 4f7c2a9e1bk7                   by the id that `ls` prints, or by the token
  yfs token revoke --all                          all tokens; `serve` then prints a new one

JSON: new, owner and show: {id, token, rights, path, actor, expires}; new also has the link if the
address of the server is known; ls: one object per line: {id, rights, path, actor, expires, state},
with the state active, expired or revoked; revoke: {revoked}.";

/// The length of an id in characters: 62 bits distinguish all grants. Ids are not secret.
const GRANT_ID_LEN: usize = 12;

/// Create, list, show and revoke access tokens of the server
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct TokenArgs {
    /// The subcommand.
    #[command(subcommand)]
    action: TokenAction,
}

/// The subcommands of `yfs token`.
#[derive(Debug, Subcommand)]
enum TokenAction {
    /// Create a token
    New(NewArgs),
    /// List the tokens that `new` created, oldest first, without their texts
    #[command(alias = "list")]
    Ls,
    /// Print the token of the owner, which `serve` prints too
    Owner,
    /// Print the permissions that a token grants
    Show {
        /// The token
        token: String,
    },
    /// Revoke a token permanently
    Revoke {
        /// The id of the token, or the token
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        id: Option<String>,
        /// Accept an id that `ls` does not list, of a token that an earlier version created
        #[arg(long, conflicts_with = "all")]
        unlisted: bool,
        /// Revoke all tokens of this workspace
        #[arg(long)]
        all: bool,
    },
}

/// The permissions of a new token.
#[derive(Debug, Args)]
struct NewArgs {
    /// Grant read access only
    #[arg(long)]
    read: bool,
    /// Grant access only to this file, or to this directory and all files below it
    #[arg(long, value_name = "PATH", default_value = "/")]
    path: String,
    /// The lifetime, such as 7d or 12h; default: until the token is revoked
    #[arg(long, value_name = "AGE", value_parser = parse_time::parse_duration)]
    expires: Option<Duration>,
    /// The actor to record for changes made with the token: human:NAME or agent:NAME
    #[arg(long = "for", value_name = "KIND:NAME")]
    actor: Option<Actor>,
    /// The address of the server, for the link to print; default: that of `yfs serve` if it runs
    #[arg(long, value_name = "URL")]
    url: Option<String>,
}

/// Runs `yfs token`.
pub(crate) async fn run(args: TokenArgs, context: &mut CommandContext) -> Result {
    let workspace = context.writable()?;
    let keys = TokenKeys::of(workspace.store().clone());
    match args.action {
        TokenAction::New(args) => {
            let grant = new_grant(&args, context)?;
            let token = keys.issue_listed(&grant, &context.actor())?;
            let url = match args.url {
                Some(url) => Some(format!("{}/", url.trim_end_matches('/'))),
                None => serve::noted_url(&workspace)?,
            };
            let link = url.map(|url| serve::link(&url, Some(&token)));
            print_issued(&token, &grant, link.as_deref(), context)
        }
        TokenAction::Ls => list(&keys, context),
        TokenAction::Owner => {
            let grant = AccessGrant::owner(context.actor());
            let token = keys.issue(&grant)?;
            print_issued(&token, &grant, None, context)
        }
        TokenAction::Show { token } => {
            let grant = keys.check(&token)?;
            print_grant(&grant, context)
        }
        TokenAction::Revoke { id, unlisted, all: _ } => {
            let id = id.map(|id| identify(&keys, id, unlisted)).transpose()?;
            match &id {
                Some(id) => keys.revoke(id)?,
                None => keys.revoke_all()?,
            }
            context.out.json_only(&json!({ "revoked": id.as_deref().unwrap_or("all") }))
        }
    }
}

/// Creates an id of letters and digits only: one that began with `-` would be read as an option.
fn new_grant_id() -> String {
    let alphabet = ID_ALPHABET.map(char::from);
    nanoid!(GRANT_ID_LEN, &alphabet)
}

fn new_grant(args: &NewArgs, context: &CommandContext) -> Result<AccessGrant> {
    let path: VPath = context.path(&args.path)?.path;
    let expires = args.expires.map(|age| {
        let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        Millis(parse_time::now().0.saturating_add(age))
    });
    let rights = if args.read { GrantRights::Read } else { GrantRights::Write };
    let actor = args.actor.clone().unwrap_or_else(|| context.actor());
    Ok(AccessGrant { id: new_grant_id(), rights, path, expires, actor })
}

/// Returns the id of the token to revoke.
fn identify(keys: &TokenKeys, id: String, unlisted: bool) -> Result<String> {
    if let Ok(grant) = keys.identify(&id) {
        return Ok(grant.id);
    }
    let is_known = id == AccessGrant::owner(Actor::new(ActorKind::Human, "")).id
        || keys.issued()?.iter().any(|issued| issued.grant.id == id);
    if is_known || unlisted {
        return Ok(id);
    }
    Err(CommandError::other(format!(
        "{id}: no token of this workspace has this id; `yfs token ls` lists them; for a token of \
         an earlier version, pass its text, or --unlisted"
    )))
}

/// Prints the tokens that `new` created.
fn list(keys: &TokenKeys, context: &mut CommandContext) -> Result {
    let now = parse_time::now();
    for issued in keys.issued()? {
        let expired = issued.grant.expires.is_some_and(|expires| expires <= now);
        let state = match (issued.revoked, expired) {
            (true, _) => "revoked",
            (false, true) => "expired",
            (false, false) => "active",
        };
        if context.out.json {
            let mut value = describe(&issued.grant);
            value["state"] = state.into();
            context.out.json_line(&value)?;
            continue;
        }
        let line = match state {
            "active" => summary(&issued.grant),
            state => format!("{} ({state})", summary(&issued.grant)),
        };
        context.out.safe_line(&line)?;
    }
    Ok(())
}

/// Prints a new token, and the link that opens the web editor with it.
fn print_issued(
    token: &str,
    grant: &AccessGrant,
    link: Option<&str>,
    context: &mut CommandContext,
) -> Result {
    if context.out.json {
        let mut value = describe(grant);
        value["token"] = Value::from(token);
        if let Some(link) = link {
            value["link"] = Value::from(link);
        }
        return context.out.json_line(&value);
    }
    context.out.line(token)?;
    context.remark(&format!("id {}", grant.id));
    if let Some(link) = link {
        context.remark(&format!("link {link}"));
    }
    Ok(())
}

/// Describes the permissions of a token.
fn describe(grant: &AccessGrant) -> Value {
    json!({
        "id": grant.id,
        "rights": grant.rights.as_str(),
        "path": grant.path.as_str(),
        "actor": grant.actor.to_string(),
        "expires": grant.expires.map(parse_time::rfc3339),
    })
}

/// Returns the permissions of a token in one line.
fn summary(grant: &AccessGrant) -> String {
    let until = grant.expires.map_or_else(
        || "without expiry".to_owned(),
        |at| format!("until {}", parse_time::rfc3339(at)),
    );
    let (rights, path) = (grant.rights.as_str(), &grant.path);
    format!("{}  {rights} {path} as {}, {until}", grant.id, grant.actor)
}

/// Prints the permissions of a token.
fn print_grant(grant: &AccessGrant, context: &mut CommandContext) -> Result {
    if context.out.json {
        return context.out.json_line(&describe(grant));
    }
    context.out.safe_line(&summary(grant))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_id_of_a_grant_can_be_read_as_an_option() {
        for _ in 0..1000 {
            let id = new_grant_id();
            assert!(id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
        }
    }
}
