//! Downloads by the browser itself, which sends no token. A page that has one asks for a ticket:
//! its address works once, and for a minute.

use std::{
    collections::{BTreeSet, HashMap},
    fmt::Write as _,
    io, iter,
    sync::Arc,
    time::Duration,
};

use axum::{
    Extension,
    extract::{Path, State},
};
use futures::StreamExt;
use parking_lot::Mutex;
use tokio::{runtime::Handle, sync::Semaphore, time::Instant};
use yfs_engine::path::VPath;
use yfs_vfs::{FileSystem, StreamOptions};
use yfs_wire::{DownloadJson, DownloadRequest};

use super::{archive::write_archive, byte_stream::body_written_by, random_id};
use crate::{
    access::{scoped, token_of},
    grant_stream::CallerTokenSlot,
    prelude::*,
};

/// How long a ticket is valid.
const LIFETIME: Duration = Duration::from_secs(60);

/// The most tickets that wait.
const MAX_TICKETS: usize = 4096;

/// The most downloads that are sent at once.
const MAX_SENT: usize = 64;

/// The most paths of one archive.
const MAX_PATHS: usize = 10_000;

/// The tickets that wait for their downloads.
#[derive(Debug)]
pub(crate) struct DownloadTickets {
    waiting: Mutex<HashMap<String, DownloadTicket>>,
    sent: Arc<Semaphore>,
}

#[derive(Debug)]
struct DownloadTicket {
    token: String,
    paths: Vec<VPath>,
    name: String,
    made: Instant,
}

impl Default for DownloadTickets {
    fn default() -> Self {
        Self { waiting: Mutex::default(), sent: Arc::new(Semaphore::new(MAX_SENT)) }
    }
}

impl DownloadTickets {
    fn insert(&self, ticket: DownloadTicket) -> Result<String> {
        let mut waiting = self.waiting.lock();
        waiting.retain(|_, ticket| ticket.made.elapsed() < LIFETIME);
        if waiting.len() >= MAX_TICKETS {
            let detail = "too many downloads wait";
            return Err(HttpProblem::new(StatusCode::SERVICE_UNAVAILABLE, detail));
        }
        let id = random_id();
        waiting.insert(id.clone(), ticket);
        Ok(id)
    }

    fn take(&self, id: &str) -> Option<DownloadTicket> {
        let ticket = self.waiting.lock().remove(id)?;
        Some(ticket).filter(|ticket| ticket.made.elapsed() < LIFETIME)
    }
}

/// Answers `POST /api/downloads`.
pub(super) async fn create(
    State(app): State<ServerState>,
    caller: RequestCaller,
    headers: HeaderMap,
    JsonBody(body): JsonBody<DownloadRequest>,
) -> Result {
    if body.paths.is_empty() || body.paths.len() > MAX_PATHS {
        return Err(HttpProblem::bad_request(format!("name 1 to {MAX_PATHS} paths")));
    }
    let named = body.paths.iter().map(|path| path_of(path)).collect::<Result<_>>()?;
    let paths = outermost(&named);
    let is_file = apart(async {
        let mut is_file = paths.len() == 1;
        for path in &paths {
            is_file &= !caller.fs().stat(path).await?.is_directory();
        }
        Ok::<_, HttpProblem>(is_file)
    })
    .await?;
    let first = paths.first().and_then(VPath::file_name).unwrap_or("files").to_owned();
    let name = match (is_file, paths.len()) {
        (true, _) => first,
        (false, 1) => format!("{first}.zip"),
        (false, _) => "files.zip".to_owned(),
    };
    let token = token_of(&headers, None).unwrap_or_default();
    let ticket = DownloadTicket { token, paths, name: name.clone(), made: Instant::now() };
    let id = app.downloads.insert(ticket)?;
    Ok((StatusCode::CREATED, Json(DownloadJson { id, name })).into_response())
}

/// Returns the paths that no other one contains: what is inside of one comes with it.
fn outermost(named: &BTreeSet<VPath>) -> Vec<VPath> {
    let above = |path: &VPath| iter::successors(path.parent(), VPath::parent);
    named.iter().filter(|path| !above(path).any(|up| named.contains(&up))).cloned().collect()
}

