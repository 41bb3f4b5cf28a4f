//! `yfs config`: prints and changes settings.

use crate::{
    prelude::*,
    settings::{self, SettingKey, Settings},
};

const HELP: &str = "\
Settings:
  actor      the actor that changes are recorded for: human:NAME or agent:NAME
  color      when to use colors: auto, always or never
  ignores    patterns of paths that are not mirrored or imported, with commas between them, as in
             a .gitignore of the directory: *.log, /target/
  max-size   the size above which files are not mirrored or imported: 256M
  max-text   the size above which a text is versioned as a whole and not merged: 8M (the default),
             at most 32M; texts that other machines made longer stay texts
  pager      the program that shows long output; cat for none; not with --local
  peer-lan   whether yfs peer share and yfs peer join announce themselves in the local network and
             search it: on (the default) or off
  peer-lan-only  whether they connect with addresses of the local network only: on or off
  peer-listen  the address on which they listen: 192.168.1.5:4700
  peer-relays  up to 4 relays by which peers are reached, with commas between them:
             relay.example.com, 192.0.2.1:4700
  search-index  whether an index for yfs grep is used and kept up: on (the default) or off

The settings of peers are read by yfs peer share and yfs peer join; no other command contacts a peer
or a relay. Tickets name the relays. Unlike those of --relay, relays of peer-relays are not
remembered in the workspace.

Options and environment variables (YFS_ACTOR, YFS_MAX_SIZE, YFS_PAGER, NO_COLOR) take precedence,
then the file of the workspace (.yfs/config.toml), then that of the account (YFS_CONFIG, else
~/.config/yfs/config.toml). The files are TOML. What is not to be imported and mirrored is named in
.gitignore and .yfsignore.

Examples:
  yfs config                            print all settings that are set, and their files
  yfs config actor human:ana
  yfs config --local max-size 1G        for this workspace only
  yfs config max-text 16M
  yfs config peer-relays relay.example.com
  yfs config --unset pager

Exit status: 0; 1 if the setting is not set.

JSON: one object per setting: {key, value, file}.";

/// Print or change settings
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ConfigArgs {
    /// The setting; without one, all settings that are set are printed
    #[arg(value_name = "KEY")]
    key: Option<SettingKey>,
    /// The new value; without one, the present value is printed
    #[arg(value_name = "VALUE")]
    value: Option<String>,
    /// Change the file of this workspace instead of that of the account
    #[arg(long)]
    local: bool,
    /// Remove the setting from the file
    #[arg(long, requires = "key", conflicts_with = "value")]
    unset: bool,
}

/// Prints or changes settings.
pub(crate) async fn run(args: ConfigArgs, context: &mut CommandContext) -> Result {
    let workspace = context.globals.workspace.clone();
    if let Some(key) = args.key.filter(|_| args.value.is_some() || args.unset) {
        if let Some(value) = &args.value {
            let invalid = |why| CommandError::usage(format!("{}: {why}", key.name()));
            key.check(value).map_err(invalid)?;
        }
        if args.local && !key.may_be_local() {
            let message = format!("{} is a setting of the account only", key.name());
            return Err(CommandError::usage(message));
        }
        let [of_account, of_workspace] = settings::files(workspace.as_deref());
        let file = if args.local { of_workspace } else { of_account };
        let file = file.ok_or_else(|| match args.local {
            true => CommandError::other(
                "no workspace in a .yfs directory here; pass --workspace, or leave out --local",
            ),
            false => CommandError::other("no home directory; name a file with YFS_CONFIG"),
        })?;
        return settings::write(&file, key, args.value.as_deref());
    }
    let known = Settings::read(workspace.as_deref())?;
    for (name, file) in &known.unknown {
        context.remark(&format!("{}: there is no setting {name}", file.display()));
    }
    let keys = args.key.map_or(SettingKey::ALL.to_vec(), |key| vec![key]);
    for key in keys {
        let Some((value, file)) = known.get(key) else { continue };
        if context.out.json {
            let file = file.to_string_lossy();
            context.out.json_line(&json!({ "key": key.name(), "value": value, "file": file }))?;
        } else if args.key.is_some() {
            context.out.line(value)?;
        } else {
            let line = format!("{} = {value}  ({})", key.name(), file.display());
            context.out.line(&line)?;
        }
    }
    if args.key.is_some_and(|key| known.get(key).is_none()) {
        context.exit_with(1);
    }
    Ok(())
}
