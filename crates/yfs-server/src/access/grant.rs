//! What a token grants.

use yfs_engine::{
    actor::{Actor, ActorKind},
    path::VPath,
    time::Millis,
};

/// What may be done.
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
    /// Tells this grant from others, so that it can be revoked.
    pub id: String,
    /// Reading, or writing as well.
    pub rights: GrantRights,
    /// The folder or file that it is for; the root for the whole workspace.
    pub path: VPath,
    /// When it ends, if it does.
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

    /// Tells whether it is for the whole workspace.
    pub fn is_whole(&self) -> bool {
        self.path.is_root()
    }

    /// Tells whether it is for this path.
    pub fn covers(&self, path: &VPath) -> bool {
        path.starts_with(&self.path)
    }

    /// Tells whether it allows writing.
    pub fn may_write(&self) -> bool {
        self.rights == GrantRights::Write
    }
}

impl GrantRights {
    /// Returns the word that stands for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }

    /// Reads the word.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Read, Self::Write].into_iter().find(|rights| rights.as_str() == text)
    }
}
