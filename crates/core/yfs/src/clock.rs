//! The sources of time and randomness: two small traits, so that tests can replay.

use std::{
    fmt::Debug,
    time::{SystemTime, UNIX_EPOCH},
};

use nanoid::nanoid;
use yfs_engine::{
    id::{ClientId, FileId, ID_ALPHABET, ID_LEN},
    step::StepId,
    time::Millis,
};

/// Makes the id of a step that begins now, by the clock of the operating system: for a program that
/// makes one step ([`WorkspaceOptions::step`](crate::WorkspaceOptions::step)).
pub fn new_step() -> StepId {
    StepId::new(SystemClock.now(), RandomIds.client_id().get())
}

/// A source of the current time.
pub trait Clock: Debug + Send + Sync {
    /// Returns the current time.
    fn now(&self) -> Millis;
}

/// A source of ids that are unique everywhere.
pub trait IdSource: Debug + Send + Sync {
    /// Makes the id of a new file, directory or workspace.
    fn file_id(&self) -> FileId;

    /// Makes a client id for a fork of a document.
    fn client_id(&self) -> ClientId;
}

/// The clock of the operating system.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemClock;

/// The random source of the operating system.
#[derive(Debug, Default, Clone, Copy)]
pub struct RandomIds;

impl Clock for SystemClock {
    fn now(&self) -> Millis {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Millis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
    }
}

impl IdSource for RandomIds {
    fn file_id(&self) -> FileId {
        let alphabet = ID_ALPHABET.map(char::from);
        FileId::parse(&nanoid!(ID_LEN, &alphabet)).expect("the alphabet is that of ids")
    }

    fn client_id(&self) -> ClientId {
        ClientId::from_random(getrandom::u64().expect("the operating system has randomness"))
    }
}
