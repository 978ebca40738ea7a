//! Strategy `clone`: a repository of its own, of which everything says what it says of a linked
//! worktree.

use std::path::{Path, PathBuf};

use super::support::{Said, Shim, TestRepo, chmod};

const ADD: &[&str] = &[
    "add",
    "task-5",
    "--write",
    "src/**",
    "--exclude",
    "**/secrets/**",
];

const STRATEGIES: [&str; 2] = ["worktree", "clone"];

#[track_caller]
fn add(repo: &TestRepo, strategy: &str) -> PathBuf {
    repo.agentwt(&[ADD, &["--strategy", strategy]].concat())
        .ok();
    repo.worktree("task-5")
}

fn is_clone(dir: &Path) -> bool {
    dir.join(".git").is_dir()
}

/// What happens, and what `verify` says of it.
const SCENARIOS: &[(&str, &str)] = &[
    ("true", ""),
    ("echo more >> src/main.rs", ""),
    (
        "echo new > src/new.rs && git add -A && git commit -qm new",
        "",
    ),
    (
        "echo new > docs/new.md",
        "docs/new.md created read-only violation\n",
    ),
    (
        "chmod u+w docs/api.md && echo more >> docs/api.md && git add docs/api.md",
        "docs/api.md modified read-only violation\n",
    ),
    ("rm -f README.md", "README.md deleted read-only violation\n"),
    (
        "rm -f README.md && git commit -qam gone --no-verify",
        "README.md deleted read-only violation\n",
    ),
    (
        "git sparse-checkout disable",
        "secrets/key.pem present excluded violation\n",
    ),
    (
        "mkdir -p secrets && echo mine > secrets/new",
        "secrets/new created excluded violation\n",
    ),
    (
        "rm -r \"$(git rev-parse --git-dir)/agentwt/hooks\"",
        "@admin/agentwt/hooks",
    ),
    ("git config core.fsmonitor /bin/true", "@git/config config"),
    (
        "d=$(git rev-parse --git-common-dir)/hooks && mkdir -p \"$d\" && printf '#!/bin/sh\\n' > \"$d/post-merge\" && chmod +x \"$d/post-merge\"",
        "@git/hooks/post-merge hook",
    ),
    (
        "git checkout -q -b elsewhere",
        "@head ref integrity violation\n",
    ),
    (
        "git update-index --assume-unchanged src/main.rs",
        "@admin/index integrity",
    ),
    (
        "echo 'gitdir: /nowhere' > other && rm -rf .git && mv other .git",
        "@worktree integrity integrity violation\n",
    ),
    ("rm -rf .git", "@worktree integrity integrity violation\n"),
];

#[test]
fn verify_says_the_same_of_both_strategies() {
    for (what, expected) in SCENARIOS {
        for strategy in STRATEGIES {
            let repo = TestRepo::project();
            let dir = add(&repo, strategy);
            assert_eq!(is_clone(&dir), strategy == "clone");
            repo.sh(&dir, what).ok();
            let found = repo.agentwt(&["verify", "task-5", "--format", "tsv"]);
            let found = found.stdout.replace('\t', " ");
            let holds = if expected.is_empty() {
                found.is_empty()
            } else {
                found.contains(expected)
            };
            assert!(holds, "{strategy}: {what}: {expected}: {found}");
        }
    }
}
