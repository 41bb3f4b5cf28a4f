//! Tools that the known vocabularies lack: versions, undo, changes by others, patches of many
//! files.

mod undo_session;

use schemars::JsonSchema;
use serde::Deserialize;
use yfs_types::{actor::Actor, path::VPath};
use yfs_vfs::{ChangeCursor, ChangeKind, ChangePage, ChangesOptions, CreateMode};

use self::undo_session::undo_session;
use super::{
    patch_files::apply_patch,
    shared::{as_error, path_of, unified_diff},
};
use crate::{
    history::FileHistory,
    json_query::{DocumentFormat, JsonQuery, QueryDialect},
    large_results::{keep_items, keep_large_result},
    registered_tool::RegisteredTool,
    tool_call::ToolCall,
    tool_outcome::{ToolAnswer, ToolFailure, ToolOutcome, in_words, text_answer},
};

/// The most versions or changes of one reply.
const MAX_LISTED: usize = 1_000;

records! { arguments:
HistoryInput {
    /// Absolute path of the file.
    path: String,
    /// The greatest number of versions: the latest are returned. Default 50.
    limit: Option<usize>,
}
DiffVersionsInput {
    /// Absolute path of the file.
    path: String,
    /// Number of the older version.
    from: u64,
    /// Number of the newer version; the current content if absent.
    to: Option<u64>,
}
RestoreVersionInput {
    /// Absolute path of the file.
    path: String,
    /// Number of the version.
    version: u64,
}
ChangesSinceInput {
    /// The cursor of an earlier reply. If absent, the session goes on where it was; its first call
    /// returns the cursor of now.
    cursor: Option<String>,
    /// Whether the session's own changes are included. Default false.
    #[serde(default)]
    own: bool,
}
QueryInput {
    /// Absolute path of a file of JSON, JSON lines, YAML, CSV, TSV or Parquet. Rows of a table are
    /// objects.
    path: String,
    /// A filter in the language of jq, for example `.items[] | select(.size > 10) | .name`; with
    /// the dialect `jql` a query such as `"items"|={"size"=10}`.
    query: String,
    /// `jq` (the default), `jql`, or `sql`, which has the rows in a table `data`.
    #[serde(default)]
    dialect: QueryDialectInput,
    /// Whether all values or rows of the file are one array.
    #[serde(default)]
    slurp: bool,
}
}

records! { results:
HistoryResult {
    /// The versions, oldest first.
    versions: Vec<ListedVersion>,
    /// Whether there are older ones.
    truncated: bool,
}
ListedVersion {
    /// The number of the version.
    number: u64,
    /// When it was made, in milliseconds since 1970.
    at: i64,
    /// The author, as `kind:name`.
    actor: Option<String>,
    /// The session and call of the change.
    label: Option<String>,
    /// Whether it is the current content.
    current: bool,
}
ChangesSinceResult {
    /// The changes, oldest first.
    changes: Vec<ListedChange>,
    /// The cursor for the next call.
    cursor: String,
    /// Whether there are more already.
    more: bool,
}
ListedChange {
    /// `created`, `changed`, `moved` or `removed`.
    kind: &'static str,
    /// The path.
    path: String,
    /// The path before, of a move.
    from: Option<String>,
    /// The author, as `kind:name`.
    actor: Option<String>,
}
}

/// The language of a query.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum QueryDialectInput {
    #[default]
    Jq,
    Jql,
    Sql,
}

