//! The settings of `yfs peer share` and `yfs peer join`.

use std::net::SocketAddr;

use yfs_peer::{MAX_RELAYS, RelayName};

use super::{SETTINGS, SettingKey, parse_switch};

/// Reports whether only the local network is used; `None` if that is not set.
pub(crate) fn is_lan_only() -> Option<bool> {
    parse_switch(value(SettingKey::PeerLanOnly)?).ok()
}

/// Reports whether the local network is searched; `None` if that is not set.
pub(crate) fn is_lan_searched() -> Option<bool> {
    parse_switch(value(SettingKey::PeerLan)?).ok()
}

/// Returns the address on which peers are accepted, if it is set.
pub(crate) fn listen() -> Option<SocketAddr> {
    parse_listen(value(SettingKey::PeerListen)?).ok()
}

/// Returns the relays by which peers are reached.
pub(crate) fn relays() -> Vec<RelayName> {
    let relays = value(SettingKey::PeerRelays).map(parse_relays);
    relays.and_then(Result::ok).unwrap_or_default()
}

fn value(key: SettingKey) -> Option<&'static str> {
    SETTINGS.get()?.get(key).map(|(value, _)| value)
}

/// Parses an address with a port.
pub(super) fn parse_listen(value: &str) -> Result<SocketAddr, String> {
    value.parse().map_err(|_| format!("invalid value '{value}' (expected IP:PORT)"))
}

/// Parses a list of relays, which commas separate.
pub(super) fn parse_relays(text: &str) -> Result<Vec<RelayName>, String> {
    let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
    let names = names.map(|name| name.parse().map_err(|error| format!("'{name}': {error}")));
    let names: Vec<RelayName> = names.collect::<Result<_, String>>()?;
    if names.len() > MAX_RELAYS {
        return Err(format!("{} relays are more than {MAX_RELAYS}", names.len()));
    }
    Ok(names)
}
