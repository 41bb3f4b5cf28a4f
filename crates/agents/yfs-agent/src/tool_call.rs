//! One call of a tool: the session's filesystem on behalf of the call.
//!
//! All vocabularies work through these methods, so all of them merge, remember and record alike.

use std::sync::Arc;

use bytes::Bytes;
use smol_str::SmolStr;
use yfs_types::{id::FileId, path::VPath};
use yfs_vfs::{
    CallScope, ChangeAuthor, FileContent, FileKind, FileSystem, FsCode, FsError, FsView, Op,
    TextReplacement, VersionToken,
};

use crate::{
    audit::{AuditOrigin, AuditedFile, AuditedFs, FileAudit},
    history::{FileHistory, UndoneChange, change_label},
    session::{AgentSession, RememberedRead},
    tool::CallContext,
};

/// One call of a tool. Clones are handles of one call.
#[derive(Debug, Clone)]
pub struct ToolCall {
    session: AgentSession,
    fs: Arc<dyn FileSystem>,
    audited: Option<AuditedFs>,
    author: ChangeAuthor,
    context: CallContext,
    scope: CallScope,
}

/// The result of an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MergedEdit {
    /// The number of occurrences that were replaced.
    pub n_replaced: usize,
    /// Whether others had changed the file since the agent read it. Their changes are kept.
    pub changed_since_read: bool,
}

/// What the agent knows of the file at a path.
#[derive(Debug)]
pub(crate) struct KnownFile {
    /// The file that is there now.
    pub(crate) id: FileId,
    pub(crate) read: RememberedRead,
    /// Whether that is the file that was read. If not, another file has taken its path, perhaps
    /// because the backend replaces files when it writes them.
    pub(crate) is_same: bool,
}

impl ToolCall {
    /// Begins a call of `tool`. Its changes are one step of the history, and an approval for once
    /// counts for all of it.
    pub fn new(session: &AgentSession, tool: &str, context: CallContext) -> Self {
        Self::with_scope(session, tool, context, CallScope::new())
    }

    /// Begins a call with a scope, which says whether the tool changes what it reads.
    pub(crate) fn with_scope(
        session: &AgentSession,
        tool: &str,
        context: CallContext,
        scope: CallScope,
    ) -> Self {
        let files = session.fs().view(FsView::NewStep).unwrap_or_else(|| session.fs().clone());
        let files = files.view(FsView::ForCall(&scope)).unwrap_or(files);
        let origin = || AuditOrigin {
            actor: session.actor().clone(),
            session: session.id().clone(),
            call_id: context.call_id.clone(),
            tool: Some(SmolStr::new(tool)),
        };
        let audit = session.audit().map(|sink| FileAudit::new(sink.clone(), origin()));
        let audited = audit.map(|audit| AuditedFs::new(files.clone(), audit));
        let fs = match &audited {
            Some(audited) => Arc::new(audited.clone()),
            None => files,
        };
        let label = change_label(session.id(), context.call_id.as_deref());
        let author =
            ChangeAuthor { actor: session.actor().clone(), label: Some(label), step: None };
        Self { session: session.clone(), fs, audited, author, context, scope }
    }

    /// Returns the session.
    pub(crate) fn session(&self) -> &AgentSession {
        &self.session
    }

    /// Returns the filesystem, which records changes if the session has an audit sink.
    pub(crate) fn fs(&self) -> &Arc<dyn FileSystem> {
        &self.fs
    }

    /// Returns what the operations of the call share.
    pub(crate) fn scope(&self) -> &CallScope {
        &self.scope
    }

    /// Returns the circumstances of the call.
    pub(crate) fn context(&self) -> &CallContext {
        &self.context
    }

    /// Returns the author of the call's changes.
    pub(crate) fn author(&self) -> &ChangeAuthor {
        &self.author
    }

    /// Returns the origin and the files of the audit record, if there is a sink.
    pub(crate) fn audited(&self) -> Option<(&AuditOrigin, Vec<AuditedFile>)> {
        let audit = self.audited.as_ref().map(AuditedFs::guard);
        audit.map(|audit| (audit.origin(), audit.touched_files()))
    }

