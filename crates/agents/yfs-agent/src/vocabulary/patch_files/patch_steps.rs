//! The steps in which a patch is written, and how a step is taken back.
//!
//! A step that is taken back takes back only its own change: what others wrote since stays.

use bytes::Bytes;
use yfs_types::path::VPath;
use yfs_vfs::{
    CreateMode, FsCode, FsError, MoveOptions, Op, RemoveOptions, VersionToken, WriteOptions,
};

use crate::{session::RememberedRead, tool_call::ToolCall};

/// A step that was carried out, with what takes it back.
#[derive(Debug)]
pub(super) enum DoneStep {
    Written { path: VPath, before: Bytes, after: WrittenContent },
    Created { path: VPath, after: WrittenContent },
    Removed { path: VPath, before: Bytes },
    Moved { from: VPath, to: VPath },
}

/// The content that a step wrote.
#[derive(Debug)]
pub(super) struct WrittenContent {
    version: Option<VersionToken>,
    data: Bytes,
}

/// Writes a file on the condition that it has a version, or that it is missing.
pub(super) async fn write_at(
    call: &ToolCall,
    path: &VPath,
    data: Bytes,
    version: Option<VersionToken>,
) -> Result<WrittenContent, FsError> {
    let create = if version.is_some() { CreateMode::Never } else { CreateMode::New };
    let options = WriteOptions { expected_version: version, ..options_of(call, create) };
    let written = call.fs().write(path, data.clone(), &options).await?;
    call.remember((path, &written.id), written.version.clone(), Some(data.clone()));
    Ok(WrittenContent { version: written.version, data })
}

/// Checks that a file still has a version.
pub(super) async fn check_version(
    call: &ToolCall,
    path: &VPath,
    version: &VersionToken,
) -> Result<(), FsError> {
    match call.fs().stat(path).await?.version.as_ref() == Some(version) {
        true => Ok(()),
        false => Err(FsError::new(FsCode::ESTALE, Op::Open, path)),
    }
}

/// Takes steps back, the last one first. Returns the paths where that failed.
pub(super) async fn take_back(call: &ToolCall, done: Vec<DoneStep>) -> Vec<String> {
    let mut kept = Vec::new();
    for step in done.into_iter().rev() {
        if let Err(path) = step.take_back(call).await {
            kept.push(path.to_string());
        }
    }
    kept
}

fn options_of(call: &ToolCall, create: CreateMode) -> WriteOptions {
    WriteOptions { create, author: Some(call.author().clone()), ..WriteOptions::default() }
}

impl DoneStep {
    /// Takes the step back; returns the path if that fails.
    async fn take_back(self, call: &ToolCall) -> Result<(), VPath> {
        match self {
            Self::Written { path, before, after } => {
                // A change from what the step wrote to what was there: later changes stay.
                let base = RememberedRead { version: after.version, content: Some(after.data) };
                let options = options_of(call, CreateMode::Never);
                match call.write_based(&path, &base, before, options).await {
                    Ok(_) => Ok(()),
                    Err(_) => Err(path),
                }
            }
            Self::Created { path, after } => {
                if !is_unchanged(call, &path, &after).await {
                    return Err(path);
                }
                let removed = call.fs().rm(&path, &RemoveOptions::default()).await;
                removed.map_err(|_| path)
            }
            Self::Removed { path, before } => {
                let options = options_of(call, CreateMode::New);
                let written = call.fs().write(&path, before, &options).await;
                written.map(drop).map_err(|_| path)
            }
            Self::Moved { from, to } => {
                let options = MoveOptions { replace: false, parents: true };
                call.fs().mv(&to, &from, &options).await.map_err(|_| to)
            }
        }
    }
}

/// Reports whether a file is what a step wrote.
async fn is_unchanged(call: &ToolCall, path: &VPath, after: &WrittenContent) -> bool {
    match &after.version {
        Some(version) => check_version(call, path, version).await.is_ok(),
        None => call.fs().read(path).await.is_ok_and(|content| content.data == after.data),
    }
}
