//! What `yfs peer share` and `yfs peer join` have in common: they connect the workspace with its
//! peers, and keep the directory synchronized.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use clap::{Args, ValueEnum};
use tokio::{
    runtime::Handle,
    sync::{
        broadcast::{Receiver, error::RecvError},
        mpsc,
    },
};
use yfs_mirror::{Mirror, MirrorError};
use yfs_peer::{
    DirectoryShareFile, DirectoryShares, PeerEvent, PeerId, PeerMembership, PeerNode, PeerOptions,
    RelayName, RunningShares, ShareReport,
};
use yfs_replica::ExchangeProgress;

use crate::{
    commands::{clone, mirror, sync},
    discover,
    prelude::*,
    settings::peer_settings,
    stop_signal::wait_for_signal,
};

/// How to connect with peers.
#[derive(Debug, Clone, Args)]
pub(crate) struct PeerNetworkArgs {
    /// Listen on this address only [default: the setting peer-listen, else all addresses, and the
    /// port of the last time]
    #[arg(long, value_name = "IP:PORT")]
    listen: Option<SocketAddr>,
    /// Connect only with addresses of this machine and its local network; =off overrides the
    /// setting peer-lan-only
    #[arg(long, value_name = "on|off", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "on")]
    lan_only: Option<Switch>,
    /// Neither announce this peer in the local network nor search it for peers
    #[arg(long, overrides_with = "lan")]
    no_lan: bool,
    /// Announce this peer in the local network and search it, whatever the setting peer-lan says
    #[arg(long, overrides_with = "no_lan")]
    lan: bool,
    /// Reach peers through this relay, if there is no direct way; it is remembered, and in tickets;
    /// can be given several times [default: the setting peer-relays]
    #[arg(long, value_name = "HOST:PORT")]
    relay: Vec<RelayName>,
    /// Use no relay, and forget those that were named before, also by a ticket
    #[arg(long, conflicts_with = "relay")]
    no_relay: bool,
}

/// The value of an option that may also be given without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Switch {
    On,
    Off,
}

impl PeerNetworkArgs {
    /// Returns the options of a process that connects the workspace in a file.
    pub(crate) fn options(&self, file: &Path) -> Result<PeerOptions> {
        Ok(PeerOptions { lock_dir: Some(discover::store_dir(file)), ..self.peer_options()? })
    }

    /// Returns the options of a process that connects the share of a directory in a file. The port
    /// of the settings is that of the workspace.
    pub(crate) fn options_of_share(&self, file: &Path) -> Result<PeerOptions> {
        let options = self.options(file)?;
        let port = self.listen.map_or(0, |listen| listen.port());
        let listen = SocketAddr::new(options.listen.ip(), port);
        Ok(PeerOptions { listen, ..options })
    }

    /// Returns the options without a lock. Settings apply where no option is given.
    pub(crate) fn peer_options(&self) -> Result<PeerOptions> {
        let defaults = PeerOptions::default();
        let is_lan_only = match self.lan_only {
            Some(switch) => switch == Switch::On,
            None => peer_settings::is_lan_only().unwrap_or(false),
        };
        if is_lan_only && !self.relay.is_empty() {
            return Err(CommandError::usage(
                "--relay cannot be used with --lan-only; if that is a setting, pass --lan-only=off",
            ));
        }
        let is_lan_set = || peer_settings::is_lan_searched().unwrap_or(true);
        let listen = self.listen.or_else(peer_settings::listen).unwrap_or(defaults.listen);
        let default_relays =
            if self.relay.is_empty() { peer_settings::relays() } else { Vec::new() };
        Ok(PeerOptions {
            listen,
            is_lan_only,
            is_lan_searched: self.lan || !self.no_lan && is_lan_set(),
            relays: self.relay.clone(),
            default_relays,
            is_relay_off: self.no_relay,
            ..defaults
        })
    }

    /// Returns the relays that an option names.
    pub(crate) fn named_relays(&self) -> &[RelayName] {
        &self.relay
    }
}

