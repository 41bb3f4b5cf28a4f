//! The search of a large file, which is not held in memory as a whole.
//!
//! The file is read as a stream of chunks. A thread of the search takes the chunks from a channel,
//! which holds two of them, and searches them in windows that end with a line. It ends when the
//! channel is closed: after the last chunk, or when the future of the search is dropped.
//!
//! A match never reaches across a newline, and a pattern with an anchor of the whole text is
//! matched line by line. So the windows have the same matches as the whole file.

use std::{
    io::{self, Read},
    sync::Arc,
    thread,
};

use bytes::{Buf, Bytes, BytesMut};
use futures::{StreamExt, future};
use tokio::sync::{mpsc, oneshot};
use yfs_types::{id::FileId, path::VPath, utf16::Utf16Order};

use super::{
    BatchResult, FileMatches, GrepLine, GrepSink, SearchStop,
    searcher::{GrepSearcher, WhenFull},
};
use crate::{
    error::FsError, file_system::FileSystem, glob::SearchLimit, options::StreamOptions,
    walk::vanished,
};

/// The greatest length of a line of a large file, in bytes, together with the lines of context
/// before a match. A file with more counts as one that cannot be read.
pub(crate) const MAX_LINE_BYTES: usize = 256 << 20;

/// The length of the chunks that are read, in bytes.
const CHUNK_LEN: usize = if cfg!(test) { 7 } else { 1 << 20 };

/// The bytes from which the encoding is detected.
const HEAD_LEN: usize = if cfg!(test) { 16 } else { Utf16Order::HEAD_LEN };

/// The number of chunks that wait for the thread.
const N_CHUNKS: usize = 2;

/// The result of searching a large file.
#[derive(Debug)]
pub(super) enum LargeOutcome {
    /// The file is not text.
    Binary,
    /// The matches, if there are any.
    Text(Option<FileMatches>),
    /// The file has more lines to return than are held in memory.
    LongOutput,
    /// The file could not be read.
    Unreadable,
    /// The file was removed meanwhile.
    Vanished,
    /// The search was stopped.
    Cut(SearchLimit),
    /// The sink ended the search.
    Ended,
}

/// A search of one large file.
pub(super) struct LargeFileSearch<'a, F: ?Sized> {
    pub(super) fs: &'a F,
    pub(super) searcher: &'a Arc<GrepSearcher>,
    pub(super) stop: &'a SearchStop,
}

impl<F: FileSystem + ?Sized> LargeFileSearch<'_, F> {
    /// Searches the file, and returns its lines unless their size exceeds `max_held`, in bytes.
    pub(super) async fn collect(&self, path: &VPath, id: &FileId, max_held: usize) -> LargeOutcome {
        self.run(path, id, WhenFull::Stop { max_held }).await
    }

    /// Searches the file, and passes its lines to a sink.
    pub(super) async fn pass_on(
        &self,
        path: &VPath,
        id: &FileId,
        sink: &mut dyn GrepSink,
    ) -> LargeOutcome {
        let part = |lines: Vec<GrepLine>, cut| {
            let n_matches = lines.iter().filter(|line| line.is_match).count();
            FileMatches { path: path.clone(), id: id.clone(), lines, n_matches, cut }
        };
        let (parts, mut received) = mpsc::channel(1);
        let pass = async {
            while let Some(lines) = received.recv().await {
                if sink.add(part(lines, false), false).is_break() {
                    received.close();
                    return true;
                }
            }
            false
        };
        let search = self.run(path, id, WhenFull::Send(parts));
        let (mut outcome, is_ended) = future::join(search, pass).await;
        if is_ended {
            return LargeOutcome::Ended;
        }
        if let LargeOutcome::Text(Some(found)) = &mut outcome {
            let rest = part(std::mem::take(&mut found.lines), found.cut);
            if sink.add(rest, true).is_break() {
                return LargeOutcome::Ended;
            }
        }
        outcome
    }

    async fn run(&self, path: &VPath, id: &FileId, when_full: WhenFull) -> LargeOutcome {
        let options = StreamOptions { chunk_len: CHUNK_LEN, cancel: self.stop.cancel.clone() };
        let mut chunks = match self.fs.read_stream(path, &options).await {
            Ok(chunks) => chunks,
            Err(error) => return self.failed(&error),
        };
        let (data, received) = mpsc::channel(N_CHUNKS);
        let (answer, outcome) = oneshot::channel();
        let (searcher, path, id) = (Arc::clone(self.searcher), path.clone(), id.clone());
        let search = move || {
            let mut reader = ChunkReader::new(received, !searcher.searches_binary());
            // Without a receiver, the search was given up.
            answer.send(searcher.search_reader(&path, &id, &mut reader, when_full)).ok();
        };
        if thread::Builder::new().name("yfs-search".to_owned()).spawn(search).is_err() {
            return LargeOutcome::Unreadable;
        }
        loop {
            if let Some(cut) = self.stop.why() {
                return LargeOutcome::Cut(cut);
            }
            match chunks.next().await {
                Some(Ok(chunk)) => {
                    if data.send(chunk.data).await.is_err() {
                        break;
                    }
                }
                Some(Err(error)) => return self.failed(&error),
                None => break,
            }
        }
        drop(data);
        outcome.await.unwrap_or(LargeOutcome::Unreadable)
    }

    fn failed(&self, error: &FsError) -> LargeOutcome {
        match self.stop.why() {
            Some(cut) => LargeOutcome::Cut(cut),
            None if vanished(error) => LargeOutcome::Vanished,
            None => LargeOutcome::Unreadable,
        }
    }
}