/// Returns the tools.
pub(super) fn tools() -> Vec<RegisteredTool> {
    tools! { as_error;
        history "List versions" READS:
            "Lists the versions of a file: number, time, author, label.",
            needs(|session| session.history().is_some());
        diff_versions "Compare versions" READS:
            "Returns a unified diff of two versions of a file.",
            needs(|session| session.history().is_some());
        restore "Restore a version" CHANGES:
            "Makes an earlier version the content of its file again. No version is lost, and \
             edits by others at the same time are kept.",
            needs(|session| session.history().is_some());
        undo_session "Undo this session" SETS:
            "Undoes all changes of files that this session made. What others changed later stays.",
            needs(|session| session.history().is_some());
        changes_since "List changes" READS_ON:
            "Lists what changed since a cursor, and who changed it.";
        query "Query JSON" READS:
            "Runs a jq filter, JQL or SQL over a file of JSON, JSON lines, YAML, CSV, TSV or \
             Parquet, and returns the results one per line. Time, memory and the length of the \
             results are limited.",
            needs(|session| session.json_query().is_some());
        apply_patch "Apply a patch" CHANGES:
            "Applies a patch to any number of files: all of it or nothing. The patch begins with \
             `*** Begin Patch`, ends with `*** End Patch`, and between them adds (`*** Add File: \
             PATH`, lines with +), deletes (`*** Delete File: PATH`), or updates files (`*** \
             Update File: PATH`, perhaps `*** Move to: PATH`, then hunks that begin with `@@` and \
             have lines with a space, - or +).";
    }
}

fn history_of(call: &ToolCall) -> Result<&dyn FileHistory, ToolFailure> {
    let history = call.session().history();
    let history = history.ok_or_else(|| ToolFailure::refused("there is no history"))?;
    Ok(&**history)
}

/// Returns the path of a file that the session may read: the history knows no permissions.
async fn readable_path(call: &ToolCall, text: &str) -> Result<VPath, ToolFailure> {
    let path = path_of(text)?;
    call.fs().read_range(&path, 0, 1).await?;
    Ok(path)
}

