//! `GET /events`: the changes of the workspace, as server-sent events.
//!
//! Each event is one change as JSON. The id of an event is a cursor: a client that reconnects sends
//! the last one (`Last-Event-ID`, or `?since=`), and continues there. If the log no longer has all
//! changes since then, the first event is `reset`: the client must list everything again. Delivery
//! is at least once.
//!
//! A page of a part of the workspace, which does not get the main document, also asks for an event
//! `people` when others open and leave files there (`?people=true`).

use std::{convert::Infallible, time::Duration};

use axum::response::sse::{Event, KeepAlive, Sse};
use futures::{Stream, StreamExt, stream};
use yfs::WorkspaceFs;
use yfs_vfs::{
    ChangeCursor, ChangeKind, ChangePage, ChangesOptions, FileChange, FileSystem, FsError,
};
use yfs_wire::{ChangeJson, ChangeType, EventsQuery};

use crate::{access::AccessGrant, people::PeopleWatch, prelude::*};

/// How long one read of the log waits; a stream without a reader ends by then.
const WAIT: Duration = Duration::from_secs(15);

/// How many changes one read returns.
const PAGE: usize = 256;

/// Follows the log for one client.
#[derive(Debug)]
struct EventStream {
    fs: WorkspaceFs,
    grant: AccessGrant,
    at: ChangeCursor,
    reset: bool,
    people: Option<PeopleWatch>,
}

/// Answers `GET /events`.
pub(crate) async fn events(
    caller: RequestCaller,
    QueryParameters(asked): QueryParameters<EventsQuery>,
    headers: HeaderMap,
) -> Result<impl IntoResponse> {
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok().map(str::to_owned));
    let fs = caller.app.workspace.fs();
    let (at, reset) = match last.or(asked.since).map(ChangeCursor::new) {
        Some(cursor) if knows(&fs, &cursor).await => (cursor, false),
        Some(_) => (fs.cursor().await?, true),
        None => (fs.cursor().await?, false),
    };
    let people = asked.people.then(|| PeopleWatch::new(caller.clone()));
    let follower = EventStream { fs, grant: caller.grant, at, reset, people };
    let events = follower.events().map(Ok::<_, Infallible>);
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(WAIT)))
}

async fn knows(fs: &WorkspaceFs, cursor: &ChangeCursor) -> bool {
    fs.changes(cursor, &ChangesOptions { limit: 1, wait: None }).await.is_ok()
}

impl EventStream {
    fn events(self) -> impl Stream<Item = Event> {
        stream::unfold(self, async |mut follower| {
            let events = follower.next().await?;
            Some((stream::iter(events), follower))
        })
        .flatten()
    }

    /// Returns the next events; `None` when the workspace is closed.
    async fn next(&mut self) -> Option<Vec<Event>> {
        if std::mem::take(&mut self.reset) {
            return Some(vec![self.mark("reset")]);
        }
        let options = ChangesOptions { limit: PAGE, wait: Some(WAIT) };
        let read = self.fs.changes(&self.at, &options);
        let changes = match &mut self.people {
            None => read.await,
            Some(people) => tokio::select! {
                changes = read => changes,
                list = people.next() => {
                    return Some(vec![Event::default().event("people").data(list)]);
                }
            },
        };
        self.events_of(changes).await
    }

    async fn events_of(
        &mut self,
        changes: std::result::Result<ChangePage, FsError>,
    ) -> Option<Vec<Event>> {
        match changes {
            Ok(changes) => {
                self.at = changes.next;
                let visible = changes.events.iter();
                let visible = visible.filter_map(|change| visible_part(change, &self.grant));
                let mut events: Vec<Event> = visible.map(|change| event_of(&change)).collect();
                // The page's cursor stands after its last change, so the last event carries it.
                let last = events.pop().map(|event| event.id(self.at.as_str()));
                events.extend(last);
                Some(events)
            }
            Err(error) if error.is_cursor_lost() => {
                self.at = self.fs.cursor().await.ok()?;
                Some(vec![self.mark("reset")])
            }
            Err(_) => None,
        }
    }

    fn mark(&self, name: &str) -> Event {
        Event::default().event(name).id(self.at.as_str()).data("{}")
    }
}

fn event_of(change: &ChangeJson) -> Event {
    let data = serde_json::to_string(change).expect("strings and numbers are JSON");
    Event::default().event("change").data(data)
}

/// Returns the part of a change that a grant covers: a node that moves across the border of the
/// grant appears or disappears; a change outside of it is not shown.
fn visible_part(change: &FileChange, grant: &AccessGrant) -> Option<ChangeJson> {
    let is_covered = grant.covers(&change.path);
    let was_covered = match &change.kind {
        ChangeKind::Moved { from } => grant.covers(from),
        _ => is_covered,
    };
    let mut shown = ChangeJson::from(change);
    match (was_covered, is_covered) {
        (true, true) => (),
        (false, true) => (shown.r#type, shown.from) = (ChangeType::Created, None),
        (true, false) => {
            shown.r#type = ChangeType::Removed;
            shown.path = shown.from.take().unwrap_or(shown.path);
        }
        (false, false) => return None,
    }
    Some(shown)
}
