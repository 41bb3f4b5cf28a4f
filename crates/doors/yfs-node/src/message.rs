//! The JSON that crosses to JavaScript: the types of `yfs-wire` with keys in camel case, and what
//! follows Node's own `fs.Stats`. Numbers are never BigInt.

use std::{fmt::Display, path::PathBuf, sync::Arc};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use yfs::{UnlockKey, WorkspaceError, WorkspaceOptions};
use yfs_agent::{audit::AuditQuery, history::UndoneChange};
use yfs_engine::{
    actor::Actor,
    kind::{SchemaProfile, profile_named},
    path::VPath,
};
use yfs_vfs::{
    ChangePage, EditOutcome, FileKind, GlobQuery, GlobResult, GrepQuery, GrepResult, LinePage, Op,
    Stat, TreeTotals, VersionToken, WalkEntry, WriteOutcome,
};
use yfs_wire::{
    ChangeJson, EditOutcomeJson, GlobQueryJson, GrepFileJson, GrepQueryJson, GrepTotalsJson,
    LinePageJson, NodeKindJson, OpenOptionsJson, SearchLimitJson, UnixMillis, WriteOutcomeJson,
    camel_case_keys,
};

use crate::{error, pages::NativePages, workspace_slot::path};

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

/// How a workspace is opened.
#[derive(Debug)]
pub(crate) struct OpenRequest {
    /// The options, with the key of a passphrase.
    pub(crate) options: WorkspaceOptions,
    /// Whether the workspace may be created.
    pub(crate) create: bool,
    /// The key file, which is not read yet.
    pub(crate) key_file: Option<PathBuf>,
}

impl OpenRequest {
    /// Parses the options of a workspace. No error has the passphrase.
    pub(crate) fn parse(text: &str) -> napi::Result<Self> {
        let mut given: OpenOptionsJson =
            serde_json::from_str(text).map_err(|reason| error::invalid_options(&reason))?;
        let create = given.create.unwrap_or(true);
        let (passphrase, key_file) = (given.passphrase.take(), given.key_file.take());
        let mut options = given.options().map_err(|(field, value)| match field {
            "actor" => not_an_actor(&value),
            _ => not_a_profile(&value),
        })?;
        if let Some(passphrase) = passphrase {
            if key_file.is_some() {
                return Err(error::invalid_options(&"passphrase and keyFile are both given"));
            }
            let key = UnlockKey::from_passphrase(passphrase.reveal().into_bytes());
            let key = key.map_err(|reason| error::invalid_options(&reason))?;
            options.key = Some(Arc::new(key));
        }
        Ok(Self { options, create, key_file })
    }

    /// Returns the options of a workspace in memory, which has no key.
    pub(crate) fn into_memory_options(self) -> napi::Result<WorkspaceOptions> {
        if self.options.key.is_some() || self.key_file.is_some() {
            return Err(error::invalid_options(&"a workspace in memory is not encrypted"));
        }
        Ok(self.options)
    }

    /// Returns the options with the key. Reads the key file.
    pub(crate) fn into_options(self) -> Result<WorkspaceOptions, WorkspaceError> {
        match &self.key_file {
            Some(file) => self.options.with_key_file(file),
            None => Ok(self.options),
        }
    }
}

/// Which records of agents are returned.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct AuditOptions {
    session: Option<String>,
    actor: Option<String>,
    tool: Option<String>,
    path: Option<String>,
    since_ms: Option<f64>,
    until_ms: Option<f64>,
    failed: Option<bool>,
    limit: Option<usize>,
}

/// Parses the selection of records of agents.
pub(crate) fn audit_query(text: &str) -> napi::Result<AuditQuery> {
    let given: AuditOptions =
        serde_json::from_str(text).map_err(|reason| error::invalid_options(&reason))?;
    Ok(AuditQuery {
        session: given.session,
        actor: given.actor,
        tool: given.tool,
        below: given.path,
        since_ms: given.since_ms.map(|time| time as i64),
        until_ms: given.until_ms.map(|time| time as i64),
        failed: given.failed,
        limit: given.limit,
    })
}

