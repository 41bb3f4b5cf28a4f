//! The changes of files that a patch makes: planned in memory, then written one after the other.
//!
//! # Invariants
//!
//! - A file is written, moved or removed only if it is what the plan was made from. If it is not,
//!   the plan is made again from what is there now; what was written already stays as it is.
//! - If the plan cannot be made again, the steps are taken back; see
//!   [`patch_steps`](super::patch_steps).

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use yfs_types::path::VPath;
use yfs_vfs::{FsCode, FsError, Op, RemoveOptions, VersionToken, work_meter::count_objects};

use super::{
    envelope::PatchOperation,
    hunks::apply_hunks,
    patch_steps::{DoneStep, check_version, take_back, write_at},
};
use crate::{
    tool_call::ToolCall,
    tool_outcome::ToolFailure,
    vocabulary::shared::{path_of, rename, text_of},
};

/// A file as it was read; `None` if there was none.
type FileBefore = Option<(VersionToken, Bytes)>;

/// What a patch does to files.
#[derive(Debug, Default)]
pub(super) struct PatchPlan {
    /// The files that the patch names, before and after.
    files: BTreeMap<VPath, PlannedFile>,
    /// The moves, in order; the content is written before.
    moves: Vec<(VPath, VPath)>,
    pub(super) added: Vec<String>,
    pub(super) modified: Vec<String>,
    pub(super) deleted: Vec<String>,
}

/// A file before and after.
#[derive(Debug, Clone)]
struct PlannedFile {
    before: FileBefore,
    after: Option<Bytes>,
    /// Whether a file that was moved here is what is here after.
    is_moved_here: bool,
    /// The path that the file of `before` gets.
    moved_to: Option<VPath>,
}

/// How far the writing of a patch has come.
#[derive(Debug, Default)]
pub(super) struct PatchProgress {
    done: Vec<DoneStep>,
    /// The files that steps have changed, as they were before.
    settled: BTreeMap<VPath, FileBefore>,
    written: BTreeSet<VPath>,
    removed: BTreeSet<VPath>,
    moved: BTreeSet<VPath>,
}

/// The reason why a plan was not carried out. The steps so far are in the progress.
#[derive(Debug)]
pub(super) enum StepFailure {
    /// A file is no longer what it was when the plan was made.
    Stale,
    /// A step failed.
    Failed(FsError),
}

/// Returns all paths that the operations name.
pub(super) fn paths_of(operations: &[PatchOperation]) -> Result<Vec<VPath>, ToolFailure> {
    let mut paths = Vec::new();
    for operation in operations {
        match operation {
            PatchOperation::Add { path, .. } | PatchOperation::Delete { path } => {
                paths.push(path_of(path)?);
            }
            PatchOperation::Update { path, move_to, .. } => {
                paths.push(path_of(path)?);
                paths.extend(move_to.as_deref().map(path_of).transpose()?);
            }
        }
    }
    Ok(paths)
}

impl PatchProgress {
    /// Records a step that changed a file, and what the file was before.
    fn note(&mut self, step: DoneStep, path: &VPath, before: FileBefore) {
        count_objects(1);
        self.done.push(step);
        self.settled.insert(path.clone(), before);
    }
}

impl PatchPlan {
    /// Applies the operations to copies of the files. Files that were changed already are as they
    /// were before.
    pub(super) async fn make(
        call: &ToolCall,
        operations: &[PatchOperation],
        progress: &PatchProgress,
    ) -> Result<Self, ToolFailure> {
        let mut plan = Self::default();
        for path in paths_of(operations)? {
            if let Some(before) = progress.settled.get(&path) {
                plan.insert(path, before.clone());
            }
        }
        for operation in operations {
            plan.add(call, operation).await?;
        }
        Ok(plan)
    }

    fn insert(&mut self, path: VPath, before: FileBefore) {
        let after = before.as_ref().map(|(_, data)| data.clone());
        let file = PlannedFile { before, after, is_moved_here: false, moved_to: None };
        self.files.insert(path, file);
    }