    /// Undoes the changes of the session, and records the files whose versions that changed.
    pub(crate) async fn recorded_undo(
        &self,
        history: &dyn FileHistory,
        paths: &[VPath],
    ) -> Result<Vec<UndoneChange>, FsError> {
        let undo = history.undo_session(self.session.actor(), self.session.id());
        match &self.audited {
            Some(audited) => {
                audited.guard().record_change(audited.inner(), Op::Write, paths, undo).await
            }
            None => undo.await,
        }
    }

    /// Reads a file, and remembers it as read.
    ///
    /// # Errors
    ///
    /// Fails as [`FileSystem::read`] does; with `EFBIG` above [`SessionLimits::max_file_len`].
    ///
    /// [`SessionLimits::max_file_len`]: crate::SessionLimits::max_file_len
    pub async fn read(&self, path: &VPath) -> Result<FileContent, FsError> {
        let mut n_attempts = 0;
        loop {
            n_attempts += 1;
            let stat = self.fs.stat(path).await.map_err(|error| error.during(Op::Open))?;
            if stat.kind == FileKind::File && stat.size > self.session.limits().max_file_len {
                return Err(FsError::new(FsCode::EFBIG, Op::Read, path));
            }
            let content = self.fs.read(path).await?;
            // If another file was moved to the path in between, the id is not that of the content.
            if stat.version.as_ref() == Some(&content.version) || n_attempts == 4 {
                let (version, data) = (content.version.clone(), content.data.clone());
                if let Some(audited) = &self.audited {
                    audited.guard().note_read(path, &version);
                }
                let read = RememberedRead { version: Some(version), content: Some(data) };
                let mut memory = self.session.memory().lock();
                memory.note_read(&stat.id, &read);
                memory.remember_at(path, &stat.id, read);
                return Ok(content);
            }
        }
    }

    /// Replaces text in a file. All of several edits at once take effect.
    ///
    /// # Errors
    ///
    /// Fails as [`FileSystem::edit`] does.
    pub(crate) async fn edit(
        &self,
        path: &VPath,
        edit: TextReplacement,
    ) -> Result<MergedEdit, FsError> {
        let edit = TextReplacement { author: Some(self.author.clone()), ..edit };
        let stat = self.fs.stat(path).await.map_err(|error| error.during(Op::Edit))?;
        let known = self.session.memory().lock().get_at(path, &stat.id);
        let known_version = known.as_ref().and_then(|known| known.version.clone());
        let is_current = known_version.is_some() && known_version == stat.version;
        let changed_since_read = known.is_some() && !is_current;
        let expected_version = stat.version.filter(|_| is_current);
        let expecting = TextReplacement { expected_version, ..edit.clone() };
        let edited = match self.fs.edit(path, &expecting).await {
            Err(error) if error.code == FsCode::ESTALE => self.fs.edit(path, &edit).await?,
            edited => edited?,
        };
        if let Some(known) = known {
            let text = known.content.as_ref().and_then(|bytes| std::str::from_utf8(bytes).ok());
            // The agent has not seen what others wrote meanwhile.
            let content = text.and_then(|text| edit.apply(text).ok()).map(|(text, _)| text.into());
            self.remember((path, &stat.id), edited.version, content);
        }
        Ok(MergedEdit { n_replaced: edited.n_replaced, changed_since_read })
    }

    pub(crate) fn remember(
        &self,
        (path, id): (&VPath, &FileId),
        version: Option<VersionToken>,
        content: Option<Bytes>,
    ) {
        let known = RememberedRead { version, content };
        self.session.memory().lock().remember_at(path, id, known);
    }

    /// Returns what the agent knows of the file at a path.
    pub(crate) async fn known_at(&self, path: &VPath) -> Option<KnownFile> {
        let stat = self.fs.stat(path).await.ok()?;
        let memory = self.session.memory().lock();
        let read = memory.get_at(path, &stat.id)?;
        let is_same = memory.get(&stat.id).is_some()
            || (read.version.is_some() && read.version == stat.version);
        Some(KnownFile { id: stat.id, read, is_same })
    }
}
