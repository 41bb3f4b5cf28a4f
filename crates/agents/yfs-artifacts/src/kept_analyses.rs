//! Analyses that are kept with their file as of a version, and made again after an edit.

use std::{collections::HashMap, fmt, sync::Arc};

use futures::StreamExt;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use yfs_analysis::{
    ContentAnalysis, ContentAnalyzer, ContentPreview, FileStats, PreviewLimit, describe_stats,
};
use yfs_types::{id::FileId, path::VPath};
use yfs_vfs::{FileSystem, FsCode, FsError, Op, Stat, StreamOptions};

/// The number of the form of what is kept; another one is made again.
const FORM: u32 = 3;

/// The analyses that are kept in memory.
const MAX_IN_MEMORY: usize = 16_384;

/// The analysis of one version of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileAnalysis {
    form: u32,
    /// The version; absent if the filesystem has none.
    pub version: Option<String>,
    /// The media type.
    pub media_type: String,
    /// The size, in bytes.
    pub size: u64,
    /// The statistics.
    pub stats: FileStats,
    /// What they leave out, and what is wrong with the content.
    pub notes: Vec<String>,
    preview: ContentPreview,
}

/// A place for what is derived from files, outside of them.
///
/// What is put there may be lost at any time.
pub trait DerivedShelf: Send + Sync + fmt::Debug {
    /// Returns what was put under a key.
    fn fetch(&self, key: &str) -> Option<Vec<u8>>;

    /// Keeps a value under a key.
    fn put(&self, key: &str, value: &[u8]);
}

/// The analyses of a filesystem's files.
///
/// A caller that drops a future of its calls ends the reading: between two chunks of a file they
/// give way to other tasks.
#[derive(Debug)]
pub struct KeptAnalyses {
    fs: Arc<dyn FileSystem>,
    shelf: Option<Arc<dyn DerivedShelf>>,
    memory: Arc<AnalysisMemory>,
}

/// Analyses in memory, for several [`KeptAnalyses`] over the same files.
#[derive(Debug, Default)]
pub struct AnalysisMemory {
    /// No other task waits while it is locked.
    by_file: Mutex<HashMap<FileId, Arc<FileAnalysis>>>,
}

impl FileAnalysis {
    /// Returns a preview of at most the given length.
    pub fn preview(&self, limit: PreviewLimit) -> String {
        self.preview.render(&self.stats, limit)
    }

    /// Returns what the file is in a few lines.
    pub fn description(&self) -> String {
        describe_stats(&self.stats)
    }
}

impl KeptAnalyses {
    /// Makes the analyses of a filesystem, kept in memory.
    pub fn new(fs: Arc<dyn FileSystem>) -> Self {
        Self { fs, shelf: None, memory: Arc::default() }
    }

    /// Sets where analyses are kept in memory. All filesystems with this memory must have the same
    /// files; they may show different ones.
    #[must_use]
    pub fn with_memory(self, memory: Arc<AnalysisMemory>) -> Self {
        Self { memory, ..self }
    }

    /// Sets where analyses are kept for other processes and later ones.
    #[must_use]
    pub fn with_shelf(self, shelf: Arc<dyn DerivedShelf>) -> Self {
        Self { shelf: Some(shelf), ..self }
    }

    /// Returns the filesystem.
    pub fn fs(&self) -> &Arc<dyn FileSystem> {
        &self.fs
    }

    /// Returns the analysis of a file as it is now.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, and with `EISDIR` for a directory.
    pub async fn analysis_of(&self, path: &VPath) -> Result<Arc<FileAnalysis>, FsError> {
        let stat = self.fs.stat(path).await?;
        if !stat.is_file() {
            return Err(FsError::new(FsCode::EISDIR, Op::Read, path));
        }
        if let Some(kept) = self.kept(&stat) {
            return Ok(kept);
        }
        let analysis = Arc::new(self.analyze(path, &stat).await?);
        // A file that was changed meanwhile has another version by now.
        let now = self.fs.stat(path).await?;
        if now.id == stat.id && now.version == stat.version && stat.version.is_some() {
            self.keep(stat.id, &analysis);
        }
        Ok(analysis)
    }

    fn kept(&self, stat: &Stat) -> Option<Arc<FileAnalysis>> {
        let version = stat.version.as_ref()?.as_str();
        let is_of_now = |kept: &FileAnalysis| {
            kept.form == FORM && kept.version.as_deref() == Some(version) && kept.size == stat.size
        };
        let known = self.memory.by_file.lock().get(&stat.id).cloned();
        if let Some(known) = known.filter(|known| is_of_now(known)) {
            return Some(known);
        }
        let stored = self.shelf.as_ref()?.fetch(&shelf_key(&stat.id))?;
        let kept: FileAnalysis = serde_json::from_slice(&stored).ok()?;
        let kept = is_of_now(&kept).then(|| Arc::new(kept))?;
        self.memory.remember(stat.id.clone(), &kept);
        Some(kept)
    }

    fn keep(&self, id: FileId, analysis: &Arc<FileAnalysis>) {
        if let (Some(shelf), Ok(stored)) = (&self.shelf, serde_json::to_vec(&**analysis)) {
            shelf.put(&shelf_key(&id), &stored);
        }
        self.memory.remember(id, analysis);
    }

    async fn analyze(&self, path: &VPath, stat: &Stat) -> Result<FileAnalysis, FsError> {
        let mut analyzer = ContentAnalyzer::new(path.file_name().unwrap_or_default());
        let mut chunks = self.fs.read_stream(path, &StreamOptions::default()).await?;
        while let Some(chunk) = chunks.next().await {
            analyzer.push(&chunk?.data);
            tokio::task::yield_now().await;
        }
        let ContentAnalysis { media_type, size, stats, notes, preview } = analyzer.finish();
        let version = stat.version.as_ref().map(ToString::to_string);
        Ok(FileAnalysis { form: FORM, version, media_type, size, stats, notes, preview })
    }
}

impl AnalysisMemory {
    fn remember(&self, id: FileId, analysis: &Arc<FileAnalysis>) {
        let mut by_file = self.by_file.lock();
        if by_file.len() >= MAX_IN_MEMORY {
            by_file.clear();
        }
        by_file.insert(id, analysis.clone());
    }
}

fn shelf_key(id: &FileId) -> String {
    format!("analysis:{}", id.as_str())
}
