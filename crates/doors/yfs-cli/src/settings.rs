//! The settings that people keep in files: one for the account, one for each workspace.
//!
//! Options and environment variables take precedence, then the file of the workspace, then that of
//! the account. The files are TOML; changing a setting keeps comments.

use std::{
    collections::BTreeMap,
    env, fs, io,
    path::{Path, PathBuf},
    str::FromStr,
    sync::OnceLock,
};

use clap::ValueEnum;
use toml_edit::DocumentMut;
use yfs::{ImportOptions, WorkspaceOptions, import::ignores::check_ignore_pattern};
use yfs_engine::{actor::Actor, content::MAX_TEXT_BYTES, gate::GateLimits};

use crate::{
    args::{ColorChoice, GlobalArgs},
    discover::{self, DIR},
    errors::{CommandError, Result},
    format_text::{human_size, parse_size},
};

#[cfg(feature = "peer")]
pub(crate) mod peer_settings;

/// The name of a file with settings.
const FILE: &str = "config.toml";

/// The environment variable with the number of changes after which a checkpoint is made.
const CHECKPOINT_AFTER: &str = "YFS_CHECKPOINT_AFTER";

/// The environment variable with the number of rows that a process keeps in memory.
const ROW_BUDGET: &str = "YFS_ROW_BUDGET";

/// A setting that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SettingKey {
    /// The actor of changes.
    Actor,
    /// When to use colors.
    Color,
    /// The patterns of paths that are not mirrored or imported.
    Ignores,
    /// The size above which files are not mirrored or imported.
    MaxSize,
    /// The size above which a text is versioned as a whole and not merged.
    MaxText,
    /// The program that shows long output.
    Pager,
    /// Whether peers are searched in the local network.
    PeerLan,
    /// Whether peers are connected in the local network only.
    PeerLanOnly,
    /// The address on which peers are accepted.
    PeerListen,
    /// The relays by which peers are reached.
    PeerRelays,
    /// Whether searches use an index.
    SearchIndex,
}

/// The settings that apply to a command, each with the file that it is from.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    values: BTreeMap<SettingKey, (String, PathBuf)>,
    /// Names in files that are no settings there.
    pub(crate) unknown: Vec<(String, PathBuf)>,
}

/// The settings of this process.
static SETTINGS: OnceLock<Settings> = OnceLock::new();

impl SettingKey {
    /// All settings, in order of their names.
    pub(crate) const ALL: [Self; 11] = [
        Self::Actor,
        Self::Color,
        Self::Ignores,
        Self::MaxSize,
        Self::MaxText,
        Self::Pager,
        Self::PeerLan,
        Self::PeerLanOnly,
        Self::PeerListen,
        Self::PeerRelays,
        Self::SearchIndex,
    ];

    /// Returns its name in a file.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Actor => "actor",
            Self::Color => "color",
            Self::Ignores => "ignores",
            Self::MaxSize => "max-size",
            Self::MaxText => "max-text",
            Self::Pager => "pager",
            Self::PeerLan => "peer-lan",
            Self::PeerLanOnly => "peer-lan-only",
            Self::PeerListen => "peer-listen",
            Self::PeerRelays => "peer-relays",
            Self::SearchIndex => "search-index",
        }
    }

    /// Reports whether the file of a workspace may have it. The pager is a command that yfs runs,
    /// and a directory may come from another person.
    pub(crate) fn may_be_local(self) -> bool {
        self != Self::Pager
    }

    /// Checks a value.
    pub(crate) fn check(self, value: &str) -> Result<(), String> {
        match self {
            Self::Actor => Actor::from_str(value).map(drop).map_err(|error| error.to_string()),
            Self::Color => ColorChoice::from_str(value, false)
                .map(drop)
                .map_err(|_| format!("invalid value '{value}' (expected auto, always or never)")),
            Self::Ignores => patterns(value).try_for_each(check_ignore_pattern),
            Self::MaxSize => parse_size(value).map(drop),
            Self::MaxText => parse_text_size(value).map(drop),
            Self::Pager => Ok(()),
            Self::PeerLan | Self::PeerLanOnly | Self::SearchIndex => parse_switch(value).map(drop),
            #[cfg(feature = "peer")]
            Self::PeerListen => peer_settings::parse_listen(value).map(drop),
            #[cfg(feature = "peer")]
            Self::PeerRelays => peer_settings::parse_relays(value).map(drop),
            // No command of this program reads them.
            #[cfg(not(feature = "peer"))]
            Self::PeerListen | Self::PeerRelays => Ok(()),
        }
    }
}

