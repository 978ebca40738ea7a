//! What only git can check out, and says so with `-v`; and what gix checks out, conversions included.

use super::{add, check_out_by_git, reason, state};
use crate::support::TestRepo;

/// What is done to a project, and why git then checks out.
const ROWS: &[(&str, &str)] = &[
    (
        "git config core.sharedRepository group",
        "`core.sharedrepository` is set",
    ),
    (
        "git config remote.x.promisor true",
        "`remote.x.promisor` is set",
    ),
    ("git config attr.tree HEAD", "`attr.tree` is set"),
    (
        "printf '#!/bin/sh\\n' >.git/hooks/post-index-change; chmod +x .git/hooks/post-index-change",
        "there is a post-index-change hook",
    ),
    (
        "printf '#!/bin/sh\\n' >.git/hooks/reference-transaction; chmod +x .git/hooks/reference-transaction",
        "there is a reference-transaction hook",
    ),
    (
        "git config core.hooksPath .hk; mkdir .hk; printf '#!/bin/sh\\n' >.hk/post-index-change; chmod +x .hk/post-index-change; git add -A; git commit -qm x",
        "there is a post-index-change hook",
    ),
    (
        "git config hook.x.command true; git config hook.x.event post-commit",
        "there is a post-index-change hook",
    ),
    (
        "git replace $(git rev-parse HEAD:README.md) $(git rev-parse HEAD:docs/guide.md)",
        "objects are replaced (`git replace`)",
    ),
    (
        "printf '*.rs ident\\n' >src/.gitattributes; printf '$Id$\\n' >src/id.rs; git add -A; git commit -qm x",
        "an attribute file names `ident`",
    ),
    (
        "printf '* working-tree-encoding=UTF-16LE\\n' >\"$HOME/attr\"; git config core.attributesFile '~/attr'",
        "an attribute file names `working-tree-encoding`",
    ),
];

/// What gix checks out as git does.
const BY_GIX: &[&str] = &[
    "",
    "printf '* text=auto eol=lf\\n*.png binary\\n' >.gitattributes; git add -A; git commit -qm x",
    "printf '* eol=crlf\\n' >.git/info/attributes",
    "mkdir -p \"$HOME/.config/git\"; printf '*.md eol=crlf\\n' >\"$HOME/.config/git/attributes\"",
    "git config filter.up.smudge 'tr a-z A-Z'; git config filter.up.clean 'tr A-Z a-z'; echo '*.md filter=up' >.gitattributes; git add -A; git commit -qm x",
    "git config filter.up.smudge ../../../up.sh; git config filter.up.clean cat; printf '#!/bin/sh\\ntr a-z A-Z\\n' >up.sh; chmod +x up.sh; echo '*.md filter=up' >.gitattributes; git add -A; git commit -qm x",
    "git config filter.gone.smudge false; echo '*.md filter=gone' >.gitattributes; git add -A; git commit -qm x",
    "git config core.autocrlf input",
    "git config core.autocrlf true",
    "git config core.eol crlf; echo '* text=auto' >.git/info/attributes",
    "git config core.fileMode false",
    "git config core.symlinks false",
    "git config core.splitIndex true",
    "git config core.untrackedCache true",
    "git config index.version 4",
    "git config index.skipHash true",
    "git config feature.manyFiles true",
    "printf x >'a\\b'; git add -A; git commit -qm x",
    "git config core.hooksPath .hk; mkdir .hk; printf x >.hk/pre-commit; git add -A; git commit -qm x",
    "printf '#!/bin/sh\\n' >.git/hooks/post-checkout; chmod +x .git/hooks/post-checkout",
    "git config extensions.worktreeConfig true",
];

#[test]
fn git_checks_out_what_only_git_can() {
    for (script, wanted) in ROWS {
        let repo = TestRepo::project();
        repo.sh(
            repo.main(),
            &format!("set -e\nmkdir -p .git/hooks\n{script}"),
        )
        .ok();
        let said = add(&repo, "022", &["task"]);
        assert_eq!(reason(&said).as_deref(), Some(*wanted), "{script}\n{said}");
        assert_eq!(said.status, 0, "{script}\n{said}");
        assert_eq!(repo.findings(&repo.worktree("task")), "", "{script}");
    }
}

#[test]
fn gix_checks_everything_else_out_as_git_does() {
    for script in BY_GIX {
        let repo = TestRepo::project();
        repo.sh(
            repo.main(),
            &format!("set -e\nmkdir -p .git/hooks\n{script}"),
        )
        .ok();
        let said = add(&repo, "022", &["ours", "--no-hooks"]);
        assert_eq!(reason(&said), None, "{script}\n{said}");
        assert_eq!(said.status, 0, "{script}\n{said}");
        check_out_by_git(&repo, "022");
        let (ours, git) = (state(&repo, "ours"), state(&repo, "git"));
        assert!(ours == git, "{script}\nours:\n{ours}\ngit:\n{git}");
        assert_eq!(repo.findings(&repo.worktree("ours")), "", "{script}");
    }
}

#[test]
fn a_required_filter_that_fails_undoes_everything() {
    let repo = TestRepo::project();
    let script = "git config filter.bad.smudge false; git config filter.bad.required true
        git config filter.bad.clean cat; echo '*.md filter=bad' >.gitattributes; git add -A; git commit -qm x";
    repo.sh(repo.main(), script).ok();
    let before = repo.fingerprint();
    let said = add(&repo, "022", &["task"]);
    assert_eq!(said.status, 5, "{said}");
    assert!(
        said.stderr
            .contains("cannot write the files of the worktree"),
        "{said}"
    );
    assert_eq!(repo.fingerprint(), before, "{said}");
}

/// The umask that makes files read-only is not that of a filter: git-lfs writes its own files.
#[test]
fn a_filter_runs_in_the_worktree_with_the_users_umask() {
    let repo = TestRepo::project();
    let script = r#"git config filter.mask.smudge 'echo "$(umask) $PWD" >>"$HOME/mask"; cat'
        git config filter.mask.clean cat; echo '*.md filter=mask' >.gitattributes; git add -A; git commit -qm x"#;
    repo.sh(repo.main(), script).ok();
    let said = add(&repo, "022", &["task"]);
    assert_eq!(said.status, 0, "{said}");
    let seen = std::fs::read_to_string(repo.home().join("mask")).expect("the filter ran");
    let worktree = repo.worktree("task").canonicalize().expect("it is there");
    let line = format!("0022 {}", worktree.to_str().expect("UTF-8"));
    for seen in seen.lines() {
        assert_eq!(seen, line);
    }
}
