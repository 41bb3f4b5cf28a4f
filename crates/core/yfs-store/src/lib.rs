//! The durable shared log of a workspace: updates of documents, and blobs, behind one trait.
//!
//! A [`Store`] keeps the updates of Yjs documents without knowing Yjs: opaque bytes, in one order
//! that all processes agree on. Any number of processes may have one store open. Each appends its
//! own updates and tails those of the others. Updates merge, so this needs no lock; an exclusive
//! operation ("create unless it exists") is an append with the precondition that no other handle
//! has appended. Two stores exist: [`MemoryStore`], and [`SqliteStore`], one SQLite file whose
//! layout `docs/format/store.md` describes. [`CompositeStore`] joins a log,
//! blobs and local state that were made apart. The crate `yfs-conformance` has the contract as a
//! test suite, and a store that injects faults.
//!
//! ```
//! use yfs_types::time::Millis;
//! use yfs_store::{AppendBatch, DocName, MemoryStore, Seq, UpdateLog};
//!
//! let store = MemoryStore::new();
//! let doc = DocName::parse("4f7c2a9e1b3d5f0")?;
//! let written = store.append(AppendBatch::one(doc.clone(), b"an update".to_vec(), Millis(1)))?;
//!
//! let tail = store.tail(Seq::ZERO, &|_, _| true)?;
//! assert_eq!(tail.records[0].data, b"an update");
//! assert_eq!(tail.upto, written.last);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod blob;
mod composite;
mod derived;
mod encryption;
mod error;
mod forward;
mod memory;
mod parked;
mod past_heads;
mod quarantine;
mod record;
mod report;
mod sqlite;
mod store;
mod wipe_pacer;

pub mod checkpoint;

pub use blob::{BlobInfo, BlobMark, BlobReader};
pub use composite::{CompositeStore, StorePart};
pub use derived::DerivedLabel;
pub use encryption::{
    Cipher, DataKey, KeyError, KeyKind, KeyRecord, PartialFile, PassphraseCost, SealedDirectory,
    SpoolFile, UnlockKey, read_key_file, write_key_file,
};
pub use error::{LockHolder, StoreError};
pub use memory::MemoryStore;
pub use parked::ParkedNote;
pub use quarantine::QuarantinedUpdate;
pub use record::{
    AppendBatch, AppendReceipt, DamagedRecord, DocHead, DocHistory, DocName, DocNameError,
    Durability, HandleOrigin, HeadPrecondition, LogRecord, PastHead, ReloadNotice, Seq,
    StoredDocument, TailPage, TouchedDocument,
};
pub use report::{CheckProblem, CheckReport, DocFact, DocStats, StoreStats};
pub use sqlite::{OpenOptions, SqliteStore, check_store_directory};
pub use store::{
    BlobStore, CompactionOutcome, LocalState, MergeError, MergeFn, MergedSnapshot, Store, StoreExt,
    UpdateLog, WriterClaim,
};
pub use wipe_pacer::WipePacer;
