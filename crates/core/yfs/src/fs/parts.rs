//! How the calls of a [`WorkspaceFs`](super::WorkspaceFs) are divided into parts.

/// Defines a part: a view of the filesystem with the methods that do some of its calls, and the
/// method of the filesystem that returns it. A part dereferences to the filesystem.
macro_rules! fs_part {
    ($(#[$doc:meta])* $part:ident, $accessor:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) struct $part<'a> {
            pub(crate) fs: &'a $crate::WorkspaceFs,
        }

        impl $crate::WorkspaceFs {
            pub(crate) fn $accessor(&self) -> $part<'_> {
                $part { fs: self }
            }
        }

        impl std::ops::Deref for $part<'_> {
            type Target = $crate::WorkspaceFs;

            fn deref(&self) -> &$crate::WorkspaceFs {
                self.fs
            }
        }
    };
}
