//! Namespaces: which tree of files a caller's context leads to.
//!
//! The parts of an address are directories within each other below the directory of all threads.
//! Those above the last have a `+` at the end of their name, which no id's directory has, so that
//! no tree lies in another, whatever strategies share a directory.

use std::{collections::BTreeMap, fmt};

use thiserror::Error;
use yfs_types::path::VPath;

use crate::thread_id::{BadThreadId, ThreadId};

/// The name of the one tree that all contexts share.
const FLAT_DIRECTORY: &str = "+shared";

/// The address of that tree.
const FLAT_ADDRESS: &str = "shared";

/// How contexts lead to trees of files.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NamespaceStrategy {
    /// A tree for each thread.
    #[default]
    ThreadId,
    /// A tree for each task.
    TaskId,
    /// One tree for all.
    Flat,
    /// A tree for each combination of values.
    Custom(NamespaceTemplate),
}

/// A template such as `{agent}/run-{thread_id}`: parts between slashes, each with at most one
/// placeholder.
///
/// Invariant: at least one part; no placeholder twice; the text around a placeholder has no `/`,
/// `*`, `?`, control characters, braces and `+`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamespaceTemplate {
    parts: Vec<TemplatePart>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct TemplatePart {
    before: String,
    placeholder: Option<String>,
    after: String,
}

/// The reason why a text is not a template.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BadTemplate {
    /// The text is no name of a strategy, and has no placeholder.
    #[error("expected thread_id, task_id, flat, or a template such as {{agent}}/{{thread_id}}")]
    Unknown,
    /// A part has braces that are not one placeholder.
    #[error("a part of a template has at most one placeholder such as {{thread_id}}: {0:?}")]
    Braces(String),
    /// A placeholder appears twice.
    #[error("the placeholder {0:?} appears twice")]
    Twice(String),
    /// The text of a part is not a part of an address.
    #[error("a part of the template is not a name")]
    Part(#[from] BadThreadId),
}

/// What a caller knows of itself.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct ThreadContext {
    values: BTreeMap<String, String>,
}

/// The address of a tree: the checked parts of its namespace.
///
/// Invariant: at least one part.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadAddress {
    parts: Vec<ThreadId>,
    is_flat: bool,
}

impl ThreadContext {
    /// Makes the context of a thread.
    pub fn of_thread(id: impl Into<String>) -> Self {
        Self::default().with("thread_id", id)
    }

    /// Adds a value, such as `task_id` or `agent`.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.values.insert(name.into(), value.into());
        self
    }

    fn get(&self, name: &str) -> Result<&str, BadThreadId> {
        let value = self.values.get(name);
        value.map(String::as_str).ok_or_else(|| BadThreadId::Missing(name.to_owned()))
    }
}

impl NamespaceTemplate {
    /// Parses a template.
    pub fn parse(text: &str) -> Result<Self, BadTemplate> {
        let mut names = std::collections::BTreeSet::new();
        let mut parts = Vec::new();
        for part in text.split('/') {
            let parsed = TemplatePart::parse(part)?;
            if let Some(name) = &parsed.placeholder
                && !names.insert(name.clone())
            {
                return Err(BadTemplate::Twice(name.clone()));
            }
            parts.push(parsed);
        }
        Ok(Self { parts })
    }
}

impl TemplatePart {
    fn parse(text: &str) -> Result<Self, BadTemplate> {
        let bad = || BadTemplate::Braces(text.to_owned());
        let Some((before, rest)) = text.split_once('{') else {
            if text.contains('}') {
                return Err(bad());
            }
            ThreadId::new(text)?;
            return Ok(Self { before: text.into(), placeholder: None, after: String::new() });
        };
        let (name, after) = rest.split_once('}').ok_or_else(bad)?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(is_name) || after.contains(['{', '}']) {
            return Err(bad());
        }
        // With a harmless value it must be a part.
        ThreadId::new(&format!("{before}x{after}"))?;
        let placeholder = Some(name.to_owned());
        Ok(Self { before: before.into(), placeholder, after: after.into() })
    }

