//! Permission rules as JSON: a list of `{"operations", "paths", "mode"}`, as in deepagents.

use thiserror::Error;

use super::rules::{BadRule, PermissionRule, PermissionRules};

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

/// Parses rules. They are not compiled yet, so that the caller can add its own.
pub fn parse_rules(json: &str) -> Result<Vec<PermissionRule>, BadRulesFile> {
    let rules: Vec<PermissionRule> = serde_json::from_str(json)?;
    PermissionRules::new(rules.clone())?;
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use super::{super::rules::RuleMode, *};

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
