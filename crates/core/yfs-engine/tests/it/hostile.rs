//! Every known attack on yrs, against the gate, each in a process of its own.
//!
//! A process has a stack of two megabytes, as threads of servers have, a limit on memory and a
//! limit on time: with these bytes stock yrs aborts, hangs, or allocates everything. The test
//! binary runs itself again with the name of the case in its environment.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of it is a test, and a child process speaks by printing"
)]

mod attacks;
mod child;
mod contents;
pub(crate) mod corpus;
mod fuzz;

use std::time::Duration;

use child::Outcome;

const LIMIT: Duration = Duration::from_secs(200);

#[test]
fn child_process() {
    if let Some(case) = child::case() {
        child::with_small_stack(move || match case.split_once(':') {
            Some(("fuzz", seed)) => fuzz::run(seed),
            Some(("contents", list)) => contents::run(list),
            _ => attacks::run(&case),
        });
    }
}

#[test]
fn attacks_on_yrs_end_at_the_gate() {
    let mut failures = Vec::new();
    for attack in attacks::all() {
        let outcome = child::spawn(attack.name, LIMIT);
        let is_expected = match &outcome {
            Outcome::Finished(said) => said.contains(attack.expected),
            _ => false,
        };
        if !is_expected {
            failures.push(format!("{}: {outcome:?}, not {:?}", attack.name, attack.expected));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// An emoji in `getText('richtext')` kept every reader of the workspace busy for ever.
#[test]
fn every_content_in_every_list_is_read_to_its_end() {
    let mut refused = String::new();
    for list in contents::lists() {
        let outcome = child::spawn(&format!("contents:{}", list.name), LIMIT);
        let Outcome::Finished(said) = &outcome else { panic!("{}: {outcome:?}", list.name) };
        let lines = said.lines().filter(|line| line.starts_with('<'));
        lines.for_each(|line| refused += &format!("{}\n", line.trim_end()));
    }
    expect_test::expect_file!["hostile/contents.txt"].assert_eq(&refused);
}

#[test]
fn the_harness_notices_what_yrs_does() {
    assert!(matches!(child::spawn("!abort", LIMIT), Outcome::Killed(_)));
    assert!(matches!(child::spawn("!panic", LIMIT), Outcome::Failed(_)));
    assert!(matches!(child::spawn("!memory", LIMIT), Outcome::Killed(_) | Outcome::Failed(_)));
    assert_eq!(child::spawn("!hang", Duration::from_secs(1)), Outcome::Hung);
}

#[test]
fn mutated_updates_harm_nothing() {
    // Documents with subdocuments are never freed by yrs, so that a process can only do so many.
    const CASES_OF_A_CHILD: u64 = 2000;
    let n_cases = std::env::var("YFS_FUZZ_CASES").ok().and_then(|text| text.parse().ok());
    let n_cases: u64 = n_cases.unwrap_or(8000);
    for seed in 0..n_cases.div_ceil(CASES_OF_A_CHILD) {
        let case = format!("fuzz:{seed}:{}", n_cases.min(CASES_OF_A_CHILD));
        let limit = Duration::from_secs(900);
        match child::spawn(&case, limit) {
            Outcome::Finished(_) => {}
            outcome => panic!("seed {seed}: {outcome:?}"),
        }
    }
}
