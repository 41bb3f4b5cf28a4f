//! `POST /api/people`: a guest says which file is open, and gets who else is there.
//!
//! A token for a part of the workspace does not open the main document, in whose room the pages of
//! others say what they have open. The server says it for the guest, and answers with those who
//! have a file open that the token covers. Between requests, `/events` sends the list when it
//! changes.

use std::future::pending;

use serde_json::Value;
use tokio::sync::watch;
use yfs_engine::id::FileId;
use yfs_wire::{PresentJson, PresentList, PresentRequest};

use crate::{live_presence::LiveSign, prelude::*};

/// The greatest length of the name of a page, in bytes.
const MAX_PAGE_LEN: usize = 64;

/// The longest name that is shown, in characters.
const MAX_NAME_LEN: usize = 64;

/// Answers `POST /api/people`.
pub(crate) async fn post(
    caller: RequestCaller,
    JsonBody(asked): JsonBody<PresentRequest>,
) -> Result {
    if asked.page.is_empty() || asked.page.len() > MAX_PAGE_LEN {
        return Err(HttpProblem::bad_request("a page has a name of 1 to 64 bytes"));
    }
    let list = apart(async { answer(&caller, asked) }).await;
    Ok(Json(list).into_response())
}

fn answer(caller: &RequestCaller, asked: PresentRequest) -> PresentList {
    let app = &caller.app;
    let main = app.workspace.id();
    let open = asked.open.as_deref().and_then(|id| FileId::parse(id).ok());
    let sign = LiveSign {
        key: format!("guest {} {}", caller.grant.id, asked.page),
        name: caller.grant.actor.name.to_string(),
        is_agent: false,
        color: asked.color.filter(|color| is_color(color)),
        open: open.filter(|id| is_covered(caller, id)),
        written: None,
    };
    // The page of a token for the whole workspace says it in the main document's room.
    let shown = match caller.grant.is_whole() {
        true => None,
        false => app.live.touch(&app.rooms, main, sign),
    };
    app.rooms.note_watcher();
    PresentList { client: shown.unwrap_or(0), people: list(caller) }
}

/// Lists those who have a file open that the caller may see.
fn list(caller: &RequestCaller) -> Vec<PresentJson> {
    let states = caller.app.rooms.states_at(caller.app.workspace.id());
    states.iter().filter_map(|(client, state)| present(caller, *client, state)).collect()
}

/// Waits for changes of the list that a caller gets.
#[derive(Debug)]
pub(crate) struct PeopleWatch {
    caller: RequestCaller,
    changes: watch::Receiver<u64>,
    sent: String,
}

impl PeopleWatch {
    /// Begins to wait.
    pub(crate) fn new(caller: RequestCaller) -> Self {
        let changes = caller.app.rooms.presence_changes(caller.app.workspace.id());
        Self { caller, changes, sent: String::new() }
    }

    /// Returns the next list, as JSON. It is not lost work to drop the wait.
    pub(crate) async fn next(&mut self) -> String {
        while self.changes.changed().await.is_ok() {
            let list = apart(async { list(&self.caller) }).await;
            let list = serde_json::to_string(&list).expect("strings and numbers are JSON");
            if list != self.sent {
                self.sent.clone_from(&list);
                return list;
            }
        }
        // The server ends.
        pending().await
    }
}

/// Describes an editor, if the caller may see the file that is open there.
fn present(caller: &RequestCaller, client: u64, state: &str) -> Option<PresentJson> {
    let state: Value = serde_json::from_str(state).ok()?;
    let open = FileId::parse(state.get("open")?.as_str()?).ok()?;
    if !is_covered(caller, &open) {
        return None;
    }
    let user = state.get("user")?;
    let name = user.get("name")?.as_str()?.chars().take(MAX_NAME_LEN).collect();
    let color = user.get("color").and_then(Value::as_str).filter(|color| is_color(color));
    Some(PresentJson {
        client,
        name,
        color: color.map(str::to_owned),
        agent: user.get("agent").and_then(Value::as_bool).unwrap_or(false),
        writes: state.get("writes").and_then(Value::as_bool).unwrap_or(false),
        open: open.to_string(),
    })
}

fn is_covered(caller: &RequestCaller, id: &FileId) -> bool {
    let workspace = &caller.app.workspace;
    let path = workspace.nodes().path_of(id).ok().flatten();
    id != workspace.id() && path.is_some_and(|path| caller.grant.covers(&path))
}

fn is_color(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or_default();
    digits.len() == 6 && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
}
