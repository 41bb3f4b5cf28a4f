//! Tools with which agents use a filesystem: one core over any [`FileSystem`](yfs_vfs::FileSystem),
//! spoken in several vocabularies.
