//! Errors of a filesystem, in the terms of POSIX tools and Node programs.
//!
//! An [`FsError`] names the attempted operation ([`Op`]), its one or two paths, and the reason for
//! the failure ([`FsCode`]). It prints as `ENOENT: no such file or directory, open '/x'`, and with
//! two paths as `EXDEV: invalid cross-device link, rename '/a' -> '/b'`.

use std::{error::Error, fmt, io, sync::Arc};

use rustix::io::Errno;
use yfs_types::{
    name::NameError,
    path::{PathError, VPath},
};

use crate::{changes::CursorLost, edit::EditRefusal};

/// The failure of a filesystem operation. A failed call has changed nothing.
#[derive(Debug, Clone)]
pub struct FsError {
    /// The reason, as a code that programs test.
    pub code: FsCode,
    /// The attempted operation.
    pub op: Op,
    /// The path as the caller passed it; `None` if the operation has no path.
    pub path: Option<Box<str>>,
    /// The second path of an operation that has two.
    pub dest: Option<Box<str>>,
    /// The underlying error, if there is one.
    pub source: Option<Arc<dyn Error + Send + Sync>>,
}

macro_rules! codes {
    ($($code:ident = $errno:ident, $message:literal, $doc:literal;)*) => {
        /// The error codes of a filesystem, named as in POSIX.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum FsCode { $(#[doc = $doc] $code,)* }

        impl FsCode {
            /// All codes, in the order of declaration.
            pub const ALL: &[Self] = &[$(Self::$code),*];

            /// Returns the code's POSIX name, for example `ENOENT`.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$code => stringify!($code)),* }
            }

            /// Returns the text of POSIX `strerror`, in lower case.
            pub fn message(self) -> &'static str {
                match self { $(Self::$code => $message),* }
            }

            /// Returns the error number of this host's kernel.
            pub fn errno(self) -> i32 {
                match self { $(Self::$code => Errno::$errno.raw_os_error()),* }
            }
        }
    };
}

codes! {
    ENOENT = NOENT, "no such file or directory", "A component of the path does not exist.";
    EEXIST = EXIST, "file exists", "The path exists already.";
    ENOTDIR = NOTDIR, "not a directory", "A component that must be a directory is not one.";
    EISDIR = ISDIR, "is a directory", "The operation is for files, and this is a directory.";
    ENOTEMPTY = NOTEMPTY, "directory not empty", "The directory has entries.";
    EINVAL = INVAL, "invalid argument", "Invalid name or pattern, or a move into itself.";
    ENAMETOOLONG = NAMETOOLONG, "file name too long", "A name or path is longer than the limit.";
    ELOOP = LOOP, "too many levels of symbolic links", "The path resolves more than 40 links.";
    EACCES = ACCESS, "permission denied", "Not allowed; also a link that leads outside.";
    EPERM = PERM, "operation not permitted", "Not possible on this kind of object.";
    EROFS = ROFS, "read-only file system", "The filesystem is read-only.";
    ENOSPC = NOSPC, "no space left on device", "A quota or the disk is full.";
    EFBIG = FBIG, "file too large", "The file would exceed the maximum size.";
    EIO = IO, "input/output error", "The storage failed, or a blob has not been received.";
    ESTALE = STALE, "stale file handle", "The passed version or cursor is not current.";
    ENOSYS = NOSYS, "function not implemented", "This filesystem does not have the operation.";
    EBUSY = BUSY, "device or resource busy", "In use; also any attempt to move or remove the root.";
    EXDEV = XDEV, "invalid cross-device link", "The two paths lie on different filesystems.";
    ECANCELED = CANCELED, "operation canceled", "The caller canceled the operation.";
}

macro_rules! ops {
    ($($op:ident = $word:literal, $doc:literal;)*) => {
        /// An operation of a filesystem. The words are those that Node prints.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Op { $(#[doc = $doc] $op,)* }

        impl Op {
            /// All operations, in the order of declaration.
            pub const ALL: &[Self] = &[$(Self::$op),*];

            /// Returns the word that messages print.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$op => $word),* }
            }
        }
    };
}

ops! {
    Open = "open", "Reading or writing content.";
    Read = "read", "Reading content, where the kind of the object forbids it or the bytes fail.";
    Write = "write", "Writing content, where the content or the space forbids it.";
    Append = "append", "Appending to a file.";
    Edit = "edit", "Replacing text inside a file.";
    Stat = "stat", "Reading metadata; follows links.";
    Lstat = "lstat", "Reading metadata; does not follow a final link.";
    Scandir = "scandir", "Listing a directory.";
    Mkdir = "mkdir", "Creating a directory.";
    Rm = "rm", "Removing.";
    Cp = "cp", "Copying.";
    Rename = "rename", "Moving or renaming.";
    Symlink = "symlink", "Creating a symbolic link.";
    Link = "link", "Creating a hard link.";
    Readlink = "readlink", "Reading the target of a symbolic link.";
    Realpath = "realpath", "Following all links of a path.";
    Utimes = "utimes", "Setting the time of the last change.";
    Chmod = "chmod", "Setting permission bits.";
    SetMetadata = "setmetadata", "Setting custom metadata.";
    Walk = "walk", "Listing a tree.";
    Glob = "glob", "Finding paths by pattern.";
    Grep = "grep", "Finding lines by pattern.";
    Totals = "totals", "Computing the totals of a tree.";
    Watch = "watch", "Reading the log of changes.";
}

impl FsError {
    /// Makes an error about one path.
    pub fn new(code: FsCode, op: Op, path: impl AsRef<str>) -> Self {
        Self { code, op, path: Some(path.as_ref().into()), dest: None, source: None }
    }

