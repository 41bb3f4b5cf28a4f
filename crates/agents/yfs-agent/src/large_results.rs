//! Results that are too large for a model's context: they go to a file, and the reply says where.

use bytes::Bytes;
use serde::Serialize;
use sha2::{Digest, Sha256};
use yfs_types::path::VPath;
use yfs_vfs::CreateMode;

use crate::{session::WriteFailure, tool_call::ToolCall};

/// The most characters of a result that stays in the reply: 20,000 tokens of 4 characters.
pub const MAX_RESULT_CHARS: usize = 80_000;

/// The most characters of a person's message that stays in the conversation: 50,000 tokens of 4
/// characters.
pub const MAX_MESSAGE_CHARS: usize = 200_000;

/// The lines that a preview shows of the beginning and of the end.
const PREVIEW_LINES: usize = 5;

/// The characters that a preview shows of one line.
const PREVIEW_LINE_CHARS: usize = 1_000;

/// The longest name of a file of results, in bytes.
const MAX_NAME_LEN: usize = 128;

/// The characters of a call's id that a reply shows.
const SHOWN_ID_CHARS: usize = 32;

/// The end of a result that was cut.
const CUT_NOTE: &str = "... [result truncated: it is too large, and could not be saved]";

/// Returns a result, or, if it is larger than [`MAX_RESULT_CHARS`], a preview of it: the whole
/// result is then in a file below `/large_tool_results`, which `read_file` and `grep` read. Where
/// the session cannot write that file, the result is cut.
pub async fn keep_large_result(call: &ToolCall, text: String) -> String {
    if text.chars().count() <= MAX_RESULT_CHARS {
        return text;
    }
    let id = call.context().call_id.as_ref();
    let id = id.map_or_else(|| digest_of(&text), ToString::to_string);
    let path = place_of(call, "large_tool_results", &id);
    let stub = large_result_stub(&id, path.as_str(), &text);
    let data = Bytes::from(text);
    match call.write(&path, data.clone(), CreateMode::IfMissing).await {
        Ok(_) => stub,
        Err(_) => {
            let n_kept = MAX_RESULT_CHARS - CUT_NOTE.len() - 1;
            let kept: String = String::from_utf8_lossy(&data).chars().take(n_kept).collect();
            format!("{kept}\n{CUT_NOTE}")
        }
    }
}

/// Returns the first items whose JSON has at most `max_chars` characters, and whether there are
/// more. The structured result of a list has the limit of its text.
pub(crate) fn keep_items<T: Serialize>(
    items: impl IntoIterator<Item = T>,
    max_chars: usize,
) -> (Vec<T>, bool) {
    let (mut kept, mut n_chars) = (Vec::new(), 2);
    for item in items {
        n_chars += serde_json::to_string(&item).map_or(0, |json| json.chars().count()) + 1;
        if n_chars > max_chars {
            return (kept, true);
        }
        kept.push(item);
    }
    (kept, false)
}

/// Returns a person's message, or, if it is larger than [`MAX_MESSAGE_CHARS`], a preview of it: the
/// whole message is then in a file below `/conversation_history`.
///
/// # Errors
///
/// Fails if the file cannot be written.
pub async fn keep_large_message(
    call: &ToolCall,
    id: &str,
    text: String,
) -> Result<String, WriteFailure> {
    if text.chars().count() <= MAX_MESSAGE_CHARS {
        return Ok(text);
    }
    let path = place_of(call, "conversation_history", id);
    let stub = large_message_stub(path.as_str(), &text);
    call.write(&path, Bytes::from(text), CreateMode::IfMissing).await?;
    Ok(stub)
}

fn digest_of(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
}

/// Returns the path of a file below the session's directory of artifacts.
fn place_of(call: &ToolCall, directory: &str, id: &str) -> VPath {
    let root = &call.session().limits().artifacts_root;
    let root = root.parse::<VPath>().unwrap_or_else(|_| VPath::root());
    root.join(directory).join(&result_file_name(id))
}

