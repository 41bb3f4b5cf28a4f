//! The groups of peers of a workspace: those of the whole, and those of its shared directories.

use std::path::{Path, PathBuf};

use yfs::Workspace;

use crate::{
    directory_shares::{DirectoryShares, FailedShares, ShareAccess, has_ticket_of_share},
    membership::{PeerMembership, PeerNote},
    peer_error::PeerError,
    peer_grant::BlockTarget,
    peer_key::PeerId,
    peer_node::is_running,
    peer_status::{PeerStatus, read_status},
};

/// The groups of peers of a workspace.
#[derive(Debug)]
pub struct PeerGroups {
    /// The first one is that of the whole.
    groups: Vec<PeerGroup>,
    /// Shares that could not be opened.
    pub unreadable: FailedShares,
}

/// A group of peers: of the whole workspace, or of a shared directory.
#[derive(Debug)]
#[non_exhaustive]
pub struct PeerGroup {
    /// The workspace that its peers have.
    pub workspace: Workspace,
    /// The directory of its store; `None` for one in memory.
    pub store_dir: Option<PathBuf>,
    /// The path of the shared directory; `None` for the whole.
    pub path: Option<String>,
}

impl PeerGroup {
    /// Reports whether a process connects the peers.
    pub fn is_running(&self) -> bool {
        self.store_dir.as_deref().is_some_and(is_running)
    }

    /// Lists the peers, without those that were forgotten.
    pub fn status(&self) -> Result<Vec<PeerStatus>, PeerError> {
        read_status(&self.workspace, self.is_running())
    }

    /// Returns what the store knows of the group; `None` of a share that has none yet.
    fn member(&self) -> Result<Option<PeerMembership>, PeerError> {
        if self.path.is_some() && !PeerMembership::is_shared(&self.workspace)? {
            return Ok(None);
        }
        PeerMembership::of(&self.workspace).map(Some)
    }
}

impl PeerGroups {
    /// Opens all groups. The workspace stays open when they are closed.
    pub fn open(workspace: &Workspace, store_dir: Option<&Path>) -> Result<Self, PeerError> {
        Self::open_with(workspace, store_dir, ShareAccess::Change)
    }

    /// Opens all groups to list their peers; that commits nothing.
    pub fn open_to_read(
        workspace: &Workspace,
        store_dir: Option<&Path>,
    ) -> Result<Self, PeerError> {
        Self::open_with(workspace, store_dir, ShareAccess::Read)
    }

    fn open_with(
        workspace: &Workspace,
        store_dir: Option<&Path>,
        access: ShareAccess,
    ) -> Result<Self, PeerError> {
        let whole = PeerGroup {
            workspace: workspace.clone(),
            store_dir: store_dir.map(Path::to_owned),
            path: None,
        };
        let mut opened = Self { groups: vec![whole], unreadable: Vec::new() };
        let Some(store_dir) = store_dir else { return Ok(opened) };
        let shares = DirectoryShares::of(workspace, store_dir);
        let (found, unreadable) = shares.open_all(access)?;
        opened.unreadable = unreadable;
        for (share, workspace) in found {
            opened.groups.push(PeerGroup {
                workspace,
                store_dir: Some(share.dir().to_owned()),
                path: Some(shares.path_of(&share.directory)?),
            });
        }
        Ok(opened)
    }

    /// Iterates over the groups, that of the whole first.
    pub fn iter(&self) -> impl Iterator<Item = &PeerGroup> {
        self.groups.iter()
    }

    fn whole(&self) -> &PeerGroup {
        self.groups.first().expect("the whole is one of the groups")
    }

    /// Closes the shares.
    pub fn close(self) -> Result<(), PeerError> {
        let mut result = Ok(());
        for group in self.groups.into_iter().skip(1) {
            result = result.and(group.workspace.close());
        }
        Ok(result?)
    }

