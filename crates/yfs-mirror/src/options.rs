//! How a folder is mirrored.

use std::time::Duration;

use yfs_engine::actor::{Actor, ActorKind};

use crate::name_escaping::HostRules;

/// Whom the folder's owner trusts with what their tools run.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum TrustPolicy {
    /// Only what is done in the folder itself. From elsewhere come no executable bits and no files that
    /// tools run or obey unasked ([`crate::untrusted_files`]). The log does not prove who made a change, so everything
    /// that was not done in the folder counts as from elsewhere.
    #[default]
    Folder,
    /// Everybody who can write to the workspace.
    Everybody,
}

/// How a folder is mirrored.
#[derive(Debug, Clone)]
pub struct MirrorOptions {
    /// On whose behalf changes of the folder are made in the workspace.
    pub actor: Actor,
    /// Whom to trust.
    pub trust: TrustPolicy,
    /// What names the host can hold; without it, this is found out.
    pub host: Option<HostRules>,
    /// Larger files are left out and reported, in bytes.
    pub max_file_len: u64,
    /// Whether each file that is written survives a power cut before the next step.
    pub sync: bool,
    /// How long the folder or the workspace must be quiet before changes are looked at.
    pub quiet: Duration,
    /// How long changes wait at most while it is not quiet.
    pub patience: Duration,
    /// How long something must be missing, or a file empty, before that is believed: editors and git
    /// delete and make again.
    pub grace: Duration,
    /// How long a file that a program has open for writing must stay unchanged before the mirror
    /// takes in what is there, or puts other bytes in its place. Further bytes at its end are taken
    /// in at once.
    pub open_idle: Duration,
    /// How long the mirror waits at most for such a file.
    pub open_patience: Duration,
    /// How often everything is looked at where the host cannot watch the folder.
    pub poll: Duration,
    /// How often everything is looked at even so, in case something was not told.
    pub rescan: Duration,
}

impl Default for MirrorOptions {
    fn default() -> Self {
        Self {
            actor: Actor::new(ActorKind::Mirror, ""),
            trust: TrustPolicy::Folder,
            host: None,
            max_file_len: 256 << 20,
            sync: false,
            quiet: Duration::from_millis(25),
            patience: Duration::from_millis(100),
            grace: Duration::from_millis(100),
            open_idle: Duration::from_secs(2),
            open_patience: Duration::from_secs(10),
            poll: Duration::from_secs(2),
            rescan: Duration::from_secs(10 * 60),
        }
    }
}