impl FromStr for SettingKey {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|key| key.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|key| key.name()).collect();
            format!("no setting {name}; the settings are {}", names.join(", "))
        })
    }
}

impl Settings {
    /// Reads the files that apply to a workspace.
    pub(crate) fn read(workspace: Option<&Path>) -> Result<Self> {
        let mut settings = Self::default();
        let [of_account, of_workspace] = files(workspace);
        if let Some(file) = of_account {
            settings.add_file(&file, false)?;
        }
        if let Some(file) = of_workspace {
            settings.add_file(&file, true)?;
        }
        Ok(settings)
    }

    /// Adds the settings of a file, which replace those there are.
    fn add_file(&mut self, file: &Path, is_local: bool) -> Result {
        use io::ErrorKind::{NotADirectory, PermissionDenied};
        let text = match read_text(file) {
            // As with git: with the home directory of another user, that user's settings do not
            // apply.
            Err(error) if matches!(error.kind(), NotADirectory | PermissionDenied) => return Ok(()),
            text => text.map_err(|error| CommandError::host(file, &error))?,
        };
        let document = parse_document(file, &text)?;
        for (name, item) in document.iter() {
            let invalid =
                |why: String| CommandError::usage(format!("{}: {name}: {why}", file.display()));
            // A later version of yfs may know it.
            let Ok(key) = name.parse::<SettingKey>() else {
                self.unknown.push((name.to_owned(), file.to_owned()));
                continue;
            };
            let value = item.as_str().ok_or_else(|| invalid("the value is not a string".into()))?;
            key.check(value).map_err(invalid)?;
            if is_local && !key.may_be_local() {
                self.unknown.push((name.to_owned(), file.to_owned()));
                continue;
            }
            self.values.insert(key, (value.to_owned(), file.to_owned()));
        }
        Ok(())
    }

    /// Returns a setting, with the file that it is from.
    pub(crate) fn get(&self, key: SettingKey) -> Option<(&str, &Path)> {
        self.values.get(&key).map(|(value, file)| (value.as_str(), file.as_path()))
    }
}

/// Reads the settings of this process, and applies them to the options that were not given.
pub(crate) fn apply(globals: &mut GlobalArgs) -> Result {
    let settings = Settings::read(globals.workspace.as_deref())?;
    let value = |key| settings.get(key).map(|(value, _)| value);
    if globals.actor.is_none() {
        globals.actor = value(SettingKey::Actor).and_then(|actor| actor.parse().ok());
    }
    let is_plain = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if globals.color == ColorChoice::Auto
        && !is_plain
        && let Some(color) = value(SettingKey::Color)
    {
        globals.color = ColorChoice::from_str(color, false).unwrap_or(ColorChoice::Auto);
    }
    SETTINGS.set(settings).ok();
    Ok(())
}

/// Returns the program that shows long output, if a setting names one.
pub(crate) fn pager() -> Option<String> {
    let (pager, _) = SETTINGS.get()?.get(SettingKey::Pager)?;
    Some(pager.to_owned())
}

/// Returns the size above which files are not mirrored or imported.
pub(crate) fn max_size() -> u64 {
    let setting = SETTINGS.get().and_then(|settings| settings.get(SettingKey::MaxSize));
    setting
        .and_then(|(size, _)| parse_size(size).ok())
        .unwrap_or(ImportOptions::default().max_file_len)
}

/// Parses the greatest size of a text that is merged.
fn parse_text_size(text: &str) -> Result<usize, String> {
    let size = parse_size(text)?;
    let limit = usize::try_from(size).ok().filter(|size| *size <= MAX_TEXT_BYTES);
    limit.ok_or_else(|| format!("{text} is more than {}", human_size(MAX_TEXT_BYTES as u64)))
}

