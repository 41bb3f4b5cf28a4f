//! GET and HEAD.

use std::{ops::Range, sync::Arc};

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{HeaderValue, StatusCode, header};
use yfs_types::path::VPath;
use yfs_vfs::{FileSystem, FsCode, FsError, Op, Stat, StreamOptions, VersionToken};

use crate::{
    answer::{DavBody, DavError, DavResponse, empty_response, text_response},
    client_memory::KnownFile,
    conditions::{entity_tag, unchanged},
    ranges::RequestedRange,
    service::DavCall,
    side_files::is_side_file,
    time_format::http_date,
};

/// The size from which a file is read in pieces, and the size of a piece, in bytes.
const STREAMED_LEN: u64 = 4 << 20;
const PIECE_LEN: u64 = 256 << 10;

impl DavCall<'_> {
    /// Answers GET and HEAD. What a GET returns is the base of the client's next PUT.
    pub(crate) async fn get(&self, is_head: bool) -> Result<DavResponse, DavError> {
        let path = &self.request.path;
        if let Some(file) = self.side_file(path).await? {
            let mut response = text_response(StatusCode::OK, String::new());
            set_content_headers(&mut response, None, file.content.len() as u64);
            if !is_head {
                *response.body_mut() = DavBody::Bytes(file.content);
            }
            return Ok(response);
        }
        self.write_holds(path).await?;
        let stat = self.caller.fs.stat(path).await?;
        let Some(version) = stat.version.clone().filter(|_| stat.is_file()) else {
            let text = "This is a collection of WebDAV: open it in a file manager.";
            return Ok(text_response(StatusCode::OK, text.to_owned()));
        };
        let tag = entity_tag(&stat.id, &version);
        let has_unread = self.service.memory.lock().has_unread(&self.caller.client, &stat.id);
        if unchanged(self.request.headers, &tag) && !has_unread {
            self.remember_read(&stat, version);
            let mut response = empty_response(StatusCode::NOT_MODIFIED);
            set_tag(&mut response, &tag);
            return Ok(response);
        }
        if stat.size >= STREAMED_LEN || is_head {
            let mut response = self.streamed(&stat, version, is_head).await?;
            if is_head && has_unread {
                response.headers_mut().remove(header::ETAG);
            }
            return Ok(response);
        }
        let content = self.caller.fs.read(path).await?;
        let tag = entity_tag(&stat.id, &content.version);
        let size = content.data.len() as u64;
        let (range, mut response) = match self.head_of_range(&stat, &tag, size) {
            Ok(found) => found,
            Err(refused) => return Ok(*refused),
        };
        if range == (0..size) {
            self.remember_read(&stat, content.version);
        }
        let data = content.data.slice(range.start as usize..range.end as usize);
        *response.body_mut() = DavBody::Bytes(data);
        Ok(response)
    }

    /// Answers with a content that is read while it is sent.
    async fn streamed(
        &self,
        stat: &Stat,
        version: VersionToken,
        is_head: bool,
    ) -> Result<DavResponse, DavError> {
        let (path, fs) = (self.request.path.clone(), self.caller.fs.clone());
        let tag = entity_tag(&stat.id, &version);
        let (range, mut response) = match self.head_of_range(stat, &tag, stat.size) {
            Ok(found) => found,
            Err(refused) => return Ok(*refused),
        };
        if is_head {
            return Ok(response);
        }
        let body = if range == (0..stat.size) {
            let pieces = fs.read_stream(&path, &StreamOptions::default()).await?;
            // The version is that of what is read or an earlier one, so no change is overwritten.
            self.remember_read(stat, version);
            pieces.map(|piece| piece.map(|piece| piece.data)).boxed()
        } else {
            pieces_of(fs, path, version, range).boxed()
        };
        *response.body_mut() = DavBody::Stream(body);
        Ok(response)
    }

    /// Returns the range that is asked for and the answer without its body, or the refusal.
    fn head_of_range(
        &self,
        stat: &Stat,
        tag: &str,
        size: u64,
    ) -> Result<(Range<u64>, DavResponse), Box<DavResponse>> {
        let (range, status, shown) = match RequestedRange::of(self.request.headers, tag, size) {
            RequestedRange::Whole => (0..size, StatusCode::OK, None),
            RequestedRange::Range(range) => {
                let shown = format!("bytes {}-{}/{size}", range.start, range.end - 1);
                (range, StatusCode::PARTIAL_CONTENT, Some(shown))
            }
            RequestedRange::None => {
                let mut response = empty_response(StatusCode::RANGE_NOT_SATISFIABLE);
                set(&mut response, header::CONTENT_RANGE, &format!("bytes */{size}"));
                return Err(Box::new(response));
            }
        };
        let mut response = empty_response(status);
        set_tag(&mut response, tag);
        set(&mut response, header::LAST_MODIFIED, &http_date(stat.mtime));
        set_content_headers(&mut response, stat.mime.as_deref(), range.end - range.start);
        if let Some(shown) = shown {
            set(&mut response, header::CONTENT_RANGE, &shown);
        }
        Ok((range, response))
    }

    fn remember_read(&self, stat: &Stat, version: VersionToken) {
        let (client, mut memory) = (&self.caller.client, self.service.memory.lock());
        let held = memory.get(client, &stat.id).and_then(|known| known.held);
        memory.remember(client, &stat.id, KnownFile { held, ..KnownFile::of(version) });
    }

    /// Returns a file that is held in memory for the caller. A file of that name in the workspace
    /// comes first.
    pub(crate) async fn side_file(
        &self,
        path: &VPath,
    ) -> Result<Option<crate::side_files::SideFile>, DavError> {
        if !is_side_file(path) {
            return Ok(None);
        }
        let file = self.service.sides.lock().get(&self.caller.client.credential, path);
        Ok(if file.is_some() && self.find(path).await?.is_some() { None } else { file })
    }
}

