//! Clocks and ids that tests set, so that what happened once happens again.

use std::sync::{
    Arc,
    atomic::{AtomicI64, AtomicU64, Ordering},
};

use yfs::{
    Workspace, WorkspaceError, WorkspaceOptions,
    clock::{Clock, IdSource},
};
use yfs_engine::{
    id::{ClientId, FileId},
    time::Millis,
};
use yfs_store::{Store, WriterClaim};

/// A clock that goes by a common one, and wrong by a fixed amount.
#[derive(Debug, Clone)]
pub struct TestClock {
    /// The common time, in ms.
    pub common: Arc<AtomicI64>,
    /// How far this clock is ahead, in ms.
    pub ahead: Arc<AtomicI64>,
}

/// Ids that begin with a letter and count.
#[derive(Debug)]
pub struct CountedIds {
    letter: char,
    n_files: AtomicU64,
    n_clients: AtomicU64,
}

impl TestClock {
    /// Makes a clock that is `ahead` ms ahead of the common one.
    pub fn new(common: &Arc<AtomicI64>, ahead: i64) -> Self {
        Self { common: common.clone(), ahead: Arc::new(AtomicI64::new(ahead)) }
    }
}

impl Clock for TestClock {
    fn now(&self) -> Millis {
        Millis(self.common.load(Ordering::Relaxed) + self.ahead.load(Ordering::Relaxed))
    }
}

impl CountedIds {
    /// Makes ids that begin with this letter.
    pub fn new(letter: char) -> Self {
        Self { letter, n_files: AtomicU64::new(0), n_clients: AtomicU64::new(0) }
    }
}

impl IdSource for CountedIds {
    fn file_id(&self) -> FileId {
        let number = self.n_files.fetch_add(1, Ordering::Relaxed);
        // Like random ids, these do not sort by age.
        let mixed = number.wrapping_mul(7_777_777) % 100_000_000;
        FileId::parse(&format!("{}{mixed:08}{number:06}", self.letter)).expect("it is an id")
    }

    fn client_id(&self) -> ClientId {
        let number = self.n_clients.fetch_add(1, Ordering::Relaxed);
        ClientId::from_random((u64::from(self.letter) << 40) + (1 << 39) + number)
    }
}

/// Opens a workspace of a known id, which is made if the store holds none, under client ids that
/// the letter decides.
///
/// # Errors
///
/// If the store fails.
pub fn open(
    store: &Arc<dyn Store>,
    id: &FileId,
    letter: char,
    options: WorkspaceOptions,
) -> Result<Workspace, WorkspaceError> {
    if store.get_meta("workspace")?.is_none() {
        store.init_meta("workspace", id.as_str().as_bytes())?;
        let [rows, cells, meta, content] = [1, 2, 3, 4]
            .map(|number| ClientId::from_random((u64::from(letter) << 40) + number * 1_000_003));
        // Ids that are given back are those that the next writer gets.
        store.release_writer(WriterClaim { rows, cells, meta, content, reused: true })?;
    }
    Workspace::open(store.clone(), options)
}
