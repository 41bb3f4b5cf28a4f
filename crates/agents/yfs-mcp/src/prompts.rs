//! Prompts for common work: texts that a person chooses, and that the model then follows.

use rmcp::{
    ErrorData,
    model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role},
};
use serde_json::Value;

/// A prompt and its text, in which `{name}` is the value of an argument.
#[derive(Debug)]
struct PromptText {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    arguments: &'static [PromptParameter],
    text: &'static str,
}

/// The name of an argument, its description, and the value if the client gives none; without one,
/// the argument is required.
type PromptParameter = (&'static str, &'static str, Option<&'static str>);

const PROMPTS: &[PromptText] = &[
    PromptText {
        name: "review_recent_changes",
        title: "Review recent changes",
        description: "Read what changed in a directory, and judge it",
        arguments: &[("path", "The directory", Some("/"))],
        text: "Review the recent changes below {path}. List the files that changed last, and who \
               changed them if a tool shows it. Read each of them, and compare it with its earlier \
               version where there is one. Report, most serious first: mistakes, contradictions \
               between files, work that is unfinished. Name the file and the line. Change nothing.",
    },
    PromptText {
        name: "restore_file",
        title: "Restore a file",
        description: "Find an earlier version of a file, and restore it",
        arguments: &[
            ("path", "The file", None),
            (
                "wanted",
                "What the version must contain, or from when it is",
                Some("the last good state"),
            ),
        ],
        text: "Restore {path}. Wanted is: {wanted}. List the versions of the file; if it no longer \
               exists, look in the trash. Read the versions that may be meant, and show me the \
               difference between the best one and the present content. Restore it only after I \
               have agreed, and keep what others added since.",
    },
    PromptText {
        name: "summarize_directory",
        title: "Summarize a directory",
        description: "Describe what a directory contains, and where to begin",
        arguments: &[("path", "The directory", Some("/"))],
        text: "Summarize what is below {path}. List the tree first, then read the files that \
               explain the others, such as a README, and the beginnings of the largest. Answer in \
               at most fifteen lines: what this is, the parts with their paths, what changed last, \
               which file to read first. Change nothing.",
    },
    PromptText {
        name: "find_and_replace",
        title: "Replace a text everywhere",
        description: "Replace a text in all files of a directory, after a preview",
        arguments: &[
            ("old", "The present text", None),
            ("new", "The new text", None),
            ("path", "The directory", Some("/")),
        ],
        text: "Replace this text in all files below {path}:\n\n{old}\n\nby this text:\n\n{new}\n\n\
               Search for it first, and show me each file and line. After I have agreed, edit one \
               file at a time, and search again at the end: report occurrences that are left.",
    },
];

/// The most bytes of an argument.
const MAX_ARGUMENT_LEN: usize = 64 << 10;

/// Returns the list of prompts.
pub(crate) fn prompts() -> Vec<Prompt> {
    let argument = |(name, description, default): &PromptParameter| {
        PromptArgument::new(*name).with_description(*description).with_required(default.is_none())
    };
    let prompt = |prompt: &PromptText| {
        let arguments = prompt.arguments.iter().map(argument).collect();
        Prompt::new(prompt.name, Some(prompt.description), Some(arguments)).with_title(prompt.title)
    };
    PROMPTS.iter().map(prompt).collect()
}

/// Returns the text of a prompt with its arguments.
pub(crate) fn prompt(name: &str, given: &JsonObject) -> Result<GetPromptResult, ErrorData> {
    let refused = |message: String| ErrorData::invalid_params(message, None);
    let found = PROMPTS.iter().find(|prompt| prompt.name == name);
    let prompt = found.ok_or_else(|| refused(format!("there is no prompt named {name:?}")))?;
    let mut values = Vec::new();
    for (argument, _, default) in prompt.arguments {
        let value = given.get(*argument).and_then(Value::as_str).or(*default);
        let value = value.filter(|value| value.len() <= MAX_ARGUMENT_LEN);
        let missing = || refused(format!("the prompt {name:?} needs {argument:?}"));
        values.push((*argument, value.ok_or_else(missing)?));
    }
    let message = PromptMessage::new_text(Role::User, fill(prompt.text, &values));
    Ok(GetPromptResult::new(vec![message]).with_description(prompt.description))
}

/// Replaces each `{name}` in a text by its value. Braces in values stay as they are.
fn fill(text: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let (name, after) = after.split_once('}').unwrap_or((after, ""));
        let value = values.iter().find(|(known, _)| *known == name);
        filled.push_str(value.map_or("", |(_, value)| value));
        rest = after;
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text_of(name: &str, arguments: Value) -> Result<String, String> {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let result = prompt(name, &arguments).map_err(|error| error.message.into_owned())?;
        Ok(serde_json::to_value(&result.messages[0]).unwrap()["content"]["text"].to_string())
    }

    #[test]
    fn arguments_are_filled_in() {
        let review = text_of("review_recent_changes", json!({ "path": "/{path}" })).unwrap();
        assert!(review.contains("below /{path}."), "{review}");
        let whole = text_of("summarize_directory", json!({})).unwrap();
        assert!(whole.contains("below /."), "{whole}");
        assert_eq!(
            text_of("restore_file", json!({})),
            Err("the prompt \"restore_file\" needs \"path\"".to_owned())
        );
        assert!(text_of("fly", json!({})).is_err());
        for listed in prompts() {
            assert!(PROMPTS.iter().any(|prompt| prompt.name == listed.name));
        }
    }
}