    fn fill(&self, context: &ThreadContext) -> Result<ThreadId, BadThreadId> {
        let Some(name) = &self.placeholder else { return ThreadId::new(&self.before) };
        // Checked alone: the text around it must not make an empty value, or dots, valid.
        let value = ThreadId::new(context.get(name)?)?;
        ThreadId::new(&format!("{}{value}{}", self.before, self.after))
    }

    /// Reports whether a part could have been made from this one.
    fn matches(&self, part: &ThreadId) -> bool {
        let text = part.as_str();
        let value = text.strip_prefix(&self.before).and_then(|rest| rest.strip_suffix(&self.after));
        match &self.placeholder {
            None => text == self.before,
            Some(_) => value.is_some_and(|value| ThreadId::new(value).is_ok()),
        }
    }
}

impl NamespaceStrategy {
    /// Parses the name of a strategy, or a template.
    pub fn parse(text: &str) -> Result<Self, BadTemplate> {
        match text {
            "thread_id" => Ok(Self::ThreadId),
            "task_id" => Ok(Self::TaskId),
            "flat" => Ok(Self::Flat),
            template if template.contains('{') => {
                NamespaceTemplate::parse(template).map(Self::Custom)
            }
            _ => Err(BadTemplate::Unknown),
        }
    }

    /// Returns the address of the tree for a context.
    pub fn address(&self, context: &ThreadContext) -> Result<ThreadAddress, BadThreadId> {
        let single = |name| Ok(vec![ThreadId::new(context.get(name)?)?]);
        let parts = match self {
            Self::ThreadId => single("thread_id")?,
            Self::TaskId => single("task_id")?,
            Self::Flat => return Ok(ThreadAddress::flat()),
            Self::Custom(template) => {
                let filled = template.parts.iter().map(|part| part.fill(context));
                filled.collect::<Result<_, _>>()?
            }
        };
        Ok(ThreadAddress { parts, is_flat: false })
    }

    /// Parses an address as [`ThreadAddress`] prints it.
    pub fn parse_address(&self, text: &str) -> Result<ThreadAddress, BadThreadId> {
        match self {
            Self::Flat if text == FLAT_ADDRESS => Ok(ThreadAddress::flat()),
            Self::Flat => {
                ThreadId::new(text)?;
                Ok(ThreadAddress::flat())
            }
            Self::Custom(template) => {
                let parts: Vec<_> = text.split('/').map(ThreadId::new).collect::<Result<_, _>>()?;
                let given = text.to_owned();
                let bad = || BadThreadId::Parts { expected: template.parts.len(), given };
                let is_made = parts.len() == template.parts.len()
                    && template.parts.iter().zip(&parts).all(|(part, given)| part.matches(given));
                if is_made { Ok(ThreadAddress { parts, is_flat: false }) } else { Err(bad()) }
            }
            _ => Ok(ThreadAddress { parts: vec![ThreadId::new(text)?], is_flat: false }),
        }
    }

    /// Returns the number of directories within each other that lead to a tree.
    pub(crate) fn depth(&self) -> usize {
        match self {
            Self::Custom(template) => template.parts.len(),
            _ => 1,
        }
    }

    /// Returns the address of the tree whose directories have these names.
    pub(crate) fn address_of_names(&self, names: &[&str]) -> Option<ThreadAddress> {
        if *self == Self::Flat {
            return (names == [FLAT_DIRECTORY]).then(ThreadAddress::flat);
        }
        let (last, above) = names.split_last()?;
        let mut parts = Vec::with_capacity(names.len());
        for name in above {
            parts.push(ThreadId::of_directory_name(name.strip_suffix('+')?)?);
        }
        parts.push(ThreadId::of_directory_name(last)?);
        let address = ThreadAddress { parts, is_flat: false };
        self.parse_address(&address.to_string()).ok()
    }
}

