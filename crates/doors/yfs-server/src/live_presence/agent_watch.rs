//! The agents that change files, by whichever door and in whichever process: their changes are in
//! the log, with where they wrote.

use std::{convert::Infallible, time::Duration};

use tokio::{task::block_in_place, time::sleep};
use yfs::Workspace;
use yfs_engine::{
    actor::{Actor, ActorKind},
    content::{LastRun, RunAuthor},
    time::Millis,
};
use yfs_vfs::{ChangeKind, ChangesOptions, FileChange, FileSystem};

use super::{LivePresence, LiveSign, SHOWN, WrittenRun, agent_key};
use crate::rooms::DocumentRooms;

/// How many changes one read of the log returns, how many of them are shown, the latest, and how
/// long a read waits. An agent is at one file, and an import is no one at work.
const PAGE: usize = 256;
const SHOWN_OF_PAGE: usize = 16;
const WAIT: Duration = Duration::from_secs(15);

/// The delay before the log is followed again after that failed.
const AGAIN: Duration = Duration::from_secs(1);

impl LivePresence {
    /// Shows the agents that change files, forever.
    pub(crate) async fn follow_agents(
        &self,
        workspace: &Workspace,
        rooms: &DocumentRooms,
    ) -> Infallible {
        let fs = workspace.fs();
        loop {
            if let Ok(mut at) = fs.cursor().await {
                let options = ChangesOptions { limit: PAGE, wait: Some(WAIT) };
                while let Ok(page) = fs.changes(&at, &options).await {
                    at = page.next;
                    let late = page.events.len().saturating_sub(SHOWN_OF_PAGE);
                    for change in &page.events[late..] {
                        self.show_change(workspace, rooms, change);
                    }
                }
            }
            // The log was compacted, or the workspace is closed.
            sleep(AGAIN).await;
        }
    }

    /// Shows the agents that made a change.
    pub(super) fn show_change(
        &self,
        workspace: &Workspace,
        rooms: &DocumentRooms,
        change: &FileChange,
    ) {
        let is_agent = |actor: &Actor| actor.kind == ActorKind::Agent;
        let by_other = change.actor.as_ref().is_some_and(|actor| !is_agent(actor));
        if by_other || change.kind == ChangeKind::Removed {
            return;
        }
        if !rooms.is_watched() {
            // A page that comes in a moment shows who is at work, not where.
            return self.show_writer(workspace, rooms, change, change.actor.as_ref());
        }
        let shown = i64::try_from(SHOWN.as_millis()).unwrap_or(i64::MAX);
        let oldest = Millis(workspace.maintenance().options().clock.now().0 - shown);
        // What another process wrote is noticed without its author, whom the document knows.
        let is_wanted = |author: &RunAuthor| match &change.actor {
            Some(actor) => author.actor == *actor,
            None => is_agent(&author.actor) && author.at >= oldest,
        };
        let read = || workspace.documents().last_runs(&change.id, is_wanted);
        let runs = block_in_place(read).unwrap_or_default();
        for LastRun { author, entry, place } in &runs {
            let written = WrittenRun { run: Some((author.at, *entry)), place: place.clone() };
            if change.actor.is_some() || self.is_news(&agent_key(&author.actor), &written) {
                let sign = LiveSign::of_agent(&author.actor, change.id.clone(), Some(written));
                self.touch(rooms, workspace.id(), sign);
            }
        }
        if runs.is_empty() {
            let logged = || last_actor(workspace, change, oldest);
            let actor = change.actor.clone().or_else(|| block_in_place(logged));
            self.show_writer(workspace, rooms, change, actor.as_ref());
        }
    }

    /// Shows the author of a change that is not in a text, if it is an agent.
    fn show_writer(
        &self,
        workspace: &Workspace,
        rooms: &DocumentRooms,
        change: &FileChange,
        author: Option<&Actor>,
    ) {
        if let Some(actor) = author.filter(|actor| actor.kind == ActorKind::Agent) {
            let written = WrittenRun { run: None, place: None };
            let sign = LiveSign::of_agent(actor, change.id.clone(), Some(written));
            self.touch(rooms, workspace.id(), sign);
        }
    }
}

/// Returns the actor of the last change of a file without a text, unless it is too long ago.
fn last_actor(workspace: &Workspace, change: &FileChange, oldest: Millis) -> Option<Actor> {
    let last = workspace.history().changes(&change.path).ok()?.next()?.ok()?;
    last.actor.filter(|_| last.at >= oldest)
}
