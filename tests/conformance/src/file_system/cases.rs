//! All cases. Scripted cases are grouped by topic.

mod content;
mod find;
mod links;
mod moving;
mod tree;

use super::{CaseBody, CaseRequirement, ConformanceCase, concurrent, native};

/// A scripted case: its name, its requirements, and the script.
type Scripted = (&'static str, &'static [CaseRequirement], &'static str);

pub(super) fn all() -> impl Iterator<Item = ConformanceCase> {
    let groups = [content::CASES, tree::CASES, moving::CASES, links::CASES, find::CASES];
    let scripted = groups.into_iter().flatten();
    let scripted = scripted.map(|&(name, needs, script)| ConformanceCase {
        name,
        needs,
        test: CaseBody::Script(script),
    });
    let native = native::CASES.iter().chain(concurrent::CASES);
    scripted.chain(native.map(|&(name, needs, test)| ConformanceCase {
        name,
        needs,
        test: CaseBody::Native(test),
    }))
}
