//! Reading files and directories.

use yfs_agent::work_budget::WorkCost;
use yfs_dav::conditions::{entity_tag, unchanged};
use yfs_engine::path::VPath;
use yfs_vfs::{FileSystem, Stat};
use yfs_wire::{ReadQuery, StatJson, UnixMillis};

use super::{Rest, list::list, parse_rest, range::ranged, thumbnail::thumbnail_response};
use crate::prelude::*;

/// Answers `GET /api/files/{path}`.
pub(super) async fn get(
    path: Rest,
    caller: RequestCaller,
    QueryParameters(asked): QueryParameters<ReadQuery>,
    headers: HeaderMap,
) -> Result {
    let path = parse_rest(path)?;
    if let Some(size) = asked.thumbnail {
        let picture = thumbnail(caller.clone(), path, size, headers);
        return caller.within_budget(WorkCost::ANALYSIS, picture).await;
    }
    apart(async {
        let fs = caller.fs();
        let stat = fs.stat(&path).await?;
        if stat.is_directory() {
            let listing = list(&*fs, &path, asked.recursive).await?;
            return Ok(Json(listing).into_response());
        }
        match asked.version {
            Some(number) => past_version(&caller, &path, number, &headers),
            None => content_response(&*fs, &path, stat, &headers).await,
        }
    })
    .await
}

/// Answers `GET /api/files/{path}?thumbnail=`. A directory has none, and is listed.
async fn thumbnail(caller: RequestCaller, path: VPath, size: String, headers: HeaderMap) -> Result {
    let fs = caller.fs();
    let stat = fs.stat(&path).await?;
    if stat.is_directory() {
        return Ok(Json(list(&*fs, &path, false).await?).into_response());
    }
    let directory = caller.confined().thumbnail_directory();
    thumbnail_response(&*fs, &path, &stat, &size, directory, &headers).await
}

/// Answers `GET /api/stat/{path}`.
pub(super) async fn stat(path: Rest, caller: RequestCaller) -> Result {
    let path = parse_rest(path)?;
    let stat = apart(async { caller.fs().lstat(&path).await }).await?;
    Ok(Json(StatJson::<UnixMillis, u32>::new(path.as_str(), &stat)).into_response())
}

/// Answers with the content of a file.
pub(crate) async fn content_response(
    fs: &dyn FileSystem,
    path: &VPath,
    stat: Stat,
    headers: &HeaderMap,
) -> Result {
    if let Some(version) = &stat.version
        && unchanged(headers, &entity_tag(&stat.id, version))
    {
        let tag = [(header::ETAG, entity_tag(&stat.id, version))];
        return Ok((StatusCode::NOT_MODIFIED, tag).into_response());
    }
    let content = fs.read(path).await?;
    let (tag, data) = (entity_tag(&stat.id, &content.version), content.data);
    let part =
        |range: std::ops::Range<u64>| Ok(data.slice(range.start as usize..range.end as usize));
    let mut response = ranged(headers, &tag, data.len() as u64, part)?;
    set_content_headers(&mut response, stat.mime.as_deref());
    if let Ok(time) = jiff::Timestamp::from_millisecond(stat.mtime.0) {
        let shown = time.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        response.headers_mut().extend(shown.parse().map(|time| (header::LAST_MODIFIED, time)));
    }
    Ok(response)
}

fn past_version(caller: &RequestCaller, path: &VPath, number: u64, headers: &HeaderMap) -> Result {
    let data = caller.confined().version_content(path, number)?;
    let tag = format!("\"version-{number}\"");
    let part =
        |range: std::ops::Range<u64>| Ok(data.slice(range.start as usize..range.end as usize));
    let mut response = ranged(headers, &tag, data.len() as u64, part)?;
    // Updates that arrive late may renumber versions.
    response.headers_mut().remove(header::ETAG);
    set_content_headers(&mut response, None);
    Ok(response)
}

/// Sets the headers of a content. A browser must never run the content as a page of this server.
pub(super) fn set_content_headers(response: &mut Response, mime: Option<&str>) {
    let headers = response.headers_mut();
    let text = mime.filter(|mime| mime.starts_with("text/"));
    let shown = text.map(|mime| format!("{mime}; charset=utf-8"));
    let shown = shown.as_deref().or(mime).and_then(|mime| HeaderValue::from_str(mime).ok());
    // Replaces the type that the body got by default: `extend` would add a second header.
    if let Some(mime) = shown {
        headers.insert(header::CONTENT_TYPE, mime);
    }
    let sandbox = HeaderValue::from_static("sandbox; default-src 'none'");
    headers.insert(header::CONTENT_SECURITY_POLICY, sandbox);
    let as_said = HeaderValue::from_static("nosniff");
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, as_said);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_has_one_type() {
        for (mime, expected) in [
            (Some("text/markdown"), "text/markdown; charset=utf-8"),
            (Some("image/png"), "image/png"),
            (None, "application/octet-stream"),
        ] {
            // As axum answers bytes.
            let mut response = axum::body::Bytes::from_static(b"x").into_response();
            set_content_headers(&mut response, mime);
            let types: Vec<_> = response.headers().get_all(header::CONTENT_TYPE).iter().collect();
            assert_eq!(types, [expected]);
        }
    }
}
