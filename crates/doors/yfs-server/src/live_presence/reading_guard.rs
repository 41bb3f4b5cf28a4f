//! The files that an agent reads, as their filesystem sees it.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use yfs::Workspace;
use yfs_engine::{
    actor::{Actor, ActorKind},
    id::FileId,
};
use yfs_vfs::{
    FileSystem, FsError, Op,
    guarded_fs::{AdmittedCall, FsGuard, GuardedCall, GuardedFs},
};

use super::{LivePresence, LiveSign, WrittenRun};
use crate::{rooms::DocumentRooms, server_state::ServerState};

/// Where the files that an agent reads are reported.
pub(crate) trait ReadingReport: fmt::Debug + Send + Sync {
    /// Reports whether any page shows who is there.
    fn is_watched(&self) -> bool;

    /// Reports that an agent reads a file, or has written it.
    fn note_use(&self, actor: &Actor, file: FileId, writes: bool);
}

/// Shows agents of this server at the files that they read.
#[derive(Debug)]
pub(crate) struct LiveReadings {
    live: Arc<LivePresence>,
    rooms: Arc<DocumentRooms>,
    workspace: Workspace,
}

impl LiveReadings {
    /// Reports to what a server shows.
    pub(crate) fn of(app: &ServerState) -> Self {
        let (live, rooms) = (app.live.clone(), app.rooms.clone());
        Self { live, rooms, workspace: app.workspace.clone() }
    }
}

impl ReadingReport for LiveReadings {
    fn is_watched(&self) -> bool {
        self.rooms.is_watched()
    }

    fn note_use(&self, actor: &Actor, file: FileId, writes: bool) {
        let written = writes.then_some(WrittenRun { run: None, place: None });
        let sign = LiveSign::of_agent(actor, file, written);
        self.live.touch(&self.rooms, self.workspace.id(), sign);
    }
}

/// Returns a filesystem that reports what an agent does through it.
pub(crate) fn readings_of(
    fs: Arc<dyn FileSystem>,
    actor: &Actor,
    report: impl ReadingReport + 'static,
) -> Arc<dyn FileSystem> {
    Arc::new(GuardedFs::new(fs, ReadingGuard { actor: actor.clone(), report: Box::new(report) }))
}

/// Reports the files that an agent uses. It refuses nothing.
#[derive(Debug)]
struct ReadingGuard {
    actor: Actor,
    report: Box<dyn ReadingReport>,
}

#[async_trait]
impl FsGuard for ReadingGuard {
    async fn run_call(
        &self,
        fs: &dyn FileSystem,
        call: &GuardedCall<'_>,
        admitted: AdmittedCall<'_>,
    ) -> Result<(), FsError> {
        admitted.await?;
        // What is written on behalf of an agent is in the log, with its place.
        let writes = call.op == Op::Write && self.actor.kind != ActorKind::Agent;
        let is_shown = writes || call.op == Op::Read;
        if is_shown
            && self.report.is_watched()
            && let Some(path) = call.objects().first()
            && let Ok(stat) = fs.stat(path).await
            && !stat.is_directory()
        {
            self.report.note_use(&self.actor, stat.id, writes);
        }
        Ok(())
    }
}
