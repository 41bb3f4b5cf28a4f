//! What this machine knows of the last claim of a store, outside of the volume of the store.
//!
//! A volume that is set back (LVM, ZFS, btrfs, an image of a disk) takes all files of a store back
//! with it. So the number of the last claim is also kept in memory: in `/dev/shm/yfs-UID`, by
//! device and inode of the seal. A volume that is set back leaves it as it is, and a machine that
//! starts again loses it. No record, or another number, means that nothing is known.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use rustix::{fs::statfs, process::geteuid};

use super::access::open_only_name;

/// Where Linux has a file system in memory that all users may write to.
const MEMORY_ROOT: &str = "/dev/shm";

/// The type of that file system, by statfs(2).
const TMPFS_MAGIC: u64 = 0x0102_1994;

/// The most records, one page of memory each. A store whose record had to go has new ids.
const MAX_RECORDS: usize = 4096;

/// The permissions by which others may change a directory.
const OTHERS: u32 = 0o077;

/// The record of one store.
pub(super) struct ClaimWitness {
    path: PathBuf,
}

impl ClaimWitness {
    /// Returns the record of the store that has this seal.
    ///
    /// # Errors
    ///
    /// Fails if the machine has no file system in memory, or another user made the directory.
    pub(super) fn of(seal: &File) -> io::Result<Self> {
        Self::in_memory_of(Path::new(MEMORY_ROOT), seal)
    }

    fn in_memory_of(root: &Path, seal: &File) -> io::Result<Self> {
        let kind = u64::try_from(statfs(root)?.f_type);
        if kind != Ok(TMPFS_MAGIC) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let user = geteuid().as_raw();
        let directory = root.join(format!("yfs-{user}"));
        match DirBuilder::new().mode(0o700).create(&directory) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => (),
        }
        let found = fs::symlink_metadata(&directory)?;
        if !found.is_dir() || found.uid() != user || found.mode() & OTHERS != 0 {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let seal = seal.metadata()?;
        Ok(Self { path: directory.join(format!("{:x}-{:x}", seal.dev(), seal.ino())) })
    }

    /// Reports whether a number is that of the last claim.
    pub(super) fn has(&self, generation: &[u8; 16]) -> io::Result<bool> {
        let mut known = Vec::new();
        let file = open_only_name(&self.path, OpenOptions::new().read(true))?;
        file.take(generation.len() as u64 + 1).read_to_end(&mut known)?;
        Ok(known == generation)
    }

    /// Notes the number of a claim.
    pub(super) fn note(&self, generation: &[u8; 16]) -> io::Result<()> {
        if let Some(directory) = self.path.parent().filter(|_| !self.path.exists()) {
            make_room(directory, MAX_RECORDS)?;
        }
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        open_only_name(&self.path, &mut options)?.write_all(generation)
    }
}

/// Removes the older half of the records if there are `max` of them.
fn make_room(directory: &Path, max: usize) -> io::Result<()> {
    if fs::read_dir(directory)?.count() < max {
        return Ok(());
    }
    let mut records = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        // Another process may have removed it.
        if let Ok(record) = entry.metadata() {
            records.push((record.modified()?, entry.path()));
        }
    }
    records.sort_unstable();
    for (_, path) in records.iter().take(records.len() / 2) {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => (),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    fn seal() -> File {
        tempfile::tempfile_in(MEMORY_ROOT).expect("a file in memory")
    }

    #[test]
    fn only_the_last_number_is_known() {
        let seal = seal();
        let witness = ClaimWitness::of(&seal).expect("a record");
        witness.note(&[1; 16]).expect("noted");
        witness.note(&[2; 16]).expect("noted");
        assert!(witness.has(&[2; 16]).expect("read"));
        assert!(!witness.has(&[1; 16]).expect("read"));
        fs::remove_file(witness.path).expect("removed");
    }

    #[test]
    fn nothing_is_known_of_a_store_without_a_record() {
        let seal = seal();
        assert!(ClaimWitness::of(&seal).expect("a record").has(&[1; 16]).is_err());
    }

    #[test]
    fn a_directory_on_a_volume_keeps_no_records() {
        let refused = ClaimWitness::in_memory_of(Path::new("/proc"), &seal());
        assert_eq!(refused.err().map(|error| error.kind()), Some(io::ErrorKind::Unsupported));
    }

    #[test]
    fn the_oldest_records_make_room() {
        let directory = tempfile::tempdir().expect("a directory");
        for age in 0..6 {
            let record = File::create(directory.path().join(format!("{age}"))).expect("made");
            let noted = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000 - age);
            record.set_modified(noted).expect("a time");
        }
        let n_records = || fs::read_dir(directory.path()).expect("read").count();
        make_room(directory.path(), 7).expect("there is room");
        assert_eq!(n_records(), 6);
        make_room(directory.path(), 6).expect("room is made");
        let is_there = |age: &u64| directory.path().join(format!("{age}")).exists();
        assert_eq!((0..6).filter(is_there).collect::<Vec<_>>(), [0, 1, 2]);
    }
}
