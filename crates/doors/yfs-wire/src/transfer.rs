//! Reports of imports and exports; blobs.

use serde::Serialize;
use yfs::{ExportReport, ImportReport, SkippedPath, YjsImportReport};

/// A stored blob.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Blob"))]
pub struct BlobJson {
    /// The BLAKE3 hash of the content, in hexadecimal.
    pub hash: String,
    /// The size in bytes.
    pub size: u64,
}

/// An upload that has begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Upload"))]
pub struct UploadJson {
    /// The id, for the requests that go on.
    pub id: String,
    /// The number of bytes that have arrived.
    pub offset: u64,
    /// The size of the file, in bytes.
    pub size: u64,
}

/// A download that a browser may begin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Download"))]
pub struct DownloadJson {
    /// The id, which works once and for a minute.
    pub id: String,
    /// The name of the file that the browser gets.
    pub name: String,
}

/// A path that an import or export skipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS), ts(rename = "Skipped"))]
pub struct SkippedJson {
    /// The path.
    pub path: String,
    /// The reason.
    pub why: String,
}

/// The report of an import of a directory or file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS), ts(rename = "ImportReport"))]
pub struct ImportReportJson {
    /// The number of created files.
    pub created: u64,
    /// The number of files whose content changed.
    pub updated: u64,
    /// The number of files that were equal.
    pub unchanged: u64,
    /// The number of created directories.
    pub directories: u64,
    /// The number of created or changed symbolic links.
    pub links: u64,
    /// The bytes of file contents that were read.
    pub bytes: u64,
    /// The paths that were skipped.
    pub skipped: Vec<SkippedJson>,
}

/// The report of an import of Yjs documents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct YjsImportReportJson {
    /// The number of documents that changed.
    pub changed: u64,
    /// The number of documents that contained nothing new.
    pub unchanged: u64,
    /// The bytes that were read.
    pub bytes: u64,
    /// The paths that were skipped.
    pub skipped: Vec<SkippedJson>,
}

/// The report of an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS), ts(rename = "ExportReport"))]
pub struct ExportReportJson {
    /// The number of written files.
    pub written: u64,
    /// The number of files that were equal.
    pub unchanged: u64,
    /// The number of created directories.
    pub directories: u64,
    /// The bytes of file contents that were written.
    pub bytes: u64,
    /// The paths that were skipped.
    pub skipped: Vec<SkippedJson>,
}

impl SkippedJson {
    /// Describes skipped paths.
    pub fn list(skipped: &[SkippedPath]) -> Vec<Self> {
        skipped.iter().map(Self::from).collect()
    }
}

impl From<&SkippedPath> for SkippedJson {
    fn from(skipped: &SkippedPath) -> Self {
        Self { path: skipped.path.clone(), why: skipped.why.to_string() }
    }
}

impl From<&ImportReport> for ImportReportJson {
    fn from(report: &ImportReport) -> Self {
        Self {
            created: report.n_created,
            updated: report.n_updated,
            unchanged: report.n_unchanged,
            directories: report.n_directories,
            links: report.n_links,
            bytes: report.n_bytes,
            skipped: SkippedJson::list(&report.skipped),
        }
    }
}

impl From<&YjsImportReport> for YjsImportReportJson {
    fn from(report: &YjsImportReport) -> Self {
        Self {
            changed: report.n_changed,
            unchanged: report.n_unchanged,
            bytes: report.n_bytes,
            skipped: SkippedJson::list(&report.skipped),
        }
    }
}

impl From<&ExportReport> for ExportReportJson {
    fn from(report: &ExportReport) -> Self {
        Self {
            written: report.n_written,
            unchanged: report.n_unchanged,
            directories: report.n_directories,
            bytes: report.n_bytes,
            skipped: SkippedJson::list(&report.skipped),
        }
    }
}
