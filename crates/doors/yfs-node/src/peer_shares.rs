//! The directories that a workspace shares, each with peers of its own.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::{Value, json};
use yfs::Workspace;
use yfs_engine::{actor::Actor, id::FileId, path::VPath};
use yfs_peer::{
    DirectoryShares, PeerError, PeerMembership, PeerOptions, PeerRights, RunningShares,
    ShareReport, TicketRequest,
};
use yfs_vfs::{FileKind, FsCode, FsError};

use crate::prelude::*;

/// The shares that this process connects, and what their work last reported.
#[derive(Debug)]
pub(crate) struct ConnectedShares {
    running: Mutex<Option<RunningShares>>,
    options: PeerOptions,
    notices: Arc<Mutex<BTreeMap<FileId, String>>>,
}

impl ConnectedShares {
    /// Resumes the shares of a workspace whose store is in a directory.
    pub(crate) fn resume(
        workspace: &Workspace,
        dir: Option<&Path>,
        options: PeerOptions,
    ) -> Result<Self, PeerError> {
        let connected = Self { running: Mutex::default(), options, notices: Arc::default() };
        let running = match dir {
            Some(dir) => {
                let shares = DirectoryShares::of(workspace, dir);
                RunningShares::resume_all(&shares, &connected.options, &connected.report())?
            }
            None => RunningShares::default(),
        };
        *connected.lock() = Some(running);
        Ok(connected)
    }

    fn lock(&self) -> MutexGuard<'_, Option<RunningShares>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn report(&self) -> ShareReport {
        let notices = self.notices.clone();
        Arc::new(move |directory, notice| {
            let mut notices = notices.lock().unwrap_or_else(PoisonError::into_inner);
            notices.insert(directory.clone(), notice);
        })
    }

    /// Opens the share of a directory, and connects it unless a process does already.
    pub(crate) fn open(
        &self,
        shares: &DirectoryShares,
        directory: &FileId,
    ) -> Result<Workspace, PeerError> {
        let mut running = self.lock();
        let running = running.as_mut().ok_or(PeerError::AlreadyRunning)?;
        let (file, share) = shares.open_or_create(directory)?;
        if running.has(directory) {
            return Ok(share);
        }
        match running.connect(shares, &file, share.clone(), &self.options, &self.report()) {
            Ok(()) | Err(PeerError::AlreadyRunning) => Ok(share),
            Err(error) => Err(error),
        }
    }

    /// Ends the work.
    pub(crate) fn stop(&self) -> impl Future<Output = Result<(), PeerError>> + use<> {
        let running = self.lock().take();
        async {
            match running {
                Some(running) => running.stop().await,
                None => Ok(()),
            }
        }
    }

    /// Describes a share: whether this process connects it, and what was last reported.
    fn describe(&self, directory: &FileId) -> (bool, Option<String>) {
        let is_running = self.lock().as_ref().is_some_and(|running| running.has(directory));
        let notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        (is_running, notices.get(directory).cloned())
    }
}

/// Returns the directory at a path, if it may be shared with these rights.
pub(crate) fn directory_to_share(
    workspace: &Workspace,
    actor: Actor,
    path: &str,
    request: &TicketRequest,
) -> napi::Result<FileId> {
    let parsed = VPath::parse(path);
    let path = parsed.map_err(|reason| error::of(FsError::bad_path(Op::Open, path, reason)))?;
    let found = workspace.fs_for(actor).entry(&path, Op::Open);
    let (entry, _) = found.map_err(error::of)?;
    if entry.kind != FileKind::Directory {
        return Err(error::of(FsError::new(FsCode::ENOTDIR, Op::Open, path)));
    }
    let may_write = PeerMembership::may_write(workspace);
    if request.rights == PeerRights::Write && !may_write.map_err(error::of)? {
        return Err(error::invalid_options(
            &"this store may only read the workspace: `readOnly` is needed",
        ));
    }
    Ok(entry.id)
}

/// Describes all shares of a workspace.
pub(crate) fn describe_all(
    shares: &DirectoryShares,
    connected: Option<&ConnectedShares>,
) -> Result<Value, PeerError> {
    let found = shares.find()?;
    let described = found.shares.iter().map(|share| {
        let directory = &share.directory;
        let path = shares.origin().nodes().path_of(directory)?;
        let (is_running, notice) =
            connected.map_or((false, None), |connected| connected.describe(directory));
        Ok(json!({
            "id": directory.as_str(),
            "path": path.map(|path| path.to_string()),
            "isRunning": is_running || yfs_peer::is_running(share.dir()),
            "notice": notice,
        }))
    });
    let mut all = described.collect::<Result<Vec<Value>, PeerError>>()?;
    all.extend(found.unreadable.iter().map(|(_, error)| {
        json!({ "id": null, "path": null, "isRunning": false, "notice": error.to_string() })
    }));
    Ok(all.into())
}