/// Describes what undoing did.
pub(crate) fn undone(undone: &UndoneChange) -> Value {
    json!({
        "path": undone.path.as_str(),
        "change": undone.change,
        "result": undone.result.as_str(),
        "keptOthers": undone.result.kept_others(),
        "reason": undone.result.reason(),
    })
}

/// Parses an actor.
pub(crate) fn actor(name: &str) -> napi::Result<Actor> {
    name.parse().map_err(|_| not_an_actor(name))
}

/// Parses the name of a schema profile.
pub(crate) fn profile(name: &str) -> napi::Result<SchemaProfile> {
    profile_named(name).ok_or_else(|| not_a_profile(name))
}

/// Parses which paths to find.
pub(crate) fn glob_query(text: &str) -> napi::Result<GlobQuery> {
    let mut given: GlobQueryJson = parse(text)?;
    let root = search_root(Op::Glob, given.root.take())?;
    Ok(given.query(root))
}

/// Parses which lines to find.
pub(crate) fn grep_query(text: &str) -> napi::Result<GrepQuery> {
    let mut given: GrepQueryJson = parse(text)?;
    let root = search_root(Op::Grep, given.root.take())?;
    Ok(given.query(root))
}

fn search_root(op: Op, root: Option<String>) -> napi::Result<Option<VPath>> {
    root.map(|root| path(op, &root)).transpose()
}

fn not_an_actor(name: &str) -> napi::Error {
    error::invalid("an actor such as human:ada or agent:reviewer", name)
}

fn not_a_profile(name: &str) -> napi::Error {
    error::invalid("a profile (commonmark, gfm)", name)
}

/// Parses a request or another argument. Only the package itself writes them.
pub(crate) fn request<T: DeserializeOwned>(text: &str) -> napi::Result<T> {
    serde_json::from_str(text).map_err(|reason| error::not_json("a request", &reason))
}

/// Writes an answer with the keys of `yfs-wire`.
pub(crate) fn json(answer: &impl Serialize) -> String {
    serde_json::to_string(answer).expect("strings and numbers are JSON")
}

fn parse<T: DeserializeOwned>(text: &str) -> napi::Result<T> {
    serde_json::from_str(text)
        .map_err(|reason| error::invalid(&format!("a set of options ({reason})"), text))
}

/// Describes a node as Node's `fs.Stats` does.
pub(crate) fn stat(stat: &Stat) -> Value {
    json!({
        "id": stat.id.as_str(),
        "kind": NodeKindJson::from(stat.kind),
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
        "kind": NodeKindJson::from(entry.kind),
        "size": entry.size,
        "mtimeMs": entry.mtime.0,
        "mode": entry.mode,
    })
}

pub(crate) fn totals(totals: TreeTotals) -> Value {
    json!({ "files": totals.n_files, "directories": totals.n_directories, "bytes": totals.n_bytes })
}

pub(crate) fn found(result: &GlobResult) -> NativePages {
    let rest = json!({ "cut": result.cut.map(SearchLimitJson::from) });
    NativePages::new(result.entries.iter().map(walk_entry), &rest)
}

pub(crate) fn matches(result: &GrepResult) -> NativePages {
    let files = result.files.iter().map(|file| js(&GrepFileJson::from(file)));
    NativePages::new(files, &js(&GrepTotalsJson::from(result)))
}

pub(crate) fn written(written: &WriteOutcome) -> Value {
    js(&WriteOutcomeJson::from(written))
}

pub(crate) fn edited(edited: &EditOutcome) -> Value {
    js(&EditOutcomeJson::from(edited))
}

pub(crate) fn changes(changes: &ChangePage) -> Value {
    let events: Value =
        changes.events.iter().map(|change| js(&ChangeJson::<UnixMillis>::from(change))).collect();
    json!({ "events": events, "next": changes.next.as_str(), "more": changes.more })
}

pub(crate) fn lines(page: LinePage) -> Value {
    js(&LinePageJson::from(page))
}

/// Returns a value with its keys as JavaScript spells them.
pub(crate) fn js(value: &impl Serialize) -> Value {
    camel_case_keys(serde_json::to_value(value).expect("strings and numbers are JSON"))
}