/// Returns a range of one version of a file in pieces.
fn pieces_of(
    fs: Arc<dyn FileSystem>,
    path: VPath,
    version: VersionToken,
    range: Range<u64>,
) -> impl futures::Stream<Item = Result<Bytes, FsError>> + Send {
    stream::unfold((range.start, false), move |(start, is_over)| {
        let (fs, path, version, end) = (fs.clone(), path.clone(), version.clone(), range.end);
        async move {
            if is_over || start >= end {
                return None;
            }
            let len = PIECE_LEN.min(end - start);
            let piece = async {
                let piece = fs.read_range(&path, start, len).await?;
                let now = fs.stat(&path).await?.version;
                if now.as_ref() != Some(&version) || piece.len() as u64 != len {
                    return Err(FsError::new(FsCode::ESTALE, Op::Read, &path));
                }
                Ok(piece)
            };
            let piece = piece.await;
            let is_over = piece.is_err();
            Some((piece, (start + len, is_over)))
        }
    })
}

/// Sets the headers of a content. A browser must never run the content as a page of this server.
fn set_content_headers(response: &mut DavResponse, mime: Option<&str>, len: u64) {
    let text = mime.filter(|mime| mime.starts_with("text/"));
    let shown = text.map(|mime| format!("{mime}; charset=utf-8"));
    let shown = shown.as_deref().or(mime).unwrap_or("application/octet-stream");
    set(response, header::CONTENT_TYPE, shown);
    set(response, header::CONTENT_LENGTH, &len.to_string());
    set(response, header::ACCEPT_RANGES, "bytes");
    set(response, header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'");
    set(response, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
}

/// Sets the entity tag of an answer.
pub(super) fn set_tag(response: &mut DavResponse, tag: &str) {
    set(response, header::ETAG, tag);
}

fn set(response: &mut DavResponse, name: header::HeaderName, value: &str) {
    // A media type that cannot be a header is left out.
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}
