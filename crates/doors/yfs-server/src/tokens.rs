//! `/api/tokens` and `/api/name`: links for others, which those who may write make, list and
//! revoke.
//!
//! No token grants more than the one with which it is made, and each ends with that one: its id
//! begins with the other's.

use yfs_engine::{
    actor::{Actor, ActorKind},
    id::ID_ALPHABET,
    time::Millis,
};
use yfs_sync::is_printable_name;
use yfs_wire::{NameRequest, TokenJson, TokenList, TokenRequest};

use crate::{
    access::{
        AccessControl, AccessGrant, GrantRights, IssuedGrant, TokenError, TokenKeys, UNNAMED,
    },
    prelude::*,
};

/// The length of what an id has behind that of the token with which it was made.
const ID_LEN: usize = 12;

/// The greatest length of an id: some ten tokens, each made with the one before.
const MAX_ID_LEN: usize = 128;

/// The most tokens that are recorded, and the most that are derived from one.
const MAX_TOKENS: usize = 10_000;
const MAX_DERIVED: usize = 500;

/// The greatest length of a name, in characters, and in bytes as an actor has it.
const MAX_NAME_LEN: usize = 64;
const MAX_NAME_BYTES: usize = 128;

/// The greatest length of the secret of a browser, in bytes.
const MAX_SECRET_LEN: usize = 128;

/// Answers `GET /api/tokens`.
pub(crate) async fn list(caller: RequestCaller) -> Result {
    caller.needs_write()?;
    let keys = keys_of(&caller)?;
    let tokens = apart(async {
        let now = keys.now();
        let shown = keys
            .issued()?
            .into_iter()
            .filter(|issued| is_active(issued, now) && caller.grant.covers(&issued.grant.path));
        let described = shown.map(|issued| describe(keys, &issued, None));
        described.collect::<std::result::Result<Vec<_>, TokenError>>()
    })
    .await?;
    Ok(Json(TokenList { tokens }).into_response())
}

