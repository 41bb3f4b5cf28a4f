//! Small pictures of images.

use std::path::PathBuf;

use yfs_dav::conditions::{entity_tag, unchanged};
use yfs_engine::path::VPath;
use yfs_threads::{ThumbnailBox, ThumbnailError, cached_thumbnail};
use yfs_vfs::{FileSystem, Stat};

use super::read::set_content_headers;
use crate::prelude::*;

/// The greatest size of an image, in bytes.
const MAX_IMAGE_LEN: u64 = 64 << 20;

/// Answers with a picture of an image that fits `size`, such as `200x100`. The call blocks.
pub(crate) async fn thumbnail_response(
    fs: &dyn FileSystem,
    path: &VPath,
    stat: &Stat,
    size: &str,
    directory: Option<PathBuf>,
    headers: &HeaderMap,
) -> Result {
    let malformed = || HttpProblem::bad_request("a thumbnail has a size such as 200x100");
    let size = ThumbnailBox::parse(size).ok_or_else(malformed)?;
    let tag = stat.version.as_ref().map(|version| {
        let tag = entity_tag(&stat.id, version);
        let shown = format!("{}x{}", size.max_width, size.max_height);
        format!("\"{}:{shown}\"", tag.trim_matches('"'))
    });
    if let Some(tag) = tag.clone().filter(|tag| unchanged(headers, tag)) {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response());
    }
    if stat.size > MAX_IMAGE_LEN {
        let reason = format!("an image has at most {} MiB", MAX_IMAGE_LEN >> 20);
        return Err(HttpProblem::new(StatusCode::PAYLOAD_TOO_LARGE, reason));
    }
    let content = fs.read(path).await?;
    let made = cached_thumbnail(directory, content.data, size)?;
    let tag = tag.map(|tag| [(header::ETAG, tag)]);
    let mut response = (tag, made.data).into_response();
    set_content_headers(&mut response, Some(made.mime_type));
    Ok(response)
}

impl From<ThumbnailError> for HttpProblem {
    fn from(error: ThumbnailError) -> Self {
        let status = match error {
            ThumbnailError::NotAnImage => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            ThumbnailError::NotBuilt => StatusCode::NOT_IMPLEMENTED,
            ThumbnailError::Timeout(_) => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::UNPROCESSABLE_ENTITY,
        };
        Self::caused(status, &error)
    }
}
