//! Cases about blobs.

use std::io::{self, Read};

use yfs_types::{hash::ContentHash, time::Millis};

use super::{Case, Open, batch};
use yfs_store::{AppendBatch, Store, StoreError, StoreExt};

pub(super) const CASES: &[Case] = &[
    ("a blob is read as it was put", put_and_get),
    ("parts of a blob can be read", ranges),
    ("a missing blob is reported", missing),
    ("a stream that fails puts nothing", failing_stream),
    ("old unused blobs are removed", remove),
    ("putting a blob again makes it new", put_again),
    ("touching a blob counts as putting it", touch),
    ("a blob that is put after the mark is not removed", put_after_the_mark),
    ("removing blobs disturbs none that is being put", remove_while_putting),
    ("a batch needs the blobs that it names, and keeps them", named_by_a_batch),
];

/// Returns bytes that do not compress, the same for the same seed.
fn noise(seed: u64, n_bytes: usize) -> Vec<u8> {
    let mut bytes = vec![0; n_bytes];
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes()).finalize_xof().fill(&mut bytes);
    bytes
}

fn put_and_get(open: &Open) {
    let store = open();
    for content in [vec![], vec![1], vec![0; 1_000_000], noise(1, 100_000), noise(2, 5_000_000)] {
        let put = store.put_bytes(&content, Millis(5)).expect("put");
        assert_eq!((put.hash, put.size), (ContentHash::of(&content), content.len() as u64));
        assert_eq!(store.put_bytes(&content, Millis(5)).expect("put"), put);
        let other = open();
        assert!(other.get_blob(&put.hash).expect("get") == content);
        assert_eq!(other.blob_info(&put.hash).expect("info"), Some(put));
        assert!(other.has_blob(&put.hash).expect("has"));
    }
    assert_eq!(store.blobs().expect("blobs").len(), 5);
    assert_eq!(store.stats().expect("stats").n_blobs, 5);
    assert_eq!(store.check().expect("check").problems, []);
}

fn ranges(open: &Open) {
    let store = open();
    let content = noise(3, 1_000_000);
    let hash = store.put_bytes(&content, Millis(5)).expect("put").hash;
    for (start, end) in
        [(0, 10), (0, 1_000_000), (65_530, 65_550), (999_990, 2_000_000), (500_000, 500_000)]
    {
        let part = store.read_blob(&hash, start..end).expect("read");
        let end = end.min(content.len() as u64) as usize;
        assert!(part == content[start as usize..end], "{start}..{end}");
    }
    assert!(store.read_blob(&hash, 3_000_000..4_000_000).expect("read").is_empty());
}

fn missing(open: &Open) {
    let store = open();
    let hash = ContentHash::of(b"never put");
    assert!(matches!(store.get_blob(&hash), Err(StoreError::NoBlob { .. })));
    assert!(matches!(store.read_blob(&hash, 0..1), Err(StoreError::NoBlob { .. })));
    assert_eq!(store.blob_info(&hash).expect("info"), None);
}

fn failing_stream(open: &Open) {
    struct Fails;
    impl Read for Fails {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the cable was pulled"))
        }
    }
    let store = open();
    let mut content = io::Cursor::new(noise(4, 4_500_000)).chain(Fails);
    let result = store.put_blob(&mut content, Millis(5));
    assert!(matches!(result, Err(StoreError::Stream { .. })));
    assert_eq!(store.blobs().expect("blobs"), []);
    assert_eq!(remove_all(&*store, Millis(10)), 0);
}

/// Removes all blobs that were put so far and before a time.
fn remove_all(store: &dyn Store, older_than: Millis) -> u64 {
    let mark = store.blob_mark().expect("mark");
    store.remove_blobs(mark, older_than, &|_| false).expect("remove")
}

fn remove(open: &Open) {
    let store = open();
    let shared = noise(5, 600_000);
    let longer = [shared.as_slice(), b"and more"].concat();
    let old = store.put_bytes(&shared, Millis(5)).expect("put").hash;
    let used = store.put_bytes(b"wanted", Millis(5)).expect("put").hash;
    let young = store.put_bytes(&longer, Millis(50)).expect("put").hash;
    let mark = open().blob_mark().expect("mark");
    let n_bytes = store.remove_blobs(mark, Millis(10), &|hash| *hash == used).expect("remove");
    assert_eq!(n_bytes, shared.len() as u64);
    assert!(!store.has_blob(&old).expect("has"));
    assert!(store.get_blob(&young).expect("its pieces are still there") == longer);
    assert_eq!(store.get_blob(&used).expect("get"), b"wanted");
    assert_eq!(store.check().expect("check").problems, []);
}