/// Answers `GET /api/downloads/{id}`.
pub(super) async fn get(
    State(app): State<ServerState>,
    slot: Option<Extension<CallerTokenSlot>>,
    Path(id): Path<String>,
) -> Result {
    let gone = "this address works once, for a minute";
    let ticket = app.downloads.take(&id);
    let ticket = ticket.ok_or_else(|| HttpProblem::new(StatusCode::UNAUTHORIZED, gone))?;
    let grant = app.access.check(&ticket.token)?;
    if let Some(Extension(slot)) = slot {
        slot.fill(ticket.token);
    }
    let busy = "too many downloads are being sent";
    let permit = app.downloads.sent.clone().try_acquire_owned();
    let permit = permit.map_err(|_| HttpProblem::new(StatusCode::SERVICE_UNAVAILABLE, busy))?;
    let fs = scoped(&app.workspace, &grant);
    let paths = ticket.paths;
    let file = match paths.as_slice() {
        [path] => apart(fs.stat(path)).await.ok().filter(|stat| !stat.is_directory()),
        _ => None,
    };
    let body = body_written_by(move |to| {
        let _permit = permit;
        match (file, paths.first()) {
            (Some(_), Some(path)) => write_file(&fs, path, to),
            _ => write_archive(&fs, &paths, to),
        }
    });
    let disposition = HeaderValue::from_str(&disposition(&ticket.name));
    let disposition = disposition.expect("the name is escaped");
    let media_type = HeaderValue::from_static("application/octet-stream");
    let as_said = HeaderValue::from_static("nosniff");
    let headers = [
        (header::CONTENT_DISPOSITION, disposition),
        (header::CONTENT_TYPE, media_type),
        (header::X_CONTENT_TYPE_OPTIONS, as_said),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((headers, body).into_response())
}

fn write_file(fs: &Arc<dyn FileSystem>, path: &VPath, to: &mut impl io::Write) -> io::Result<()> {
    let runtime = Handle::current();
    let stream = runtime.block_on(fs.read_stream(path, &StreamOptions::default()));
    let mut stream = stream.map_err(io::Error::other)?;
    while let Some(chunk) = runtime.block_on(stream.next()) {
        to.write_all(&chunk.map_err(io::Error::other)?.data)?;
    }
    Ok(())
}

/// Returns the header that names a download (RFC 6266), in UTF-8 (RFC 8187).
fn disposition(name: &str) -> String {
    let mut text = String::from("attachment; filename*=UTF-8''");
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                text.push(char::from(byte));
            }
            byte => write!(text, "%{byte:02X}").expect("a string takes all"),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticket() -> DownloadTicket {
        let paths = vec![VPath::parse("/a.txt").unwrap()];
        DownloadTicket { token: "t".into(), paths, name: "a.txt".into(), made: Instant::now() }
    }

    #[tokio::test(start_paused = true)]
    async fn a_ticket_is_good_once_and_for_a_minute() {
        let tickets = DownloadTickets::default();
        let id = tickets.insert(ticket()).unwrap();
        assert!(tickets.take(&id).is_some());
        assert!(tickets.take(&id).is_none());
        let id = tickets.insert(ticket()).unwrap();
        tokio::time::advance(LIFETIME).await;
        assert!(tickets.take(&id).is_none());
    }

    #[test]
    fn what_is_inside_of_another_path_comes_with_it() {
        let named = ["/a", "/a/b/c", "/a b", "/d/e", "/d/e"];
        let named = named.iter().map(|path| VPath::parse(path).unwrap()).collect();
        let paths: Vec<_> = outermost(&named).iter().map(ToString::to_string).collect();
        assert_eq!(paths, ["/a", "/a b", "/d/e"]);
    }

    #[test]
    fn a_name_is_escaped() {
        let expected = "attachment; filename*=UTF-8''%C3%A4%20%22b%22.txt";
        assert_eq!(disposition("ä \"b\".txt"), expected);
    }
}
