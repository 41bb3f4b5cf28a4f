//! Counts steps of work under test, because tests do not depend on time.

use std::cell::Cell;

thread_local! {
    static N_STEPS: Cell<usize> = const { Cell::new(0) };
}

/// Counts steps of the running test.
pub(crate) fn count(n_steps: usize) {
    N_STEPS.set(N_STEPS.get() + n_steps);
}

/// Returns the number of steps that `run` took.
pub(crate) fn of(run: impl FnOnce()) -> usize {
    let before = N_STEPS.get();
    run();
    N_STEPS.get() - before
}
