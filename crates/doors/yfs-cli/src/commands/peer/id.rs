//! `yfs peer id`: prints the key by which peers know this workspace's store.

use yfs_peer::{PeerMembership, PeerRights, RelayGroupTag};

use crate::prelude::*;

const HELP: &str = "\
The id is the public key of this store; the secret key is a file beside the workspace that only
its owner may read. Each clone has its own, and a copy of the directory gets another.

Examples:
  yfs peer id
  yfs peer id --json | jq -r .owner

JSON: {id, workspace, owner, is_owner, rights, expires, relay_group}; owner is the public key of
the owner of the workspace, and null if it was never shared; relay_group is the id by which
relays know its members, for `yfs peer relay --allow`.";

/// Print the id by which peers know this workspace
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct IdArgs {}

/// Runs `yfs peer id`.
pub(crate) async fn run(_args: IdArgs, context: &mut CommandContext) -> Result {
    let workspace = context.writable()?;
    let member = PeerMembership::of(&workspace)?;
    if !context.out.json {
        return context.out.line(&member.id().to_string());
    }
    let grant = member.certificate().ok().map(|certificate| certificate.signed.grant);
    context.out.json_line(&json!({
        "id": member.id().to_string(),
        "workspace": workspace.id().to_string(),
        "owner": member.owner()?.map(|owner| owner.to_string()),
        "is_owner": member.is_owner()?,
        "rights": grant.as_ref().map(|grant| match grant.rights {
            PeerRights::Write => "write",
            _ => "read",
        }),
        "expires": grant.and_then(|grant| grant.expires).map(|at| at.0),
        "relay_group": RelayGroupTag::of_member(&member)?.map(|group| group.to_string()),
    }))
}
