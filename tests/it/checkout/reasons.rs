//! Everything that leaves the checkout to git, and says so with `-v`.

use super::{add, reason};
use crate::support::TestRepo;

/// What is done to a project, the options of `add`, and why git then checks out.
const ROWS: &[(&str, &[&str], &str)] = &[
    (
        "printf '* filter=x\\n' >src/mod/.gitattributes; git add -A; git commit -qm x",
        &[],
        "`src/mod/.gitattributes` names a filter",
    ),
    (
        "printf '*.rs ident\\n' >secrets/.gitattributes; git add -A; git commit -qm x",
        &["--exclude", "secrets/**"],
        "`secrets/.gitattributes` names `ident`",
    ),
    (
        "printf '* eol=crlf\\n' >.git/info/attributes",
        &[],
        "`$TMP/repo/.git/info/attributes` names `eol`",
    ),
    (
        "printf '* working-tree-encoding=UTF-16\\n' >\"$HOME/attr\"; git config core.attributesFile '~/attr'",
        &[],
        "`$TMP/home/attr` names `working-tree-encoding`",
    ),
    (
        "mkdir -p \"$HOME/.config/git\"; printf '[attr]big filter=lfs\\n' >\"$HOME/.config/git/attributes\"",
        &[],
        "`$TMP/home/.config/git/attributes` names a filter",
    ),
    (
        "git config core.autocrlf input",
        &[],
        "`core.autocrlf` is set",
    ),
    ("git config core.eol crlf", &[], "`core.eol` is set"),
    (
        "git config core.fileMode false",
        &[],
        "`core.filemode` is set",
    ),
    (
        "git config core.symlinks false",
        &[],
        "`core.symlinks` is set",
    ),
    (
        "git config core.ignoreCase true",
        &[],
        "`core.ignorecase` is set",
    ),
    (
        "git config core.protectHFS true",
        &[],
        "`core.protecthfs` is set",
    ),
    (
        "git config core.protectNTFS false",
        &[],
        "`core.protectntfs` is set",
    ),
    (
        "git config core.splitIndex true",
        &[],
        "`core.splitindex` is set",
    ),
    (
        "git config core.sharedRepository group",
        &[],
        "`core.sharedrepository` is set",
    ),
    (
        "git config core.untrackedCache true",
        &[],
        "`core.untrackedcache` is set",
    ),
    ("git config index.version 4", &[], "`index.version` is set"),
    ("git config index.threads 2", &[], "`index.threads` is set"),
    (
        "git config index.skipHash true",
        &[],
        "`index.skiphash` is set",
    ),
    (
        "git config feature.manyFiles true",
        &[],
        "`feature.manyfiles` is set",
    ),
    (
        "git config remote.x.promisor true",
        &[],
        "`remote.x.promisor` is set",
    ),
    (
        "printf '#!/bin/sh\\n' >.git/hooks/post-index-change; chmod +x .git/hooks/post-index-change",
        &[],
        "there is a post-index-change hook",
    ),
    (
        "printf '#!/bin/sh\\n' >.git/hooks/reference-transaction; chmod +x .git/hooks/reference-transaction",
        &[],
        "there is a reference-transaction hook",
    ),
    (
        "git config core.hooksPath .hk; mkdir .hk; printf '#!/bin/sh\\n' >.hk/post-index-change; chmod +x .hk/post-index-change; git add -A; git commit -qm x",
        &[],
        "there is a post-index-change hook",
    ),
    (
        "git config hook.x.command true; git config hook.x.event post-commit",
        &[],
        "there is a post-index-change hook",
    ),
    (
        "git replace $(git rev-parse HEAD:README.md) $(git rev-parse HEAD:link)",
        &[],
        "objects are replaced (`git replace`)",
    ),
    (
        "printf x >'a\\b'; git add -A; git commit -qm x",
        &[],
        "it may refuse the name a\\134b",
    ),
    ("", &["--strategy", "clone"], "the worktree is a clone"),
];

/// What leaves it to us, although it looks like the above.
const OWN: &[&str] = &[
    "",
    "printf '* text=auto eol=lf\\n*.png binary\\n' >.gitattributes; git add -A; git commit -qm x",
    "git config core.autocrlf false; git config core.fsmonitor true",
    "git config core.hooksPath .hk; mkdir .hk; printf x >.hk/pre-commit; git add -A; git commit -qm x",
    "printf '#!/bin/sh\\n' >.git/hooks/post-checkout; chmod +x .git/hooks/post-checkout",
    "git config extensions.worktreeConfig true",
];

#[test]
fn whatever_changes_content_or_index_is_left_to_git() {
    for (script, options, wanted) in ROWS {
        let repo = TestRepo::project();
        repo.sh(
            repo.main(),
            &format!("set -e\nmkdir -p .git/hooks\n{script}"),
        )
        .ok();
        let said = add(&repo, "own", "022", &[&["task"][..], options].concat());
        let reason = reason(&said);
        assert_eq!(reason.as_deref(), Some(*wanted), "{script}\n{said}");
        assert_eq!(said.status, 0, "{script}\n{said}");
    }
}

#[test]
fn what_changes_nothing_is_not() {
    for script in OWN {
        let repo = TestRepo::project();
        repo.sh(
            repo.main(),
            &format!("set -e\nmkdir -p .git/hooks\n{script}"),
        )
        .ok();
        let said = add(&repo, "own", "022", &["task"]);
        assert_eq!(reason(&said), None, "{script}\n{said}");
        assert_eq!(said.status, 0, "{script}\n{said}");
        assert_eq!(repo.findings(&repo.worktree("task")), "", "{script}");
    }
}

#[test]
fn git_does_it_where_the_user_says_so() {
    let repo = TestRepo::project();
    let said = add(&repo, "git", "022", &["task"]);
    assert_eq!(
        reason(&said).as_deref(),
        Some("`GIT_AGENTWT_CHECKOUT` says so"),
        "{said}"
    );
}
