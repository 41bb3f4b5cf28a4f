//! Writing files, and removing.

use axum::{
    Json,
    extract::Query,
    http::{HeaderMap, StatusCode, header},
    response::IntoResponse,
};
use serde::Deserialize;
use serde_json::{Value, json};
use yfs_engine::{path::VPath, time::Millis};
use yfs_vfs::{RemoveOptions, TextReplacement, VersionBase, WriteOptions, WriteOutcome};

use super::{
    Rest,
    conditions::{RequestConditions, etag},
    rest,
};
use crate::{
    body::FileBody,
    caller::{RequestCaller, apart},
    problem::{HttpProblem, Result},
};

/// What can be asked of a write.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WriteQuery {
    /// What happens if somebody wrote since the version of `If-Match`.
    conflict: ConflictPolicy,
    /// Permission bits, in octal.
    mode: Option<String>,
    /// When the content last changed, in milliseconds since the Unix epoch.
    mtime: Option<i64>,
}

/// What happens if somebody wrote meanwhile.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ConflictPolicy {
    /// The write is refused with 412.
    #[default]
    Refuse,
    /// Both changes are in the file.
    Merge,
}

/// The body of an edit.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EditBody {
    old: String,
    new: String,
    #[serde(default)]
    all: bool,
}

/// What can be asked of a removal.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RemoveQuery {
    recursive: bool,
}

/// Answers `PUT /api/files/{path}`.
pub(super) async fn put(
    path: Rest,
    caller: RequestCaller,
    Query(asked): Query<WriteQuery>,
    headers: HeaderMap,
    body: FileBody,
) -> Result {
    let (path, conditions) = (rest(path)?, RequestConditions::of(&headers)?);
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
        let written = fs.write(&path, body.data.clone(), &options).await?;
        Ok(tell(&path, &written))
    })
    .await
}

/// Answers `POST /api/files/{path}`: the body is added to the end.
pub(super) async fn append(
    path: Rest,
    caller: RequestCaller,
    Query(asked): Query<WriteQuery>,
    body: FileBody,
) -> Result {
    let path = rest(path)?;
    apart(async {
        let written = caller.fs().append(&path, body.data.clone(), &options(&asked)?).await?;
        Ok(tell(&path, &written))
    })
    .await
}

/// Answers `PATCH /api/files/{path}`: a text is replaced by another.
pub(super) async fn edit(
    path: Rest,
    caller: RequestCaller,
    headers: HeaderMap,
    Json(body): Json<EditBody>,
) -> Result {
    let (path, conditions) = (rest(path)?, RequestConditions::of(&headers)?);
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
        let answer = json!({
            "path": path.to_string(),
            "replaced": edited.n_replaced,
            "merged": edited.version.is_none(),
            "version": edited.version.as_ref().map(ToString::to_string),
        });
        let tag = edited.version.map(|version| [(header::ETAG, etag(&id, &version))]);
        Ok((tag, Json(answer)).into_response())
    })
    .await
}

/// Answers `DELETE /api/files/{path}`: it is moved to the trash.
pub(super) async fn delete(
    path: Rest,
    caller: RequestCaller,
    Query(asked): Query<RemoveQuery>,
    headers: HeaderMap,
) -> Result {
    if headers.contains_key(header::IF_MATCH) {
        return Err(HttpProblem::bad_request(
            "DELETE takes no If-Match: what is removed can be restored",
        ));
    }
    let path = rest(path)?;
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

fn tell(path: &VPath, written: &WriteOutcome) -> axum::response::Response {
    let overlaps = written.overlaps.iter().map(|overlap| {
        let actor = overlap.actor.as_ref().map(ToString::to_string);
        json!({ "offset": overlap.offset, "len": overlap.len, "actor": actor })
    });
    let answer = json!({
        "path": path.to_string(),
        "id": written.id.to_string(),
        "version": written.version.as_ref().map(ToString::to_string),
        "merged": written.version.is_none(),
        "size": written.size,
        "created": written.created,
        "overlaps": overlaps.collect::<Vec<Value>>(),
    });
    let status = if written.created { StatusCode::CREATED } else { StatusCode::OK };
    // RFC 9110, section 9.3.4: no validator unless the body was stored unchanged.
    let tag = written.version.as_ref().map(|it| [(header::ETAG, etag(&written.id, it))]);
    (status, tag, Json(answer)).into_response()
}
