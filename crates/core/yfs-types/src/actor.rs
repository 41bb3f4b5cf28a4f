//! Actors: the authors of changes.

use std::{fmt, str::FromStr};

use smol_str::SmolStr;
use thiserror::Error;

/// The greatest length of an actor's name, in bytes.
pub(crate) const MAX_ACTOR_NAME_LEN: usize = 128;

/// The author of a change.
///
/// Written `kind:name`, for example `human:ada`, `agent:reviewer-3`, `system:import`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Actor {
    /// The kind of actor.
    pub kind: ActorKind,
    /// Its name, which may be empty.
    pub name: SmolStr,
}

/// The kind of an actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ActorKind {
    /// A person, through an editor or a shell.
    Human,
    /// A program that makes its own decisions.
    Agent,
    /// A copy of a directory on a disk.
    Mirror,
    /// yfs itself.
    System,
}

/// The error of a text that is not an actor.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("invalid actor {0:?} (expected KIND:NAME, where KIND is human, agent, mirror or system)")]
pub struct ActorError(pub String);

impl Actor {
    /// Makes an actor. A name longer than 128 bytes is truncated.
    pub fn new(kind: ActorKind, name: &str) -> Self {
        let mut end = name.len().min(MAX_ACTOR_NAME_LEN);
        while !name.is_char_boundary(end) {
            end -= 1;
        }
        Self { kind, name: SmolStr::new(&name[..end]) }
    }
}

impl ActorKind {
    /// Returns the word for the kind, as in the written form.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Agent => "agent",
            Self::Mirror => "mirror",
            Self::System => "system",
        }
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind.as_str(), self.name)
    }
}

impl FromStr for Actor {
    type Err = ActorError;

    fn from_str(text: &str) -> Result<Self, ActorError> {
        let (kind, name) = text.split_once(':').unwrap_or((text, ""));
        let kind = match kind {
            "human" => ActorKind::Human,
            "agent" => ActorKind::Agent,
            "mirror" => ActorKind::Mirror,
            "system" => ActorKind::System,
            _ => return Err(ActorError(text.to_owned())),
        };
        Ok(Self::new(kind, name))
    }
}
