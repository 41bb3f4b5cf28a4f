//! Writing and removing files.

use yfs_dav::conditions::{RequestConditions, entity_tag};
use yfs_engine::{path::VPath, time::Millis};
use yfs_vfs::{Op, RemoveOptions, TextReplacement, VersionBase, WriteOptions, WriteOutcome};
use yfs_wire::{
    ConflictPolicy, EditOutcomeJson, EditRequest, RemoveQuery, WriteOutcomeJson, WriteQuery,
};

use super::{Rest, parse_rest};
use crate::{body::FileBody, prelude::*};

/// Answers `PUT /api/files/{path}`.
pub(super) async fn put(
    path: Rest,
    caller: RequestCaller,
    QueryParameters(asked): QueryParameters<WriteQuery>,
    headers: HeaderMap,
    body: FileBody,
) -> Result {
    let (path, conditions) = (parse_rest(path)?, RequestConditions::of(&headers)?);
    apart(async {
        let fs = caller.fs();
        let mut options = options(&asked)?;
        options.create = conditions.create;
        if let Some(known) = conditions.known {
            known.check_file(&fs.stat(&path).await?.id, path.as_str())?;
            match asked.conflict {
                ConflictPolicy::Refuse => options.expected_version = Some(known.version),
                ConflictPolicy::Merge => options.base = Some(VersionBase::Version(known.version)),
            }
        }
        let written = match body {
            FileBody::InMemory(body) => fs.write(&path, body.data.clone(), &options).await?,
            FileBody::Spooled(mut body) => {
                caller.writer(Op::Write, &path)?.write_from(&path, &mut body.file, &options)?
            }
        };
        Ok(write_response(&path, &written))
    })
    .await
}

/// Answers `POST /api/files/{path}`: appends the body.
pub(super) async fn append(
    path: Rest,
    caller: RequestCaller,
    QueryParameters(asked): QueryParameters<WriteQuery>,
    body: FileBody,
) -> Result {
    let path = parse_rest(path)?;
    apart(async {
        let options = options(&asked)?;
        let written = match body {
            FileBody::InMemory(body) => {
                caller.fs().append(&path, body.data.clone(), &options).await?
            }
            FileBody::Spooled(mut body) => {
                caller.writer(Op::Append, &path)?.append_from(&path, &mut body.file, &options)?
            }
        };
        Ok(write_response(&path, &written))
    })
    .await
}

/// Answers `PATCH /api/files/{path}`: replaces a piece of the text by another.
pub(super) async fn edit(
    path: Rest,
    caller: RequestCaller,
    headers: HeaderMap,
    JsonBody(body): JsonBody<EditRequest>,
) -> Result {
    let (path, conditions) = (parse_rest(path)?, RequestConditions::of(&headers)?);
    apart(async {
        let fs = caller.fs();
        let mut edit =
            TextReplacement { all: body.all, ..TextReplacement::once(body.old, body.new) };
        let id = fs.stat(&path).await?.id;
        if let Some(known) = conditions.known {
            known.check_file(&id, path.as_str())?;
            edit.expected_version = Some(known.version);
        }
        let edited = fs.edit(&path, &edit).await?;
        let answer = EditOutcomeJson::from(&edited).at(path.as_str());
        let tag = edited.version.map(|version| [(header::ETAG, entity_tag(&id, &version))]);
        Ok((tag, Json(answer)).into_response())
    })
    .await
}

/// Answers `DELETE /api/files/{path}`: moves the file to the trash.
pub(super) async fn delete(
    path: Rest,
    caller: RequestCaller,
    QueryParameters(asked): QueryParameters<RemoveQuery>,
    headers: HeaderMap,
) -> Result {
    if headers.contains_key(header::IF_MATCH) {
        return Err(HttpProblem::bad_request(
            "DELETE takes no If-Match: what is removed can be restored",
        ));
    }
    let path = parse_rest(path)?;
    let options = RemoveOptions { recursive: asked.recursive, force: false };
    apart(async { caller.fs().rm(&path, &options).await }).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

fn options(asked: &WriteQuery) -> Result<WriteOptions> {
    let mode = asked.mode.as_deref().map(|text| {
        let mode = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o7777);
        mode.ok_or_else(|| HttpProblem::bad_request(format!("not a mode in octal: {text:?}")))
    });
    let mtime = asked.mtime.map(Millis);
    Ok(WriteOptions { mode: mode.transpose()?, mtime, ..WriteOptions::default() })
}

fn write_response(path: &VPath, written: &WriteOutcome) -> Response {
    let answer = WriteOutcomeJson::from(written).at(path.as_str());
    let status = if written.created { StatusCode::CREATED } else { StatusCode::OK };
    // RFC 9110, section 9.3.4: no validator unless the body was stored unchanged.
    let tag =
        written.version.as_ref().map(|version| [(header::ETAG, entity_tag(&written.id, version))]);
    (status, tag, Json(answer)).into_response()
}
