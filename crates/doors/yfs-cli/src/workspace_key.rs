//! The key of an encrypted workspace: from an option, the environment or a prompt.
//!
//! A passphrase is never the value of an argument, because other users can read the arguments of a
//! process. A key that was read is kept until the process ends, so that a prompt appears once.

use std::{
    env, fs, io,
    io::IsTerminal,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use clap::Args;
use parking_lot::Mutex;
use yfs::{Workspace, WorkspaceError, WorkspaceOptions};
use yfs_store::{
    KeyError, OpenOptions, SqliteStore, StoreError, UnlockKey, read_key_file, write_key_file,
};

use crate::{
    context::CommandContext,
    discover,
    errors::{CommandError, Result},
};

const PASSPHRASE: &str = "YFS_PASSPHRASE";
const KEY_FILE: &str = "YFS_KEY_FILE";

/// The options that name the key, of every command.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct KeyArgs {
    /// A file with the passphrase of an encrypted workspace. Default: YFS_PASSPHRASE, or a prompt
    #[arg(long, global = true, value_name = "FILE", conflicts_with = "key_file")]
    passphrase_file: Option<PathBuf>,
    /// The key file of an encrypted workspace. Default: YFS_KEY_FILE
    #[arg(long, global = true, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

impl KeyArgs {
    /// Returns the arguments that give another process the same key.
    pub(crate) fn to_arguments(&self) -> Vec<&std::ffi::OsStr> {
        let files = [("--passphrase-file", &self.passphrase_file), ("--key-file", &self.key_file)];
        let given = files.into_iter().filter_map(|(name, file)| Some((name, file.as_deref()?)));
        given.flat_map(|(name, file)| [name.as_ref(), file.as_os_str()]).collect()
    }
}

/// The options of this process.
static OPTIONS: OnceLock<KeyArgs> = OnceLock::new();

/// The key that the environment or a prompt gave.
static KNOWN: Mutex<Option<Arc<UnlockKey>>> = Mutex::new(None);

/// Sets the options of this process.
pub(crate) fn set_options(options: &KeyArgs) {
    OPTIONS.set(options.clone()).ok();
}

/// The kind of key that a workspace opens with.
#[derive(Debug, Clone, Copy)]
enum NeededKey {
    Passphrase,
    KeyFile,
}

/// Opens the workspace in a file.
pub(crate) fn open_at(file: &Path, options: WorkspaceOptions) -> Result<Workspace> {
    open_with_key(file, |key| Workspace::open_at(file, WorkspaceOptions { key, ..options.clone() }))
}

/// Opens the store of a workspace that this process has open already.
pub(crate) fn open_store(file: &Path) -> Result<SqliteStore> {
    open_with_key(file, |key| {
        SqliteStore::open_with_key(file, OpenOptions::default(), key.as_deref())
            .map_err(WorkspaceError::from)
    })
}

/// Opens a file with the key that options name, or else with the one that it needs.
fn open_with_key<T>(
    file: &Path,
    open: impl Fn(Option<Arc<UnlockKey>>) -> Result<T, WorkspaceError>,
) -> Result<T> {
    let given = OPTIONS.get().map(KeyArgs::read).transpose()?.flatten();
    if given.is_some() {
        keep_out_of_dumps();
    }
    open(given).or_else(|error| {
        // Only now is it known what is needed.
        let Some(needed) = NeededKey::of(&error) else { return Err(error.into()) };
        match known_key(file, needed)? {
            Some(key) => Ok(open(Some(key))?),
            None => Err(CommandError::Hinted(error, needed.hint())),
        }
    })
}

/// Opens the workspace in a file if that needs no prompt.
pub(crate) fn open_without_prompt(file: &Path, mut options: WorkspaceOptions) -> Option<Workspace> {
    Workspace::open_at(file, options.clone())
        .or_else(|error| {
            options.key = NeededKey::of(&error).and_then(|needed| needed.find().ok().flatten());
            if options.key.is_some() {
                keep_out_of_dumps();
            }
            Workspace::open_at(file, options)
        })
        .ok()
}

/// Returns the key of a new workspace; none unless `encrypt` is set.
///
/// # Errors
///
/// If an option names a key and the workspace is to be plain: that is hardly meant.
pub(crate) fn key_of_new(encrypt: bool) -> Result<Option<Arc<UnlockKey>>> {
    let options = OPTIONS.get().cloned().unwrap_or_default();
    if !encrypt {
        return match options.is_given() {
            true => Err(CommandError::usage(
                "a new workspace has a key only if it is encrypted: `yfs init --encrypt` makes one",
            )),
            false => Ok(None),
        };
    }
    if let Some(key) = options.read_or_make()? {
        keep_out_of_dumps();
        return Ok(Some(key));
    }
    let found = key_file_of_environment()?.map_or_else(passphrase_of_environment, |k| Ok(Some(k)));
    let key = match found? {
        Some(key) => key,
        None => Arc::new(ask_twice("Passphrase")?),
    };
    *KNOWN.lock() = Some(key.clone());
    keep_out_of_dumps();
    Ok(Some(key))
}

/// Makes the memory of this process, which has a key, unreadable for other processes of the user,
/// and keeps it out of core dumps. A system that refuses does not stop the command.
fn keep_out_of_dumps() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) }).ok();
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        set_dumpable_behavior(DumpableBehavior::NotDumpable).ok();
    }
}