    async fn add(
        &mut self,
        call: &ToolCall,
        operation: &PatchOperation,
    ) -> Result<(), ToolFailure> {
        match operation {
            PatchOperation::Add { path, content } => {
                let path = path_of(path)?;
                let file = self.load(call, &path).await?;
                file.after = Some(Bytes::copy_from_slice(content.as_bytes()));
                self.added.push(path.to_string());
            }
            PatchOperation::Delete { path } => {
                let path = path_of(path)?;
                let file = self.load(call, &path).await?;
                if file.after.take().is_none() {
                    return Err(FsError::new(FsCode::ENOENT, Op::Rm, &path).into());
                }
                self.deleted.push(path.to_string());
            }
            PatchOperation::Update { path, move_to, hunks } => {
                let path = path_of(path)?;
                let file = self.load(call, &path).await?;
                let Some(current) = file.after.clone() else {
                    return Err(FsError::new(FsCode::ENOENT, Op::Open, &path).into());
                };
                let text = text_of(path.as_str(), &current)?;
                let changed = Bytes::from(apply_hunks(text, hunks, path.as_str())?);
                let target = move_to.as_deref().map(path_of).transpose()?;
                let target = target.filter(|target| *target != path);
                match &target {
                    Some(target) => self.add_move(call, &path, target, changed).await?,
                    None => self.load(call, &path).await?.after = Some(changed),
                }
                self.modified.push(target.unwrap_or(path).to_string());
            }
        }
        Ok(())
    }

    async fn add_move(
        &mut self,
        call: &ToolCall,
        from: &VPath,
        to: &VPath,
        changed: Bytes,
    ) -> Result<(), ToolFailure> {
        self.load(call, to).await?.after = Some(changed);
        // A file that an earlier operation moved here moves on.
        let origin = self.files.iter().find(|(_, file)| file.moved_to.as_ref() == Some(from));
        let origin = origin.map(|(path, _)| path.clone());
        let file = self.load(call, from).await?;
        file.after = None;
        file.is_moved_here = false;
        let origin = match origin {
            Some(origin) => Some(origin),
            None => file.before.is_some().then(|| from.clone()),
        };
        // What the patch added moves as text.
        let Some(origin) = origin else { return Ok(()) };
        if let Some(file) = self.files.get_mut(&origin) {
            file.moved_to = Some(to.clone());
        }
        if let Some(file) = self.files.get_mut(to) {
            file.is_moved_here = true;
        }
        self.moves.retain(|(from, _)| *from != origin);
        self.moves.push((origin, to.clone()));
        Ok(())
    }

    /// Returns the state of a file after the operations so far.
    async fn load(
        &mut self,
        call: &ToolCall,
        path: &VPath,
    ) -> Result<&mut PlannedFile, ToolFailure> {
        if !self.files.contains_key(path) {
            let before = match call.fs().read(path).await {
                Ok(content) => Some((content.version, content.data)),
                Err(error) if error.code == FsCode::ENOENT => None,
                Err(error) => return Err(error.into()),
            };
            count_objects(1);
            self.insert(path.clone(), before);
        }
        let moved = || ToolFailure::refused(format!("{path} was moved earlier in the patch"));
        self.files.get_mut(path).filter(|file| file.moved_to.is_none()).ok_or_else(moved)
    }

    /// Takes the steps that are not done yet.
    pub(super) async fn write(
        &self,
        call: &ToolCall,
        progress: &mut PatchProgress,
    ) -> Result<(), StepFailure> {
        let stale = |error: FsError| match error.code {
            FsCode::ESTALE | FsCode::EEXIST | FsCode::ENOENT => StepFailure::Stale,
            _ => StepFailure::Failed(error),
        };
        self.write_contents(call, progress).await.map_err(stale)?;
        self.remove_files(call, progress).await.map_err(stale)?;
        self.move_files(call, progress).await
    }

