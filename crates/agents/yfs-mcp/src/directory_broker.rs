//! Approval of directories by the person in front of the client.

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use yfs_agent::{
    approval::{
        AnswerFuture, DirectoryAnswer, DirectoryApprovals, DirectoryAsker, DirectoryQuestion,
        GrantFileError,
    },
    permissions::{ApprovalBroker, ApprovalDecision, ApprovalRequest, AskedObject},
};

use crate::approvals::{CallApprovals, CallBroker, DirectoryReply};

/// A broker that asks the client of the call under way about directories. An answer covers all
/// below, calls that need the same answer share one question, and approvals for good are kept in a
/// file.
#[derive(Debug, Clone)]
pub struct DirectoryBroker {
    approvals: DirectoryApprovals,
}

#[derive(Debug)]
struct ElicitingAsker;

impl DirectoryBroker {
    /// Reads the approvals of earlier runs from a file, which need not exist.
    pub fn open(file: impl Into<PathBuf>) -> Result<Self, GrantFileError> {
        Ok(Self { approvals: DirectoryApprovals::open(Arc::new(ElicitingAsker), file)? })
    }

    /// Returns the approvals.
    pub fn approvals(&self) -> &DirectoryApprovals {
        &self.approvals
    }
}

#[async_trait]
impl DirectoryAsker for ElicitingAsker {
    async fn ask(&self, _: DirectoryQuestion) -> DirectoryAnswer {
        DirectoryAnswer::No
    }

    fn begin(self: Arc<Self>, question: DirectoryQuestion) -> AnswerFuture {
        match CallApprovals::current() {
            Some(call) => call.ask_about(&question.directory),
            None => Box::pin(std::future::ready(DirectoryAnswer::No)),
        }
    }
}

#[async_trait]
impl ApprovalBroker for DirectoryBroker {
    fn is_approved(&self, request: &ApprovalRequest) -> bool {
        self.approvals.is_approved(&request.directory)
    }

    fn asked_object<'a>(&self, request: &'a ApprovalRequest) -> AskedObject<'a> {
        self.approvals.asked_object(request)
    }

    fn for_this_call(&self) -> Option<Arc<dyn ApprovalBroker>> {
        CallBroker::over(Arc::new(self.clone()))
    }

    async fn decide(&self, request: &ApprovalRequest) -> ApprovalDecision {
        let directory = request.directory.clone();
        if self.approvals.is_approved(&directory) {
            return ApprovalDecision::Once;
        }
        let Some(call) = CallApprovals::current() else { return ApprovalDecision::Refuse };
        let is_approved = match call.reply_about(&directory) {
            DirectoryReply::Refused => false,
            DirectoryReply::Answered(answer) => self.approvals.answer(&directory, answer).await,
            DirectoryReply::AskNow => self.approvals.request(&directory).await,
        };
        // The approval is remembered where it can be revoked, and not by the filesystem.
        if is_approved { ApprovalDecision::Once } else { ApprovalDecision::Refuse }
    }
}
