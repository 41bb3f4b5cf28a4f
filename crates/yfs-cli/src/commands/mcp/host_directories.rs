//! Directories of the host under their full paths, as the reference filesystem server has them.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use yfs_agent::AgentSession;
use yfs_engine::path::VPath;
use yfs_mcp::{
    ClientIdentity, OpenedSession, SessionOpener, SessionRefusal, WatchedTree, path_of_uri,
};
use yfs_vfs::HostFs;

use super::SessionPolicy;
use crate::errors::{CommandError, Result};

/// Opens sessions over directories of the host.
///
/// The filesystem is that of the whole disk behind rules that allow only the directories; links
/// that lead out of them are refused.
#[derive(Debug)]
pub(super) struct HostDirectories {
    disk: HostFs,
    directories: Vec<HostDirectory>,
    policy: SessionPolicy,
}

/// A directory that exists.
#[derive(Debug, Clone)]
struct HostDirectory {
    /// The path as the user spelled it, and the path without links.
    spellings: Vec<VPath>,
    fs: HostFs,
}

impl HostDirectories {
    pub(super) fn open(dirs: &[PathBuf], policy: SessionPolicy) -> Result<Self> {
        let root = Path::new("/");
        let disk = HostFs::open(root).map_err(|error| CommandError::host(root, &error))?;
        let directories = dirs.iter().map(|dir| HostDirectory::open(dir));
        Ok(Self { disk, directories: directories.collect::<Result<_>>()?, policy })
    }

    /// Returns the roots of the client that are directories, or else those of the command line.
    fn directories_of(&self, client: &ClientIdentity) -> Vec<HostDirectory> {
        let roots = client.roots.iter().filter_map(|uri| {
            let path = path_of_uri(uri)?;
            HostDirectory::open(Path::new(path.as_str())).ok()
        });
        let roots: Vec<_> = roots.collect();
        if roots.is_empty() { self.directories.clone() } else { roots }
    }
}

impl HostDirectory {
    fn open(dir: &Path) -> Result<Self> {
        let refused = |error: std::io::Error| CommandError::host(dir, &error);
        let spelled = std::path::absolute(dir).map_err(refused)?;
        let real = dir.canonicalize().map_err(refused)?;
        let fs = HostFs::open(&real).map_err(refused)?;
        let mut spellings = Vec::new();
        for path in [spelled, real] {
            let text = path.to_str().and_then(|path| VPath::parse(path).ok());
            let path = text.ok_or_else(|| {
                CommandError::other(format!("{}: the path cannot be served", dir.display()))
            })?;
            if !spellings.contains(&path) {
                spellings.push(path);
            }
        }
        Ok(Self { spellings, fs })
    }
}

#[async_trait]
impl SessionOpener for HostDirectories {
    async fn open_session(&self, client: &ClientIdentity) -> Result<OpenedSession, SessionRefusal> {
        let directories = self.directories_of(client);
        let spellings: Vec<VPath> =
            directories.iter().flat_map(|directory| directory.spellings.clone()).collect();
        let policy = &self.policy;
        let mut fs = policy.permitted(Arc::new(self.disk.clone()), &spellings)?;
        if !policy.allowed.is_empty() {
            let narrower = super::only_below(&policy.allowed)
                .map_err(|error| SessionRefusal(format!("bad directory: {error}")))?;
            fs = Arc::new(yfs_agent::permissions::PermittedFs::new(fs, narrower));
        }
        let actor = policy.actor_of(client);
        let agent = AgentSession::builder(fs, actor).id(policy.label.as_str()).build();
        let trees = directories.iter().map(|directory| WatchedTree {
            at: directory.spellings[0].clone(),
            fs: Arc::new(directory.fs.clone()),
            visible: VPath::root(),
        });
        let session = OpenedSession::with_directories(agent, policy.profile, &spellings);
        Ok(session.watching(trees.collect()).read_only(policy.is_read_only))
    }

    fn wants_roots(&self) -> bool {
        true
    }
}
