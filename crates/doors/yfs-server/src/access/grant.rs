//! What a token grants.

use yfs_engine::{
    actor::{Actor, ActorKind},
    path::VPath,
    time::Millis,
};

/// The name of the actor of a link that was made for no particular person.
pub const UNNAMED: &str = "guest";

/// The operations that a grant allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GrantRights {
    /// Reading.
    Read,
    /// Reading and writing.
    Write,
}

/// The rights and the actor of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessGrant {
    /// The id of this grant, by which it can be revoked.
    pub id: String,
    /// Reading, or writing as well.
    pub rights: GrantRights,
    /// The directory or file that it covers; the root for the whole workspace.
    pub path: VPath,
    /// When it expires; `None` if it does not.
    pub expires: Option<Millis>,
    /// On whose behalf changes are made.
    pub actor: Actor,
}

impl AccessGrant {
    /// Creates the grant of the workspace's owner: all rights, without expiry.
    pub fn owner(actor: Actor) -> Self {
        let (rights, path) = (GrantRights::Write, VPath::root());
        Self { id: "owner".to_owned(), rights, path, expires: None, actor }
    }

    /// Creates the grant of every client of an open server: all rights, without an actor of its
    /// own.
    pub fn everything() -> Self {
        Self { id: "open".to_owned(), ..Self::owner(Actor::new(ActorKind::Human, "")) }
    }

    /// Reports whether its holder has no name yet: the link was made for no particular person.
    pub(crate) fn is_unnamed(&self) -> bool {
        self.actor.kind == ActorKind::Human && ["", UNNAMED].contains(&self.actor.name.as_str())
    }

    /// Reports whether it was derived from another grant, with which it is revoked.
    pub(crate) fn is_derived_from(&self, id: &str) -> bool {
        self.id.strip_prefix(id).is_some_and(|rest| rest.starts_with('.'))
    }

    /// Reports whether it covers the whole workspace.
    pub fn is_whole(&self) -> bool {
        self.path.is_root()
    }

    /// Reports whether it covers a path.
    pub fn covers(&self, path: &VPath) -> bool {
        path.starts_with(&self.path)
    }

    /// Reports whether it allows writing.
    pub fn may_write(&self) -> bool {
        self.rights == GrantRights::Write
    }
}

impl GrantRights {
    /// Returns the word that names these rights in a token.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }

    /// Parses the word that names rights.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Read, Self::Write].into_iter().find(|rights| rights.as_str() == text)
    }
}
