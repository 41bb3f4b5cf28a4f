//! Permissions: ordered rules about paths, and the filesystem that enforces them.
//!
//! [`PermissionRules`] decide about a path. [`PermittedFs`] wraps a filesystem and applies them to
//! every object that a call reaches, however the path is spelled. Rules in the mode
//! [`RuleMode::Interrupt`] ask an [`ApprovalBroker`].

mod access_limits;
mod admission;
mod broker;
mod lookup;
mod object_places;
mod permitted_fs;
mod rules;
mod rules_json;
mod search;

#[cfg(test)]
mod tests;

pub(crate) use self::rules::escape_literal;
pub use self::{
    access_limits::AccessLimits,
    broker::{ApprovalBroker, ApprovalDecision, ApprovalRequest, AskedObject, RefusingBroker},
    permitted_fs::{MissingLinkHandle, PermissionRefusal, PermittedFs},
    rules::{AccessKind, BadRule, PermissionRule, PermissionRules, RuleMode},
    rules_json::{BadRulesFile, parse_rules},
};
