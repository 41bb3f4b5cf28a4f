//! Actors: on whose behalf a change was made.

use std::{fmt, str::FromStr};

use smol_str::SmolStr;
use thiserror::Error;

/// The greatest length of an actor's name, in bytes.
pub const MAX_ACTOR_NAME_LEN: usize = 128;

/// Who made a change.
///
/// Written `kind:name`, for example `human:ada`, `agent:reviewer-3`, `system:import`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Actor {
    /// What sort of actor it is.
    pub kind: ActorKind,
    /// Its name, which may be empty.
    pub name: SmolStr,
}

/// What sort of actor made a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ActorKind {
    /// A person, through an editor or a shell.
    Human,
    /// A program that decides for itself.
    Agent,
    /// A copy of a directory on a disk.
    Mirror,
    /// yfs itself.
    System,
}

/// Why a text is not an actor.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("not an actor (human, agent, mirror or system, a colon and a name): {0:?}")]
pub struct ActorError(pub String);

impl Actor {
    /// Makes an actor; a name that is too long is cut.
    pub fn new(kind: ActorKind, name: &str) -> Self {
        let mut end = name.len().min(MAX_ACTOR_NAME_LEN);
        while !name.is_char_boundary(end) {
            end -= 1;
        }
        Self { kind, name: SmolStr::new(&name[..end]) }
    }
}

impl ActorKind {
    /// Returns the word that stands for the kind.
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
