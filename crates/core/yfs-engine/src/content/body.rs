//! The body of a document: its content in one of the two forms.

use super::{
    ContentBase, ContentError, ContentWriteResult,
    edit::check_len,
    plain::PlainBody,
    rebase::{RebaseOp, applied},
    replica::ContentReplica,
    rich::{RichBody, RichCache, RichWriter},
};
use crate::kind::ContentRoot;

/// One form of the content, as which it is read and written.
#[derive(Debug, Clone, Copy)]
pub(super) enum ContentBody {
    /// Plain text.
    Plain(PlainBody),
    /// Rich text.
    Rich(RichBody),
}

impl ContentBody {
    /// Returns the body that a root holds.
    pub(super) fn of_root(root: ContentRoot) -> Self {
        match root {
            ContentRoot::Text => Self::Plain(PlainBody),
            ContentRoot::Rich(profile) => Self::Rich(RichBody { profile }),
        }
    }

    /// Returns the text of the file.
    pub(super) fn text(self, replica: &ContentReplica, cache: &RichCache) -> String {
        match self {
            Self::Plain(_) => replica.plain_text().to_owned(),
            Self::Rich(body) => body.file(replica, cache).text,
        }
    }

    /// Writes `new` in place of the text that the writer had read. The caller has checked that the
    /// document knows the version.
    pub(super) fn write(
        self,
        writer: &mut RichWriter<'_>,
        new: &str,
        base: Option<ContentBase<'_>>,
    ) -> Result<ContentWriteResult, ContentError> {
        match self {
            Self::Plain(body) => body.write(&mut writer.body, new, base),
            Self::Rich(body) => body.write(writer, new, base),
        }
    }

    /// Applies changes of the current text, in order of position.
    pub(super) fn apply(
        self,
        writer: &mut RichWriter<'_>,
        current: &str,
        new: &str,
        ops: &[RebaseOp],
    ) -> Result<Option<Vec<u8>>, ContentError> {
        let body = match self {
            Self::Plain(body) => return body.apply(&mut writer.body, current, new, ops),
            Self::Rich(body) => body,
        };
        if ops.is_empty() {
            return Ok(None);
        }
        let whole = applied(current, new, ops);
        check_len(whole.len(), current.len(), &writer.body.replica.limits())?;
        Ok(body.write_file(writer, &whole, None)?.update)
    }
}