/// Answers `POST /api/tokens`.
pub(crate) async fn make(caller: RequestCaller, JsonBody(asked): JsonBody<TokenRequest>) -> Result {
    caller.needs_write()?;
    let path = path_of(&asked.path)?;
    if !caller.grant.covers(&path) {
        return Err(HttpProblem::forbidden("the token does not reach this path"));
    }
    // A path that leads out of the caller's part through a link is refused here.
    apart(async { caller.fs().stat(&path).await }).await?;
    let rights = GrantRights::parse(&asked.rights)
        .ok_or_else(|| HttpProblem::bad_request("rights are read or write"))?;
    let name = match asked.name.as_deref().map(str::trim) {
        None | Some("") => UNNAMED.to_owned(),
        Some(name) => checked_name(name)?,
    };
    let keys = keys_of(&caller)?;
    let expires = earlier(asked.expires.map(Millis), caller.grant.expires);
    if expires.is_some_and(|at| at <= keys.now()) {
        return Err(HttpProblem::bad_request("the time of expiry is over"));
    }
    let id = random_id()
        .map_err(|error| HttpProblem::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
    let actor = Actor::new(ActorKind::Human, &name);
    let grant = AccessGrant { id: id_below(&caller.grant, &id)?, rights, path, expires, actor };
    // The holder of the whole workspace may give one person several links.
    issue(&caller, keys, &grant, !caller.grant.is_whole() && name != UNNAMED).await
}

/// Answers `DELETE /api/tokens/{id}`.
pub(crate) async fn revoke(caller: RequestCaller, Path(id): Path<String>) -> Result {
    caller.needs_write()?;
    let keys = keys_of(&caller)?;
    apart(async {
        let known = keys.issued()?.into_iter().find(|issued| issued.grant.id == id);
        let known = known.filter(|issued| caller.grant.covers(&issued.grant.path));
        if known.is_none() {
            return Err(HttpProblem::new(StatusCode::NOT_FOUND, "there is no such token"));
        }
        if caller.grant.is_derived_from(&id) {
            return Err(HttpProblem::forbidden("your own token was made with this one"));
        }
        keys.revoke(&id)?;
        caller.app.revocations.refresh(&caller.app.access);
        Ok(())
    })
    .await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Answers `POST /api/name`: the holder of a link for no particular person takes a name. The answer
/// has a token of that name; an equal request gets an equal token.
pub(crate) async fn take_name(
    caller: RequestCaller,
    JsonBody(asked): JsonBody<NameRequest>,
) -> Result {
    let keys = keys_of(&caller)?;
    let is_owner = caller.grant.is_whole() && caller.grant.may_write();
    if !caller.grant.is_unnamed() && !is_owner {
        return Err(HttpProblem::forbidden("this link is for one person, who has a name"));
    }
    let name = checked_name(&asked.name)?;
    if name.eq_ignore_ascii_case(UNNAMED) {
        return Err(HttpProblem::bad_request("choose a name of your own"));
    }
    if asked.secret.len() < ID_LEN || asked.secret.len() > MAX_SECRET_LEN {
        return Err(HttpProblem::bad_request("a secret has 12 to 128 bytes"));
    }
    let mut hasher = blake3::Hasher::new_derive_key("yfs server.name of a link");
    for part in [caller.grant.id.as_str(), &name, &asked.secret] {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }
    let id = id_below(&caller.grant, &letters(hasher.finalize().as_bytes()))?;
    let actor = Actor::new(ActorKind::Human, &name);
    let grant = AccessGrant { id, actor, ..caller.grant.clone() };
    issue(&caller, keys, &grant, true).await
}

/// Makes and records a token, unless it is recorded already. A name that another token has is
/// refused if it must be free.
async fn issue(
    caller: &RequestCaller,
    keys: &TokenKeys,
    grant: &AccessGrant,
    must_be_free: bool,
) -> Result {
    let made = apart(async {
        let _turn = caller.app.issuing.lock();
        let (now, all) = (keys.now(), keys.issued()?);
        if let Some(known) = all.iter().find(|issued| issued.grant.id == grant.id) {
            let token = keys.issue(grant)?;
            keys.check(&token)?;
            return Ok(describe(keys, known, Some(token))?);
        }
        let owner = &caller.app.workspace.maintenance().options().actor;
        let has_name = |actor: &Actor| is_same_name(&actor.name, &grant.actor.name);
        let is_other = |issued: &&IssuedGrant| is_active(issued, now);
        let mut others = all.iter().filter(is_other).map(|issued| &issued.grant.actor);
        if must_be_free && (has_name(owner) || others.any(has_name)) {
            let reason = format!("another person has the name {}", grant.actor.name);
            return Err(HttpProblem::new(StatusCode::CONFLICT, reason));
        }
        let derived = all.iter().filter(|issued| issued.grant.is_derived_from(&caller.grant.id));
        if all.len() >= MAX_TOKENS || derived.count() >= MAX_DERIVED {
            let reason = "too many tokens were made; revoke this one, and make others";
            return Err(HttpProblem::new(StatusCode::CONFLICT, reason));
        }
        let token = keys.issue_listed(grant, &caller.grant.actor)?;
        let made = Some((now, caller.grant.actor.clone()));
        let issued = IssuedGrant { grant: grant.clone(), revoked: false, made };
        Ok(describe(keys, &issued, Some(token))?)
    })
    .await?;
    Ok((StatusCode::CREATED, [(header::CACHE_CONTROL, "no-store")], Json(made)).into_response())
}

fn describe(
    keys: &TokenKeys,
    issued: &IssuedGrant,
    token: Option<String>,
) -> std::result::Result<TokenJson, TokenError> {
    let IssuedGrant { grant, made, .. } = issued;
    Ok(TokenJson {
        token,
        path: grant.path.to_string(),
        rights: grant.rights.as_str(),
        actor: grant.actor.to_string(),
        expires: grant.expires.map(Into::into),
        made: made.as_ref().map(|(at, _)| (*at).into()),
        by: made.as_ref().map(|(_, by)| by.to_string()),
        used: keys.last_use(&grant.id)?.map(Into::into),
        id: grant.id.clone(),
    })
}

fn keys_of(caller: &RequestCaller) -> Result<&TokenKeys> {
    match &caller.app.access {
        AccessControl::Tokens(keys) => Ok(keys),
        AccessControl::Open => {
            let reason = "this server needs no tokens: its address is the link";
            Err(HttpProblem::new(StatusCode::CONFLICT, reason))
        }
    }
}

fn is_active(issued: &IssuedGrant, now: Millis) -> bool {
    !issued.revoked && issued.grant.expires.is_none_or(|expires| expires > now)
}

/// Returns the id of a token that is made with another, and revoked with it. What the owner makes
/// does not end with the owner's token.
fn id_below(grant: &AccessGrant, id: &str) -> Result<String> {
    if grant.id == AccessGrant::owner(grant.actor.clone()).id {
        return Ok(id.to_owned());
    }
    let id = format!("{}.{id}", grant.id);
    if id.len() > MAX_ID_LEN {
        return Err(HttpProblem::forbidden("this link was passed on too often"));
    }
    Ok(id)
}

fn earlier(asked: Option<Millis>, limit: Option<Millis>) -> Option<Millis> {
    match (asked, limit) {
        (Some(asked), Some(limit)) => Some(asked.min(limit)),
        (asked, limit) => asked.or(limit),
    }
}

/// Returns a name that can be shown, in one line.
fn checked_name(name: &str) -> Result<String> {
    let name = name.trim();
    let is_fine = !name.is_empty()
        && name.len() <= MAX_NAME_BYTES
        && name.chars().count() <= MAX_NAME_LEN
        && is_printable_name(name);
    let refused = || HttpProblem::bad_request("a name has 1 to 64 letters, all of them visible");
    if is_fine { Ok(name.to_owned()) } else { Err(refused()) }
}

fn is_same_name(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

fn random_id() -> std::result::Result<String, getrandom::Error> {
    let mut bytes = [0; ID_LEN];
    getrandom::fill(&mut bytes)?;
    Ok(letters(&bytes))
}

/// Writes bytes as letters and digits.
fn letters(bytes: &[u8]) -> String {
    let letter = |byte: &u8| char::from(ID_ALPHABET[usize::from(*byte) % ID_ALPHABET.len()]);
    bytes.iter().take(ID_LEN).map(letter).collect()
}

#[cfg(test)]
mod tests;