    /// Finds a peer by its name, or the first 4 digits or more of its id, in all groups.
    fn find(&self, text: &str) -> Result<(PeerMembership, PeerId), PeerError> {
        let mut found = Vec::new();
        let mut failure = None;
        for group in &self.groups {
            let Some(member) = group.member()? else { continue };
            match member.find_peer(text) {
                // A whole id is found in any group; it is that of the one that has the peer.
                Ok(peer) if self.groups.len() == 1 || is_known(&member, peer)? => {
                    found.push((member, peer));
                }
                Ok(_) => {}
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        let no_peer = |reason| PeerError::NoPeer(text.to_owned(), reason);
        match (found.pop(), found.is_empty()) {
            (Some(found), true) => Ok(found),
            (Some(_), false) => {
                Err(no_peer("peers of several groups have this name: use the whole id"))
            }
            (None, _) => Err(failure.unwrap_or_else(|| no_peer("no peer has this id"))),
        }
    }

    /// Names a peer.
    pub fn rename(&self, peer: &str, name: &str) -> Result<(), PeerError> {
        let (member, peer) = self.find(peer)?;
        member.rename(peer, name)
    }

    /// Changes what a person says of a peer.
    pub fn change_note(
        &self,
        peer: &str,
        change: impl FnOnce(&mut PeerNote),
    ) -> Result<(), PeerError> {
        let (member, peer) = self.find(peer)?;
        let mut note = member.note(peer)?;
        change(&mut note);
        member.set_note(peer, &note)
    }

    /// Blocks a peer, or a ticket by its id and all that joined with it. Returns whether all peers
    /// will follow, because this is the owner's store.
    pub fn block(&self, target: &str) -> Result<bool, PeerError> {
        let whole = PeerMembership::of(&self.whole().workspace)?;
        if let Some(ticket) = whole.find_ticket(target) {
            for group in self.groups.iter().filter(|group| group.path.is_some()) {
                if has_ticket_of_share(&group.workspace, ticket)? {
                    PeerMembership::of(&group.workspace)?.block(BlockTarget::Ticket(ticket))?;
                    return Ok(true);
                }
            }
            whole.block(BlockTarget::Ticket(ticket))?;
            return Ok(true);
        }
        let (member, peer) = self.find(target)?;
        if peer == member.id() {
            return Err(PeerError::NoPeer(target.to_owned(), "this is the id of this store"));
        }
        if member.is_owner()? {
            member.block(BlockTarget::Peer(peer))?;
            return Ok(true);
        }
        let note = PeerNote { is_blocked: true, ..member.note(peer)? };
        member.set_note(peer, &note)?;
        Ok(false)
    }
}

fn is_known(member: &PeerMembership, peer: PeerId) -> Result<bool, PeerError> {
    let contacts = member.contacts()?;
    Ok(peer == member.id() || contacts.iter().any(|contact| contact.peer == peer))
}

#[cfg(test)]
mod tests {
    use yfs::WorkspaceOptions;
    use yfs_engine::path::VPath;
    use yfs_vfs::{MkdirOptions, Op};

    use super::*;

    /// `GET /api/peers` lists the peers of shares whose log another process follows.
    #[test]
    fn listing_commits_nothing() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("workspace.db");
        let workspace = Workspace::create_at(&file, WorkspaceOptions::default()).expect("made");
        let path = VPath::parse("/docs").expect("a path");
        let session = workspace.session(workspace.maintenance().options().actor.clone());
        session.mkdir(&path, &MkdirOptions::default()).expect("made");
        let shares = DirectoryShares::of(&workspace, dir.path());
        let directory = workspace.fs().entry(&path, Op::Open).expect("it is there").0.id;
        let (_, share) = shares.open_or_create(&directory).expect("a share");
        PeerMembership::of(&share).expect("a key").found().expect("a group");
        let stamp = || share.store().commit_stamp().expect("a stamp").expect("it is known");
        let before = stamp();
        let groups = PeerGroups::open_to_read(&workspace, Some(dir.path())).expect("opened");
        let paths: Vec<_> = groups.iter().map(|group| group.path.clone()).collect();
        assert_eq!(paths, [None, Some("/docs".to_owned())]);
        for group in groups.iter() {
            assert_eq!(group.status().expect("listed"), []);
        }
        groups.close().expect("closed");
        assert_eq!(stamp(), before);
    }
}
