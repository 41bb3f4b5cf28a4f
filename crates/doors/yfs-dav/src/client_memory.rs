//! What each client has read, and what it has begun.
//!
//! A client that writes a file has read it before. The version that it read is the base of its
//! write, so that what others wrote meanwhile is kept. A client that empties a file is about to
//! write it: the emptying is held until the content comes.
//!
//! # Cost
//!
//! The memory of a credential is bounded, and that of all of them: what was unused for longest is
//! forgotten, as if it had not been read.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use tokio::time::Instant;
use yfs_types::{id::FileId, path::VPath};
use yfs_vfs::{VersionBase, VersionToken};

use crate::request::DavClient;

/// The files that are remembered for one credential, the bytes of contents, and the credentials.
const MAX_FILES: usize = 8_192;
const MAX_BYTES: usize = 2 << 20;
const MAX_CREDENTIALS: usize = 64;

/// The number of renames and of new files that are remembered for one credential, and how long.
const MAX_STEPS: usize = 64;
const STEP_AGE: Duration = Duration::from_secs(60);

/// What a client knows of a file.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct KnownFile {
    /// The version that it read or wrote.
    pub(crate) version: Option<VersionToken>,
    /// The content that it wrote, if the stored content is another because others wrote as well.
    pub(crate) content: Option<Bytes>,
    /// An emptying that is held.
    pub(crate) held: Option<HeldTruncation>,
}

/// The emptying of a file that waits for the content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeldTruncation {
    pub(crate) path: VPath,
    /// When it waits no longer.
    pub(crate) deadline: Instant,
}

/// A file that a client has renamed as if to keep a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RenamedAway {
    pub(crate) from: VPath,
    pub(crate) to: VPath,
    pub(crate) id: FileId,
    at: Instant,
}

/// What all clients have read and begun.
#[derive(Debug, Default)]
pub(crate) struct ClientMemory {
    credentials: HashMap<Arc<str>, CredentialMemory>,
    /// The credentials, the longest unused first.
    order: Vec<Arc<str>>,
}

type FileKey = (Arc<str>, FileId);

#[derive(Debug, Default)]
struct CredentialMemory {
    files: HashMap<FileKey, (u64, KnownFile)>,
    by_use: BTreeMap<u64, FileKey>,
    n_uses: u64,
    n_bytes: usize,
    renamed: VecDeque<RenamedAway>,
    created: VecDeque<(FileId, Instant)>,
}

impl KnownFile {
    /// Returns what a client knows that has read or written a version.
    pub(crate) fn of(version: VersionToken) -> Self {
        Self { version: Some(version), ..Self::default() }
    }

    /// Returns the bases of a write, best first.
    pub(crate) fn bases(&self) -> Vec<VersionBase> {
        let version = self.version.clone().map(VersionBase::Version);
        version.into_iter().chain(self.content.clone().map(VersionBase::Content)).collect()
    }
}

impl ClientMemory {
    /// Returns what a client knows of a file.
    pub(crate) fn get(&self, client: &DavClient, id: &FileId) -> Option<KnownFile> {
        let memory = self.credentials.get(&client.credential)?;
        memory.files.get(&(client.agent.clone(), id.clone())).map(|(_, known)| known.clone())
    }

    /// Reports whether others wrote into what a client last wrote, and it has not read that since.
    /// It may take the tag of what is there for that of its own content, so it gets none.
    pub(crate) fn has_unread(&self, client: &DavClient, id: &FileId) -> bool {
        self.get(client, id).is_some_and(|known| known.content.is_some())
    }

    /// Sets what a client knows of a file.
    pub(crate) fn remember(&mut self, client: &DavClient, id: &FileId, known: KnownFile) {
        self.of(client).put((client.agent.clone(), id.clone()), known);
    }

    /// Forgets what a client knows of a file.
    pub(crate) fn forget(&mut self, client: &DavClient, id: &FileId) {
        if let Some(memory) = self.credentials.get_mut(&client.credential) {
            memory.forget(&(client.agent.clone(), id.clone()));
        }
    }

    /// Returns the emptyings that a client has begun and that are held.
    pub(crate) fn held(&self, client: &DavClient) -> Vec<(FileId, HeldTruncation)> {
        let memory = self.credentials.get(&client.credential);
        let files = memory.into_iter().flat_map(|memory| &memory.files);
        let own = files.filter(|((agent, _), _)| *agent == client.agent);
        own.filter_map(|((_, id), (_, known))| Some((id.clone(), known.held.clone()?))).collect()
    }

    /// Ends the hold of an emptying, and returns what the client knew of the file.
    pub(crate) fn release(&mut self, client: &DavClient, id: &FileId) -> Option<KnownFile> {
        let memory = self.credentials.get_mut(&client.credential)?;
        let (_, known) = memory.files.get_mut(&(client.agent.clone(), id.clone()))?;
        known.held.take()?;
        Some(known.clone())
    }

