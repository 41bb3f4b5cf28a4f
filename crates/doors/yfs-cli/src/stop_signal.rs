//! SIGINT (Ctrl-C) and SIGTERM: the first asks a command to end, the second ends it, and so do 30
//! seconds in which it has not ended. Nothing that was acknowledged is lost by that.
//!
//! Signals are received on a thread of their own, because a command may keep all others busy. A
//! handler stays for the rest of the process, so what arrives while the command does not wait for
//! a signal, for example while it writes a directory, is kept until it does.

use std::{process, sync::OnceLock, thread, time::Duration};

use futures::future::select_all;
use tokio::{
    runtime::{Builder, Runtime},
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
};

/// Whether a signal was received, once handlers are installed.
static RECEIVED: OnceLock<watch::Receiver<bool>> = OnceLock::new();

/// The time that a command has to end by itself.
const TIME_TO_END: Duration = Duration::from_secs(30);

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
    if let Ok(runtime) = Builder::new_current_thread().enable_io().build() {
        let signals = handlers(&runtime);
        thread::spawn(move || runtime.block_on(receive_all(signals, sender)));
    }
    receiver
}

/// Installs the handlers. A signal without one ends the process at once.
fn handlers(runtime: &Runtime) -> Vec<(SignalKind, Signal)> {
    let _context = runtime.enter();
    let kinds = [SignalKind::interrupt(), SignalKind::terminate()];
    kinds.into_iter().filter_map(|kind| Some((kind, signal(kind).ok()?))).collect()
}

async fn receive_all(mut signals: Vec<(SignalKind, Signal)>, sender: watch::Sender<bool>) {
    loop {
        let kind = next_of(&mut signals).await;
        let end = move || process::exit(KILLED_BY + kind.as_raw_value());
        if sender.send_replace(true) {
            end();
        }
        thread::spawn(move || {
            thread::sleep(TIME_TO_END);
            end()
        });
    }
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