/// Returns the options of a workspace that one command opens.
pub(crate) fn one_shot(actor: Actor) -> WorkspaceOptions {
    with_settings(WorkspaceOptions::one_shot(actor))
}

/// Returns the options of a workspace that one command reads.
pub(crate) fn reading(actor: Actor) -> WorkspaceOptions {
    WorkspaceOptions { read_only: true, ..one_shot(actor) }
}

/// Returns the options of a workspace that a server or a mirror opens.
pub(crate) fn following(actor: Actor) -> WorkspaceOptions {
    with_settings(WorkspaceOptions { actor, ..WorkspaceOptions::default() })
}

/// Returns options with the values that settings and environment variables set.
fn with_settings(options: WorkspaceOptions) -> WorkspaceOptions {
    let number = |name| env::var(name).ok().and_then(|text| text.parse().ok());
    let checkpoint_after = number(CHECKPOINT_AFTER).unwrap_or(options.checkpoint_after);
    let row_budget = number(ROW_BUDGET).unwrap_or(options.row_budget);
    let search_index = SETTINGS.get().and_then(|settings| settings.get(SettingKey::SearchIndex));
    let search_index = search_index.is_none_or(|(value, _)| value != "off");
    let max_text = SETTINGS.get().and_then(|settings| settings.get(SettingKey::MaxText));
    let text_bytes = max_text.and_then(|(size, _)| parse_text_size(size).ok());
    let text_bytes = text_bytes.unwrap_or(options.limits.text_bytes);
    let limits = GateLimits { text_bytes, ..options.limits };
    WorkspaceOptions { checkpoint_after, row_budget, search_index, limits, ..options }
}

/// Returns the patterns of paths that are not mirrored or imported.
pub(crate) fn ignores() -> Vec<String> {
    let setting = SETTINGS.get().and_then(|settings| settings.get(SettingKey::Ignores));
    setting.map_or_else(Vec::new, |(text, _)| patterns(text).map(str::to_owned).collect())
}

/// Parses the value of a setting that is on or off.
fn parse_switch(value: &str) -> Result<bool, String> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("invalid value '{value}' (expected on or off)")),
    }
}

/// Splits a list of patterns, which commas separate.
fn patterns(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|pattern| !pattern.is_empty())
}

/// Returns the files of the account and of the workspace, if there are such places. A workspace
/// outside of a `.yfs` directory has none: what is beside it belongs to other programs.
pub(crate) fn files(workspace: Option<&Path>) -> [Option<PathBuf>; 2] {
    let beside = discover::find(workspace).ok();
    [
        user_file(),
        beside.and_then(|file| Some(file.parent().filter(|dir| dir.ends_with(DIR))?.join(FILE))),
    ]
}

/// Returns the file of the account: `YFS_CONFIG`, else below `XDG_CONFIG_HOME` or `~/.config`.
fn user_file() -> Option<PathBuf> {
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let below = || {
        let home = variable("HOME").map(|home| home.join(".config"));
        Some(variable("XDG_CONFIG_HOME").or(home)?.join("yfs").join(FILE))
    };
    variable("YFS_CONFIG").or_else(below)
}

/// Changes or removes a setting in a file, which is created if it is missing.
pub(crate) fn write(file: &Path, key: SettingKey, value: Option<&str>) -> Result {
    let host = |error| CommandError::host(file, &error);
    let mut document = parse_document(file, &read_text(file).map_err(host)?)?;
    match value {
        Some(value) => document[key.name()] = toml_edit::value(value),
        None => drop(document.remove(key.name())),
    }
    // A link to the file stays one.
    let file = &file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let directory = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory).map_err(host)?;
    // A reader sees the file before or after, never a part.
    let mut new = tempfile::NamedTempFile::new_in(directory).map_err(host)?;
    io::Write::write_all(&mut new, document.to_string().as_bytes()).map_err(host)?;
    new.persist(file).map_err(|error| host(error.error))?;
    Ok(())
}

/// Returns the text of a file; of one that is missing, none.
fn read_text(file: &Path) -> io::Result<String> {
    match fs::read_to_string(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        text => text,
    }
}

fn parse_document(file: &Path, text: &str) -> Result<DocumentMut> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        CommandError::usage(format!("{}: line {line}: {}", file.display(), error.message()))
    })
}
