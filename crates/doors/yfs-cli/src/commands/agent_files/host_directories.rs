//! Directories of the host under their full paths, as the reference filesystem server has them.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use yfs_agent::AgentSession;
use yfs_mcp::{
    ClientIdentity, McpProfile, OpenedSession, SessionOpener, SessionRefusal, WatchedTree,
    path_of_uri,
};
use yfs_vfs::HostFs;

use super::SessionPolicy;
use crate::prelude::*;

/// The refusal of a client without directories.
const NO_DIRECTORIES: &str = "Server cannot operate: No allowed directories available. Server was \
    started without command-line directories and client either does not support MCP roots \
    protocol or provided empty roots. Please either: 1) Start server with directory arguments, or \
    2) Use a client that supports MCP roots protocol and provides valid root directories.";

/// Opens sessions over directories of the host.
///
/// The filesystem is that of the whole disk behind rules that allow only the directories; links
/// that lead out of them are refused.
#[derive(Debug)]
pub(super) struct HostDirectories {
    disk: HostFs,
    directories: Vec<HostDirectory>,
    policy: SessionPolicy,
    /// Receives remarks for the user.
    report: fn(&str),
}

/// A directory that exists.
#[derive(Debug, Clone)]
struct HostDirectory {
    /// The path as the user spelled it, and the path without links.
    spellings: Vec<VPath>,
    fs: HostFs,
}

impl HostDirectories {
    /// Opens the directories that there are, and warns of the others. Without any directory in
    /// `dirs`, those of the client are served.
    pub(super) fn open(dirs: &[PathBuf], policy: SessionPolicy, report: fn(&str)) -> Result<Self> {
        let root = Path::new("/");
        let disk = HostFs::open(root).map_err(|error| CommandError::host(root, &error))?;
        let disk = disk.keeping_hard_links();
        let mut directories = Vec::new();
        for dir in dirs {
            match HostDirectory::open(dir, true) {
                Ok(directory) => directories.push(directory),
                Err(_) if dir.exists() && !dir.is_dir() => {
                    report(&format!("Warning: {} is not a directory, skipping", dir.display()));
                }
                Err(_) => {
                    let dir = dir.display();
                    report(&format!("Warning: Cannot access directory {dir}, skipping"));
                }
            }
        }
        if directories.is_empty() && !dirs.is_empty() {
            let text = "Error: None of the specified directories are accessible";
            return Err(CommandError::other(text));
        }
        Ok(Self { disk, directories, policy, report })
    }

    /// Returns the roots of the client that are directories, or else those of the command line.
    fn directories_of(&self, client: &ClientIdentity) -> Vec<HostDirectory> {
        let roots = client.roots.iter().filter_map(|uri| {
            let path = path_of_uri(uri)?;
            HostDirectory::open(Path::new(path.as_str()), false).ok()
        });
        let roots: Vec<_> = roots.collect();
        if roots.is_empty() {
            return self.directories.clone();
        }
        let n_roots = roots.len();
        (self.report)(&format!(
            "Updated allowed directories from MCP roots: {n_roots} valid directories"
        ));
        roots
    }
}

impl HostDirectory {
    /// Opens a directory, which also keeps its path as it was spelled if `keeps_spelling` is set.
    fn open(dir: &Path, keeps_spelling: bool) -> io::Result<Self> {
        let spelled = std::path::absolute(dir)?;
        let real = dir.canonicalize()?;
        let fs = HostFs::open(&real)?.keeping_hard_links();
        let mut spellings = Vec::new();
        for path in keeps_spelling.then_some(spelled).into_iter().chain([real]) {
            let path = path.to_str().and_then(|path| VPath::parse(path).ok());
            let path = path.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidFilename))?;
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
        if directories.is_empty() {
            return Err(SessionRefusal(NO_DIRECTORIES.to_owned()));
        }
        let spellings: Vec<VPath> =
            directories.iter().flat_map(|directory| directory.spellings.clone()).collect();
        let policy = &self.policy;
        let protected = policy.protected.rules_below(Path::new("/"));
        let lists: [&[VPath]; 2] = [&spellings, &policy.allowed];
        let fs = policy.permitted(Arc::new(self.disk.clone()), &lists, protected.as_ref())?;
        let actor = policy.actor_of(client);
        let home = std::env::home_dir().and_then(|home| VPath::parse(home.to_str()?).ok());
        let agent = AgentSession::builder(fs, actor).id(policy.label.as_str()).home(home).build();
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

    fn profile(&self) -> McpProfile {
        self.policy.profile
    }
}
