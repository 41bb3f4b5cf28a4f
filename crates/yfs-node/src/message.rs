//! What crosses to JavaScript as JSON: `ts/types.ts` says the same as types. Numbers are never BigInt.

use std::{fmt::Display, time::Duration};

use serde_json::{Map, Value, json};
use smol_str::SmolStr;
use yfs::{
    ExportReport, ImportOptions, ImportReport, SkippedPath, TrashEntry, WorkspaceOptions,
    workspace::{
        anchors::ResolvedFileAnchor,
        blame::{BlameLine, BlameShare},
        conflicts::ConflictReport,
        document::{DocumentInfo, ProfileReport},
        redact::{RedactionInfo, RedactionReport},
        stats::WorkspaceStats,
        trash::ExpireReport,
        versions::VersionInfo,
    },
};
use yfs_engine::{
    actor::Actor,
    kind::{ContentRoot, FileCategory, profile_name, profile_named},
};
use yfs_store::QuarantinedUpdate;
use yfs_vfs::{
    ChangeKind, ChangePage, EditOutcome, FileChange, FileKind, FileMatches, GlobQuery, GlobResult,
    GrepQuery, GrepResult, LinePage, SearchLimit, Stat, TreeTotals, VersionToken, WalkEntry,
    WriteOutcome,
};

use crate::{error, pages::NativePages, workspace_slot::path};

/// The greatest number of bytes of a matching line that are shown.
const MAX_SHOWN: usize = 2_000;

/// Writes names as one text: of each the letter of its kind and the name, with NULs between.
pub(crate) fn listing(entries: &[(FileKind, impl Display)]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(16 * entries.len());
    for (kind, name) in entries {
        if !text.is_empty() {
            text.push('\0');
        }
        text.push(match kind {
            FileKind::Directory => 'd',
            FileKind::Symlink => 'l',
            _ => 'f',
        });
        write!(text, "{name}").expect("a string takes all");
    }
    text
}

/// Reads how a workspace is opened.
pub(crate) fn options(text: &str) -> napi::Result<WorkspaceOptions> {
    let given = object(text)?;
    let mut options = WorkspaceOptions::default();
    if let Some(name) = string(&given, "actor") {
        options.actor = actor(name)?;
    }
    if let Some(name) = string(&given, "profile") {
        options.profile = profile(name)?;
    }
    options.read_only = flag(&given, "readOnly");
    options.follow = !options.read_only && !given.get("follow").is_some_and(|it| it == false);
    if let Some(budget) = number(&given, "docBudget") {
        options.doc_budget = budget;
    }
    if let Some(budget) = number(&given, "textBudget") {
        options.text_budget = budget;
    }
    Ok(options)
}

/// Reads who acts.
pub(crate) fn actor(name: &str) -> napi::Result<Actor> {
    name.parse().map_err(|_| error::invalid("an actor such as human:ada or agent:reviewer", name))
}

/// Reads a schema profile.
pub(crate) fn profile(name: &str) -> napi::Result<yfs_engine::kind::SchemaProfile> {
    profile_named(name).ok_or_else(|| error::invalid("a profile (commonmark, gfm)", name))
}

/// Reads how a directory is brought in.
pub(crate) fn import_options(text: &str) -> napi::Result<ImportOptions> {
    let given = object(text)?;
    let default = ImportOptions::default();
    let unless_false = |name| !given.get(name).is_some_and(|it| it == false);
    Ok(ImportOptions {
        gitignore: unless_false("gitignore"),
        hidden: unless_false("hidden"),
        max_file_len: number(&given, "maxFileSize").unwrap_or(default.max_file_len),
        ..default
    })
}

