//! Approval of directories: a person is asked once for a directory, and the answer covers
//! everything below it.
//!
//! [`DirectoryApprovals`] is an [`ApprovalBroker`]; with a rule that interrupts at `/**`, every
//! directory needs an approval before its first use. Approvals for good are kept in a JSON file.

mod grant_file;

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    path::PathBuf,
    pin::Pin,
    sync::Arc,
};

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::watch;
use yfs_types::path::VPath;

pub use self::grant_file::GrantFileError;
use self::grant_file::{GrantFile, GrantFileStamp};
use crate::permissions::{
    AccessKind, ApprovalBroker, ApprovalDecision, ApprovalRequest, AskedObject,
};

/// A question about one directory.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DirectoryQuestion {
    /// The directory, which the answer covers with everything below it.
    pub directory: VPath,
}

/// The answer to a [`DirectoryQuestion`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirectoryAnswer {
    /// The directory may be used from now on; the approval is kept in the file.
    Yes,
    /// The access is refused. A later access asks again.
    No,
    /// The directory may be used until the program ends.
    Session,
}

/// The side that answers, for example a person in front of a terminal.
#[async_trait]
pub trait DirectoryAsker: Send + Sync + fmt::Debug + 'static {
    /// Asks whether a directory may be used.
    async fn ask(&self, question: DirectoryQuestion) -> DirectoryAnswer;

    /// Begins to ask, in the task of the call that needs the answer. The question itself is asked
    /// in another task, because it outlives the call.
    fn begin(self: Arc<Self>, question: DirectoryQuestion) -> AnswerFuture {
        Box::pin(async move { self.ask(question).await })
    }
}

/// The answer to a question that is being asked.
pub type AnswerFuture = Pin<Box<dyn Future<Output = DirectoryAnswer> + Send>>;

/// The directories that may be used, and the questions that are being asked.
///
/// Clones share all of it.
#[derive(Debug, Clone)]
pub struct DirectoryApprovals {
    shared: Arc<SharedApprovals>,
}

#[derive(Debug)]
struct SharedApprovals {
    asker: Arc<dyn DirectoryAsker>,
    file: GrantFile,
    state: Mutex<ApprovalState>,
}

#[derive(Debug, Default)]
struct ApprovalState {
    kept: BTreeSet<VPath>,
    session: BTreeSet<VPath>,
    /// The stamp that the file had before it was read; a file that is replaced has another.
    stamp: Option<GrantFileStamp>,
    /// The open questions. The task that asks one owns the sender, removes the question when it is
    /// answered, and drops the sender if it panics.
    open: HashMap<VPath, watch::Receiver<Option<DirectoryAnswer>>>,
}

/// One approved directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct DirectoryGrant {
    /// The directory.
    pub directory: VPath,
    /// Whether the approval is kept in the file.
    pub is_kept: bool,
}

impl DirectoryApprovals {
    /// Reads the approvals of earlier runs from a file, which need not exist. A damaged file is an
    /// error and stays as it is.
    pub fn open(
        asker: Arc<dyn DirectoryAsker>,
        file: impl Into<PathBuf>,
    ) -> Result<Self, GrantFileError> {
        let file = GrantFile::new(file.into());
        let kept = file.read()?;
        let state = Mutex::new(ApprovalState { kept, ..ApprovalState::default() });
        Ok(Self { shared: Arc::new(SharedApprovals { asker, file, state }) })
    }

