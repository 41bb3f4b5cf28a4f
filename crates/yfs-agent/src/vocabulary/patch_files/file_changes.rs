//! The changes of files that a patch makes: planned in memory, then written one after the other.

use std::collections::BTreeMap;

use bytes::Bytes;
use yfs_types::path::VPath;
use yfs_vfs::{
    CreateMode, FsCode, FsError, MoveOptions, Op, RemoveOptions, VersionToken, WriteOptions,
};

use super::{ToolFailure, envelope::PatchOperation, hunks::apply_hunks, path_of};
use crate::tool_call::ToolCall;

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
    before: Option<(VersionToken, Bytes)>,
    after: Option<Bytes>,
    /// Whether a file that was moved here is what is here after.
    is_moved_here: bool,
    /// The path that the file of `before` gets.
    moved_to: Option<VPath>,
}

/// The reason why a plan was not carried out. What was written before was put back.
pub(super) enum StaleFile {
    /// A file is no longer what it was when the plan was made.
    Changed,
    /// A write failed.
    Failed(ToolFailure),
}

/// A step that was carried out, with what puts it back.
enum DoneStep {
    Written { path: VPath, before: Bytes },
    Created(VPath),
    Removed { path: VPath, before: Bytes },
    Moved { from: VPath, to: VPath },
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

impl PatchPlan {
    /// Applies the operations to copies of the files.
    pub(super) async fn make(
        call: &ToolCall,
        operations: &[PatchOperation],
    ) -> Result<Self, ToolFailure> {
        let mut plan = Self::default();
        for operation in operations {
            plan.add(call, operation).await?;
        }
        Ok(plan)
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
                let text = std::str::from_utf8(&current)
                    .map_err(|_| ToolFailure::refused(format!("{path} is not UTF-8 text")))?;
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
            let after = before.as_ref().map(|(_, data)| data.clone());
            let file = PlannedFile { before, after, is_moved_here: false, moved_to: None };
            self.files.insert(path.clone(), file);
        }
        let moved = || ToolFailure::refused(format!("{path} was moved earlier in the patch"));
        self.files.get_mut(path).filter(|file| file.moved_to.is_none()).ok_or_else(moved)
    }

    /// Writes the files. If one has changed, or a write fails, the others are put back.
    pub(super) async fn write(&self, call: &ToolCall) -> Result<(), StaleFile> {
        let mut done = Vec::new();
        let Err(error) = self.write_steps(call, &mut done).await else { return Ok(()) };
        let n_steps = done.len();
        let mut kept = Vec::new();
        for step in done.into_iter().rev() {
            if let Err(path) = step.put_back(call).await {
                kept.push(path.to_string());
            }
        }
        if !kept.is_empty() {
            let text = format!(
                "{error}; {} of {n_steps} changes could not be put back: {}",
                kept.len(),
                kept.join(", ")
            );
            return Err(StaleFile::Failed(ToolFailure::Refused(text)));
        }
        match error.code {
            FsCode::ESTALE | FsCode::EEXIST => Err(StaleFile::Changed),
            _ => Err(StaleFile::Failed(error.into())),
        }
    }

    async fn write_steps(&self, call: &ToolCall, done: &mut Vec<DoneStep>) -> Result<(), FsError> {
        // A moved file is first changed where it is, so that it stays the same file.
        for (path, file) in &self.files {
            let after = match &file.moved_to {
                Some(target) if file.before.is_some() => {
                    self.files.get(target).and_then(|target| target.after.as_ref())
                }
                _ if file.is_moved_here => None,
                _ => file.after.as_ref(),
            };
            let Some(after) = after else { continue };
            match &file.before {
                Some((_, before)) if before == after => check_version(call, path, file).await?,
                Some((version, before)) => {
                    write_at(call, path, after.clone(), Some(version.clone())).await?;
                    done.push(DoneStep::Written { path: path.clone(), before: before.clone() });
                }
                None => {
                    write_at(call, path, after.clone(), None).await?;
                    done.push(DoneStep::Created(path.clone()));
                }
            }
        }
        for (path, file) in &self.files {
            let is_removed = file.after.is_none() && file.moved_to.is_none();
            // A move replaces what is there; to be put back, that is removed first.
            let is_replaced = file.is_moved_here && file.before.is_some();
            if let Some((_, before)) = file.before.as_ref().filter(|_| is_removed || is_replaced) {
                check_version(call, path, file).await?;
                call.fs().rm(path, &RemoveOptions::default()).await?;
                done.push(DoneStep::Removed { path: path.clone(), before: before.clone() });
            }
        }
        for (from, to) in &self.moves {
            let is_there = self.files.get(from).is_some_and(|file| file.before.is_some());
            if is_there {
                call.fs().mv(from, to, &MoveOptions { replace: false, parents: true }).await?;
                done.push(DoneStep::Moved { from: from.clone(), to: to.clone() });
            }
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

async fn write_at(
    call: &ToolCall,
    path: &VPath,
    data: Bytes,
    version: Option<VersionToken>,
) -> Result<(), FsError> {
    let create = if version.is_some() { CreateMode::Never } else { CreateMode::New };
    let author = Some(call.author().clone());
    let options =
        WriteOptions { create, expected_version: version, author, ..WriteOptions::default() };
    let written = call.fs().write(path, data.clone(), &options).await?;
    call.remember(&written.id, written.version, Some(data));
    Ok(())
}

/// Checks that a file is still what the plan read.
async fn check_version(call: &ToolCall, path: &VPath, file: &PlannedFile) -> Result<(), FsError> {
    let version = call.fs().stat(path).await?.version;
    match version.as_ref() == file.before.as_ref().map(|(version, _)| version) {
        true => Ok(()),
        false => Err(FsError::new(FsCode::ESTALE, Op::Open, path)),
    }
}

impl DoneStep {
    /// Puts a step back; returns the path if that fails.
    async fn put_back(self, call: &ToolCall) -> Result<(), VPath> {
        let options = |create| WriteOptions {
            create,
            author: Some(call.author().clone()),
            ..WriteOptions::default()
        };
        let (path, result) = match self {
            Self::Written { path, before } => {
                let written = call.fs().write(&path, before, &options(CreateMode::Never)).await;
                (path, written.map(drop))
            }
            Self::Created(path) => {
                let removed = call.fs().rm(&path, &RemoveOptions::default()).await;
                (path, removed)
            }
            Self::Removed { path, before } => {
                let written = call.fs().write(&path, before, &options(CreateMode::New)).await;
                (path, written.map(drop))
            }
            Self::Moved { from, to } => {
                let moved = call.fs().mv(&to, &from, &MoveOptions::default()).await;
                (to, moved)
            }
        };
        result.map_err(|_| path)
    }
}