/// How a workspace is connected.
pub(crate) struct PeerRun<'r> {
    pub(crate) workspace: &'r Workspace,
    pub(crate) file: &'r Path,
    pub(crate) policy: mirror::MirrorPolicyArgs,
    /// Whether the run ends once both sides have everything.
    pub(crate) is_once: bool,
    pub(crate) scope: PeerRunScope<'r>,
}

/// What a run connects.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PeerRunScope<'r> {
    /// A workspace, and the shares of its directories.
    Workspace(&'r PeerNetworkArgs),
    /// The share of a directory of a workspace, and the file of the workspace.
    Directory(&'r DirectoryShares, &'r DirectoryShareFile, &'r Path),
}

/// The peers from which a command waits for everything.
#[derive(Debug, Clone)]
struct ExpectedPeers {
    callable: BTreeSet<PeerId>,
    connected: BTreeSet<PeerId>,
    failed: BTreeMap<PeerId, String>,
}

impl ExpectedPeers {
    fn new(callable: BTreeSet<PeerId>) -> Self {
        Self { callable, connected: BTreeSet::new(), failed: BTreeMap::new() }
    }

    fn note_connected(&mut self, peer: PeerId) {
        self.connected.insert(peer);
    }

    /// Records that a peer was not reached, or that its connection ended. Reports whether there is
    /// another that is connected or was not tried.
    fn note_failed(&mut self, peer: PeerId, reason: String) -> bool {
        self.connected.remove(&peer);
        self.failed.insert(peer, reason);
        let is_tried = |peer| self.failed.contains_key(peer);
        !(self.connected.is_empty() && self.callable.iter().all(is_tried))
    }

    /// Returns the reasons of all failures.
    fn reasons(self) -> String {
        self.failed.into_values().collect::<Vec<_>>().join("; ")
    }
}

impl PeerRun<'_> {
    /// Connects the workspace until the process receives a signal to stop, or once.
    pub(crate) async fn run(&self, node: &PeerNode, context: &mut CommandContext) -> Result {
        let mut events = node.events();
        if let Some(reason) = node.lan_failure() {
            context.remark(&format!("cannot search the local network: {reason}"));
        }
        let expected = ExpectedPeers::new(node.callable()?);
        if self.is_once && expected.callable.is_empty() {
            let message = "no peer to connect with: none is known, or all are blocked or forgotten";
            return Err(CommandError::other(message));
        }
        if let PeerRunScope::Directory(shares, _, file) = self.scope {
            let directory = self.directory_beside(shares.origin(), file)?;
            return self.run_continuously(events, directory, context).await;
        }
        let unfinished = clone::unfinished_directory(self.workspace, self.file)?;
        let directory = unfinished.or_else(|| mirror::mirrored_directory(self.file));
        let must_ask = match directory {
            Some(_) if unfinished.is_some() => true,
            Some(directory) => !self.is_proven(directory, context)?,
            None => false,
        };
        if must_ask || self.is_once {
            let in_step = self.wait_until_in_step(&mut events, expected.clone(), context);
            let progress = tokio::select! {
                progress = in_step => progress?,
                () = wait_for_signal() => return Ok(()),
            };
            report_received(&progress, context)?;
        }
        if let Some(directory) = directory.filter(|_| must_ask || self.is_once) {
            let is_changed =
                mirror::synchronize_once(self.workspace, directory, self.policy, context)?;
            clone::set_complete(self.workspace, true)?;
            if self.is_once && is_changed && PeerMembership::may_write(self.workspace)? {
                self.wait_until_in_step(&mut events, expected, context).await?;
            }
        }
        if self.is_once {
            return Ok(());
        }
        self.run_continuously(events, directory, context).await
    }

    /// Returns the directory of a workspace that is kept synchronized while a part of it is shared:
    /// none if its own peers must be asked first.
    fn directory_beside<'f>(&self, origin: &Workspace, file: &'f Path) -> Result<Option<&'f Path>> {
        let Some(directory) = mirror::mirrored_directory(file) else { return Ok(None) };
        let is_finished = clone::unfinished_directory(origin, file)?.is_none();
        let is_proven =
            is_finished && Mirror::is_proven(origin, directory).map_err(mirror::mirror_failure)?;
        Ok(is_proven.then_some(directory))
    }

    /// Returns the workspace whose directory is kept synchronized.
    fn mirrored(&self) -> &Workspace {
        match self.scope {
            PeerRunScope::Workspace(_) => self.workspace,
            PeerRunScope::Directory(shares, ..) => shares.origin(),
        }
    }

    fn start_shares(&self, report: &ShareReport) -> Result<RunningShares> {
        Ok(match self.scope {
            PeerRunScope::Workspace(network) => {
                let shares = DirectoryShares::of(self.workspace, &discover::store_dir(self.file));
                RunningShares::resume_all(&shares, &network.peer_options()?, report)?
            }
            PeerRunScope::Directory(shares, file, _) => {
                RunningShares::start(shares, file, self.workspace, report)?
            }
        })
    }

    /// Reports whether the workspace has all records that its directory was written from.
    fn is_proven(&self, directory: &Path, context: &mut CommandContext) -> Result<bool> {
        if Mirror::is_proven(self.workspace, directory).map_err(mirror::mirror_failure)? {
            return Ok(true);
        }
        mirror::check_damage(self.workspace)?;
        context.remark("the workspace lacks records that it had; the peers are asked first");
        Ok(false)
    }

    /// Waits until a peer and this side have everything. A run that ends then fails once no peer is
    /// left that could be reached.
    async fn wait_until_in_step(
        &self,
        events: &mut Receiver<PeerEvent>,
        mut expected: ExpectedPeers,
        context: &mut CommandContext,
    ) -> Result<Box<ExchangeProgress>> {
        let mut relay_failure = String::new();
        loop {
            match events.recv().await {
                Ok(PeerEvent::InStep(_, progress)) => return Ok(progress),
                Ok(PeerEvent::Connected(peer)) => expected.note_connected(peer),
                Ok(PeerEvent::Ended(peer, reason, may_pass_later)) => {
                    let is_any_left = expected.note_failed(peer, reason.clone());
                    if !is_any_left && (self.is_once || !may_pass_later) {
                        return Err(CommandError::other(expected.reasons()));
                    }
                    let name = self.name_of(peer);
                    context.remark(&format!("{name}: {reason}; the next attempt follows"));
                }
                Ok(PeerEvent::RelayLost(name, reason)) if relay_failure != reason => {
                    context.remark(&format!("relay {name}: {reason}"));
                    relay_failure = reason;
                }
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return Err(CommandError::other("the peers are gone")),
            }
        }
    }

    async fn run_continuously(
        &self,
        events: Receiver<PeerEvent>,
        directory: Option<&Path>,
        context: &mut CommandContext,
    ) -> Result {
        let (sender, notices) = mpsc::unbounded_channel();
        let report: ShareReport = Arc::new(move |_, notice| drop(sender.send(notice)));
        let shares = self.start_shares(&report)?;
        let result = self.run_beside(events, directory, notices, context).await;
        shares.stop().await?;
        result
    }

    async fn run_beside(
        &self,
        events: Receiver<PeerEvent>,
        directory: Option<&Path>,
        share_notices: mpsc::UnboundedReceiver<String>,
        context: &mut CommandContext,
    ) -> Result {
        let options = mirror::options(self.policy, self.mirrored())?;
        let start = |dir| Mirror::start(self.mirrored(), dir, options, &Handle::current());
        let mirror = match directory.map(start) {
            Some(Err(MirrorError::Busy(_))) | None => None,
            Some(started) => Some(started?),
        };
        // Both the connections and the mirror print, one at a time.
        let context = Mutex::new(context);
        let result = tokio::select! {
            failure = self.print_events(events, &context) => failure,
            failure = sync::print_notices(mirror.as_ref(), &context) => failure,
            () = print_share_notices(share_notices, &context) => Ok(()),
            () = wait_for_signal() => Ok(()),
        };
        if let Some(mirror) = mirror {
            mirror.stop()?;
        }
        result
    }

    async fn print_events(
        &self,
        mut events: Receiver<PeerEvent>,
        context: &Mutex<&mut CommandContext>,
    ) -> Result {
        let mut last_failures = BTreeMap::new();
        let mut relay_failures = BTreeMap::new();
        loop {
            let event = match events.recv().await {
                Ok(event) => event,
                Err(RecvError::Lagged(_)) => continue,
                Err(RecvError::Closed) => return Ok(()),
            };
            let mut context = context.lock().unwrap_or_else(PoisonError::into_inner);
            match event {
                PeerEvent::Connected(peer) => {
                    last_failures.remove(&peer);
                    context.remark(&format!("connected with {}", self.name_of(peer)));
                }
                PeerEvent::InStep(peer, progress) if context.out.json => {
                    context.out.json_line(&json!({
                        "peer": peer.to_string(),
                        "sent": progress.n_sent,
                        "received": progress.n_received,
                        "new": progress.n_new,
                    }))?;
                    context.out.flush()?;
                }
                // A peer that is away for long is reported once.
                PeerEvent::Ended(peer, reason, _) if last_failures.get(&peer) != Some(&reason) => {
                    context.remark(&format!("{}: {reason}", self.name_of(peer)));
                    last_failures.insert(peer, reason);
                }
                PeerEvent::Forked(peer, doc) => {
                    let path = self.workspace.nodes().path_of(&doc)?;
                    let file = path.map_or_else(|| doc.to_string(), |path| path.to_string());
                    let file = context.out.safe(&file).into_owned();
                    let peer = self.name_of(peer);
                    context.remark(&format!(
                        "{peer} sent other content of {file} under the same ids: `yfs conflicts`"
                    ));
                }
                PeerEvent::RelayRegistered(name, observed) => {
                    relay_failures.remove(&name);
                    context.remark(&format!("relay {name}: registered, seen as {observed}"));
                }
                PeerEvent::RelayLost(name, reason)
                    if relay_failures.get(&name) != Some(&reason) =>
                {
                    context.remark(&format!("relay {name}: {reason}"));
                    relay_failures.insert(name, reason);
                }
                _ => {}
            }
        }
    }

    /// Returns the name by which messages call a peer.
    fn name_of(&self, peer: PeerId) -> String {
        let name = PeerMembership::of(self.workspace)
            .and_then(|member| member.note(peer))
            .ok()
            .and_then(|note| note.name);
        name.unwrap_or_else(|| format!("peer {}", peer.short()))
    }
}