/// Reads which paths to find.
pub(crate) fn glob_query(text: &str) -> napi::Result<GlobQuery> {
    let given = object(text)?;
    let mut query = GlobQuery::new(string(&given, "pattern").unwrap_or_default());
    if let Some(root) = string(&given, "root") {
        query.root = path(yfs_vfs::Op::Glob, root)?;
    }
    query.hidden = flag(&given, "hidden");
    query.ignore_case = flag(&given, "ignoreCase");
    query.directories = flag(&given, "directories");
    query.limit = count(&given, "limit").unwrap_or(usize::MAX);
    Ok(query)
}

/// Reads which lines to find.
pub(crate) fn grep_query(text: &str) -> napi::Result<GrepQuery> {
    let given = object(text)?;
    let mut query = GrepQuery::new(string(&given, "pattern").unwrap_or_default());
    if let Some(root) = string(&given, "root") {
        query.root = path(yfs_vfs::Op::Grep, root)?;
    }
    query.literal = flag(&given, "literal");
    query.ignore_case = flag(&given, "ignoreCase");
    query.whole_word = flag(&given, "wholeWord");
    query.hidden = flag(&given, "hidden");
    (query.include, query.exclude) = (strings(&given, "include"), strings(&given, "exclude"));
    query.before = count(&given, "before").unwrap_or_default();
    query.after = count(&given, "after").unwrap_or_default();
    query.max_per_file = count(&given, "maxPerFile").unwrap_or(usize::MAX);
    query.max_total = count(&given, "maxTotal").unwrap_or(usize::MAX);
    query.max_line_len = count(&given, "maxLineLength").unwrap_or(MAX_SHOWN);
    query.timeout = number(&given, "timeoutMs").map(Duration::from_millis);
    Ok(query)
}

pub(crate) fn stat(stat: &Stat) -> Value {
    json!({
        "id": stat.id.as_str(),
        "kind": kind(stat.kind),
        "size": stat.size,
        "mtimeMs": stat.mtime.0,
        "birthtimeMs": stat.created.0,
        "mode": stat.mode,
        "mime": stat.mime.as_deref(),
        "version": stat.version.as_ref().map(VersionToken::as_str),
        "metadata": stat.metadata,
    })
}

pub(crate) fn walk(entries: &[WalkEntry]) -> NativePages {
    NativePages::new(entries.iter().map(walk_entry), &Value::Null)
}

fn walk_entry(found: &WalkEntry) -> Value {
    let entry = &found.entry;
    json!({
        "path": found.path.as_str(),
        "id": entry.id.as_str(),
        "kind": kind(entry.kind),
        "size": entry.size,
        "mtimeMs": entry.mtime.0,
        "mode": entry.mode,
    })
}

pub(crate) fn totals(totals: TreeTotals) -> Value {
    json!({ "files": totals.n_files, "directories": totals.n_directories, "bytes": totals.n_bytes })
}

pub(crate) fn found(result: &GlobResult) -> NativePages {
    let rest = json!({ "cut": result.cut.map(cut) });
    NativePages::new(result.entries.iter().map(walk_entry), &rest)
}

pub(crate) fn matches(result: &GrepResult) -> NativePages {
    let rest = json!({
        "matches": result.n_matches,
        "searched": result.n_searched,
        "binary": result.n_binary,
        "tooLarge": result.n_too_large,
        "cut": result.cut.map(cut),
    });
    NativePages::new(result.files.iter().map(file_matches), &rest)
}

fn file_matches(file: &FileMatches) -> Value {
    let lines = file.lines.iter().map(|line| {
        let matches: Value = line.matches.iter().map(|it| json!([it.start, it.end])).collect();
        json!({
            "number": line.number,
            "text": line.text,
            "isMatch": line.is_match,
            "matches": matches,
            "cut": line.cut,
        })
    });
    let lines: Value = lines.collect();
    json!({ "path": file.path.as_str(), "id": file.id.as_str(), "lines": lines, "cut": file.cut })
}

