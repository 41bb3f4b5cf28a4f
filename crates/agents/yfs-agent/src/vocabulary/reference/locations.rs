//! Where the reference tools may go, and the texts of the errors on the way, which are those of
//! Node programs.

use yfs_types::path::VPath;
use yfs_vfs::{FileKind, FsCode, FsError, Op};

use crate::{permissions::PermissionRefusal, tool_call::ToolCall, tool_outcome::ToolFailure};

/// Returns the path that a model wrote, if it lies in an allowed directory.
pub(super) fn allowed_path(call: &ToolCall, text: &str) -> Result<VPath, ToolFailure> {
    let roots = call.session().roots();
    let drive = text.as_bytes();
    if let [letter, b':', ..] = drive
        && letter.is_ascii_alphabetic()
        && matches!(drive.get(2), None | Some(b'/' | b'\\'))
    {
        return Err(ToolFailure::refused(format!(
            "Access denied - Windows-style path received on a POSIX host: {text}"
        )));
    }
    let home = call.session().home();
    let rest = text.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let expanded = match (home, rest) {
        (Some(home), Some(rest)) => format!("{home}{rest}"),
        _ => text.to_owned(),
    };
    let outside = |path: &str| {
        let text = format!("Access denied - path outside allowed directories: {path} not in ");
        ToolFailure::refused(text + &list_of(&roots))
    };
    let resolve = |from: &VPath| from.resolve(&expanded);
    let is_allowed = |path: &VPath| roots.iter().any(|root| path.starts_with(root));
    if expanded.starts_with('/') {
        let path = resolve(&VPath::root()).map_err(|_| outside(&expanded))?;
        return if is_allowed(&path) { Ok(path) } else { Err(outside(path.as_str())) };
    }
    let candidates = roots.iter().filter_map(|root| match expanded.is_empty() {
        true => Some(root.clone()),
        false => resolve(root).ok(),
    });
    let mut first = None;
    for path in candidates {
        if is_allowed(&path) {
            return Ok(path);
        }
        first.get_or_insert(path);
    }
    Err(outside(first.as_ref().map_or(&expanded, |path| path.as_str())))
}

fn list_of(roots: &[VPath]) -> String {
    roots.iter().map(VPath::as_str).collect::<Vec<_>>().join(", ")
}

/// Returns the result of an operation on a path, with the errors of the reference.
pub(super) async fn worded<T>(
    call: &ToolCall,
    path: &VPath,
    result: Result<T, impl Into<ToolFailure>>,
) -> Result<T, ToolFailure> {
    match result {
        Ok(value) => Ok(value),
        Err(failure) => Err(reworded(call, path, failure.into()).await),
    }
}

/// Returns the failure as the reference words it.
async fn reworded(call: &ToolCall, path: &VPath, failure: ToolFailure) -> ToolFailure {
    let ToolFailure::Fs(error) = &failure else { return failure };
    let is_refusal = error.source.as_ref().is_some_and(|source| source.is::<PermissionRefusal>());
    if is_refusal {
        let Some(target) = target_of(call, path).await else { return failure };
        let roots = list_of(&call.session().roots());
        return ToolFailure::refused(format!(
            "Access denied - symlink target outside allowed directories: {target} not in {roots}"
        ));
    }
    match node_text(error) {
        Some(text) => ToolFailure::Refused(text),
        None => failure,
    }
}

/// Returns where the first link on a path leads, as text.
async fn target_of(call: &ToolCall, path: &VPath) -> Option<String> {
    let roots = call.session().roots();
    let mut above: Vec<VPath> = std::iter::successors(Some(path.clone()), VPath::parent).collect();
    above.reverse();
    for place in above.into_iter().filter(|place| roots.iter().any(|root| place.starts_with(root)))
    {
        let is_link = call.fs().lstat(&place).await.ok()?.kind == FileKind::Symlink;
        if is_link && !roots.contains(&place) {
            let target = call.fs().readlink(&place).await.ok()?;
            let target = place.parent()?.resolve(&target).ok()?;
            let rest = path.relative_to(&place).unwrap_or_default();
            let whole = if rest.is_empty() { Ok(target) } else { target.resolve(rest) };
            return Some(whole.ok()?.to_string());
        }
    }
    None
}

/// Returns the text of an error where Node's differs.
fn node_text(error: &FsError) -> Option<String> {
    let path = error.path.as_deref().unwrap_or_default();
    match (error.code, error.op) {
        (FsCode::EISDIR, Op::Open | Op::Read | Op::Edit) => {
            Some("EISDIR: illegal operation on a directory, read".to_owned())
        }
        (FsCode::EEXIST, op) => {
            Some(format!("EEXIST: file already exists, {} '{path}'", op.as_str()))
        }
        (_, Op::Walk) => Some(error.clone().during(Op::Scandir).to_string()),
        (_, Op::Realpath) => Some(error.clone().during(Op::Scandir).to_string()),
        _ => None,
    }
}
