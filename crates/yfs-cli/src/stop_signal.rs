//! SIGINT (Ctrl-C) and SIGTERM: the first asks a command to end, the second ends it.
//!
//! A handler stays for the rest of the process, so what arrives while the command does not wait for
//! a signal, for example while it writes a directory, is kept until it does.

use std::{process, sync::OnceLock};

use futures::future::select_all;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
};

/// Whether a signal was received, once handlers are installed.
static RECEIVED: OnceLock<watch::Receiver<bool>> = OnceLock::new();

/// What a shell adds to the number of the signal that ended a process.
const KILLED_BY: i32 = 128;

/// Installs handlers of both signals, and returns a future that completes once the process has
/// received one, also before this call. Another one then ends the process at once.
pub(crate) fn wait_for_signal() -> impl Future<Output = ()> {
    let mut received = RECEIVED.get_or_init(install).clone();
    async move {
        if received.wait_for(|is_received| *is_received).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

fn install() -> watch::Receiver<bool> {
    let (sender, receiver) = watch::channel(false);
    let kinds = [SignalKind::interrupt(), SignalKind::terminate()];
    // A signal without a handler ends the process at once.
    let signals = kinds.into_iter().filter_map(|kind| Some((kind, signal(kind).ok()?)));
    let mut signals: Vec<(SignalKind, Signal)> = signals.collect();
    tokio::spawn(async move {
        loop {
            let kind = next_of(&mut signals).await;
            if sender.send_replace(true) {
                process::exit(KILLED_BY + kind.as_raw_value());
            }
        }
    });
    receiver
}

async fn next_of(signals: &mut [(SignalKind, Signal)]) -> SignalKind {
    if signals.is_empty() {
        return std::future::pending().await;
    }
    let next = signals.iter_mut().map(|(kind, signal)| {
        Box::pin(async {
            signal.recv().await;
            *kind
        })
    });
    select_all(next).await.0
}

#[cfg(test)]
mod tests {
    use rustix::process::{Signal, getpid, kill_process};

    use super::*;

    /// A `join` that received SIGTERM while it wrote the files for the first time went on.
    #[tokio::test(flavor = "multi_thread")]
    async fn a_signal_between_two_waits_is_kept() {
        drop(wait_for_signal());
        kill_process(getpid(), Signal::TERM).expect("sent");
        // Received, but not by a wait.
        let mut received = RECEIVED.get().expect("installed").clone();
        received.wait_for(|is_received| *is_received).await.expect("the task lives");
        wait_for_signal().await;
    }
}