/// Returns the key of the environment, or asks for a passphrase; `None` if there is no terminal.
fn known_key(file: &Path, needed: NeededKey) -> Result<Option<Arc<UnlockKey>>> {
    let mut known = KNOWN.lock();
    if known.is_none() {
        *known = match (needed.find()?, needed) {
            (None, NeededKey::Passphrase) if io::stderr().is_terminal() => {
                Some(Arc::new(ask(&format!("Passphrase of {}", file.display()))?))
            }
            (found, _) => found,
        };
        if known.is_some() {
            keep_out_of_dumps();
        }
    }
    Ok(known.clone())
}

impl NeededKey {
    /// Returns what a caller without a key needs, if that is the error.
    fn of(error: &WorkspaceError) -> Option<Self> {
        let WorkspaceError::Store(StoreError::Key { source, .. }) = error else { return None };
        match source {
            KeyError::MissingPassphrase => Some(Self::Passphrase),
            KeyError::MissingKeyFile => Some(Self::KeyFile),
            _ => None,
        }
    }

    /// Returns the key of the environment.
    fn find(self) -> Result<Option<Arc<UnlockKey>>> {
        match self {
            Self::Passphrase => passphrase_of_environment(),
            Self::KeyFile => key_file_of_environment(),
        }
    }

    fn hint(self) -> &'static str {
        match self {
            Self::Passphrase => "pass --passphrase-file, or set YFS_PASSPHRASE",
            Self::KeyFile => "pass --key-file, or set YFS_KEY_FILE",
        }
    }
}

fn key_file_of_environment() -> Result<Option<Arc<UnlockKey>>> {
    let file = env::var_os(KEY_FILE).filter(|file| !file.is_empty());
    file.map(|file| read_key(Path::new(&file)).map(Arc::new)).transpose()
}

fn passphrase_of_environment() -> Result<Option<Arc<UnlockKey>>> {
    let text = env::var_os(PASSPHRASE).filter(|text| !text.is_empty());
    text.map(|text| passphrase(text.into_encoded_bytes()).map(Arc::new)).transpose()
}

/// Prints a remark if the key file of a new workspace, or a new key file, lies in the directory of
/// the workspace: a copy of the directory has both.
pub(crate) fn remark_on_key_beside(
    file: &Path,
    new_key_file: Option<&Path>,
    context: &mut CommandContext,
) {
    if let Some(key) = key_file_beside(file, new_key_file) {
        let key = context.out.safe(&key.display().to_string()).into_owned();
        context.remark(&format!(
            "{key} is in the directory of the workspace, so a copy of the directory can be \
             decrypted: keep it elsewhere"
        ));
    }
}

