//! The JSON that yfs prints, serves and takes: one set of types for every door.
//!
//! The CLI (`--json`), the HTTP interface, `/events` and the packages for Node and Python serialize
//! the same types, so a fact has one name everywhere. With the feature `schema` the types also
//! describe themselves: the test `wire` generates the components of the server's OpenAPI document
//! and the Node package's `wire.ts` from them.
//!
//! # Rules
//!
//! - A key is one term of the glossary, in snake case. Counts are plain plural nouns: `files`,
//!   `directories`, `bytes`. The Node package spells keys in camel case ([`camel_case_keys`]).
//! - Every field is always present, and null if there is no value. The exceptions say so: a version
//!   that the caller must not use is absent, so that it can't be mistaken for one.
//! - Times are a type parameter: [`UnixMillis`] for programs in a process or on a wire,
//!   [`UnixSeconds`] for Python, [`Rfc3339Time`] for shells. Modes likewise: a number, or
//!   [`OctalMode`].
//! - What comes in rejects unknown fields.
//!
//! # Example
//!
//! ```
//! use yfs_vfs::{FileSystem, MemoryFs, WriteOptions};
//! use yfs_wire::WriteOutcomeJson;
//!
//! # futures::executor::block_on(async {
//! let fs = MemoryFs::new();
//! let path = "/notes.txt".parse().unwrap();
//! let written = fs.write(&path, "text".into(), &WriteOptions::default()).await.unwrap();
//! let answer = serde_json::to_value(WriteOutcomeJson::from(&written).at("/notes.txt")).unwrap();
//! assert_eq!(answer["path"], "/notes.txt");
//! assert_eq!(answer["size"], 4);
//! # });
//! ```

mod artifact;
mod artifact_service;
mod camel_case;
mod change;
mod history;
mod node_kind;
mod peer;
mod people;
mod problem;
mod query;
mod request;
mod search;
mod stat;
mod status;
mod thread;
mod thread_service;
mod time;
mod transfer;
mod trash;
mod write;

pub use artifact::{
    ArtifactJson, ArtifactList, ArtifactQuery, ArtifactsQuery, CleanupReportJson, CleanupRequest,
    ContextBody, ContextJson, FailedArtifactJson, FileStatsJson, RemovedArtifactJson, StatsQuery,
    StoreArtifactQuery,
};
pub use artifact_service::{ArtifactReference, ArtifactRequest, ArtifactResponse, CleanupRules};
pub use camel_case::camel_case_keys;
pub use change::{ChangeJson, ChangeType};
pub use history::{
    AnchorJson, BlameLineJson, BlameList, BlamePartJson, BlameShareJson, LogEntryJson, LogList,
    RedactionJson, RedactionReportJson, VersionJson, VersionList,
};
pub use node_kind::NodeKindJson;
pub use peer::{PeerJson, PeerList, PeerPresenceJson};
pub use people::{
    NameRequest, PresentJson, PresentList, PresentRequest, TokenJson, TokenList, TokenRequest,
};
pub use problem::ProblemJson;
pub use query::{GlobQueryJson, GrepQueryJson, ImportOptionsJson, OpenOptionsJson, SecretText};
pub use request::{
    BlameQuery, ConflictPolicy, DownloadRequest, EditRequest, EventsQuery, FinishUploadRequest,
    LogQuery, MkdirRequest, ReadQuery, RemovalChoice, RemoveQuery, RestoreRequest, SearchQuery,
    SettleRequest, SymlinkRequest, TransferRequest, UploadRequest, WriteQuery,
};
pub use search::{
    GrepFileJson, GrepLineJson, GrepTotalsJson, LinePageJson, SearchLimitJson, SearchResultJson,
};
pub use stat::{DirectoryListing, EntryJson, StatJson, TreeEntryJson, TreeJson};
pub use status::{
    ConflictJson, ConflictList, ConflictWordJson, DocumentInfoJson, ProfileReportJson,
    QuarantinedJson, WordConflictJson, WordConflictList, WorkspaceStatsJson,
};
pub use thread::{
    ArchivedThreadJson, CreateThreadRequest, ForkThreadRequest, RemovedThreadJson,
    RetentionReportJson, RetentionRequest, ThreadFileJson, ThreadFindQuery, ThreadGrepQuery,
    ThreadJson, ThreadLineJson, ThreadLinkRequest, ThreadList, ThreadListing, ThreadMatchList,
    ThreadMatchesJson, ThreadMkdirRequest, ThreadMoveRequest, ThreadPathList, ThreadPlaceQuery,
    ThreadQuery, ThreadReadQuery, ThreadStatsJson, ThreadWriteQuery, ThreadsQuery,
};
pub use thread_service::{
    RetentionRules, ThreadFileRequest, ThreadOpening, ThreadRequest, ThreadResponse,
    ThreadSearchRequest,
};
pub use time::{OctalMode, Rfc3339Time, UnixMillis, UnixSeconds, rfc3339};
pub use transfer::{
    BlobJson, DownloadJson, ExportReportJson, ImportReportJson, SkippedJson, UploadJson,
    YjsImportReportJson,
};
pub use trash::{ExpireReportJson, RestoredJson, TrashEntryJson, TrashList};
pub use write::{EditOutcomeJson, OverlapJson, WriteOutcomeJson};
