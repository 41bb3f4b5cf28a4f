//! Changes of what waits for missing items, until they are stored.

use std::collections::BTreeMap;

use yfs_engine::{gate::ParkedTotals, id::FileId, time::Millis};

/// Changes of what waits that the store does not have yet.
#[derive(Debug, Default)]
pub(crate) struct ParkedChanges {
    pub(super) changed: BTreeMap<FileId, (ParkedTotals, String)>,
    /// When this process last looked for updates that have waited too long.
    pub(super) expired_at: Option<Millis>,
}
