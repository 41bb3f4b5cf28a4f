//! Uploads that have begun: their bytes wait in an encrypted file without a name until all are
//! here. An upload that gets no bytes for an hour is removed.

use std::{collections::HashMap, convert::Infallible, io::Write, sync::Arc, time::Duration};

use axum::body::Body;
use futures::StreamExt;
use parking_lot::Mutex;
use tokio::{sync::Mutex as AsyncMutex, task::block_in_place, time::Instant};
use yfs::SpoolFile;
use yfs_engine::path::VPath;
use yfs_vfs::CancellationToken;

use super::random_id;
use crate::{body::MAX_FILE_LEN, prelude::*};

/// The most uploads of one token, and of all.
const MAX_OF_GRANT: usize = 64;
const MAX_UPLOADS: usize = 512;

/// The most bytes that all uploads together may announce.
const MAX_ANNOUNCED: u64 = 64 << 30;

/// How long an upload waits for its next bytes.
const PATIENCE: Duration = Duration::from_secs(3600);

/// How often uploads that waited too long are removed.
const SWEEP: Duration = Duration::from_secs(60);

/// The uploads of a server, by their ids.
#[derive(Debug, Default)]
pub(crate) struct UploadStore(Mutex<HashMap<String, Arc<StagedUpload>>>);

/// An upload that has begun.
#[derive(Debug)]
pub(super) struct StagedUpload {
    /// The id of the grant that began it, and no other may go on with it.
    grant: String,
    pub(super) path: VPath,
    pub(super) size: u64,
    pub(super) content: AsyncMutex<StagedContent>,
    touched: Mutex<Instant>,
    /// Ends the request that sends bytes now: its client may have lost the connection.
    sending: Mutex<CancellationToken>,
}

/// The bytes of an upload that have arrived.
#[derive(Debug)]
pub(super) struct StagedContent {
    pub(super) file: SpoolFile,
    pub(super) len: u64,
    /// The answer to the request that finished the upload, for a client that did not get it.
    pub(super) finished: Option<(StatusCode, serde_json::Value)>,
}

impl UploadStore {
    /// Begins an upload.
    pub(super) fn begin(&self, grant: &str, path: VPath, size: u64) -> Result<String> {
        if size > MAX_FILE_LEN {
            let detail = format!("the file is longer than {} MiB", MAX_FILE_LEN >> 20);
            return Err(HttpProblem::new(StatusCode::PAYLOAD_TOO_LARGE, detail));
        }
        let mut uploads = self.0.lock();
        let of_grant = uploads.values().filter(|upload| upload.grant == grant).count();
        let announced: u64 = uploads.values().map(|upload| upload.size).sum();
        let is_full = uploads.len() >= MAX_UPLOADS || announced + size > MAX_ANNOUNCED;
        if of_grant >= MAX_OF_GRANT || is_full {
            let detail = "too many uploads have begun and not ended";
            return Err(HttpProblem::new(StatusCode::SERVICE_UNAVAILABLE, detail));
        }
        let file = SpoolFile::new()
            .map_err(|error| HttpProblem::caused(StatusCode::INTERNAL_SERVER_ERROR, &error))?;
        let content = AsyncMutex::new(StagedContent { file, len: 0, finished: None });
        let (touched, sending) = (Mutex::new(Instant::now()), Mutex::default());
        let grant = grant.to_owned();
        let upload = StagedUpload { grant, path, size, content, touched, sending };
        let id = random_id();
        uploads.insert(id.clone(), Arc::new(upload));
        Ok(id)
    }

    /// Returns an upload that a grant began, and ends the request that sends bytes for it now.
    pub(super) fn find(&self, grant: &str, id: &str) -> Result<Arc<StagedUpload>> {
        let found = self.0.lock().get(id).filter(|upload| upload.grant == grant).cloned();
        let absent = || HttpProblem::new(StatusCode::NOT_FOUND, "this upload is not known");
        let upload = found.ok_or_else(absent)?;
        upload.sending.lock().cancel();
        *upload.touched.lock() = Instant::now();
        Ok(upload)
    }

    /// Removes an upload with its bytes.
    pub(super) fn remove(&self, id: &str) {
        self.0.lock().remove(id);
    }

    /// Removes uploads that waited too long, again and again.
    pub(crate) async fn sweep_forever(&self) -> Infallible {
        loop {
            tokio::time::sleep(SWEEP).await;
            self.0.lock().retain(|_, upload| upload.touched.lock().elapsed() < PATIENCE);
        }
    }
}

