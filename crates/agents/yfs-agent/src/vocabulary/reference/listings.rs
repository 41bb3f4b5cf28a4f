//! Lists of directories, and trees of them.

use std::{cmp::Reverse, iter::Peekable, vec::IntoIter};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yfs_vfs::{FileKind, WalkEntry};

use super::{
    ReferencePathInput, allowed_path,
    file_search::{exclusions, list_below},
    locale_order::compare_names,
    worded,
};
use crate::{
    tool_call::ToolCall,
    tool_outcome::{ToolOutcome, text_answer},
    vocabulary::shared::in_units,
};

records! { open arguments:
pub(super) ListWithSizesInput {
    path: String,
    /// Sort entries by name or size
    #[serde(default, rename = "sortBy")]
    sort_by: ListOrder,
}
pub(super) DirectoryTreeInput {
    path: String,
    #[serde(default, rename = "excludePatterns")]
    exclude_patterns: Vec<String>,
}
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ListOrder {
    #[default]
    Name,
    Size,
}

/// A node of a tree of directories.
#[derive(Debug, Serialize)]
struct TreeListing {
    name: String,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    children: Option<Vec<Self>>,
}

fn mark(is_directory: bool) -> &'static str {
    if is_directory { "[DIR]" } else { "[FILE]" }
}

pub(super) async fn list_directory(call: ToolCall, input: ReferencePathInput) -> ToolOutcome {
    let path = allowed_path(&call, &input.path)?;
    let entries = worded(&call, &path, call.fs().readdir(&path).await).await?;
    let lines = entries
        .iter()
        .map(|entry| format!("{} {}", mark(entry.kind == FileKind::Directory), entry.name));
    Ok(text_answer(lines.collect::<Vec<_>>().join("\n")))
}

pub(super) async fn list_directory_with_sizes(
    call: ToolCall,
    input: ListWithSizesInput,
) -> ToolOutcome {
    let path = allowed_path(&call, &input.path)?;
    let mut entries = worded(&call, &path, call.fs().readdir(&path).await).await?;
    for entry in entries.iter_mut().filter(|entry| entry.kind == FileKind::Symlink) {
        // The size of what a link leads to; of one that leads nowhere, 0.
        let stat = call.fs().stat(&path.join(&entry.name)).await;
        entry.size = stat.map_or(0, |stat| stat.size);
    }
    match input.sort_by {
        ListOrder::Size => entries.sort_by_key(|entry| Reverse(entry.size)),
        ListOrder::Name => entries.sort_by(|a, b| compare_names(&a.name, &b.name)),
    }
    let mut lines: Vec<String> = Vec::new();
    let (mut n_files, mut n_bytes) = (0, 0);
    for entry in &entries {
        let is_directory = entry.kind == FileKind::Directory;
        let size = match is_directory {
            true => String::new(),
            false => {
                (n_files, n_bytes) = (n_files + 1, n_bytes + entry.size);
                format!("{:>10}", unit_size(entry.size))
            }
        };
        lines.push(format!("{} {:<30} {size}", mark(is_directory), entry.name));
    }
    let n_directories = entries.len() - n_files;
    lines.push(format!("\nTotal: {n_files} files, {n_directories} directories"));
    lines.push(format!("Combined size: {}", unit_size(n_bytes)));
    Ok(text_answer(lines.join("\n")))
}

/// Returns a size as `1.50 KB`.
fn unit_size(n_bytes: u64) -> String {
    match in_units(n_bytes, &["B", "KB", "MB", "GB", "TB"]) {
        (_, "B") => format!("{n_bytes} B"),
        (size, unit) => format!("{size:.2} {unit}"),
    }
}

pub(super) async fn directory_tree(call: ToolCall, input: DirectoryTreeInput) -> ToolOutcome {
    let root = allowed_path(&call, &input.path)?;
    let listed = list_below(&call, &root, &exclusions(&input.exclude_patterns, true)?).await?;
    let tree = tree_of(&mut listed.into_iter().peekable(), 0);
    Ok(text_answer(serde_json::to_string_pretty(&tree).unwrap_or_default()))
}

/// Returns the next entries of a list that are at a depth, with what is below them.
fn tree_of(listed: &mut Peekable<IntoIter<(String, WalkEntry)>>, depth: usize) -> Vec<TreeListing> {
    let mut entries = Vec::new();
    let is_here = |(relative, _): &(String, WalkEntry)| relative.matches('/').count() >= depth;
    while let Some((_, item)) = listed.next_if(is_here) {
        let is_directory = item.entry.kind == FileKind::Directory;
        entries.push(TreeListing {
            name: item.entry.name.to_string(),
            kind: if is_directory { "directory" } else { "file" },
            children: is_directory.then(|| tree_of(listed, depth + 1)),
        });
    }
    entries
}
