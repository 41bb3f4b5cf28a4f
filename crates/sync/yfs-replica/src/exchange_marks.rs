//! What a store keeps of its exchange with another one: marks of how far each has the other's log.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use yfs::Workspace;

use crate::{
    replica_error::ReplicaError, replica_session::ReplicaSession, run_session::run_blocking,
};

/// The state of the exchange with a hub that a guest stores between two connections.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HubMarks {
    /// The position in the hub's log up to which this store has everything.
    pub pulled: Option<String>,
    /// The position in this store's log up to which the hub has everything.
    pub pushed: Option<String>,
    /// The position in this store's log up to which a guest that may not write has checked for
    /// changes of its own.
    #[serde(default)]
    pub checked: Option<String>,
    /// The documents with such changes: they stay in this store.
    #[serde(default)]
    pub unsent: BTreeSet<String>,
}

/// Which sides of an exchange may send changes, where that is not the same each time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExchangeRights {
    /// Whether this side may.
    pub is_writer: bool,
    /// Whether the other side may.
    pub is_remote_writer: bool,
}

/// The marks that a store keeps of one other store, in a setting.
#[derive(Debug)]
pub struct MarkStore {
    workspace: Workspace,
    setting: String,
    stored: StoredMarks,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredMarks {
    #[serde(flatten)]
    marks: HubMarks,
    /// The epoch of this store in which they were made.
    #[serde(default)]
    epoch: u64,
    /// The rights for which they hold.
    #[serde(flatten)]
    rights: Option<ExchangeRights>,
}

impl MarkStore {
    /// Reads the marks in a setting. There are none if the store lost records since, or the rights
    /// were others.
    pub fn open(
        workspace: &Workspace,
        setting: String,
        rights: Option<ExchangeRights>,
    ) -> Result<Self, ReplicaError> {
        let epoch = workspace.replication().epoch()?;
        let stored = workspace.store().get_meta(&setting)?;
        let stored: Option<StoredMarks> =
            stored.and_then(|stored| serde_json::from_slice(&stored).ok());
        let stored = stored.filter(|stored| (stored.epoch, stored.rights) == (epoch, rights));
        let fresh = || StoredMarks { marks: HubMarks::default(), epoch, rights };
        let stored = stored.unwrap_or_else(fresh);
        Ok(Self { workspace: workspace.clone(), setting, stored })
    }

    /// Returns the marks.
    pub fn marks(&self) -> &HubMarks {
        &self.stored.marks
    }

    /// Stores the marks of a session of a guest, if they changed.
    pub fn save(&mut self, session: &ReplicaSession) -> Result<(), ReplicaError> {
        let Some(now) = session.remembered().filter(|now| *now != self.marks()) else {
            return Ok(());
        };
        self.stored.marks = now.clone();
        let text = serde_json::to_vec(&self.stored).expect("strings and numbers are JSON");
        Ok(run_blocking(|| self.workspace.store().set_meta(&self.setting, &text))?)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use yfs::WorkspaceOptions;
    use yfs_store::MemoryStore;

    use super::*;

    /// As released versions stored them: of a server, and of a peer.
    #[test]
    fn stored_marks_are_read_and_written_in_the_same_form() {
        let store = Arc::new(MemoryStore::new());
        let workspace = Workspace::create(store, WorkspaceOptions::default()).unwrap();
        let rights = ExchangeRights { is_writer: true, is_remote_writer: false };
        let marks = r#"{"pulled":"3.a","pushed":"4.b","checked":null,"unsent":["x"],"epoch":0"#;
        let of_peer = format!(r#"{marks},"is_writer":true,"is_remote_writer":false}}"#);
        for (text, rights) in [(format!("{marks}}}"), None), (of_peer, Some(rights))] {
            workspace.store().set_meta("marks", text.as_bytes()).unwrap();
            let read = MarkStore::open(&workspace, "marks".to_owned(), rights).unwrap();
            assert_eq!(read.marks().pushed.as_deref(), Some("4.b"));
            assert_eq!(serde_json::to_string(&read.stored).unwrap(), text);
            let other = ExchangeRights { is_writer: false, is_remote_writer: false };
            let other = MarkStore::open(&workspace, "marks".to_owned(), Some(other)).unwrap();
            assert_eq!(*other.marks(), HubMarks::default());
        }
        // Earlier ones of a server had neither an epoch nor what a reader checked.
        workspace.store().set_meta("marks", br#"{"pulled":"3.a","pushed":null}"#).unwrap();
        let read = MarkStore::open(&workspace, "marks".to_owned(), None).unwrap();
        assert_eq!(read.marks().pulled.as_deref(), Some("3.a"));
    }
}