pub(crate) fn written(written: &WriteOutcome) -> Value {
    let overlaps = written.overlaps.iter().map(|overlap| {
        let actor = overlap.actor.as_ref().map(Actor::to_string);
        json!({ "offset": overlap.offset, "length": overlap.len, "actor": actor })
    });
    let mut told = json!({
        "id": written.id.as_str(),
        "merged": written.merged,
        "size": written.size,
        "created": written.created,
        "overlaps": overlaps.collect::<Value>(),
    });
    put_version(&mut told, written.version.as_ref());
    told
}

pub(crate) fn edited(edited: &EditOutcome) -> Value {
    let mut told = json!({ "replaced": edited.n_replaced });
    put_version(&mut told, edited.version.as_ref());
    told
}

/// Adds the version where the caller knows the content; otherwise there is no such member.
fn put_version(told: &mut Value, version: Option<&VersionToken>) {
    if let Some(version) = version {
        told["version"] = version.as_str().into();
    }
}

pub(crate) fn changes(changes: &ChangePage) -> Value {
    let events: Value = changes.events.iter().map(change).collect();
    json!({ "events": events, "next": changes.next.as_str(), "more": changes.more })
}

fn change(change: &FileChange) -> Value {
    let (what, from) = match &change.kind {
        ChangeKind::Created => ("created", None),
        ChangeKind::Moved { from } => ("moved", Some(from.as_str())),
        ChangeKind::Removed => ("removed", None),
        _ => ("changed", None),
    };
    json!({
        "type": what,
        "path": change.path.as_str(),
        "from": from,
        "id": change.id.as_str(),
        "kind": kind(change.file_kind),
        "actor": change.actor.as_ref().map(Actor::to_string),
        "at": change.at.0,
    })
}

pub(crate) fn trashed(item: &TrashEntry) -> Value {
    json!({
        "id": item.id.as_str(),
        "name": item.name,
        "kind": kind(item.kind),
        "trashedAt": item.trashed_at.0,
        "original": item.original,
        "hidden": item.n_hidden,
        "stranded": item.stranded,
        "purging": item.purging,
    })
}

pub(crate) fn expired(expired: ExpireReport) -> Value {
    json!({
        "rows": expired.n_rows,
        "documents": expired.n_documents,
        "bytes": expired.n_bytes,
    })
}

pub(crate) fn version(info: &VersionInfo) -> Value {
    let names: Value = info.names.iter().map(SmolStr::as_str).collect();
    json!({
        "number": info.number,
        "at": info.at.0,
        "actor": info.actor.as_ref().map(Actor::to_string),
        "label": info.label.as_deref(),
        "names": names,
        "redacted": info.redacted,
        "current": info.current,
    })
}

pub(crate) fn blame(line: &BlameLine) -> Value {
    json!({
        "number": line.number,
        "text": line.text,
        "actor": line.actor.as_ref().map(Actor::to_string),
        "at": line.at.map(|at| at.0),
        "version": line.version,
        "shares": line.shares.iter().map(share).collect::<Value>(),
    })
}

fn share(share: &BlameShare) -> Value {
    json!({
        "actor": share.actor.as_ref().map(Actor::to_string),
        "at": share.at.map(|at| at.0),
        "label": share.label.as_deref(),
        "version": share.version,
        "chars": share.n_chars,
    })
}

pub(crate) fn conflict(conflict: &ConflictReport) -> Value {
    json!({
        "kind": conflict.kind.as_str(),
        "id": conflict.id.as_str(),
        "path": conflict.path,
        "detail": conflict.detail,
    })
}

pub(crate) fn document(info: &DocumentInfo) -> Value {
    let profile = match info.kind {
        Some(ContentRoot::Rich(profile)) => Some(profile_name(profile)),
        _ => None,
    };
    json!({
        "guid": info.guid.as_str(),
        "category": match info.category {
            FileCategory::RichText => "rich-text",
            FileCategory::Text => "text",
        },
        "profile": profile,
        "root": info.root(),
    })
}