async fn history(call: ToolCall, input: HistoryInput) -> ToolOutcome<HistoryResult> {
    let path = readable_path(&call, &input.path).await?;
    let listed = history_of(&call)?.list_versions(&path).await?;
    let n_listed = listed.len();
    let limit = input.limit.unwrap_or(50).min(MAX_LISTED);
    let latest = listed.into_iter().rev().take(limit).map(|version| ListedVersion {
        number: version.number,
        at: version.at.0,
        actor: version.actor.as_ref().map(Actor::to_string),
        label: version.label.map(|label| label.to_string()),
        current: version.current,
    });
    let (mut versions, _) = keep_items(latest, call.session().limits().max_list_chars);
    versions.reverse();
    let lines = versions.iter().map(|version| {
        let actor = version.actor.as_deref().unwrap_or("unknown");
        let label = version.label.as_deref().unwrap_or_default();
        let now = if version.current { " (now)" } else { "" };
        format!("{} {actor} {label}{now}", version.number)
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    let truncated = versions.len() < n_listed;
    Ok(ToolAnswer::new(text, &HistoryResult { versions, truncated }))
}

async fn diff_versions(call: ToolCall, input: DiffVersionsInput) -> ToolOutcome {
    let path = readable_path(&call, &input.path).await?;
    let history = history_of(&call)?;
    let old = history.version_content(&path, input.from).await?;
    let (new, name) = match input.to {
        Some(number) => {
            (history.version_content(&path, number).await?, format!("version {number}"))
        }
        None => (call.read(&path).await?.data, "now".to_owned()),
    };
    let texts = [&old, &new].map(|bytes| std::str::from_utf8(bytes));
    let [Ok(old), Ok(new)] = texts else {
        return Err(ToolFailure::refused("one of the versions is not text"));
    };
    let names = (format!("{path} (version {})", input.from), format!("{path} ({name})"));
    let diff = unified_diff(old, new, (&names.0, &names.1), 3);
    Ok(text_answer(keep_large_result(&call, diff).await))
}

async fn restore(call: ToolCall, input: RestoreVersionInput) -> ToolOutcome {
    let path = readable_path(&call, &input.path).await?;
    let data = history_of(&call)?.version_content(&path, input.version).await?;
    // The content of now is what the restoring replaces; what comes after it is merged.
    call.read(&path).await?;
    let written = call.write(&path, data, CreateMode::Never).await?;
    let text = format!("Restored version {} of {path}{}", input.version, written.note());
    Ok(text_answer(text))
}

async fn changes_since(
    call: ToolCall,
    input: ChangesSinceInput,
) -> ToolOutcome<ChangesSinceResult> {
    let remembered = call.session().cursor().lock().clone();
    let cursor = input.cursor.map(ChangeCursor::new).or(remembered);
    let Some(cursor) = cursor else {
        let now = call.fs().cursor().await?;
        call.session().cursor().lock().replace(now.clone());
        let (changes, cursor) = (Vec::new(), now.as_str().into());
        let result = ChangesSinceResult { changes, cursor, more: false };
        return Ok(ToolAnswer::new("Changes from now on will be listed", &result));
    };
    let max_chars = call.session().limits().max_list_chars;
    let mut limit = MAX_LISTED;
    let (page, changes) = loop {
        let page = changes_after(&call, &cursor, limit).await?;
        let (changes, is_cut) = keep_items(listed_changes(&call, &page, input.own), max_chars);
        // A page is listed as a whole, because the next one begins after it.
        if !is_cut || limit == 1 {
            break (page, changes);
        }
        limit /= 2;
    };
    call.session().cursor().lock().replace(page.next.clone());
    let lines = changes.iter().map(|change| {
        let by = change.actor.as_ref().map_or(String::new(), |actor| format!(" by {actor}"));
        let from = change.from.as_ref().map_or(String::new(), |from| format!(" from {from}"));
        format!("{} {}{from}{by}", change.kind, change.path)
    });
    let text = match changes.is_empty() {
        true => "Nothing changed".to_owned(),
        false => lines.collect::<Vec<_>>().join("\n"),
    };
    let cursor = page.next.as_str().to_owned();
    let result = ChangesSinceResult { changes, cursor, more: page.more };
    Ok(ToolAnswer::new(text, &result))
}

async fn changes_after(
    call: &ToolCall,
    cursor: &ChangeCursor,
    limit: usize,
) -> Result<ChangePage, ToolFailure> {
    let options = ChangesOptions { limit, ..ChangesOptions::default() };
    in_words(call.fs().changes(cursor, &options).await, |error| {
        let words = "the cursor is too old: list the files again, and call without a cursor";
        error.is_cursor_lost().then(|| words.to_owned())
    })
}

/// Returns the changes of a page; without `own`, those of others.
fn listed_changes(
    call: &ToolCall,
    page: &ChangePage,
    own: bool,
) -> impl Iterator<Item = ListedChange> {
    let actor = call.session().actor();
    let events = page.events.iter();
    events.filter(move |event| own || event.actor.as_ref() != Some(actor)).map(|event| {
        let (kind, from) = match &event.kind {
            ChangeKind::Created => ("created", None),
            ChangeKind::Moved { from } => ("moved", Some(from.to_string())),
            ChangeKind::Removed => ("removed", None),
            // `ChangeKind::Changed`, and every later variant.
            _ => ("changed", None),
        };
        let actor = event.actor.as_ref().map(Actor::to_string);
        ListedChange { kind, path: event.path.to_string(), from, actor }
    })
}

async fn query(call: ToolCall, input: QueryInput) -> ToolOutcome {
    let runner = call.session().json_query();
    let runner = runner.ok_or_else(|| ToolFailure::refused("queries are not available"))?;
    let path = path_of(&input.path)?;
    let document = call.read(&path).await?.data;
    let query = JsonQuery {
        text: input.query,
        dialect: match input.dialect {
            QueryDialectInput::Jq => QueryDialect::Jq,
            QueryDialectInput::Jql => QueryDialect::Jql,
            QueryDialectInput::Sql => QueryDialect::Sql,
        },
        format: DocumentFormat::of_name(path.file_name().unwrap_or_default()),
        slurp: input.slurp,
        raw: false,
    };
    let found = runner.run(query, document, &call.context().cancel).await;
    let found = found.map_err(|error| ToolFailure::refused(error.to_string()))?;
    let mut text = found.text;
    if found.truncated {
        text.push_str("\n... [results truncated, make the query more specific]");
    }
    Ok(text_answer(keep_large_result(&call, text).await))
}
