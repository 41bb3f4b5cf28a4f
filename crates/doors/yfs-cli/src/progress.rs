//! Progress on standard error, if it is a terminal.

use std::{
    io::{IsTerminal, stderr},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::args::GlobalArgs;

/// A progress bar, which shows nothing unless standard error is a terminal.
#[derive(Debug)]
pub(crate) struct CommandProgress(ProgressBar);

impl CommandProgress {
    /// Starts a progress bar.
    pub(crate) fn new(globals: &GlobalArgs, label: &'static str) -> Self {
        let shown = stderr().is_terminal() && !globals.quiet && !globals.json;
        let target =
            if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        let style = ProgressStyle::with_template("{msg} {wide_bar} {human_pos}/{human_len} {eta}");
        bar.set_style(style.expect("the template is well formed"));
        bar.set_message(label);
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }

    /// Shows the progress of the work.
    pub(crate) fn set(&self, done: u64, total: u64) {
        self.0.set_length(total);
        self.0.set_position(done);
    }
}

impl Drop for CommandProgress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