    /// Remembers that a client renamed a file.
    pub(crate) fn note_rename(
        &mut self,
        client: &DavClient,
        from: &VPath,
        to: &VPath,
        id: FileId,
        now: Instant,
    ) {
        let renamed = &mut self.of(client).renamed;
        renamed.push_back(RenamedAway { from: from.clone(), to: to.clone(), id, at: now });
        if renamed.len() > MAX_STEPS {
            renamed.pop_front();
        }
    }

    /// Returns the file that a client has renamed away from a path a short time ago.
    pub(crate) fn renamed_from(
        &self,
        client: &DavClient,
        path: &VPath,
        now: Instant,
    ) -> Option<RenamedAway> {
        let memory = self.credentials.get(&client.credential)?;
        let mut recent = memory.renamed.iter().rev();
        recent.find(|step| step.from == *path && now - step.at < STEP_AGE).cloned()
    }

    /// Remembers that a client made a file.
    pub(crate) fn note_creation(&mut self, client: &DavClient, id: FileId, now: Instant) {
        let created = &mut self.of(client).created;
        created.push_back((id, now));
        if created.len() > MAX_STEPS {
            created.pop_front();
        }
    }

    /// Reports whether a client made a file a short time ago.
    pub(crate) fn has_created(&self, client: &DavClient, id: &FileId, now: Instant) -> bool {
        let memory = self.credentials.get(&client.credential);
        memory.is_some_and(|memory| {
            memory.created.iter().any(|(made, at)| made == id && now - *at < STEP_AGE)
        })
    }

    fn of(&mut self, client: &DavClient) -> &mut CredentialMemory {
        self.order.retain(|other| *other != client.credential);
        self.order.push(client.credential.clone());
        if self.order.len() > MAX_CREDENTIALS {
            let oldest = self.order.remove(0);
            self.credentials.remove(&oldest);
        }
        self.credentials.entry(client.credential.clone()).or_default()
    }
}

impl CredentialMemory {
    fn put(&mut self, key: FileKey, mut known: KnownFile) {
        self.forget(&key);
        if known.content.as_ref().is_some_and(|content| content.len() > MAX_BYTES / 4) {
            known.content = None;
        }
        self.n_uses += 1;
        self.n_bytes += content_len(&known);
        self.by_use.insert(self.n_uses, key.clone());
        self.files.insert(key, (self.n_uses, known));
        while self.files.len() > MAX_FILES || self.n_bytes > MAX_BYTES {
            let Some((_, oldest)) = self.by_use.first_key_value() else { return };
            self.forget(&oldest.clone());
        }
    }

    fn forget(&mut self, key: &FileKey) {
        if let Some((use_number, known)) = self.files.remove(key) {
            self.by_use.remove(&use_number);
            self.n_bytes -= content_len(&known);
        }
    }
}

fn content_len(known: &KnownFile) -> usize {
    known.content.as_ref().map_or(0, Bytes::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(credential: &str, agent: &str) -> DavClient {
        DavClient { credential: credential.into(), agent: agent.into() }
    }

    fn id(n: usize) -> FileId {
        FileId::parse(&format!("file-{n}")).unwrap()
    }

    #[test]
    fn memory_is_bounded_and_each_program_has_its_own() {
        let mut memory = ClientMemory::default();
        let (ana, other) = (client("ana", "vi"), client("ana", "ed"));
        for n in 0..=MAX_FILES {
            let known = KnownFile::of(VersionToken::new(n.to_string()));
            memory.remember(&ana, &id(n), known);
        }
        assert!(memory.get(&ana, &id(0)).is_none() && memory.get(&ana, &id(1)).is_some());
        assert!(memory.get(&other, &id(1)).is_none());
        let content = Some(Bytes::from(vec![0; MAX_BYTES / 4]));
        for n in 0..8 {
            let known = KnownFile { content: content.clone(), ..KnownFile::default() };
            memory.remember(&ana, &id(n), known);
        }
        assert!(memory.credentials["ana"].n_bytes <= MAX_BYTES);
        assert!(memory.get(&ana, &id(7)).unwrap().content.is_some());
        for n in 0..MAX_CREDENTIALS {
            memory.note_creation(&client(&n.to_string(), ""), id(n), Instant::now());
        }
        assert_eq!(memory.credentials.len(), MAX_CREDENTIALS);
        assert!(memory.get(&ana, &id(7)).is_none());
    }

    #[test]
    fn a_hold_ends_once() {
        let mut memory = ClientMemory::default();
        let ana = client("ana", "vi");
        let held = HeldTruncation { path: VPath::root(), deadline: Instant::now() };
        let known = KnownFile { held: Some(held), ..KnownFile::of(VersionToken::new("1")) };
        memory.remember(&ana, &id(1), known);
        assert_eq!(memory.held(&ana).len(), 1);
        assert!(memory.release(&ana, &id(1)).is_some_and(|known| known.version.is_some()));
        assert!(memory.release(&ana, &id(1)).is_none() && memory.held(&ana).is_empty());
    }
}
