//! Parts of large blobs that outlive the process that fetched them.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use yfs::{UnlockKey, WorkspaceOptions};
use yfs_engine::hash::ContentHash;

use super::{
    blobs::{BlobLink, MIB, PART, content, has, honest},
    group::TestPeer,
};

const LEN: usize = 16 * MIB;
const N_PARTS: usize = LEN / PART;

/// A peer with a blob, and the file of another one.
struct Fetching {
    owner: TestPeer,
    directory: tempfile::TempDir,
    options: WorkspaceOptions,
    data: Vec<u8>,
}

impl Fetching {
    fn new(key: Option<UnlockKey>) -> Self {
        let options = WorkspaceOptions {
            key: key.map(Arc::new),
            follow: false,
            ..WorkspaceOptions::default()
        };
        let directory = tempfile::tempdir().unwrap();
        let fetching = Self { owner: TestPeer::owner(), directory, options, data: content(LEN) };
        fetching.owner.invite_in(&fetching.file(), &fetching.options);
        fetching.owner.write_bytes("large", &fetching.data);
        fetching
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join("store-db")
    }

    /// Fetches in a new process until a number of parts have arrived, and ends it. Returns how many
    /// were sent.
    fn fetch(&self, n_parts: usize) -> usize {
        let peer = self.owner.open_file(&self.file(), &self.options);
        let mut link = BlobLink::new(&peer, &self.owner, honest);
        while link.n_parts < n_parts {
            if link.step().unwrap() {
                break;
            }
        }
        link.n_parts
    }

    /// Fetches the rest in a new process, and checks the blob. Returns how many parts were sent.
    fn finish(&self) -> usize {
        let peer = self.owner.open_file(&self.file(), &self.options);
        let mut link = BlobLink::new(&peer, &self.owner, honest);
        link.run().unwrap();
        assert!(link.fetcher.is_done());
        let hash = ContentHash::of(&self.data);
        assert!(has(&peer, &hash));
        let read = peer.workspace().store().read_blob(&hash, 0..LEN as u64).unwrap();
        assert!(read == self.data);
        link.n_parts
    }

    /// Returns the files with parts.
    fn kept(&self) -> Vec<PathBuf> {
        let derived = fs::read_dir(self.directory.path()).unwrap();
        let derived = derived.map(|entry| entry.unwrap().path().join("partial-blobs"));
        let files = derived.filter_map(|path| fs::read_dir(path).ok()).flatten();
        files.map(|entry| entry.unwrap().path()).collect()
    }
}

#[test]
fn parts_that_arrived_are_not_fetched_again_by_the_next_process() {
    let fetching = Fetching::new(None);
    let sent = fetching.fetch(N_PARTS / 2) + fetching.fetch(N_PARTS / 4);
    assert_eq!((sent, fetching.kept().len()), (N_PARTS * 3 / 4, 1));
    assert_eq!(sent + fetching.finish(), N_PARTS);
    assert_eq!(fetching.kept(), [] as [&Path; 0]);
}

/// The process ended after the last part, before the store had all.
#[test]
fn a_blob_that_was_complete_and_not_stored_is_completed() {
    let fetching = Fetching::new(None);
    assert_eq!(fetching.fetch(N_PARTS - 1), N_PARTS - 1);
    let path = fetching.kept().remove(0);
    let key = blake3::hash(&fetching.data);
    let directory = yfs::SealedDirectory::plain(path.parent().unwrap());
    let parts = (N_PARTS as u64, PART as u64);
    let file = yfs::PartialFile::open(&directory, key.as_bytes(), parts.0, parts.1);
    let mut file = file.unwrap().unwrap();
    let missing = file.written_parts().unwrap().iter().position(|written| !written).unwrap();
    let part = fetching.data[missing * PART..(missing + 1) * PART].to_vec();
    file.write_part(missing as u64, &part).unwrap();
    drop(file);
    assert_eq!(fetching.finish(), 1);
}

/// Bytes on the disk are not those that were written: after a power cut, or by another program.
#[test]
fn damaged_parts_are_fetched_again() {
    let fetching = Fetching::new(None);
    fetching.fetch(N_PARTS / 2);
    let path = fetching.kept().remove(0);
    let mut bytes = fs::read(&path).unwrap();
    let content_at = 8192;
    for part in [1, 5] {
        bytes[content_at + part * PART + 77] ^= 1;
    }
    fs::write(&path, &bytes).unwrap();
    assert_eq!(fetching.finish(), N_PARTS / 2 + 2);

    let fetching = Fetching::new(None);
    fetching.fetch(N_PARTS / 2);
    fs::write(fetching.kept().remove(0), &bytes[..5000]).unwrap();
    assert_eq!(fetching.finish(), N_PARTS);
}

#[test]
fn parts_of_an_encrypted_store_say_nothing_without_its_key() {
    let key = UnlockKey::from_key_file(vec![7; 64]).unwrap();
    let fetching = Fetching::new(Some(key));
    let sent = fetching.fetch(N_PARTS / 2);
    let path = fetching.kept().remove(0);
    let bytes = fs::read(&path).unwrap();
    assert!(bytes.len() > LEN / 4);
    let begins = &fetching.data[..64];
    assert!(!bytes.windows(64).any(|window| window == begins));
    let hash = ContentHash::of(&fetching.data).to_string();
    assert!(!path.to_string_lossy().contains(&hash[..16]));
    // The key of the file is sealed: as a plain store reads it, there is nothing.
    let directory = yfs::SealedDirectory::plain(path.parent().unwrap());
    let name = blake3::hash(&fetching.data);
    let stolen = path.with_file_name(format!("{}.part", name.to_hex()));
    fs::copy(&path, &stolen).unwrap();
    let opened = yfs::PartialFile::open(&directory, name.as_bytes(), N_PARTS as u64, PART as u64);
    let mut opened = opened.unwrap().unwrap();
    let part = opened.read_part(0).unwrap();
    assert!(part.is_empty() || part != fetching.data[..PART]);
    opened.remove().unwrap();
    assert_eq!(sent + fetching.finish(), N_PARTS);
}

/// Two processes fetch the same blob: the second one keeps its parts to itself.
#[test]
fn two_processes_do_not_write_to_one_file() {
    let fetching = Fetching::new(None);
    let first = fetching.owner.open_file(&fetching.file(), &fetching.options);
    let mut link = BlobLink::new(&first, &fetching.owner, honest);
    while link.n_parts < N_PARTS / 2 {
        assert!(!link.step().unwrap());
    }
    assert_eq!(fetching.fetch(N_PARTS / 4), N_PARTS / 4);
    assert_eq!(fetching.kept().len(), 1);
    link.run().unwrap();
    assert!(has(&first, &ContentHash::of(&fetching.data)));
    assert_eq!(link.n_parts, N_PARTS);
}