/// Prints what shares of directories report.
async fn print_share_notices(
    mut notices: mpsc::UnboundedReceiver<String>,
    context: &Mutex<&mut CommandContext>,
) {
    while let Some(notice) = notices.recv().await {
        context.lock().unwrap_or_else(PoisonError::into_inner).remark(&notice);
    }
    std::future::pending::<()>().await;
}

/// Reports what an exchange brought.
fn report_received(progress: &ExchangeProgress, context: &mut CommandContext) -> Result {
    for refused in &progress.refused {
        context.fail(&CommandError::other(format!("rejected: {refused}")));
    }
    if context.out.json {
        context.out.json_line(&json!({
            "received": progress.n_received,
            "bytes_received": progress.bytes_received,
            "blobs": progress.n_blobs,
        }))?;
        return context.out.flush();
    }
    context.remark(&format!("{} updates received", progress.n_received));
    Ok(())
}

#[cfg(test)]
mod tests {
    use yfs_peer::PeerSecretKey;

    use super::*;

    /// A `join --no-wait` failed when the call of one peer that was away ended before the exchange
    /// with another.
    #[test]
    fn one_peer_that_is_away_does_not_end_the_exchange_with_another() {
        let [away, here, other] = [1, 2, 3].map(|byte| PeerSecretKey::from_seed([byte; 32]).id());
        let mut expected = ExpectedPeers::new([away, here].into());
        let mut fails = |peer, reason: &str| expected.note_failed(peer, reason.to_owned());
        assert!(fails(away, "no answer"), "the other was not tried");
        expected.note_connected(here);
        let mut fails = |peer, reason: &str| expected.note_failed(peer, reason.to_owned());
        assert!(fails(away, "no answer") && fails(other, "no answer"), "one is connected");
        assert!(!fails(here, "blocked"), "none is left");
        assert!(expected.reasons().contains("blocked"));
    }
}