    /// Makes an error without a path.
    pub fn bare(code: FsCode, op: Op) -> Self {
        Self { code, op, path: None, dest: None, source: None }
    }

    /// Sets the second path.
    #[must_use]
    pub fn to(mut self, dest: impl AsRef<str>) -> Self {
        self.dest = Some(dest.as_ref().into());
        self
    }

    /// Sets the cause.
    #[must_use]
    pub fn caused_by(mut self, source: impl Error + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    /// Replaces the operation; a wrapper that implements one operation with another needs it.
    #[must_use]
    pub fn during(mut self, op: Op) -> Self {
        self.op = op;
        self
    }

    /// Converts an error of the host. The cause is kept if the code alone says less.
    pub fn io(op: Op, path: impl AsRef<str>, error: io::Error) -> Self {
        let code = FsCode::of_io(&error);
        let error_is_code = error.raw_os_error() == Some(code.errno());
        let fs_error = Self::new(code, op, path);
        if error_is_code { fs_error } else { fs_error.caused_by(error) }
    }

    /// Converts the error of a text that is not a path.
    pub fn bad_path(op: Op, text: &str, error: PathError) -> Self {
        let code = match error {
            PathError::Empty => FsCode::ENOENT,
            PathError::TooLong(_) => FsCode::ENAMETOOLONG,
            // `PathError::Nul`, and every later variant.
            _ => FsCode::EINVAL,
        };
        Self::new(code, op, text).caused_by(error)
    }

    /// Converts the error of a name that may not be stored.
    pub fn bad_name(op: Op, path: impl AsRef<str>, error: NameError) -> Self {
        let code = match error {
            NameError::TooLong(_) => FsCode::ENAMETOOLONG,
            _ => FsCode::EINVAL,
        };
        Self::new(code, op, path).caused_by(error)
    }

    /// Makes the error of a rejected edit.
    pub fn edit_refused(path: &VPath, refusal: EditRefusal) -> Self {
        Self::new(FsCode::EINVAL, Op::Edit, path).caused_by(refusal)
    }

    /// Returns the reason why an edit was rejected, if this is that error.
    pub fn edit_refusal(&self) -> Option<&EditRefusal> {
        self.source.as_ref()?.downcast_ref()
    }

    /// Makes the error of a cursor that is no longer in the log of changes.
    pub fn cursor_lost() -> Self {
        Self::bare(FsCode::ESTALE, Op::Watch).caused_by(CursorLost)
    }

    /// Reports whether a cursor is too old. If so, the caller must list the tree again and get a
    /// new cursor.
    pub fn is_cursor_lost(&self) -> bool {
        self.source.as_ref().is_some_and(|source| source.is::<CursorLost>())
    }
}

impl FsCode {
    /// Parses the POSIX name of a code.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == text)
    }

    /// Returns the code of an error number of this host's kernel; unlisted numbers are `EIO`.
    pub(crate) fn of_errno(errno: i32) -> Self {
        let exact = Self::ALL.iter().copied().find(|code| code.errno() == errno);
        let related = || match Errno::from_raw_os_error(errno) {
            Errno::DQUOT => Self::ENOSPC,
            Errno::OPNOTSUPP => Self::ENOSYS,
            // Linux returns it for a socket or a fifo without a reader.
            Errno::NXIO => Self::EINVAL,
            Errno::TXTBSY => Self::EBUSY,
            Errno::MLINK => Self::EPERM,
            _ => Self::EIO,
        };
        exact.unwrap_or_else(related)
    }

    /// Returns the code of an error of the host.
    pub fn of_io(error: &io::Error) -> Self {
        use io::ErrorKind;
        if let Some(errno) = error.raw_os_error() {
            return Self::of_errno(errno);
        }
        match error.kind() {
            ErrorKind::NotFound => Self::ENOENT,
            ErrorKind::AlreadyExists => Self::EEXIST,
            ErrorKind::PermissionDenied => Self::EACCES,
            ErrorKind::NotADirectory => Self::ENOTDIR,
            ErrorKind::IsADirectory => Self::EISDIR,
            ErrorKind::DirectoryNotEmpty => Self::ENOTEMPTY,
            ErrorKind::InvalidInput => Self::EINVAL,
            ErrorKind::ReadOnlyFilesystem => Self::EROFS,
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::ENOSPC,
            ErrorKind::FileTooLarge => Self::EFBIG,
            ErrorKind::ResourceBusy => Self::EBUSY,
            ErrorKind::CrossesDevices => Self::EXDEV,
            ErrorKind::StaleNetworkFileHandle => Self::ESTALE,
            ErrorKind::Unsupported => Self::ENOSYS,
            _ => Self::EIO,
        }
    }
}

impl From<FsError> for io::Error {
    fn from(error: FsError) -> Self {
        let kind = Self::from_raw_os_error(error.code.errno()).kind();
        Self::new(kind, error)
    }
}

impl Error for FsError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|source| &**source as &(dyn Error + 'static))
    }
}

impl fmt::Display for FsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}, {}", self.code.as_str(), self.code.message(), self.op.as_str())?;
        if let Some(path) = &self.path {
            write!(f, " '{}'", EscapedPath(path))?;
        }
        if let Some(dest) = &self.dest {
            write!(f, " -> '{}'", EscapedPath(dest))?;
        }
        Ok(())
    }
}

impl fmt::Display for FsCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Displays a path with its control characters escaped, because messages end up in logs and
/// terminals.
struct EscapedPath<'a>(&'a str);

impl fmt::Display for EscapedPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        for char in self.0.chars() {
            if char.is_control() {
                write!(f, "{}", char.escape_default())?;
            } else {
                f.write_char(char)?;
            }
        }
        Ok(())
    }
}
