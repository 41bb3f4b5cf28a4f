//! `GET /api/search`: lines that match, for pages and programs that have no copy of the files.

use std::time::Duration;

use yfs_vfs::{FileSystemExt, GrepQuery};
use yfs_wire::{GrepFileJson, GrepTotalsJson, SearchQuery, SearchResultJson};

use crate::prelude::*;

/// The number of matching lines that are returned by default, and the greatest.
const DEFAULT_LINES: usize = 500;
const MAX_LINES: usize = 5_000;

/// The greatest number of matching lines of one file.
const MAX_LINES_PER_FILE: usize = 100;

/// The greatest length of a line that is returned, and of a pattern, in bytes.
const MAX_LINE_LEN: usize = 400;
const MAX_PATTERN_LEN: usize = 1_000;

/// How long a search may take.
const LIMIT: Duration = Duration::from_secs(10);

/// Answers `GET /api/search`.
pub(super) async fn search(
    caller: RequestCaller,
    QueryParameters(asked): QueryParameters<SearchQuery>,
) -> Result {
    if asked.pattern.is_empty() || asked.pattern.len() > MAX_PATTERN_LEN {
        let reason = format!("a pattern has 1 to {MAX_PATTERN_LEN} bytes");
        return Err(HttpProblem::bad_request(reason));
    }
    let root = path_of(asked.path.as_deref().unwrap_or("/"))?;
    let query = GrepQuery {
        root: if root.is_root() { caller.grant.path.clone() } else { root },
        literal: !asked.regex,
        ignore_case: asked.ignore_case,
        whole_word: asked.word,
        max_total: asked.limit.unwrap_or(DEFAULT_LINES).min(MAX_LINES),
        max_per_file: MAX_LINES_PER_FILE,
        max_line_len: MAX_LINE_LEN,
        timeout: Some(LIMIT),
        ..GrepQuery::new(asked.pattern)
    };
    let _permit = caller.app.joins.acquire().await;
    let found = apart(async { caller.fs().grep(&query).await }).await?;
    let files = found.files.iter().map(GrepFileJson::from).collect();
    Ok(Json(SearchResultJson { files, totals: GrepTotalsJson::from(&found) }).into_response())
}