    /// Makes the file, without approvals, if there is none yet.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn keep_file(&self) -> Result<(), GrantFileError> {
        match self.shared.file.stamp() {
            None => self.shared.file.update(|_| ()).map(drop),
            Some(_) => Ok(()),
        }
    }

    /// Returns the approved directories in order.
    pub fn grants(&self) -> Vec<DirectoryGrant> {
        let state = self.shared.state.lock();
        let grant = |is_kept| {
            move |directory: &VPath| DirectoryGrant { directory: directory.clone(), is_kept }
        };
        let kept = state.kept.iter().map(grant(true));
        let mut grants: Vec<_> = kept.chain(state.session.iter().map(grant(false))).collect();
        grants.sort();
        grants
    }

    /// Removes the approval of a directory, also from the file. Returns whether there was one.
    ///
    /// Approvals of directories above it still cover it.
    pub fn revoke(&self, directory: &VPath) -> Result<bool, GrantFileError> {
        let mut was_kept = false;
        let kept = self.shared.file.update(|kept| was_kept = kept.remove(directory))?;
        let mut state = self.shared.state.lock();
        (state.kept, state.stamp) = (kept, None);
        Ok(state.session.remove(directory) || was_kept)
    }

    /// Returns whether a directory may be used, without asking.
    pub fn is_approved(&self, directory: &VPath) -> bool {
        self.shared.read_file();
        self.shared.state.lock().covers(directory)
    }

    /// Records an answer that was obtained by other means than the asker. Returns whether the
    /// directory may be used.
    pub async fn answer(&self, directory: &VPath, answer: DirectoryAnswer) -> bool {
        self.shared.record(directory, answer).await != DirectoryAnswer::No
    }

    /// Returns whether a directory may be used, and asks if there is no answer yet.
    ///
    /// Concurrent calls about one directory, or about directories below it, share one question. A
    /// caller that is dropped meanwhile leaves the question to the others.
    pub async fn request(&self, directory: &VPath) -> bool {
        self.shared.read_file();
        loop {
            let (mut answer, own) = {
                let mut state = self.shared.state.lock();
                if state.covers(directory) {
                    return true;
                }
                let open = state.open.iter().find(|(asked, _)| directory.starts_with(asked));
                match open {
                    Some((asked, answer)) => (answer.clone(), asked == directory),
                    None => (self.start_question(&mut state, directory), true),
                }
            };
            let answer = match answer.wait_for(Option::is_some).await {
                Ok(answer) => answer.unwrap_or(DirectoryAnswer::No),
                // The asker panicked.
                Err(_) => DirectoryAnswer::No,
            };
            match answer {
                DirectoryAnswer::Yes | DirectoryAnswer::Session => return true,
                DirectoryAnswer::No if own => return false,
                // A refusal of a directory above is no answer about this one.
                DirectoryAnswer::No => (),
            }
        }
    }

    /// Starts a task that asks, so that the question outlives the caller.
    fn start_question(
        &self,
        state: &mut ApprovalState,
        directory: &VPath,
    ) -> watch::Receiver<Option<DirectoryAnswer>> {
        let (sender, receiver) = watch::channel(None);
        state.open.insert(directory.clone(), receiver.clone());
        let (shared, directory) = (self.shared.clone(), directory.clone());
        let question = DirectoryQuestion { directory: directory.clone() };
        let answer = shared.asker.clone().begin(question);
        tokio::spawn(async move {
            // Removes the question even if the asker panics.
            let open = OpenQuestion { shared: &shared, directory: &directory };
            let answer = answer.await;
            let answer = shared.record(&directory, answer).await;
            drop(open);
            sender.send_replace(Some(answer));
        });
        receiver
    }
}

/// A question while it is asked.
struct OpenQuestion<'a> {
    shared: &'a SharedApprovals,
    directory: &'a VPath,
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        self.shared.state.lock().open.remove(self.directory);
    }
}

impl SharedApprovals {
    /// Reads the approvals that other processes added or revoked, if the file is another one since.
    /// Without a readable file there are none.
    fn read_file(&self) {
        let stamp = self.file.stamp();
        if stamp.is_some() && self.state.lock().stamp == stamp {
            return;
        }
        let kept = self.file.read().unwrap_or_default();
        let mut state = self.state.lock();
        (state.kept, state.stamp) = (kept, stamp);
    }

    /// Records an answer. An approval that cannot be written to the file holds for the session.
    async fn record(&self, directory: &VPath, answer: DirectoryAnswer) -> DirectoryAnswer {
        match answer {
            DirectoryAnswer::No => (),
            DirectoryAnswer::Yes => {
                let (file, added) = (self.file.clone(), directory.clone());
                let write = move || {
                    file.update(|kept| {
                        kept.insert(added);
                    })
                };
                match tokio::task::spawn_blocking(write).await {
                    Ok(Ok(kept)) => {
                        let mut state = self.state.lock();
                        (state.kept, state.stamp) = (kept, None);
                    }
                    _ => {
                        self.state.lock().session.insert(directory.clone());
                    }
                }
            }
            DirectoryAnswer::Session => {
                self.state.lock().session.insert(directory.clone());
            }
        }
        answer
    }
}

impl ApprovalState {
    fn covers(&self, directory: &VPath) -> bool {
        let mut approved = self.kept.iter().chain(&self.session);
        approved.any(|approved| directory.starts_with(approved))
    }
}

#[async_trait]
impl ApprovalBroker for DirectoryApprovals {
    fn is_approved(&self, request: &ApprovalRequest) -> bool {
        Self::is_approved(self, &request.directory)
    }

    fn asked_object<'a>(&self, request: &'a ApprovalRequest) -> AskedObject<'a> {
        let accesses = &[AccessKind::Read, AccessKind::Write];
        AskedObject { path: &request.directory, accesses }
    }

    /// Asks for the directory that holds the object, or for the object if it is a directory.
    async fn decide(&self, request: &ApprovalRequest) -> ApprovalDecision {
        let directory = request.directory.clone();
        // The approval is remembered here, where it can be revoked, and not by the filesystem.
        if self.request(&directory).await {
            ApprovalDecision::Once
        } else {
            ApprovalDecision::Refuse
        }
    }
}
