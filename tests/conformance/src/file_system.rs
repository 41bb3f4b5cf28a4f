//! The contract of [`FileSystem`] as a suite of named test cases for any backend.
//!
//! ```
//! use std::sync::Arc;
//! use yfs_vfs::{FileSystem, MemoryFs};
//! use yfs_conformance::file_system;
//!
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let make = async || Arc::new(MemoryFs::new()) as Arc<dyn FileSystem>;
//! let report = file_system::run(make, file_system::BackendCapabilities::ALL).await;
//! report.assert();
//! # });
//! ```
//!
//! Most cases are data: a script in the language of [`script`], which other tests may use as well.
//! The suite runs inside a tokio runtime, preferably one with several threads, and never assumes
//! that removed objects are gone permanently.

mod cases;
mod concurrent;
mod native;
pub mod script;

use std::{fmt, sync::Arc};

use futures::future::BoxFuture;

use yfs_vfs::{FileSystem, FsError};

/// The optional features of a backend. Cases that need a missing one are skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackendCapabilities {
    /// Symbolic links.
    pub symlinks: bool,
    /// Whether permission bits are stored.
    pub modes: bool,
    /// Whether custom metadata and media types are stored.
    pub metadata: bool,
    /// Whether replacing a file's content, also by moving another file over it, keeps its id.
    pub keeps_identity: bool,
    /// Whether a write with a base merges with concurrent writes; if not, it is rejected.
    pub merges: bool,
    /// Whether there is a log of changes.
    pub watch: bool,
    /// Whether `..` in a link stays at the root; a backend on a host rejects a link that leads
    /// outside.
    pub clamps_links: bool,
    /// Whether names are stored and looked up in normalization form C.
    pub normalizes_names: bool,
}

/// The result of a run of the suite.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct SuiteReport {
    /// The cases that passed.
    pub passed: Vec<&'static str>,
    /// The cases that need a feature that the backend lacks.
    pub skipped: Vec<&'static str>,
    /// The cases that failed, with the reasons.
    pub failed: Vec<(&'static str, String)>,
}

/// A feature that a case needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CaseRequirement {
    Symlinks,
    Modes,
    Metadata,
    Identity,
    Merging,
    NoMerging,
    Watch,
    Clamping,
    Normalizing,
}

/// One named case, which runs on an empty filesystem.
struct ConformanceCase {
    name: &'static str,
    needs: &'static [CaseRequirement],
    test: CaseBody,
}

#[derive(Clone, Copy)]
enum CaseBody {
    Script(&'static str),
    Native(Run),
}

/// A test in Rust.
type Run = fn(Arc<dyn FileSystem>) -> BoxFuture<'static, Result<(), CaseFailure>>;

/// The reason why a case failed.
#[derive(Debug)]
struct CaseFailure(String);

impl From<FsError> for CaseFailure {
    fn from(error: FsError) -> Self {
        Self(format!("unexpected {error}"))
    }
}

impl BackendCapabilities {
    /// All features except merging.
    pub const ALL: Self = Self {
        symlinks: true,
        modes: true,
        metadata: true,
        keeps_identity: true,
        merges: false,
        watch: true,
        clamps_links: true,
        normalizes_names: true,
    };

    fn has(&self, need: CaseRequirement) -> bool {
        match need {
            CaseRequirement::Symlinks => self.symlinks,
            CaseRequirement::Modes => self.modes,
            CaseRequirement::Metadata => self.metadata,
            CaseRequirement::Identity => self.keeps_identity,
            CaseRequirement::Merging => self.merges,
            CaseRequirement::NoMerging => !self.merges,
            CaseRequirement::Watch => self.watch,
            CaseRequirement::Clamping => self.clamps_links,
            CaseRequirement::Normalizing => self.normalizes_names,
        }
    }
}

impl SuiteReport {
    /// Panics with a list of the failures, if there are any.
    ///
    /// # Panics
    ///
    /// If a case failed.
    pub fn assert(&self) {
        assert!(self.failed.is_empty(), "{self}");
    }
}

impl fmt::Display for SuiteReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [self.passed.len(), self.skipped.len(), self.failed.len()];
        writeln!(f, "{} passed, {} skipped, {} failed", counts[0], counts[1], counts[2])?;
        self.failed.iter().try_for_each(|(name, why)| writeln!(f, "- {name}: {why}"))
    }
}

/// Runs every case on a filesystem of its own; `make` returns an empty one.
pub async fn run(
    make: impl AsyncFn() -> Arc<dyn FileSystem>,
    caps: BackendCapabilities,
) -> SuiteReport {
    run_matching(make, caps, "").await
}

/// Runs the cases whose name contains `part`, for debugging a failure.
pub(crate) async fn run_matching(
    make: impl AsyncFn() -> Arc<dyn FileSystem>,
    caps: BackendCapabilities,
    part: &str,
) -> SuiteReport {
    let mut report = SuiteReport::default();
    for case in cases::all().filter(|case| case.name.contains(part)) {
        if !case.needs.iter().all(|need| caps.has(*need)) {
            report.skipped.push(case.name);
            continue;
        }
        let fs = make().await;
        let result = match case.test {
            CaseBody::Script(text) => script::check(&fs, text).await.map_err(CaseFailure),
            CaseBody::Native(test) => test(fs).await,
        };
        match result {
            Ok(()) => report.passed.push(case.name),
            Err(CaseFailure(why)) => report.failed.push((case.name, why)),
        }
    }
    report
}