impl ThreadAddress {
    fn flat() -> Self {
        let parts = ThreadId::new(FLAT_ADDRESS).into_iter().collect();
        Self { parts, is_flat: true }
    }

    /// Returns the directory of the tree, below that of all trees.
    pub(crate) fn directory(&self, root: &VPath) -> VPath {
        if self.is_flat {
            return root.join(FLAT_DIRECTORY);
        }
        let mut directory = root.clone();
        for (at, part) in self.parts.iter().enumerate() {
            let mark = if at + 1 < self.parts.len() { "+" } else { "" };
            directory = directory.join(&format!("{}{mark}", part.directory_name()));
        }
        directory
    }
}

impl fmt::Display for ThreadAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<&str> = self.parts.iter().map(ThreadId::as_str).collect();
        f.write_str(&parts.join("/"))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(strategy: &NamespaceStrategy, directory: Expect) {
        let context = ThreadContext::of_thread("t 1").with("task_id", "job%").with("agent", "a");
        let root = VPath::root().join("threads");
        let shown = match strategy.address(&context) {
            Ok(address) => {
                let text = address.to_string();
                assert_eq!(strategy.parse_address(&text).as_ref(), Ok(&address));
                let directory = address.directory(&root);
                let names: Vec<&str> = directory.components().skip(1).collect();
                assert_eq!(strategy.address_of_names(&names), Some(address));
                format!("{directory} is {text}")
            }
            Err(error) => error.to_string(),
        };
        directory.assert_eq(&shown);
    }

    fn custom(text: &str) -> NamespaceStrategy {
        NamespaceStrategy::Custom(NamespaceTemplate::parse(text).unwrap())
    }

    #[test]
    fn contexts_lead_to_directories() {
        check(&NamespaceStrategy::ThreadId, expect!["/threads/t 1 is t 1"]);
        check(&NamespaceStrategy::TaskId, expect!["/threads/job%25 is job%"]);
        check(&NamespaceStrategy::Flat, expect!["/threads/+shared is shared"]);
        check(&custom("{agent}/run-{thread_id}"), expect!["/threads/a+/run-t 1 is a/run-t 1"]);
        check(&custom("all/{task_id}.d"), expect!["/threads/all+/job%25.d is all/job%.d"]);
        check(&custom("{user}"), expect![[r#"the namespace needs a value for "user""#]]);
    }

    #[test]
    fn no_value_adds_or_removes_a_part() {
        let strategy = custom("{agent}/{thread_id}");
        for bad in ["", ".", "..", "a/b", "*", "x?", "\u{1}"] {
            let context = ThreadContext::of_thread("t").with("agent", bad);
            assert!(strategy.address(&context).is_err(), "{bad:?}");
        }
        for bad in ["a", "a/b/c", "a//c", "/a/b", "../b"] {
            assert!(strategy.parse_address(bad).is_err(), "{bad:?}");
        }
        assert!(custom("x{a}").address(&ThreadContext::default().with("a", "")).is_err());
    }

    #[test]
    fn what_is_no_template_is_refused() {
        let check = |text: &str, why: Expect| {
            why.assert_eq(&NamespaceTemplate::parse(text).unwrap_err().to_string());
        };
        let braces = expect![[
            r#"a part of a template has at most one placeholder such as {thread_id}: "{a}{b}""#
        ]];
        check("{a}{b}", braces);
        check("{a}/{a}", expect![[r#"the placeholder "a" appears twice"#]]);
        check("x//y", expect!["a part of the template is not a name"]);
        check("{a}/..", expect!["a part of the template is not a name"]);
        for bad in ["", "{", "}", "{}", "{a b}", "*{a}"] {
            assert!(NamespaceTemplate::parse(bad).is_err(), "{bad}");
        }
    }
}