impl LargeOutcome {
    /// Returns the outcome as that of a batch.
    pub(super) fn into_batch(self, path: &VPath, id: &FileId) -> BatchResult {
        let mut batch = BatchResult::default();
        match self {
            Self::Binary => batch.binary.push(path.clone()),
            Self::Text(found) => {
                batch.n_searched = 1;
                batch.files.extend(found);
            }
            Self::LongOutput => batch.long_output = Some((path.clone(), id.clone())),
            Self::Unreadable => batch.n_unreadable = 1,
            Self::Cut(cut) => batch.cut = Some(cut),
            Self::Vanished | Self::Ended => (),
        }
        batch
    }
}

/// A reader of the chunks of a file, which ends early at a NUL if it is to find one.
pub(super) struct ChunkReader {
    chunks: mpsc::Receiver<Bytes>,
    current: Bytes,
    finds_nul: bool,
    has_nul: bool,
}

impl ChunkReader {
    pub(super) fn new(chunks: mpsc::Receiver<Bytes>, finds_nul: bool) -> Self {
        Self { chunks, current: Bytes::new(), finds_nul, has_nul: false }
    }

    /// Receives the next chunk. Reports whether there is one.
    fn receive(&mut self) -> bool {
        let Some(chunk) = self.chunks.blocking_recv() else { return false };
        self.has_nul |= self.finds_nul && chunk.contains(&0);
        self.current = if self.has_nul { Bytes::new() } else { chunk };
        !self.has_nul
    }

    /// Reads the beginning, and returns the order of bytes if the file is text in UTF-16. Then a
    /// NUL is half a character.
    pub(super) fn detect_utf16(&mut self) -> Option<Utf16Order> {
        let mut head = BytesMut::new();
        while head.len() < HEAD_LEN {
            let Some(chunk) = self.chunks.blocking_recv() else { break };
            head.extend_from_slice(&chunk);
        }
        let order = Utf16Order::detect(&head[..head.len().min(HEAD_LEN)]);
        self.finds_nul &= order.is_none();
        self.has_nul = self.finds_nul && head.contains(&0);
        self.current = if self.has_nul { Bytes::new() } else { head.freeze() };
        order
    }

    /// Reads what is left of the file if a NUL may be in it, and reports whether the file has one.
    pub(super) fn ends_with_nul(&mut self) -> bool {
        while self.finds_nul && !self.has_nul && self.receive() {}
        self.has_nul
    }
}

impl Read for ChunkReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() {
            if self.has_nul || !self.receive() {
                return Ok(0);
            }
        }
        let len = self.current.len().min(buffer.len());
        self.current.copy_to_slice(&mut buffer[..len]);
        Ok(len)
    }
}
