//! The names of relays and groups, and the relays that a workspace remembers.

use std::{fmt, net::SocketAddr, str::FromStr, time::Duration};

use thiserror::Error;
use tokio::{net::lookup_host, time::timeout};
use yfs::Workspace;
use yfs_engine::id::WorkspaceId;

use crate::{
    membership::PeerMembership,
    peer_error::PeerError,
    peer_key::PeerId,
    relay_message::{GROUP_LEN, RelayGroup},
};

/// The port of a relay whose name has none.
pub(crate) const RELAY_PORT: u16 = 4690;

/// The most relays of one workspace.
pub const MAX_RELAYS: usize = 4;

/// The greatest length of a name, in bytes.
const MAX_NAME_LEN: usize = 255;

/// The time to resolve a name.
const RESOLVE_WITHIN: Duration = Duration::from_secs(5);

/// The context of the tag of a group.
const GROUP_CONTEXT: &str = "yfs peer relay group v1";

/// The setting with the relays that were named, as JSON.
const RELAYS_SETTING: &str = "peer.relays";

/// The name of a relay: host and port.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RelayName {
    host: String,
    port: u16,
}

/// The error of a text that does not name a relay.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("a relay is named HOST or HOST:PORT, with [brackets] around an IPv6 address")]
pub struct RelayNameError;

/// The tag by which a relay knows the members of one workspace. It is derived from the public key
/// of the owner and the id of the workspace, and shows neither. Written as 32
/// hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelayGroupTag(pub(crate) RelayGroup);

impl RelayName {
    /// Returns the host, without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the addresses of the relay.
    pub(crate) async fn resolve(&self) -> Result<impl Iterator<Item = SocketAddr>, String> {
        let found = timeout(RESOLVE_WITHIN, lookup_host((self.host(), self.port))).await;
        let found = found.map_err(|_| "its name is not resolved in time".to_owned())?;
        found.map_err(|error| error.to_string())
    }
}

impl FromStr for RelayName {
    type Err = RelayNameError;

    fn from_str(text: &str) -> Result<Self, RelayNameError> {
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, port) = rest.split_once(']').ok_or(RelayNameError)?;
                host.parse::<std::net::Ipv6Addr>().map_err(|_| RelayNameError)?;
                (host, port.strip_prefix(':').or(port.is_empty().then_some("")))
            }
            None => match text.split_once(':') {
                Some((host, port)) => (host, Some(port).filter(|port| !port.is_empty())),
                None => (text, Some("")),
            },
        };
        let port = match port.ok_or(RelayNameError)? {
            "" => RELAY_PORT,
            port => port.parse().map_err(|_| RelayNameError)?,
        };
        let is_of_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
        let is_host =
            !host.is_empty() && host.len() <= MAX_NAME_LEN && host.chars().all(is_of_host);
        let host = host.to_ascii_lowercase();
        (is_host && port > 0).then_some(Self { host, port }).ok_or(RelayNameError)
    }
}

impl fmt::Display for RelayName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

impl RelayGroupTag {
    /// Derives the tag of an owner's workspace.
    pub fn of(owner: PeerId, workspace: &WorkspaceId) -> Self {
        let material = [owner.as_bytes(), workspace.as_str().as_bytes()].concat();
        let derived = blake3::derive_key(GROUP_CONTEXT, &material);
        let mut tag = [0; GROUP_LEN];
        tag.copy_from_slice(&derived[..GROUP_LEN]);
        Self(tag)
    }

    /// Returns the tag of a member's workspace, if it is shared.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn of_member(member: &PeerMembership) -> Result<Option<Self>, PeerError> {
        Ok(member.owner()?.map(|owner| Self::of(owner, member.workspace().id())))
    }
}

impl fmt::Display for RelayGroupTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for RelayGroupTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for RelayGroupTag {
    type Err = RelayNameError;

    fn from_str(text: &str) -> Result<Self, RelayNameError> {
        let digits = text.as_bytes();
        if digits.len() != 2 * GROUP_LEN {
            return Err(RelayNameError);
        }
        let mut tag = [0; GROUP_LEN];
        for (byte, pair) in tag.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |digit: u8| (digit as char).to_digit(16).ok_or(RelayNameError);
            *byte = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
        }
        Ok(Self(tag))
    }
}

/// Returns the relays that were named for a workspace.
pub(crate) fn remembered_relays(workspace: &Workspace) -> Result<Vec<RelayName>, PeerError> {
    let stored = workspace.store().get_meta(RELAYS_SETTING)?;
    let names: Option<Vec<String>> = stored.and_then(|stored| serde_json::from_slice(&stored).ok());
    let names = names.unwrap_or_default();
    Ok(names.iter().filter_map(|name| name.parse().ok()).take(MAX_RELAYS).collect())
}

/// Adds relays to those that are remembered; the latest come first. Returns all.
pub(crate) fn remember_relays(
    workspace: &Workspace,
    named: &[RelayName],
) -> Result<Vec<RelayName>, PeerError> {
    let known = remembered_relays(workspace)?;
    let mut all: Vec<RelayName> = Vec::new();
    for name in named.iter().chain(&known) {
        if !all.contains(name) && all.len() < MAX_RELAYS {
            all.push(name.clone());
        }
    }
    if all != known {
        write_relays(workspace, &all)?;
    }
    Ok(all)
}

/// Forgets all relays of a workspace.
pub(crate) fn forget_relays(workspace: &Workspace) -> Result<(), PeerError> {
    if remembered_relays(workspace)?.is_empty() { Ok(()) } else { write_relays(workspace, &[]) }
}

fn write_relays(workspace: &Workspace, relays: &[RelayName]) -> Result<(), PeerError> {
    let names: Vec<String> = relays.iter().map(RelayName::to_string).collect();
    let text = serde_json::to_vec(&names).expect("strings are JSON");
    Ok(workspace.store().set_meta(RELAYS_SETTING, &text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_a_host_and_a_port() {
        let check = |text: &str, expected: Option<&str>| {
            let parsed = text.parse::<RelayName>().ok().map(|name| name.to_string());
            assert_eq!(parsed.as_deref(), expected, "{text}");
        };
        check("relay.example:4700", Some("relay.example:4700"));
        check("Relay.Example", Some("relay.example:4690"));
        check("192.0.2.1:9", Some("192.0.2.1:9"));
        check("[2001:db8::1]:9", Some("[2001:db8::1]:9"));
        check("[2001:db8::1]", Some("[2001:db8::1]:4690"));
        for text in
            ["", ":1", "host:", "host:0", "host:70000", "a b", "2001:db8::1", "[a]:1", "[::1"]
        {
            check(text, None);
        }
        check(&"a".repeat(256), None);
    }

    #[test]
    fn a_tag_is_of_one_owner_and_one_workspace() {
        let owner = |seed| crate::peer_key::PeerSecretKey::from_seed([seed; 32]).id();
        let workspace = |text| WorkspaceId::parse(text).unwrap();
        let tag = RelayGroupTag::of(owner(1), &workspace("abcdefghijklmnopqrstu"));
        assert_ne!(tag, RelayGroupTag::of(owner(2), &workspace("abcdefghijklmnopqrstu")));
        assert_ne!(tag, RelayGroupTag::of(owner(1), &workspace("abcdefghijklmnopqrstv")));
        assert_eq!(tag.to_string().parse(), Ok(tag));
        assert_eq!("00".parse::<RelayGroupTag>(), Err(RelayNameError));
    }
}
