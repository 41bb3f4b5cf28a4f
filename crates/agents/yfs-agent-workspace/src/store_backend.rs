//! Durable files in namespaces of one workspace.
//!
//! A namespace is a list of components, such as a user and a project, that a function derives from
//! the caller's context. The files of the namespace `["users", "ada"]` lie in
//! `/n-users/n-ada/files` of the workspace: no namespace lies in another, also if its components
//! begin with those of the other. Each is the directory as a filesystem of its own, by its id: no
//! link and no rename leads out of it, and it stays the same wherever the directory is moved.

use std::{fmt, sync::Arc};

use thiserror::Error;
use yfs::{RootedFs, Workspace, WorkspaceFs};
use yfs_agent::backends::AgentBackend;
use yfs_types::{actor::Actor, name::NodeName, path::VPath};
use yfs_vfs::{FileSystem, FileSystemExt, FsError};

/// The checked components of a namespace.
///
/// Invariant: at least one component; each is a name in normalization form C without `*` and `?`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StoreNamespace(Vec<NodeName>);

/// The reason why components are not a namespace.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BadNamespace {
    /// There is no component.
    #[error("a namespace needs at least one component")]
    Empty,
    /// A component is empty, has a wildcard, or is not a name.
    #[error("{0:?} is not a component of a namespace")]
    Component(String),
    /// The namespace is too long.
    #[error("the namespace is too long")]
    TooLong,
}

/// The files of one namespace.
#[derive(Debug, Clone)]
pub struct StoreBackend {
    fs: Arc<RootedFs>,
    namespace: StoreNamespace,
}

/// The failure of opening a namespace.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum OpenNamespaceError {
    /// The context led to no namespace.
    #[error("cannot open a namespace")]
    Namespace(#[from] BadNamespace),
    /// The directory of the namespace could not be made.
    #[error("cannot make the directory of the namespace")]
    Directory(#[from] FsError),
}

impl StoreNamespace {
    /// Checks components.
    pub fn new<C: AsRef<str>>(
        components: impl IntoIterator<Item = C>,
    ) -> Result<Self, BadNamespace> {
        let components = components.into_iter().map(|text| {
            let text = text.as_ref();
            let bad = || BadNamespace::Component(text.to_owned());
            // The directory's name has two more bytes.
            let name = NodeName::new(&format!("n-{text}")).map_err(|_| bad())?;
            // Two spellings of one component would be one directory.
            let is_exact = name.as_str().strip_prefix("n-") == Some(text);
            let has_control = text.chars().any(char::is_control);
            if text.is_empty() || !is_exact || has_control || text.contains(['*', '?']) {
                return Err(bad());
            }
            Ok(name)
        });
        let components = components.collect::<Result<Vec<_>, _>>()?;
        if components.is_empty() { Err(BadNamespace::Empty) } else { Ok(Self(components)) }
    }

    /// Returns the components.
    pub fn components(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|name| name.as_str().strip_prefix("n-"))
    }

    /// Returns the directory of the workspace that holds the files.
    fn directory(&self) -> Result<VPath, BadNamespace> {
        let names = self.0.iter().map(NodeName::as_str).chain(["files"]);
        let text: Vec<&str> = names.collect();
        // Leaves room for the paths of the files.
        match VPath::parse(&text.join("/")) {
            Ok(path) if path.as_str().len() <= yfs_types::path::MAX_PATH_LEN / 2 => Ok(path),
            _ => Err(BadNamespace::TooLong),
        }
    }
}

impl fmt::Display for StoreNamespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.components().collect::<Vec<_>>().join("/"))
    }
}

impl StoreBackend {
    /// Opens the namespace that `namespace_of` derives from the caller's context.
    pub async fn open_for<C: ?Sized>(
        workspace: &Workspace,
        actor: Actor,
        context: &C,
        namespace_of: impl FnOnce(&C) -> Vec<String>,
    ) -> Result<Self, OpenNamespaceError> {
        let namespace = StoreNamespace::new(namespace_of(context))?;
        Self::open(workspace.fs_for(actor), namespace).await
    }

    /// Opens a namespace, on behalf of the owner of `fs`. Creates it if it is missing.
    pub async fn open(
        fs: WorkspaceFs,
        namespace: StoreNamespace,
    ) -> Result<Self, OpenNamespaceError> {
        let directory = namespace.directory()?;
        fs.mkdir_all(&directory).await?;
        let id = fs.lstat(&directory).await?.id;
        Ok(Self { fs: Arc::new(fs.rooted_at(id)), namespace })
    }

    /// Returns the namespace.
    pub fn namespace(&self) -> &StoreNamespace {
        &self.namespace
    }
}

impl AgentBackend for StoreBackend {
    fn fs(&self) -> Arc<dyn FileSystem> {
        self.fs.clone()
    }
}
