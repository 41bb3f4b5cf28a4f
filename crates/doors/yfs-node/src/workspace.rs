//! The workspace as a whole.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use napi::bindgen_prelude::within_runtime_if_available;
use serde_json::{Value, json};
use tokio::task::spawn_blocking;
use yfs::{Workspace, WorkspaceError, WorkspaceOptions};
use yfs_agent_workspace::{WorkspaceHistory, workspace_audit_records};
use yfs_engine::kind::profile_name;
use yfs_peer::{PeerMembership, PeerTicket};
use yfs_store::MemoryStore;

use crate::{
    artifacts::NativeArtifacts,
    document_port::NativePort,
    files::NativeFs,
    join_codes::JoinText,
    message::OpenRequest,
    pages::NativePages,
    peers::{NativePeers, RunningNode},
    prelude::*,
    threads::{NativeThreads, ThreadAccess},
    watch::NativeWatch,
};

/// The name of a workspace that lives in memory only.
const IN_MEMORY: &str = ":memory:";

/// How often to check whether a closed workspace has let go of its files.
const CLOSING_POLL: Duration = Duration::from_millis(2);

/// A workspace that is open.
#[derive(Debug)]
#[napi]
pub struct NativeWorkspace {
    pub(crate) slot: WorkspaceSlot,
    id: String,
    /// The directory of the store; `None` for one in memory.
    dir: Option<PathBuf>,
    /// The connections with peers.
    running: Arc<RunningNode>,
}

/// Where the workspace of a directory lies in it, as the `yfs` command has it.
const IN_DIRECTORY: [&str; 2] = [".yfs", "workspace.db"];

/// Returns the file of a workspace that is named by it or by its directory.
fn file_of(named: PathBuf) -> PathBuf {
    if named.is_dir() { named.join(IN_DIRECTORY[0]).join(IN_DIRECTORY[1]) } else { named }
}

/// Makes the directory of a workspace in a directory.
fn make_dir_of(file: &Path) -> Result<(), WorkspaceError> {
    let Some(dir) = file.parent().filter(|dir| dir.ends_with(IN_DIRECTORY[0]) && !dir.is_dir())
    else {
        return Ok(());
    };
    let host = |source| WorkspaceError::Host { action: "make", path: dir.to_owned(), source };
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir).map_err(host)
}

/// Opens a workspace; creates it if there is none and `create` is set.
fn open_file(
    file: &Path,
    create: bool,
    options: WorkspaceOptions,
) -> Result<Workspace, WorkspaceError> {
    if file.exists() || options.read_only || !create {
        return Workspace::open_at(file, options);
    }
    make_dir_of(file)?;
    match Workspace::create_at(file, options.clone()) {
        // Another process was faster.
        Err(_) if file.exists() => Workspace::open_at(file, options),
        created => created,
    }
}

fn create_in_memory(options: WorkspaceOptions) -> Result<Workspace, WorkspaceError> {
    Workspace::create(Arc::new(MemoryStore::new()), options)
}

#[napi]
impl NativeWorkspace {
    /// Opens the workspace in a file or of a directory, or makes one there.
    #[napi]
    pub fn open(file: String, options: String) -> napi::Result<OwnedFuture<Self>> {
        let request = OpenRequest::parse(&options)?;
        Ok(OwnedFuture::blocking(move || {
            if file == IN_MEMORY {
                return Self::of(request.into_memory_options()?, None, create_in_memory);
            }
            let (create, file) = (request.create, file_of(PathBuf::from(file)));
            let options = request.into_options().map_err(error::of)?;
            Self::of(options, Some(&file), |options| open_file(&file, create, options))
        }))
    }

    /// Makes a replica that is a member of the group of a ticket. It connects with nothing yet.
    /// With a join code, the ticket is asked for first.
    #[napi]
    pub fn join(
        text: String,
        file: String,
        options: String,
        search: String,
    ) -> napi::Result<OwnedFuture<Self>> {
        let text = JoinText::parse(&text, &search)?;
        let request = OpenRequest::parse(&options)?;
        Ok(OwnedFuture::future(async move {
            let file = (file != IN_MEMORY).then(|| file_of(PathBuf::from(file)));
            // Before a code is used.
            if file.as_deref().is_some_and(Path::exists) {
                return Err(error::of(WorkspaceError::Exists));
            }
            let ticket = text.into_ticket().await?;
            let joined = spawn_blocking(move || Self::create_member(&ticket, file, request)).await;
            joined.map_err(|panic| error::died(&panic))?
        }))
    }

    /// Makes an empty replica in a file or in memory, and makes it a member.
    fn create_member(
        ticket: &PeerTicket,
        file: Option<PathBuf>,
        request: OpenRequest,
    ) -> napi::Result<Self> {
        let id = &ticket.signed.grant.workspace;
        let joined = match file {
            None => Self::of(request.into_memory_options()?, None, |options| {
                Workspace::create_replica(Arc::new(MemoryStore::new()), id, options)
            }),
            Some(file) => {
                let options = request.into_options().map_err(error::of)?;
                Self::of(options, Some(&file), |options| {
                    if file.exists() {
                        return Err(WorkspaceError::Exists);
                    }
                    make_dir_of(&file)?;
                    Workspace::create_replica_at(&file, id, options)
                })
            }
        }?;
        let member = PeerMembership::of(&joined.slot.get()?);
        let member = member.and_then(|member| member.join(ticket));
        member.map_err(error::of)?;
        Ok(joined)
    }

    /// Makes a workspace in memory at once.
    #[napi]
    pub fn in_memory(options: String) -> napi::Result<Self> {
        let options = OpenRequest::parse(&options)?.into_memory_options()?;
        within_runtime_if_available(|| Self::of(options, None, create_in_memory))
    }

