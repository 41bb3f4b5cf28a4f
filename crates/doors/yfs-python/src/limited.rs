//! Files with limits: permission rules, directories, reading only, and a record of what changes.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use pyo3::{prelude::*, types::PyAny};
use yfs::{Session, Workspace};
use yfs_agent::{
    audit::{AuditOrigin, AuditedFs, FileAudit},
    hooks::StorageQuota,
    permissions::{AccessLimits, PermissionRules, RefusingBroker, parse_rules},
};
use yfs_agent_workspace::open_workspace_audit;
use yfs_types::{actor::Actor, path::VPath};
use yfs_vfs::{FileContent, FileSystem, Op, VersionBase, WriteOutcome};

use crate::error;

/// The session of records of files without a label.
const UNNAMED: &str = "python";

/// The limits of files, as Python names them.
pub(crate) struct LimitArguments<'py> {
    pub(crate) rules: Option<Bound<'py, PyAny>>,
    pub(crate) allow: Option<Vec<String>>,
    pub(crate) read_only: bool,
    pub(crate) audit: bool,
    pub(crate) quota: Option<StorageQuota>,
}

impl LimitArguments<'_> {
    pub(crate) fn is_empty(&self) -> bool {
        let is_open = self.rules.is_none() && self.allow.is_none() && self.quota.is_none();
        is_open && !self.read_only && !self.audit
    }

    /// Returns the files of a session with these limits.
    pub(crate) fn apply(
        self,
        py: Python<'_>,
        session: &Session,
        actor: Actor,
        label: Option<&str>,
    ) -> PyResult<Arc<dyn FileSystem>> {
        let mut rules = Vec::new();
        if let Some(allow) = &self.allow {
            let allowed = allow.iter().map(|path| error::path(py, Op::Stat, path));
            let allowed = allowed.collect::<PyResult<Vec<VPath>>>()?;
            rules.push(PermissionRules::only_below(&allowed).map_err(error::unusable)?);
        }
        if let Some(given) = &self.rules {
            let json =
                given.py().import("json")?.call_method1("dumps", (given,))?.extract::<String>()?;
            let given = parse_rules(&json).map_err(|error| error::causes_of(&error))?;
            rules.push(PermissionRules::new(given).map_err(error::unusable)?);
        }
        let broker = Arc::new(RefusingBroker);
        let (is_read_only, quota, guarded) = (self.read_only, self.quota, Vec::new());
        let limits = AccessLimits { is_read_only, rules, guarded, broker, quota };
        let fs = limits.apply(Arc::new(session.fs().clone())).map_err(error::unusable)?;
        match self.audit {
            true => audited(fs, &session.workspace(), actor, label),
            false => Ok(fs),
        }
    }
}

/// Returns files whose changes are recorded.
fn audited(
    fs: Arc<dyn FileSystem>,
    workspace: &Workspace,
    actor: Actor,
    label: Option<&str>,
) -> PyResult<Arc<dyn FileSystem>> {
    let sink = open_workspace_audit(workspace)?;
    let sink = sink.ok_or_else(|| error::unusable("a workspace in memory has no records"))?;
    let session = label.unwrap_or(UNNAMED).into();
    let origin = AuditOrigin { actor, session, call_id: None, tool: None };
    Ok(Arc::new(AuditedFs::new(fs, FileAudit::new(sink, origin))))
}

/// What was read of files, as the bases of later writes.
#[derive(Debug, Default)]
pub(crate) struct ReadBases(Mutex<HashMap<VPath, VersionBase>>);

impl ReadBases {
    pub(crate) fn note_read(&self, path: &VPath, content: &FileContent) {
        self.lock().insert(path.clone(), VersionBase::Version(content.version.clone()));
    }

    /// Notes what was written: the writer knows that content, and not what was merged into it.
    pub(crate) fn note_write(&self, path: &VPath, data: Bytes, written: &WriteOutcome) {
        let base = match &written.version {
            Some(version) => VersionBase::Version(version.clone()),
            None => VersionBase::Content(data),
        };
        self.lock().insert(path.clone(), base);
    }

    pub(crate) fn base_of(&self, path: &VPath) -> Option<VersionBase> {
        self.lock().get(path).cloned()
    }

    pub(crate) fn forget_below(&self, directory: &VPath) {
        self.lock().retain(|path, _| !path.starts_with(directory));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<VPath, VersionBase>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