impl StagedUpload {
    /// Appends a body from an offset, and returns how many bytes there are then. What arrived of a
    /// body that was cut stays.
    pub(super) async fn receive(&self, offset: u64, body: Body) -> Result<u64> {
        let cancelled = CancellationToken::new();
        *self.sending.lock() = cancelled.clone();
        let mut content = self.content.lock().await;
        if offset != content.len || content.finished.is_some() {
            let detail = format!("the upload goes on at {}, not at {offset}", content.len);
            return Err(HttpProblem::new(StatusCode::CONFLICT, detail));
        }
        let mut stream = body.into_data_stream();
        loop {
            let chunk = tokio::select! {
                biased;
                () = cancelled.cancelled() => {
                    return Err(HttpProblem::new(StatusCode::CONFLICT, "another request goes on"));
                }
                chunk = stream.next() => chunk,
            };
            let Some(chunk) = chunk else { return Ok(content.len) };
            let chunk = chunk
                .map_err(|error| HttpProblem::bad_request(format!("the body was cut: {error}")))?;
            if content.len + chunk.len() as u64 > self.size {
                return Err(HttpProblem::bad_request("there are more bytes than were announced"));
            }
            let at = content.len;
            block_in_place(|| content.file.write_at(at, &chunk))
                .map_err(|error| HttpProblem::caused(StatusCode::INSUFFICIENT_STORAGE, &error))?;
            content.len += chunk.len() as u64;
            *self.touched.lock() = Instant::now();
        }
    }
}

impl StagedContent {
    /// Keeps the answer of the request that finished the upload, and frees the bytes.
    pub(super) fn free(&mut self, status: StatusCode, answer: serde_json::Value) {
        self.finished = Some((status, answer));
        if let Ok(empty) = SpoolFile::new() {
            self.file = empty;
        }
    }

    /// Goes to the first byte, to read all.
    pub(super) fn rewind(&mut self) -> Result<()> {
        self.file
            .flush()
            .and_then(|()| self.file.rewind())
            .map_err(|error| HttpProblem::caused(StatusCode::INTERNAL_SERVER_ERROR, &error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(store: &UploadStore, grant: &str, size: u64) -> Result<String> {
        store.begin(grant, VPath::parse("/a.bin").unwrap(), size)
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn bytes_arrive_in_parts_and_go_on_where_they_were() {
        let store = UploadStore::default();
        let id = begin(&store, "ana", 6).unwrap();
        let upload = store.find("ana", &id).unwrap();
        assert_eq!(upload.receive(0, Body::from("abc")).await.unwrap(), 3);
        assert!(upload.receive(0, Body::from("abc")).await.is_err(), "sent twice");
        let cut = futures::stream::iter([Ok("d".into()), Err(std::io::Error::other("cut"))]);
        let cut = Body::from_stream(cut.map(|part: std::io::Result<String>| part));
        assert!(upload.receive(3, cut).await.is_err());
        assert_eq!(upload.content.lock().await.len, 4);
        assert!(upload.receive(4, Body::from("efg")).await.is_err(), "more than announced");
        assert_eq!(upload.receive(4, Body::from("ef")).await.unwrap(), 6);
        let mut content = upload.content.lock().await;
        content.rewind().unwrap();
        let mut read = String::new();
        std::io::Read::read_to_string(&mut content.file, &mut read).unwrap();
        assert_eq!(read, "abcdef");
    }

    #[tokio::test]
    async fn uploads_are_bounded_and_belong_to_a_grant() {
        let store = UploadStore::default();
        assert!(begin(&store, "ana", MAX_FILE_LEN + 1).is_err());
        let id = begin(&store, "ana", 1).unwrap();
        assert!(store.find("ben", &id).is_err());
        for _ in 1..MAX_OF_GRANT {
            begin(&store, "ana", 1).unwrap();
        }
        assert!(begin(&store, "ana", 1).is_err());
        assert!(begin(&store, "ben", 1).is_ok());
        store.remove(&id);
        assert!(begin(&store, "ana", 1).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn an_upload_that_waits_too_long_is_removed() {
        let store = UploadStore::default();
        let id = begin(&store, "ana", 1).unwrap();
        let sweeping = tokio::time::timeout(PATIENCE / 2, store.sweep_forever());
        assert!(sweeping.await.is_err());
        assert!(store.find("ana", &id).is_ok(), "it is still waited for");
        let sweeping = tokio::time::timeout(PATIENCE + SWEEP, store.sweep_forever());
        assert!(sweeping.await.is_err());
        assert!(store.find("ana", &id).is_err());
    }
}
