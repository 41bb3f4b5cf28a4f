//! Timing in CPU time, and printing of the results.

use std::{
    fs,
    pin::pin,
    task::{Context, Poll, Waker},
    time::Duration,
};

use rustix::time::{ClockId, clock_gettime};

/// One measured figure.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    name: String,
    value: f64,
}

impl Row {
    pub(crate) fn new(name: &str, value: f64) -> Self {
        Self { name: name.to_owned(), value }
    }
}

/// Runs a future that never waits.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a call of a workspace waited"),
    }
}

/// Calls `f` `n_calls` times, and returns the mean CPU time of this thread, in microseconds.
pub(crate) fn per_call(name: &str, n_calls: usize, mut f: impl FnMut(usize)) -> Row {
    let before = thread_cpu();
    for at in 0..n_calls {
        f(at);
    }
    let spent = thread_cpu() - before;
    Row::new(name, spent.as_secs_f64() * 1e6 / n_calls as f64)
}

/// Returns the CPU time of this thread.
pub(crate) fn thread_cpu() -> Duration {
    clock(ClockId::ThreadCPUTime)
}

/// Returns the CPU time of this process.
pub(crate) fn process_cpu() -> Duration {
    clock(ClockId::ProcessCPUTime)
}

/// Returns the greatest resident size of this process so far, in MB.
pub(crate) fn peak_memory_mb() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    let kilobytes = line.split_whitespace().nth(1).and_then(|number| number.parse().ok());
    kilobytes.unwrap_or(0.0) / 1024.0
}

/// Prints columns of rows with the same names as a Markdown table.
pub(crate) fn print(columns: &[(String, Vec<Row>)]) {
    let titles: Vec<&str> = columns.iter().map(|(title, _)| title.as_str()).collect();
    println!("| measure | {} |", titles.join(" | "));
    println!("|---|{}", "---:|".repeat(columns.len()));
    for (at, row) in columns[0].1.iter().enumerate() {
        let values = columns.iter().map(|(_, rows)| shown(rows[at].value));
        println!("| {} | {} |", row.name, values.collect::<Vec<_>>().join(" | "));
    }
}

fn shown(value: f64) -> String {
    if value < 10.0 {
        format!("{value:.2}")
    } else if value < 100.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

fn clock(id: ClockId) -> Duration {
    let time = clock_gettime(id);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}
