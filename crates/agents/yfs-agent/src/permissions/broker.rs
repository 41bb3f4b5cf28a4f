//! The question that a rule in the mode `Interrupt` asks, and the side that answers it.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use yfs_types::path::VPath;
use yfs_vfs::Op;

use super::rules::AccessKind;

/// One access that needs approval.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The kind of access.
    pub access: AccessKind,
    /// The operation that needs it.
    pub op: Op,
    /// The path as the caller spelled it.
    pub spelled: VPath,
    /// The path that the operation would act on, without symbolic links.
    pub path: VPath,
    /// Whether the answer covers everything below the path, because a directory is there.
    pub is_subtree: bool,
    /// Whether the call reads the object that it is to change, so that one answer covers both.
    pub reads: bool,
    /// The directory that holds the object, or the object itself if it is a directory or is alone
    /// what the session may use.
    pub directory: VPath,
}

/// What the question about an access names: an answer is about this object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AskedObject<'a> {
    /// The object.
    pub path: &'a VPath,
    /// The kinds of access that the question is about.
    pub accesses: &'static [AccessKind],
}

impl ApprovalRequest {
    /// Returns the kinds of access that the call needs.
    pub(super) fn accesses(&self) -> &'static [AccessKind] {
        match (self.access, self.reads) {
            (AccessKind::Read, _) => &[AccessKind::Read],
            (AccessKind::Write, false) => &[AccessKind::Write],
            (AccessKind::Write, true) => &[AccessKind::Write, AccessKind::Read],
        }
    }
}

/// The answer to an [`ApprovalRequest`]. It covers the object and everything below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalDecision {
    /// The call of the tool, with all its operations on the object, may proceed.
    Once,
    /// This and later calls with the same access to the same object may proceed.
    Session,
    /// The operation is refused, and without another question what else the call would do with the
    /// object, with what holds it and with what is below it.
    Refuse,
}

/// The side that decides about an access, for example a person in front of a terminal.
///
/// It may take as long as it likes: no lock is held meanwhile, and the access is checked again
/// after the answer, so an approval never applies to another object.
#[async_trait]
pub trait ApprovalBroker: Send + Sync + fmt::Debug {
    /// Returns whether an access is approved already, without asking.
    fn is_approved(&self, request: &ApprovalRequest) -> bool {
        let _ = request;
        false
    }

    /// Returns what the question about an access names, by default the object of the request.
    fn asked_object<'a>(&self, request: &'a ApprovalRequest) -> AskedObject<'a> {
        AskedObject { path: &request.path, accesses: request.accesses() }
    }

    /// Returns the broker for the call under way, which decides also in other tasks and threads
    /// that work for this call; `None` if this one does so.
    fn for_this_call(&self) -> Option<Arc<dyn ApprovalBroker>> {
        None
    }

    /// Decides about one access.
    async fn decide(&self, request: &ApprovalRequest) -> ApprovalDecision;
}

/// A broker that refuses every access, for agents that nothing supervises.
#[derive(Debug, Default, Clone, Copy)]
pub struct RefusingBroker;

#[async_trait]
impl ApprovalBroker for RefusingBroker {
    async fn decide(&self, _: &ApprovalRequest) -> ApprovalDecision {
        ApprovalDecision::Refuse
    }
}