    async fn write_contents(
        &self,
        call: &ToolCall,
        progress: &mut PatchProgress,
    ) -> Result<(), FsError> {
        // A moved file is first changed where it is, so that it stays the same file.
        for (path, file) in &self.files {
            let after = match &file.moved_to {
                Some(target) if file.before.is_some() => {
                    self.files.get(target).and_then(|target| target.after.as_ref())
                }
                _ if file.is_moved_here => None,
                _ => file.after.as_ref(),
            };
            let Some(after) = after.filter(|_| !progress.written.contains(path)) else { continue };
            let step = match &file.before {
                Some((version, before)) if before == after => {
                    check_version(call, path, version).await?;
                    continue;
                }
                Some((version, before)) => {
                    let after = write_at(call, path, after.clone(), Some(version.clone())).await?;
                    DoneStep::Written { path: path.clone(), before: before.clone(), after }
                }
                None => {
                    let after = write_at(call, path, after.clone(), None).await?;
                    DoneStep::Created { path: path.clone(), after }
                }
            };
            progress.note(step, path, file.before.clone());
            progress.written.insert(path.clone());
        }
        Ok(())
    }

    async fn remove_files(
        &self,
        call: &ToolCall,
        progress: &mut PatchProgress,
    ) -> Result<(), FsError> {
        for (path, file) in &self.files {
            let is_removed = file.after.is_none() && file.moved_to.is_none();
            // A move replaces what is there; to be put back, that is removed first.
            let is_replaced = file.is_moved_here && file.before.is_some();
            let Some((version, before)) = file.before.as_ref() else { continue };
            if (is_removed || is_replaced) && !progress.removed.contains(path) {
                check_version(call, path, version).await?;
                call.fs().rm(path, &RemoveOptions::default()).await?;
                let step = DoneStep::Removed { path: path.clone(), before: before.clone() };
                progress.note(step, path, file.before.clone());
                progress.removed.insert(path.clone());
            }
        }
        Ok(())
    }

    async fn move_files(
        &self,
        call: &ToolCall,
        progress: &mut PatchProgress,
    ) -> Result<(), StepFailure> {
        for (from, to) in &self.moves {
            let Some(file) = self.files.get(from).filter(|file| file.before.is_some()) else {
                continue;
            };
            if progress.moved.contains(from) {
                continue;
            }
            match rename(call, from, to, true).await {
                Ok(()) => (),
                Err(error) if error.code == FsCode::EEXIST => {
                    // Another writer created a file there, which the move replaces as well.
                    progress.settled.remove(to);
                    progress.removed.remove(to);
                    return Err(StepFailure::Stale);
                }
                Err(error) => return Err(StepFailure::Failed(error)),
            }
            let step = DoneStep::Moved { from: from.clone(), to: to.clone() };
            progress.note(step, from, file.before.clone());
            let replaced = self.files.get(to).and_then(|file| file.before.clone());
            progress.settled.insert(to.clone(), replaced);
            progress.moved.insert(from.clone());
        }
        Ok(())
    }

    /// Adds the report of another plan.
    pub(super) fn merge_report(&mut self, other: Self) {
        self.added.extend(other.added);
        self.modified.extend(other.modified);
        self.deleted.extend(other.deleted);
    }

    /// Returns one line per file: `A`, `M` or `D` and the path.
    pub(super) fn summary(&self) -> String {
        let mut lines = Vec::new();
        for (mark, paths) in [("A", &self.added), ("M", &self.modified), ("D", &self.deleted)] {
            lines.extend(paths.iter().map(|path| format!("{mark} {path}")));
        }
        lines.join("\n")
    }
}

impl PatchProgress {
    /// Takes the steps back, and returns the failure that made it necessary.
    pub(super) async fn take_back(self, call: &ToolCall, failure: ToolFailure) -> ToolFailure {
        let n_steps = self.done.len();
        let kept = take_back(call, self.done).await;
        if kept.is_empty() {
            return failure;
        }
        ToolFailure::Refused(format!(
            "{failure}; {} of {n_steps} changes could not be taken back: {}",
            kept.len(),
            kept.join(", ")
        ))
    }
}
