//! Measures how long a scope takes to say what may be done with many paths.
//!
//!     cargo bench --bench classify
//!
//! 100,000 paths as in a large repository, sorted as git lists them, against 1, 10, 100 and 1,000
//! patterns of five kinds in turn: all inside a directory, a name's ending, a name at any depth, a
//! directory at any depth, and a glob below a directory. Medians of some rounds, in milliseconds;
//! the first line is what it costs to read the paths.
#![expect(
    clippy::disallowed_macros,
    reason = "it is a program of its own, and prints"
)]

use std::time::Instant;

use git_agentwt::scope::compiled::Scope;
use git_agentwt::scope::rule::Access;
use git_agentwt::scope::rule::Case;
use git_agentwt::scope::rule::EntryKind;
use git_agentwt::scope::rule::RuleList;
use git_agentwt::scope::rule::RuleOrigin;
use git_agentwt::scope::rule::ScopeRule;
use git_agentwt::words::path::RepoPath;

const PATHS: usize = 100_000;
const ROUNDS: usize = 11;

fn paths() -> Vec<RepoPath> {
    const KINDS: [&str; 6] = ["rs", "ts", "json", "md", "c", "h"];
    let path = |number: usize| {
        let (package, module) = (number / 144, number / 12 % 12);
        let place = ["src", "src/deep/a/b", "tests", "docs"][module % 4];
        let ending = KINDS[number % KINDS.len()];
        format!("packages/pkg{package:03}/{place}/mod{module:02}/file_{number:06}.{ending}")
    };
    let mut all: Vec<RepoPath> = (0..PATHS)
        .map(|number| RepoPath::parse(path(number)).expect("it is relative and normal"))
        .collect();
    all.sort();
    all
}

fn scope(patterns: usize) -> Scope {
    let pattern = |number: usize| match number % 5 {
        0 => (RuleList::Write, format!("packages/pkg{number:03}/src/**")),
        1 => (RuleList::Exclude, format!("*.e{number}")),
        2 => (RuleList::Exclude, format!("secret_{number}.env")),
        3 => (RuleList::Exclude, format!("**/private{number}/**")),
        _ => (
            RuleList::Write,
            format!("packages/pkg{number:03}/**/test_*.rs"),
        ),
    };
    let all = std::iter::once((RuleList::Read, "**".to_owned()));
    let mut rules = Vec::new();
    for (list, text) in all.chain((0..patterns).map(pattern)) {
        rules.push(ScopeRule::new(list, text.as_str(), RuleOrigin::Default));
    }
    Scope::compile(rules, Case::Sensitive).expect("the patterns are valid")
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let paths = paths();
    let rounds = |work: &dyn Fn() -> usize| {
        let once = |_| {
            let began = Instant::now();
            std::hint::black_box(work());
            began.elapsed().as_secs_f64() * 1e3
        };
        median((0..ROUNDS).map(once).collect())
    };
    let lengths = || paths.iter().map(|path| path.as_bstr().len());
    println!("| {PATHS} paths | ms |\n|---|---|");
    println!("| reading them | {:.1} |", rounds(&|| lengths().sum()));
    for patterns in [1, 10, 100, 1_000] {
        let scope = scope(patterns);
        let writable = || {
            let mut classifier = scope.classifier();
            let mut access = |path| classifier.verdict(path, EntryKind::File).access;
            paths
                .iter()
                .filter(|path| access(path) == Access::Write)
                .count()
        };
        let asked = rounds(&writable);
        let counted = rounds(&|| {
            let tracked = paths.iter().map(|path| (path, EntryKind::File));
            scope.coverage(tracked).matches.len()
        });
        println!("| {patterns} patterns | {asked:.1} |");
        println!("| {patterns} patterns, matches of each counted | {counted:.1} |");
    }
}
