//! The entries of listings: all that is shown of a node without its row.

use super::{CheckpointError, malformed};
use crate::{
    id::FileId,
    lib0::{Lib0Reader, write_var_uint},
    table::{ListedChild, ListedKind},
};

/// The number of entries whose texts are checked together.
const BATCH_LEN: usize = if cfg!(test) { 3 } else { 256 };

/// Writes the value of an entry: a byte for the kind, the size of a file, and the id.
pub(super) fn write_entry(kind: ListedKind, id: &FileId) -> Vec<u8> {
    let (tag, size) = match kind {
        ListedKind::Directory => (b'd', None),
        ListedKind::Link => (b'l', None),
        ListedKind::File { size } => (b'f', Some(size)),
        ListedKind::Blob { size } => (b'b', Some(size)),
    };
    let mut out = Vec::with_capacity(24);
    out.push(tag);
    if let Some(size) = size {
        write_var_uint(&mut out, size);
    }
    out.extend(id.as_str().as_bytes());
    out
}

/// Reads an entry.
pub(super) fn read_entry<'a>(
    name: &'a [u8],
    value: &'a [u8],
) -> Result<ListedChild<'a>, CheckpointError> {
    let (kind, id) = read_value(value)?;
    let text = |bytes| std::str::from_utf8(bytes).map_err(|_| malformed("a name is none"));
    Ok(ListedChild { name: text(name)?, id: text(id)?, kind })
}

/// Reads the kind, and returns the bytes of the id.
fn read_value(value: &[u8]) -> Result<(ListedKind, &[u8]), CheckpointError> {
    let (tag, rest) = value.split_first().ok_or_else(|| malformed("an entry is empty"))?;
    let mut reader = Lib0Reader::new(rest);
    let kind = match tag {
        b'd' => ListedKind::Directory,
        b'l' => ListedKind::Link,
        b'f' => ListedKind::File { size: reader.var_uint()? },
        b'b' => ListedKind::Blob { size: reader.var_uint()? },
        _ => return Err(malformed("an entry has no kind")),
    };
    Ok((kind, reader.rest()))
}

/// Entries of a listing. Their texts are checked as one, which takes a fraction of the time.
#[derive(Debug, Default)]
pub(super) struct ListingBatch {
    /// The name and the id of each entry.
    text: Vec<u8>,
    /// The ends of the name and the id of each.
    entries: Vec<(usize, usize, ListedKind)>,
}

impl ListingBatch {
    pub(super) fn push(&mut self, name: &[u8], value: &[u8]) -> Result<(), CheckpointError> {
        let (kind, id) = read_value(value)?;
        self.text.extend_from_slice(name);
        let name_end = self.text.len();
        self.text.extend_from_slice(id);
        self.entries.push((name_end, self.text.len(), kind));
        Ok(())
    }

    pub(super) fn is_full(&self) -> bool {
        self.entries.len() >= BATCH_LEN
    }

    /// Calls `each` with the entries, and removes them.
    pub(super) fn pass_to(
        &mut self,
        each: &mut dyn FnMut(ListedChild<'_>),
    ) -> Result<(), CheckpointError> {
        let no_name = || malformed("a name is none");
        let text = std::str::from_utf8(&self.text).map_err(|_| no_name())?;
        let mut start = 0;
        for &(name_end, id_end, kind) in &self.entries {
            let name = text.get(start..name_end).ok_or_else(no_name)?;
            let id = text.get(name_end..id_end).ok_or_else(no_name)?;
            each(ListedChild { name, id, kind });
            start = id_end;
        }
        self.text.clear();
        self.entries.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The entries of a batch, or the reason why it has none.
    fn passed(entries: &[(&[u8], &[u8])]) -> Result<Vec<(String, String, ListedKind)>, String> {
        let (mut batch, mut passed) = (ListingBatch::default(), Vec::new());
        let pushed = entries.iter().try_for_each(|(name, value)| batch.push(name, value));
        let read = pushed.and_then(|()| {
            batch.pass_to(&mut |child| {
                passed.push((child.name.to_owned(), child.id.to_owned(), child.kind));
            })
        });
        read.map(|()| passed).map_err(|error| error.to_string())
    }

    #[test]
    fn entries_are_read_as_they_were_written() {
        let id = FileId::parse("a").unwrap();
        let sizes = [0, 1, 1 << 40, u64::MAX];
        let files = sizes.map(|size| [ListedKind::File { size }, ListedKind::Blob { size }]);
        let kinds = [ListedKind::Directory, ListedKind::Link].into_iter();
        for kind in kinds.chain(files.into_iter().flatten()) {
            let value = write_entry(kind, &id);
            let name = "\u{e9}";
            let expected = vec![(name.to_owned(), "a".to_owned(), kind)];
            assert_eq!(passed(&[(name.as_bytes(), &value)]), Ok(expected));
            let ListedChild { name, id, kind: found } = read_entry(b"n", &value).unwrap();
            assert_eq!((name, id, found), ("n", "a", kind));
        }
    }

    #[test]
    fn bytes_that_are_no_entry_are_refused() {
        for value in [&b""[..], b"?a", b"f", b"f\xff", b"b\xff\xff"] {
            assert!(passed(&[(b"n", value)]).is_err(), "{value:?}");
            assert!(read_entry(b"n", value).is_err(), "{value:?}");
        }
        assert!(passed(&[(b"\xff", b"da")]).is_err());
        // Together they would be a text.
        assert!(passed(&[(b"\xc3", b"d\xa9")]).is_err());
        assert!(passed(&[(b"n", b"d\xc3"), (b"\xa9", b"da")]).is_err());
        assert!(read_entry(b"\xff", b"da").is_err());
    }
}