    fn of(
        options: WorkspaceOptions,
        file: Option<&Path>,
        open: impl FnOnce(WorkspaceOptions) -> Result<Workspace, WorkspaceError>,
    ) -> napi::Result<Self> {
        let actor = options.actor.clone();
        let workspace = open(options).map_err(error::of)?;
        let id = workspace.id().as_str().to_owned();
        let named = |file: &Path| file.parent().filter(|dir| *dir != "").map(Path::to_owned);
        let dir = file.map(|file| named(file).unwrap_or_else(|| PathBuf::from(".")));
        Ok(Self { slot: WorkspaceSlot::new(workspace, actor), id, dir, running: Arc::default() })
    }

    #[napi(getter)]
    pub fn id(&self) -> String {
        self.id.clone()
    }

    #[napi(getter)]
    pub fn profile(&self) -> napi::Result<String> {
        Ok(profile_name(self.slot.get()?.profile()).to_owned())
    }

    /// Returns the files on behalf of an actor, in an activity.
    #[napi]
    pub fn files(&self, actor: Option<String>, label: Option<String>) -> napi::Result<NativeFs> {
        let actor = actor.as_deref().map(message::actor).transpose()?;
        let session = self.slot.open_session(actor, label.as_deref())?;
        Ok(NativeFs::new(self.slot.clone(), session))
    }

    /// Returns the threads on behalf of an actor, in an activity.
    #[napi]
    pub fn threads(
        &self,
        actor: Option<String>,
        label: Option<String>,
        strategy: Option<String>,
    ) -> napi::Result<NativeThreads> {
        let slot = self.slot.clone();
        let access = ThreadAccess::new(slot, actor.as_deref(), label, strategy.as_deref())?;
        Ok(NativeThreads::new(access))
    }

    /// Returns the peers.
    #[napi]
    pub fn peers(&self) -> NativePeers {
        NativePeers::new(self.slot.clone(), self.running.clone(), self.dir.clone())
    }

    /// Returns a store of artifacts.
    #[napi]
    pub fn artifacts(&self, options: String) -> napi::Result<NativeArtifacts> {
        NativeArtifacts::new(self.slot.clone(), &options)
    }

    /// Opens a document: the main document by the workspace's id, a file's by its own.
    #[napi]
    pub fn port(
        &self,
        guid: String,
        actor: Option<String>,
    ) -> napi::Result<OwnedFuture<NativePort>> {
        let actor = actor.as_deref().map(message::actor).transpose()?;
        let slot = self.slot.clone();
        self.ask(move |workspace| {
            let port = workspace.documents().port(&guid)?;
            let port = match actor {
                Some(actor) => port.acting_for(actor),
                None => port,
            };
            Ok(NativePort::new(slot, port))
        })
    }

    #[napi]
    pub fn watch(&self) -> napi::Result<NativeWatch> {
        self.slot.get()?;
        Ok(NativeWatch::new(self.slot.clone()))
    }

    /// Undoes the changes of an actor that have a label, and returns what that did.
    #[napi]
    pub fn undo(&self, label: String, actor: Option<String>) -> napi::Result<OwnedFuture<String>> {
        let actor = actor.map(|actor| message::actor(&actor)).transpose()?;
        let actor = actor.unwrap_or_else(|| self.slot.actor().clone());
        let history = WorkspaceHistory::new(self.slot.get()?);
        Ok(OwnedFuture::blocking(move || {
            let undone = history.undo_label(&actor, &label);
            let undone = undone.map_err(error::of)?;
            Ok(undone.iter().map(message::undone).collect::<Value>().to_string())
        }))
    }

    /// Returns the records of what agents did, and how many cannot be read.
    #[napi]
    pub fn audit(&self, options: String) -> napi::Result<OwnedFuture<NativePages>> {
        let query = message::audit_query(&options)?;
        let workspace = self.slot.get()?;
        Ok(OwnedFuture::blocking(move || {
            let selected = workspace_audit_records(&workspace, &query);
            let selected = selected.map_err(|error| error::of_audit(&error))?;
            let rest = json!({ "damaged": selected.n_damaged });
            Ok(NativePages::new(selected.records.iter().map(message::js), &rest))
        }))
    }

    #[napi]
    pub fn version_content(
        &self,
        at: String,
        number: f64,
    ) -> napi::Result<OwnedFuture<Uint8Array>> {
        let at = path(Op::Open, &at)?;
        self.ask(move |workspace| {
            Ok(Uint8Array::new(workspace.history().version_content(&at, number as u64)?.to_vec()))
        })
    }

    /// Closes the workspace, and resolves when its files are closed; it is fine if it is closed
    /// already.
    #[napi]
    pub fn close(&self) -> napi::Result<OwnedFuture<()>> {
        let workspace = self.slot.take();
        Ok(OwnedFuture::blocking(move || {
            let Some(workspace) = workspace else { return Ok(()) };
            let store = workspace.store().clone();
            let closed = workspace.close().map_err(error::of);
            // Calls in flight and the thread that follows the log hold the store until they notice.
            // The last to let go closes the files, which is this one.
            while Arc::strong_count(&store) > 1 {
                thread::sleep(CLOSING_POLL);
            }
            drop(store);
            closed
        }))
    }

    pub(crate) fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Workspace) -> Result<T, WorkspaceError> + Send + 'static,
    ) -> napi::Result<OwnedFuture<T>> {
        let workspace = self.slot.get()?;
        Ok(OwnedFuture::blocking(move || work(&workspace).map_err(error::of)))
    }
}