pub(crate) fn lines(page: &LinePage) -> Value {
    json!({
        "lines": page.lines,
        "offset": page.offset,
        "total": page.n_total,
        "next": page.next_offset,
        "endsWithNewline": page.ends_with_newline,
        "version": page.version.as_str(),
    })
}

pub(crate) fn converted(report: ProfileReport) -> Value {
    json!({ "files": report.n_files, "converted": report.n_converted })
}

pub(crate) fn redacted(redacted: &RedactionReport) -> Value {
    let hashes = |hashes: &[yfs_engine::hash::ContentHash]| -> Value {
        hashes.iter().map(ToString::to_string).collect()
    };
    json!({
        "pieces": redacted.pieces,
        "units": redacted.n_units,
        "blobs": hashes(&redacted.blobs),
        "kept": hashes(&redacted.kept),
        "heldBy": redacted.held_by,
    })
}

pub(crate) fn redaction(info: &RedactionInfo) -> Value {
    json!({
        "actor": info.author.actor.to_string(),
        "at": info.author.at.0,
        "reason": info.author.label.as_deref(),
        "units": info.n_units,
        "blobs": info.n_blobs,
    })
}

pub(crate) fn quarantined(refused: &QuarantinedUpdate) -> Value {
    json!({
        "doc": refused.doc.as_str(),
        "at": refused.last_at.0,
        "times": refused.n_times,
        "reason": refused.reason,
        "bytes": refused.len,
    })
}

pub(crate) fn anchored(at: &ResolvedFileAnchor) -> Value {
    json!({ "path": at.path.as_str(), "offset": at.offset, "line": at.line, "exact": at.exact })
}

pub(crate) fn stats(stats: &WorkspaceStats) -> Value {
    json!({
        "id": stats.id.as_str(),
        "files": stats.n_files,
        "folders": stats.n_folders,
        "trashed": stats.n_trashed,
        "parked": stats.n_parked,
        "openDocuments": stats.n_open,
    })
}

pub(crate) fn imported(report: &ImportReport) -> Value {
    json!({
        "created": report.n_created,
        "updated": report.n_updated,
        "unchanged": report.n_unchanged,
        "folders": report.n_folders,
        "links": report.n_links,
        "bytes": report.n_bytes,
        "skipped": skipped(&report.skipped),
    })
}

pub(crate) fn exported(report: &ExportReport) -> Value {
    json!({
        "written": report.n_written,
        "unchanged": report.n_unchanged,
        "folders": report.n_folders,
        "bytes": report.n_bytes,
        "skipped": skipped(&report.skipped),
    })
}

fn skipped(skipped: &[SkippedPath]) -> Value {
    skipped.iter().map(|it| json!({ "path": it.path, "why": it.why.to_string() })).collect()
}

fn kind(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Directory => "directory",
        FileKind::Symlink => "symlink",
        _ => "file",
    }
}

fn cut(cut: SearchLimit) -> &'static str {
    match cut {
        SearchLimit::Limit => "limit",
        SearchLimit::Deadline => "deadline",
        _ => "cancelled",
    }
}

pub(crate) fn object(text: &str) -> napi::Result<Map<String, Value>> {
    serde_json::from_str(text).map_err(|_| error::invalid("a JSON object", text))
}

pub(crate) fn string<'a>(given: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    given.get(name)?.as_str()
}

pub(crate) fn flag(given: &Map<String, Value>, name: &str) -> bool {
    given.get(name).is_some_and(|it| it == true)
}

pub(crate) fn number(given: &Map<String, Value>, name: &str) -> Option<u64> {
    let number = given.get(name)?.as_f64()?;
    (number >= 0.0).then_some(number as u64)
}

fn count(given: &Map<String, Value>, name: &str) -> Option<usize> {
    usize::try_from(number(given, name)?).ok()
}

fn strings(given: &Map<String, Value>, name: &str) -> Vec<String> {
    let items = given.get(name).and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(ToOwned::to_owned).collect()
}