fn key_file_beside(file: &Path, new_key_file: Option<&Path>) -> Option<PathBuf> {
    let options = OPTIONS.get().cloned().unwrap_or_default();
    let of_environment = || {
        let is_named = options.is_given() || new_key_file.is_some();
        env::var_os(KEY_FILE).filter(|file| !is_named && !file.is_empty()).map(PathBuf::from)
    };
    let key = new_key_file.map(Path::to_owned).or(options.key_file.clone());
    let key = key.or_else(of_environment)?;
    let (found, file) = (key.canonicalize().ok()?, file.canonicalize().ok()?);
    let directory = file.parent()?;
    let around = directory.parent().filter(|_| directory.ends_with(discover::DIR));
    found.starts_with(around.unwrap_or(directory)).then_some(key)
}

impl KeyArgs {
    /// Makes the options of a new key.
    pub(crate) fn new(passphrase_file: Option<PathBuf>, key_file: Option<PathBuf>) -> Self {
        Self { passphrase_file, key_file }
    }

    fn is_given(&self) -> bool {
        self.passphrase_file.is_some() || self.key_file.is_some()
    }

    /// Reads the key that an option names.
    fn read(&self) -> Result<Option<Arc<UnlockKey>>> {
        let key = match (&self.passphrase_file, &self.key_file) {
            (Some(file), _) => passphrase(read_file(file)?)?,
            (None, Some(file)) => read_key(file)?,
            (None, None) => return Ok(None),
        };
        Ok(Some(Arc::new(key)))
    }

    /// Reads the key that an option names. A key file that does not exist is made, with random
    /// bytes.
    fn read_or_make(&self) -> Result<Option<Arc<UnlockKey>>> {
        if let Some(file) = self.key_file.as_deref().filter(|file| !file.exists()) {
            write_key_file(file).map_err(|error| CommandError::host(file, &error))?;
        }
        self.read()
    }

    /// Reads the key that an option names, as [`read_or_make`](Self::read_or_make), or asks for a
    /// passphrase.
    pub(crate) fn read_new_key(&self) -> Result<Arc<UnlockKey>> {
        match self.read_or_make()? {
            Some(key) => Ok(key),
            None => Ok(Arc::new(ask_twice("New passphrase")?)),
        }
    }
}

fn read_key(file: &Path) -> Result<UnlockKey> {
    let bytes = read_key_file(file).map_err(|error| CommandError::host(file, &error))?;
    let key = UnlockKey::from_key_file(bytes);
    key.map_err(|error| CommandError::other(format!("{}: {error}", file.display())))
}

fn read_file(file: &Path) -> Result<Vec<u8>> {
    fs::read(file).map_err(|error| CommandError::host(file, &error))
}

fn passphrase(text: Vec<u8>) -> Result<UnlockKey> {
    UnlockKey::from_passphrase(text).map_err(|error| CommandError::other(error.to_string()))
}

/// Asks for a new passphrase, and for the same once more.
fn ask_twice(what: &str) -> Result<UnlockKey> {
    if !io::stderr().is_terminal() {
        let message = "a passphrase is needed: pass --passphrase-file or --key-file";
        return Err(CommandError::usage(message));
    }
    let first = read_hidden(what)?;
    if first != read_hidden("The same again")? {
        return Err(CommandError::other("the passphrases differ"));
    }
    passphrase(first.into_bytes())
}

fn ask(what: &str) -> Result<UnlockKey> {
    passphrase(read_hidden(what)?.into_bytes())
}

/// Reads a line from the terminal, which does not show it.
fn read_hidden(what: &str) -> Result<String> {
    Ok(rpassword::prompt_password(format!("{what}: "))?)
}
