//! Other handles to a filesystem.

use crate::call_scope::CallScope;

/// Another handle to the same filesystem; see [`FileSystem::view`](crate::FileSystem::view).
#[derive(Debug, Clone, Copy)]
pub enum FsView<'a> {
    /// A handle that follows no symbolic link.
    ///
    /// On it, a path through a link is `ELOOP`, and so is a link at the end of the path of a call
    /// that would follow it. A caller that checks where a path leads before it acts uses this
    /// handle to act, so that no link that another writer makes meanwhile leads elsewhere.
    WithoutLinks,
    /// A handle whose changes are one step, which is undone as a whole. A backend that keeps no
    /// record of steps has none.
    NewStep,
    /// A handle for one call.
    ///
    /// What a person approves for once counts for all operations of the call. Searches on the
    /// handle report in the scope which files they left out because an approval is missing.
    ForCall(&'a CallScope),
    /// A handle that asks no person for approval.
    ///
    /// On it, objects that need an approval are left out of lists, and calls on them are `EACCES`.
    /// It is for calls that read many files, where the questions would be as many.
    WithoutQuestions,
}
