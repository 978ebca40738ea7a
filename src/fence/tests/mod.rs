//! A rich policy and the words in which a fence has it, for the tests of this room.

mod compiled;
mod generated;
mod rendered;

use std::ffi::OsString;

use crate::config::value::Net;
use crate::fence::compile::{ExistingEntry, PolicyFacts, compile};
use crate::fence::landlock::{LandlockRule, RuleAccess, RulePlace};
use crate::fence::policy::{FenceRequest, Grant, GrantKind, Places, Policy};
use crate::scope::compiled::Scope;
use crate::scope::rule::RuleList::{Exclude, Read, Write};
use crate::scope::rule::{Case, RuleList, RuleOrigin, ScopeRule};
use crate::words::path::RepoPath;

fn scope(rules: &[(RuleList, &str)]) -> Scope {
    let rules = [(Read, "**")].iter().chain(rules);
    let rules = rules.map(|(list, text)| ScopeRule::new(*list, *text, RuleOrigin::Default));
    Scope::compile(rules.collect(), Case::Sensitive).expect("the patterns are valid")
}

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text).expect("it is normal")
}

fn places() -> Places {
    Places {
        root: "/r/wt/task".into(),
        main: "/r/main".into(),
        others: vec!["/r/wt/other".into(), "/r/main/.agentwt/x".into()],
        common_dir: "/r/main/.git".into(),
        withheld: Vec::new(),
        shown_in_git: Vec::new(),
        shown: vec!["/r/main/Cargo.toml".into()],
        states: vec!["/r/main/.git/agentwt/worktrees/task/state/claude".into()],
        private: "/r/main/.git/agentwt/worktrees/task/private".into(),
        binary: "/r/main/target/git-agentwt".into(),
    }
}

/// The policy of a scope where these files stand; those that end with `@` are links.
fn policy_of(scope: &Scope, files: &[&str], request: FenceRequest) -> Policy {
    let exists = |path: &RepoPath| {
        let text = path.as_bstr().to_string();
        let is_above = |file: &&str| file.starts_with(&format!("{text}/"));
        if files.contains(&&*text) {
            Some(ExistingEntry::File)
        } else if files.contains(&&*format!("{text}@")) {
            Some(ExistingEntry::Other)
        } else {
            files
                .iter()
                .any(is_above)
                .then_some(ExistingEntry::Directory)
        }
    };
    let tracked = || {
        let mut tracked: Vec<RepoPath> = files
            .iter()
            .map(|file| path(file.trim_end_matches('@')))
            .collect();
        tracked.retain(|path| !path.as_bstr().starts_with(b"target"));
        tracked.sort_unstable();
        tracked
    };
    compile(&PolicyFacts {
        scope,
        tracked: &tracked,
        exists: &exists,
        ignored: vec![path("target")],
        places: places(),
        request,
    })
}

const FILES: &[&str] = &[
    "README.md",
    "a \"b\".md",
    "docs/a.md",
    "docs/a.pem",
    "lib/a.c",
    "lib/sub/b.c",
    "link.md@",
    "package.json",
    "src/a.rs",
    "src/gen/x.rs",
    "target/x",
    "tests/a.rs",
    "tests/b.txt",
];

fn rich() -> Policy {
    let scope = scope(&[
        (Write, "src/**"),
        (Write, "/package.json"),
        (Write, "docs/*.md"),
        (Write, "tests/**/*.rs"),
        (Write, "*.md"),
        (Write, "/new/"),
        (Exclude, "src/gen/**"),
        (Exclude, "*.pem"),
    ]);
    let request = FenceRequest {
        net: Net::Ports(vec![443, 22]),
        sockets: vec!["/run/user/1000/bus".into()],
        rw: vec!["/home/u/.cargo/registry".into()],
        read_only: vec!["/home/u/.cargo/registry/config".into()],
        ..FenceRequest::default()
    };
    policy_of(&scope, FILES, request)
}

fn lines(words: &[OsString]) -> String {
    let mut text = String::new();
    for word in words {
        let word = word.to_str().expect("it is UTF-8");
        text.push_str(if word.starts_with("--") && !text.is_empty() {
            "\n"
        } else {
            " "
        });
        text.push_str(word);
    }
    text.trim().to_owned()
}

fn command() -> Vec<OsString> {
    ["sh", "-c", "true"].map(OsString::from).to_vec()
}

fn rules(rules: &[LandlockRule]) -> String {
    let line = |rule: &LandlockRule| {
        let access = match rule.access {
            RuleAccess::Tree => "tree",
            RuleAccess::File => "file",
            RuleAccess::Terminal => "terminal",
            RuleAccess::Read => "read",
        };
        match &rule.place {
            RulePlace::Root => format!("{access} ."),
            RulePlace::Below(path) => format!("{access} ./{path}"),
            RulePlace::Other(path) => format!("{access} {}", path.display()),
        }
    };
    let lines: Vec<String> = rules.iter().map(line).collect();
    lines.join("\n")
}

/// Whether a fence lets a path be written, and a mount lets it.
fn is_granted(policy: &Policy, path: &RepoPath) -> bool {
    let is_at = |grant: &Grant| {
        grant.path == *path || grant.kind == GrantKind::Tree && path.is_below(grant.path.as_bstr())
    };
    policy.is_whole || policy.grants.iter().any(is_at)
}

fn is_masked(policy: &Policy, path: &RepoPath) -> bool {
    let mut masks = policy.masks.iter();
    masks.any(|mask| mask == path || path.is_below(mask.as_bstr()))
}
