//! What property tests share: their configuration, and random scripts.

use std::fmt;

use proptest::{collection::vec, option, strategy::Strategy, test_runner::Config};

/// The number of attempts to shrink a failing case. proptest makes four per case, which is too few
/// for long scripts of a test with few cases.
const MAX_SHRINK_ITERS: u32 = 10_000;

/// Returns a configuration with `n_cases` cases, or with the number in `PROPTEST_CASES` if that
/// variable is set.
pub(crate) fn property_config(n_cases: u32) -> Config {
    let mut config = Config { max_shrink_iters: MAX_SHRINK_ITERS, ..Config::default() };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = n_cases;
    }
    config
}

/// The steps of a random script, printed with one step per line.
#[derive(Clone)]
pub(crate) struct ScriptSteps<T>(pub(crate) Vec<T>);

/// Returns a strategy of scripts of `n_steps` steps. A failing script shrinks to fewer steps.
pub(crate) fn random_script<S: Strategy>(
    step: S,
    n_steps: usize,
) -> impl Strategy<Value = ScriptSteps<S::Value>> {
    // A vector of a fixed length does not shrink in length, and one of any length is half as long
    // on average. Nearly every option is `Some`, and shrinks to `None`.
    let steps = vec(option::weighted(1.0 - f64::EPSILON, step), n_steps);
    steps.prop_map(|steps| ScriptSteps(steps.into_iter().flatten().collect()))
}

impl<T: fmt::Debug> fmt::Debug for ScriptSteps<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[\n")?;
        self.0.iter().try_for_each(|step| f.write_fmt(format_args!("    {step:?},\n")))?;
        f.write_str("]")
    }
}
