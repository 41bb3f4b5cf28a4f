//! The audit records of a workspace, in a directory beside the file of its store.

use std::{io, sync::Arc};

use yfs::Workspace;
use yfs_agent::audit::{
    AuditDirectoryLimits, AuditQuery, AuditSink, DirectoryAuditSink, SelectedRecords,
    select_audit_records,
};
use yfs_store::SealedDirectory;

/// Opens the sink of the audit records of a workspace, beside the file of its store. Returns `None`
/// if the store has no file.
///
/// # Errors
///
/// Fails if the directory cannot be created.
pub fn open_workspace_audit(workspace: &Workspace) -> io::Result<Option<Arc<dyn AuditSink>>> {
    let Some(directory) = audit_directory_of(workspace) else { return Ok(None) };
    let sink = DirectoryAuditSink::open(&directory, AuditDirectoryLimits::default())?;
    Ok(Some(Arc::new(sink)))
}

/// Returns the directory of the audit records of a workspace, beside the file of its store; `None`
/// if the store has no file.
pub fn audit_directory_of(workspace: &Workspace) -> Option<SealedDirectory> {
    Some(workspace.store().derived_directory()?.with_extension("audit"))
}

/// Returns the records of a workspace that a query selects; none if there is no directory of
/// records.
///
/// # Errors
///
/// Fails as [`select_audit_records`] does.
pub fn workspace_audit_records(
    workspace: &Workspace,
    query: &AuditQuery,
) -> io::Result<SelectedRecords> {
    let Some(directory) = audit_directory_of(workspace) else {
        return Ok(SelectedRecords::default());
    };
    match select_audit_records(&directory, query) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(SelectedRecords::default()),
        selected => selected,
    }
}
