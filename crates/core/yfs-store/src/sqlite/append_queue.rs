//! Batches that wait for the thread that commits them.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::{AppendBatch, AppendReceipt, StoreError};

/// Batches that wait for the writer.
pub(super) type AppendQueue = Mutex<Vec<WaitingBatch>>;

/// A batch that waits for the writer.
pub(super) struct WaitingBatch {
    pub(super) batch: AppendBatch,
    /// The thread that commits puts the result here before it releases the writer.
    pub(super) slot: Arc<Slot>,
}

/// Where the result of a batch is put.
pub(super) type Slot = Mutex<Option<Result<AppendReceipt, StoreError>>>;
