//! Options of a mirror.

use std::time::Duration;

use yfs_engine::actor::{Actor, ActorKind};

use yfs_vfs::name_escaping::HostRules;

/// The authors whose executable bits and automatically executed files the mirror writes to the
/// directory.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum TrustPolicy {
    /// Trust only changes made in the directory itself. The mirror writes no executable bits of
    /// other authors, and no files that tools execute or load automatically
    /// ([`crate::untrusted_files`]). The log does not authenticate actors, so every change made
    /// outside the directory counts as a change of another author.
    #[default]
    Directory,
    /// Trust every writer of the workspace.
    AnyAuthor,
}

/// Options of a mirror.
#[derive(Debug, Clone)]
pub struct MirrorOptions {
    /// The actor for changes that the mirror makes in the workspace. If its name is empty, the
    /// mirror uses a generated one.
    pub actor: Actor,
    /// The name of the person whose directory it is, with which a generated name begins.
    pub owner: Option<String>,
    /// The writers whose changes are trusted.
    pub trust: TrustPolicy,
    /// The names that the host can store; without it, the mirror probes the host.
    pub host: Option<HostRules>,
    /// Patterns of paths that are not mirrored, as lines of a `.gitignore` in the directory. No
    /// such file includes them again.
    pub ignores: Vec<String>,
    /// The maximum length of a mirrored file, in bytes. Larger files are skipped and reported.
    pub max_file_len: u64,
    /// Whether one pass may delete more than half of the files in the directory. Without it, the
    /// mirror writes nothing to the directory before a person confirms it
    /// ([`Mirror::confirm_deletions`](crate::Mirror::confirm_deletions)), and
    /// [`Mirror::once`](crate::Mirror::once) fails. Passes that delete at most 10 files need no
    /// confirmation, and files whose content gets another name do not count.
    pub confirm_deletions: bool,
    /// Whether the rules of `.gitignore` and `.yfsignore` files that other writers changed count,
    /// although they include files of the directory that were excluded. Without it, and without
    /// [`TrustPolicy::AnyAuthor`], such files wait for a person
    /// ([`Mirror::accept_rules`](crate::Mirror::accept_rules)).
    pub accept_rules: bool,
    /// Whether a file of the directory stays beside one of the workspace that has its name and
    /// another content, when both sides first meet: the one of the directory gets a number. Without
    /// it, the content of the directory becomes the present one, and that of the workspace stays in
    /// its history; so it is right for the owner of the workspace, but not for a clone.
    pub keep_both: bool,
    /// Whether each written file survives a power cut before the next step.
    pub sync: bool,
    /// How long the directory and the workspace must be quiet before the mirror makes a pass.
    pub quiet: Duration,
    /// The maximum delay of a pass while changes keep arriving.
    pub patience: Duration,
    /// How long a file must be missing or empty before the mirror accepts that: editors and git
    /// delete files and create them again.
    pub grace: Duration,
    /// How long an editor may take between two steps of a save. A file that leaves its name for
    /// that of a backup or a temporary file (`f~`, `f.bak`) is renamed in the workspace only after
    /// this time. A file that is created within it under the name of such a file, or of one that
    /// was deleted, is that file.
    pub save_pause: Duration,
    /// How long a file that a program has open for writing must stay unchanged before the mirror
    /// imports or replaces its bytes. Bytes appended at its end are imported at once.
    pub open_idle: Duration,
    /// The maximum time that the mirror waits for such a file.
    pub open_patience: Duration,
    /// How often the mirror scans everything where the host cannot watch the directory.
    pub poll: Duration,
    /// How often the mirror scans everything although the host watches the directory, in case an
    /// event was lost.
    pub rescan: Duration,
}

impl Default for MirrorOptions {
    fn default() -> Self {
        Self {
            actor: Actor::new(ActorKind::Mirror, ""),
            owner: None,
            trust: TrustPolicy::Directory,
            host: None,
            ignores: Vec::new(),
            max_file_len: 256 << 20,
            confirm_deletions: false,
            accept_rules: false,
            keep_both: false,
            sync: false,
            quiet: Duration::from_millis(25),
            patience: Duration::from_millis(100),
            grace: Duration::from_millis(100),
            save_pause: Duration::from_secs(2),
            open_idle: Duration::from_secs(2),
            open_patience: Duration::from_secs(10),
            poll: Duration::from_secs(2),
            rescan: Duration::from_secs(10 * 60),
        }
    }
}
