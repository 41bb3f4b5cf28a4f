//! `yfs peer share --code` and `--qr`: short forms of a ticket.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use qrcode::{EcLevel, QrCode, render::unicode::Dense1x2};
use tokio::{sync::watch, task::JoinHandle};
use yfs_peer::{
    JOIN_CODE_LIFETIME, JoinCode, JoinCodeHost, JoinCodeOptions, JoinCodeOutcome, PeerMembership,
    PeerTicket, ReservedJoinCode,
};

use crate::{
    commands::peer::peer_run::PeerNetworkArgs, errors::write_stderr, prelude::*,
    stop_signal::wait_for_signal,
};

/// The longest life of a code. A code is worth 16 bits: it is for two persons who talk now.
const MAX_LIFETIME: Duration = Duration::from_secs(3600);

/// How to offer a join code.
#[derive(Debug, Args)]
pub(crate) struct JoinCodeArgs {
    /// Print a join code of a number and two words instead of the ticket
    #[arg(long)]
    code: bool,
    /// How long the code may be used, at most 1h [default: 10m]
    #[arg(long, value_name = "AGE", requires = "code", value_parser = parse_lifetime)]
    code_for: Option<Duration>,
    /// Offer the code on this TCP port [default: any]
    #[arg(long, value_name = "PORT", requires = "code")]
    code_port: Option<u16>,
}

/// A code that is offered, until it is dropped.
pub(crate) struct OfferedCode {
    pub(crate) code: JoinCode,
    host: JoinCodeHost,
    expires: i64,
    is_quiet: bool,
}

/// A task that reports the end of a code, with the code's host. Ends when it is dropped.
pub(crate) struct CodeReport(JoinHandle<()>);

impl Drop for CodeReport {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl JoinCodeArgs {
    /// Reports whether a code is wanted instead of the ticket.
    pub(crate) fn is_wanted(&self) -> bool {
        self.code
    }

    /// Offers a ticket to the first peer that has a new code, also at the relays of the ticket.
    pub(crate) async fn offer(
        &self,
        workspace: &Workspace,
        ticket: &PeerTicket,
        network: &PeerNetworkArgs,
        context: &mut CommandContext,
    ) -> Result<OfferedCode> {
        // Else the code would give a ticket with which the peer is not reached.
        let lacking = network.named_relays().iter().find(|relay| !ticket.relays.contains(relay));
        if let Some(relay) = lacking {
            return Err(CommandError::other(format!(
                "the process that connects the workspace does not use the relay {relay}; end it, \
                 and run this command again"
            )));
        }
        let member = Arc::new(PeerMembership::of(workspace)?);
        let reserved = ReservedJoinCode::reserve(&member, &ticket.relays).await?;
        for (relay, reason) in reserved.failures() {
            context.remark(&format!("the relay {relay} does not offer the code yet: {reason}"));
        }
        let code = reserved.code().clone();
        let peers = network.peer_options()?;
        let lifetime = self.code_for.unwrap_or(JOIN_CODE_LIFETIME);
        let options = JoinCodeOptions {
            listen: SocketAddr::new(peers.listen.ip(), self.code_port.unwrap_or_default()),
            lifetime,
            is_lan_only: peers.is_lan_only,
            is_announced: peers.is_lan_searched,
        };
        let host = JoinCodeHost::start(reserved, ticket, options).await?;
        if let Some(reason) = host.lan_failure() {
            context.remark(&format!("cannot announce the code in the local network: {reason}"));
        }
        let relays = ticket.relays.iter().map(|relay| format!("--relay {relay}"));
        let addresses = host.addresses().iter().map(|address| format!("--at {address}"));
        context.remark(&format!(
            "the code is for one peer, within {} s; from another network: {}",
            lifetime.as_secs(),
            relays.chain(addresses).collect::<Vec<_>>().join(" or ")
        ));
        let lifetime = i64::try_from(lifetime.as_millis()).unwrap_or(i64::MAX);
        let expires = parse_time::now().0.saturating_add(lifetime);
        Ok(OfferedCode { code, host, expires, is_quiet: context.globals.quiet })
    }
}

impl OfferedCode {
    /// Adds the members of the JSON form.
    pub(crate) fn describe(&self, value: &mut Value) {
        value["code"] = self.code.to_string().into();
        value["code_expires"] = self.expires.into();
        let addresses = self.host.addresses().iter().map(ToString::to_string);
        value["code_addresses"] = addresses.collect();
    }

    /// Reports the end of the code while another part of the command runs.
    pub(crate) fn report_in_background(self) -> CodeReport {
        CodeReport(tokio::spawn(async move {
            let outcome = wait_for_end(self.host.outcome()).await;
            if !self.is_quiet {
                write_stderr(&format!("yfs peer share: {}", text_of(outcome)));
            }
            // The host explains the end to late joiners for some minutes.
            std::future::pending::<()>().await;
        }))
    }

    /// Waits until the code was used.
    pub(crate) async fn wait(self, context: &mut CommandContext) -> Result {
        let outcome = tokio::select! {
            outcome = wait_for_end(self.host.outcome()) => outcome,
            () = wait_for_signal() => return Ok(()),
        };
        if outcome == JoinCodeOutcome::Used {
            context.remark(text_of(outcome));
            return Ok(());
        }
        Err(CommandError::other(text_of(outcome)))
    }
}

async fn wait_for_end(mut outcome: watch::Receiver<Option<JoinCodeOutcome>>) -> JoinCodeOutcome {
    let ended = outcome.wait_for(Option::is_some).await.ok().and_then(|outcome| *outcome);
    ended.unwrap_or(JoinCodeOutcome::Expired)
}

fn text_of(outcome: JoinCodeOutcome) -> &'static str {
    match outcome {
        JoinCodeOutcome::Used => "the code was used",
        JoinCodeOutcome::WrongWords => {
            "a peer tried the code with wrong words, which ended it; run `yfs peer share --code` \
             again"
        }
        JoinCodeOutcome::Expired => "the code has expired; run `yfs peer share --code` again",
    }
}

/// Returns a ticket as a QR code of text, with the light parts filled.
pub(crate) fn qr_code(ticket: &PeerTicket) -> Result<String> {
    let code = QrCode::with_error_correction_level(ticket.to_string(), EcLevel::L)
        .map_err(|error| CommandError::Other(error.into()))?;
    let (light, dark) = (Dense1x2::Dark, Dense1x2::Light);
    Ok(code.render::<Dense1x2>().dark_color(dark).light_color(light).build())
}

fn parse_lifetime(text: &str) -> Result<Duration, String> {
    let lifetime = parse_time::parse_duration(text)?;
    if lifetime.is_zero() || lifetime > MAX_LIFETIME {
        return Err("a code lives for 1s to 1h".to_owned());
    }
    Ok(lifetime)
}
