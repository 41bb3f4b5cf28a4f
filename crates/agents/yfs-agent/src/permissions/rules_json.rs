//! Permission rules as JSON: a list of `{"operations", "paths", "mode"}`, as in deepagents.

use serde::Deserialize;
use thiserror::Error;

use super::rules::{AccessKind, BadRule, PermissionRule, PermissionRules, RuleMode};

/// The reason why the JSON of rules is not accepted.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BadRulesFile {
    /// The text is not a list of rules.
    #[error("the rules are not a list of {{\"operations\", \"paths\", \"mode\"}}")]
    Json(#[from] serde_json::Error),
    /// A rule is not accepted.
    #[error("a rule is not accepted")]
    Rule(#[from] BadRule),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleJson {
    operations: Vec<OperationJson>,
    paths: Vec<String>,
    #[serde(default)]
    mode: ModeJson,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OperationJson {
    Read,
    Write,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ModeJson {
    #[default]
    Allow,
    Deny,
    Interrupt,
}

/// Parses rules. They are not compiled yet, so that the caller can add its own.
pub fn parse_rules(json: &str) -> Result<Vec<PermissionRule>, BadRulesFile> {
    let rules: Vec<RuleJson> = serde_json::from_str(json)?;
    let rules: Vec<_> = rules.into_iter().map(RuleJson::into_rule).collect();
    PermissionRules::new(rules.clone())?;
    Ok(rules)
}

impl RuleJson {
    fn into_rule(self) -> PermissionRule {
        let operations = self.operations.iter().map(|operation| match operation {
            OperationJson::Read => AccessKind::Read,
            OperationJson::Write => AccessKind::Write,
        });
        let mode = match self.mode {
            ModeJson::Allow => RuleMode::Allow,
            ModeJson::Deny => RuleMode::Deny,
            ModeJson::Interrupt => RuleMode::Interrupt,
        };
        PermissionRule { operations: operations.collect(), paths: self.paths, mode }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_a_list_of_objects() {
        let rules = parse_rules(
            r#"[{"operations": ["read", "write"], "paths": ["/secret/**"], "mode": "deny"},
                {"operations": ["write"], "paths": ["/**"], "mode": "interrupt"}]"#,
        )
        .unwrap();
        assert_eq!((rules.len(), rules[1].mode), (2, RuleMode::Interrupt));
        for bad in ["{}", "[{}]", r#"[{"operations":["fly"],"paths":["/"]}]"#, "[1]", ""] {
            assert!(matches!(parse_rules(bad), Err(BadRulesFile::Json(_))), "{bad}");
        }
        let relative = r#"[{"operations": ["read"], "paths": ["secret"]}]"#;
        assert!(matches!(parse_rules(relative), Err(BadRulesFile::Rule(_))));
    }
}