/// Returns the name of the file that keeps the result of a call, or a message.
fn result_file_name(call_id: &str) -> String {
    let name = call_id.replace(['.', '/', '\\'], "_");
    if name.len() <= MAX_NAME_LEN && !name.is_empty() && !name.contains('\0') {
        return name;
    }
    let digest = Sha256::digest(call_id.as_bytes());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("call-{hex}")
}

/// Returns the text that stands for a result that was moved to a file.
pub(crate) fn large_result_stub(call_id: &str, path: &str, text: &str) -> String {
    let (preview, note) = preview_of(text, "result");
    let mut shown: String = call_id.chars().take(SHOWN_ID_CHARS).collect();
    if shown.len() < call_id.len() {
        shown.push_str("...");
    }
    format!(
        "Tool result too large, the result of this tool call {shown} was saved in the filesystem \
         at this path: {path}\n\n\
         You can read the result from the filesystem by using the read_file tool, but make sure \
         to only read part of the result at a time.\n\n\
         You can do this by specifying an offset and limit in the read_file tool call. For \
         example, to read the first 100 lines, you can use the read_file tool with offset=0 and \
         limit=100.\n\n{note}\n\n{preview}\n"
    )
}

/// Returns the text that stands for a user's message that was moved to a file.
pub fn large_message_stub(path: &str, text: &str) -> String {
    let (preview, note) = preview_of(text, "content");
    format!(
        "Message content too large and was saved to the filesystem at: {path}\n\n\
         You can read the full content using the read_file tool with pagination (offset and limit \
         parameters).\n\n{note}\n\n{preview}\n"
    )
}

/// Returns the first and last lines of a text with their numbers, and a sentence about them.
fn preview_of(text: &str, subject: &str) -> (String, String) {
    let lines: Vec<&str> = text.lines().collect();
    let is_cut = lines.len() > 2 * PREVIEW_LINES;
    let (head, tail) = match is_cut {
        true => (&lines[..PREVIEW_LINES], &lines[lines.len() - PREVIEW_LINES..]),
        false => (&lines[..], &lines[..0]),
    };
    let shown = || head.iter().chain(tail);
    let is_clipped = shown().any(|line| line.chars().count() > PREVIEW_LINE_CHARS);
    let mut preview = numbered(head, 1);
    if is_cut {
        let n_omitted = lines.len() - 2 * PREVIEW_LINES;
        let first = lines.len() - PREVIEW_LINES + 1;
        preview.push_str(&format!("\n... [{n_omitted} lines truncated] ...\n"));
        preview.push_str(&numbered(tail, first));
    }
    let mut caveats = Vec::new();
    if is_cut {
        caveats.push(
            "lines of the form `... [N lines truncated] ...` indicate omitted lines in the middle \
             of the content"
                .to_owned(),
        );
    }
    if is_clipped {
        caveats.push(format!(
            "the output contains lines longer than {PREVIEW_LINE_CHARS} characters; this preview \
             shows only their first {PREVIEW_LINE_CHARS} characters"
        ));
    }
    let head_and_tail = if is_cut { "showing the head and tail of" } else { "of" };
    let caveats = match caveats.is_empty() {
        true => String::new(),
        false => format!(" ({})", caveats.join("; ")),
    };
    (preview, format!("Here is a preview {head_and_tail} the {subject}{caveats}:"))
}

fn numbered(lines: &[&str], first: usize) -> String {
    let width = (first + lines.len().saturating_sub(1)).to_string().len();
    let clip = |line: &str| line.chars().take(PREVIEW_LINE_CHARS).collect::<String>();
    let rows =
        (first..).zip(lines).map(|(number, line)| format!("{number:>width$}  {}", clip(line)));
    rows.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::result_file_name;

    #[test]
    fn names_of_files_are_those_of_deepagents() {
        for (id, name) in [
            ("toolu_01", "toolu_01"),
            ("a.b/c\\d", "a_b_c_d"),
            ("../../etc/passwd", "______etc_passwd"),
            // SHA-256 of 129 times "x", and of nothing, as Python's hashlib has them.
            (
                &"x".repeat(129),
                "call-0ec9eb33e74510bcdd1f2ea55206e82f21649c5c2becbf2b433eb475b34c01bd",
            ),
            ("", "call-e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ] {
            assert_eq!(result_file_name(id), name);
        }
    }
}