fn put_again(open: &Open) {
    let store = open();
    let hash = store.put_bytes(b"content", Millis(5)).expect("put").hash;
    assert_eq!(open().put_bytes(b"content", Millis(50)).expect("put").at, Millis(50));
    assert_eq!(remove_all(&*store, Millis(10)), 0);
    assert!(store.has_blob(&hash).expect("has"));
}

fn touch(open: &Open) {
    let (here, there) = (open(), open());
    let content = noise(8, 2_500_000);
    let put = here.put_bytes(&content, Millis(5)).expect("put");
    let mark = here.blob_mark().expect("mark");
    let touched = there.touch_blob(&put.hash, Millis(50)).expect("touch");
    assert_eq!((touched.hash, touched.size, touched.at), (put.hash, put.size, Millis(50)));
    assert_eq!(here.remove_blobs(mark, Millis(i64::MAX), &|_| false).expect("remove"), 0);
    assert!(here.get_blob(&put.hash).expect("get") == content);
    assert_eq!(remove_all(&*here, Millis(i64::MAX)), put.size);
    let gone = there.touch_blob(&put.hash, Millis(60));
    assert!(matches!(gone, Err(StoreError::NoBlob { hash }) if hash == put.hash), "{gone:?}");
    assert_eq!(here.blobs().expect("blobs"), []);
}

fn put_after_the_mark(open: &Open) {
    let (here, there) = (open(), open());
    let content = noise(6, 300_000);
    let [again, between, old] = [&content[..], &content[..9], b"old"]
        .map(|bytes| here.put_bytes(bytes, Millis(5)).expect("put"));
    let mark = here.blob_mark().expect("mark");
    // By the other handle's clock, or because the upload began early, the put is old.
    there.put_bytes(&content, Millis(1)).expect("put");
    let new = there.put_bytes(b"new", Millis(1)).expect("put");
    let keep = |hash: &ContentHash| {
        if *hash == between.hash {
            there.put_bytes(&content[..9], Millis(1)).expect("put");
        }
        false
    };
    let n_bytes = here.remove_blobs(mark, Millis(i64::MAX), &keep).expect("remove");
    assert_eq!(n_bytes, 3);
    for blob in [again, between, new] {
        assert_eq!(there.get_blob(&blob.hash).expect("it stays").len() as u64, blob.size);
    }
    assert!(!there.has_blob(&old.hash).expect("has"));
    assert_eq!(remove_all(&*here, Millis(i64::MAX)), 300_012);
    assert_eq!(here.blobs().expect("blobs"), []);
}

fn remove_while_putting(open: &Open) {
    /// A writer that removes all removable blobs once, after a number of bytes was read.
    struct Removing<'a> {
        content: &'a [u8],
        n_left: usize,
        store: &'a dyn Store,
    }
    impl Read for Removing<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let n_read = self.content.read(buffer)?;
            if self.n_left > 0 && self.n_left <= n_read {
                remove_all(self.store, Millis(i64::MAX));
            }
            self.n_left = self.n_left.saturating_sub(n_read);
            Ok(n_read)
        }
    }
    let (here, there) = (open(), open());
    let content = noise(7, 14_000_000);
    // A part of the content is stored already, and is removed during the put.
    let part = here.put_bytes(&content[..9_000_000], Millis(1)).expect("put").hash;
    for n_left in [6_000_000, 13_000_000] {
        let mut content = Removing { content: &content, n_left, store: &*there };
        let put = here.put_blob(&mut content, Millis(1)).expect("nothing disturbs it");
        assert!(!here.has_blob(&part).expect("has"));
        assert!(there.get_blob(&put.hash).expect("it is whole").len() == 14_000_000);
        assert_eq!(there.check().expect("check").problems, []);
        assert_eq!(remove_all(&*there, Millis(i64::MAX)), 14_000_000);
    }
}

fn named_by_a_batch(open: &Open) {
    let (here, there) = (open(), open());
    let blob = here.put_bytes(b"named", Millis(1)).expect("put");
    let mark = there.blob_mark().expect("mark");
    let naming = |hash| AppendBatch { blobs: vec![hash], ..batch("a", "update") };
    // A removal that was decided earlier keeps the blobs that a batch has named since.
    here.append(naming(blob.hash)).expect("the blob is there");
    there.remove_blobs(mark, Millis(i64::MAX), &|_| false).expect("remove");
    assert!(here.has_blob(&blob.hash).expect("has"));
    assert!(remove_all(&*there, Millis(i64::MAX)) > 0);
    let head = here.head().expect("head");
    let refused = here.append(naming(blob.hash));
    assert!(
        matches!(refused, Err(StoreError::NoBlob { hash }) if hash == blob.hash),
        "{refused:?}"
    );
    assert_eq!(here.head().expect("head"), head, "a refused batch changes nothing");
}
