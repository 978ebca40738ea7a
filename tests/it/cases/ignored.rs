//! Untracked and ignored files: the rules of the base count, not the agent's.

use insta::assert_snapshot;

use super::{Case, after};

#[test]
fn what_the_base_ignores_is_build_output_and_no_finding() {
    let case = Case::new();
    case.does("mkdir -p target/debug; echo x >target/debug/bin; echo x >trace.log");
    assert_snapshot!(case.findings(), @"");
    assert_snapshot!(case.changes(), @"");
    let said = case
        .repo
        .agentwt_in(&case.worktree, &["changed", "--ignored"]);
    assert_snapshot!(said, @"
    created  target/debug/bin  ignored
    created  trace.log         ignored
    --- status 0
    ");
}

#[test]
fn a_rule_that_the_agent_added_hides_nothing() {
    assert_snapshot!(after("chmod u+w .gitignore; echo '*.tmp' >>.gitignore; echo x >notes.tmp"), @"
    .gitignore modified read-only violation
    notes.tmp created read-only violation
    ");
}

#[test]
fn a_rule_that_the_agent_committed_hides_nothing() {
    assert_snapshot!(after("chmod u+w .gitignore; echo '*.tmp' >>.gitignore; commit; echo x >notes.tmp"), @"
    .gitignore modified read-only violation
    notes.tmp created read-only violation
    ");
}

#[test]
fn a_new_gitignore_below_hides_nothing() {
    assert_snapshot!(after("echo '*' >docs/.gitignore; echo x >docs/n"), @"
    docs/.gitignore created read-only violation
    docs/n created read-only violation
    ");
}

#[test]
fn a_rule_in_info_exclude_hides_nothing() {
    assert_snapshot!(after("echo '*.tmp' >>$MAIN/.git/info/exclude; echo x >notes.tmp"), @"
    notes.tmp created read-only violation
    @git/info/exclude config shared notice
    ");
}

#[test]
fn a_rule_in_the_worktrees_own_excludes_file_hides_nothing() {
    let script = "echo '*.tmp' >../rules; git config --worktree core.excludesFile $WT/../rules; echo x >notes.tmp";
    assert_snapshot!(after(script), @"
    notes.tmp created read-only violation
    @wt/config.worktree config integrity violation
    ");
}

#[test]
fn a_tracked_file_that_an_ignore_rule_matches_is_still_tracked() {
    let repo = crate::support::TestRepo::project();
    repo.write("docs/kept.log", "kept\n");
    repo.git(&["add", "-f", "docs/kept.log"]);
    repo.commit_all("kept");
    let case = Case::of(repo);
    case.does("edit docs/kept.log");
    assert_snapshot!(case.findings(), @"docs/kept.log modified read-only violation");
}

#[test]
fn an_ignored_file_that_is_forced_into_the_index_is_a_violation() {
    assert_snapshot!(after("echo x >trace.log; git add -f trace.log"), @"trace.log created read-only violation");
}

#[test]
fn an_ignored_file_that_is_committed_is_a_violation() {
    assert_snapshot!(after("echo x >trace.log; git add -f trace.log; git commit -q -m log"), @"trace.log created read-only violation");
}

#[test]
fn rules_that_upstream_brought_count_once_they_are_merged() {
    let case = Case::new();
    case.main_does("echo '*.tmp' >>.gitignore; git commit -q -a -m rules");
    case.does("git merge -q main; echo x >notes.tmp");
    assert_snapshot!(case.findings(), @"");
}

#[test]
fn the_users_own_excludes_file_counts_as_it_was() {
    let repo = crate::support::TestRepo::project();
    crate::support::write(&repo.home(), b".config/git/ignore", b".DS_Store\n");
    let case = Case::of(repo);
    case.does("echo x >.DS_Store");
    assert_snapshot!(case.findings(), @"");
}

/// A worktree that reads and writes only `src`, in a project that ignores what tools make.
fn narrow() -> Case {
    let repo = crate::support::TestRepo::project();
    repo.write(
        ".gitignore",
        "target/\nnode_modules/\n__pycache__/\n*.log\n",
    );
    repo.commit_all("ignored");
    let scope = [
        "--read",
        "src/**",
        "--write",
        "src/**",
        "--exclude",
        "**/secrets/**",
    ];
    repo.agentwt(&[&["add", "task"][..], &scope].concat()).ok();
    let worktree = repo.worktree("task");
    Case { repo, worktree }
}

#[test]
fn build_output_that_the_base_ignores_is_no_finding_where_no_pattern_matches() {
    let case = narrow();
    case.does(
        "mkdir -p target/debug/deps node_modules/.bin node_modules/a tools/__pycache__ docs
        echo o >target/debug/deps/a.o; echo j >node_modules/a/i.js; ln -s ../a/i.js node_modules/.bin/a
        echo c >tools/__pycache__/a.pyc; echo l >docs/build.log; mkdir -p target/empty",
    );
    assert_snapshot!(case.findings(), @"");
    case.does("mkdir -p target/secrets; echo k >target/secrets/k; git add -f --sparse docs/build.log; echo n >docs/n");
    assert_snapshot!(case.findings(), @"
    docs/build.log created excluded violation
    docs/n created excluded violation
    target/secrets/k created excluded violation
    ");
}

/// As uv, pytest and husky make them.
#[test]
fn a_directory_that_ignores_itself_is_one_notice() {
    let case = Case::new();
    case.does(
        "mkdir -p .venv/bin .venv/lib/p .pytest_cache/v .husky/_ src/.venv
        echo '*' >.venv/.gitignore; echo p >.venv/bin/python; echo l >.venv/lib/p/l.py; ln -s ../lib .venv/lib64
        printf '# Created by pytest automatically.\\n*\\n' >.pytest_cache/.gitignore; echo r >.pytest_cache/README.md
        echo '*' >.husky/_/.gitignore; echo h >.husky/_/h; echo '*' >src/.venv/.gitignore",
    );
    assert_snapshot!(case.findings(), @"
    .husky/_ created read-only notice
    .pytest_cache created read-only notice
    .venv created read-only notice
    ");
    assert_snapshot!(case.changes(), @"
    created  untracked  .husky
    created  untracked  .pytest_cache
    created  untracked  .venv
    created  untracked  src/.venv
    ");
    let verified = case.repo.agentwt(&["verify", "task"]);
    assert!(verified.stdout.contains("untracked files: 4"), "{verified}");
    let removed = case.repo.agentwt(&["remove", "task"]);
    assert!(
        removed.ok().starts_with(".agentwt/worktrees/.trash/"),
        "{removed}"
    );
}

#[test]
fn a_directory_that_ignores_itself_hides_no_tracked_and_no_excluded_file() {
    for (script, found) in [
        (
            "echo '*' >docs/.gitignore; edit docs/guide.md",
            "docs/guide.md modified read-only",
        ),
        (
            "git rm -q -r docs; mkdir docs; echo '*' >docs/.gitignore; echo n >docs/n",
            "docs/n created read-only",
        ),
        (
            "mkdir n; echo '*' >n/.gitignore; echo x >n/x; git add -f n/x",
            "n/.gitignore created read-only",
        ),
        (
            "mkdir n; echo '*' >n/.gitignore; echo x >n/x; git add -f n/x; git commit -q -m x",
            "n/x created read-only",
        ),
        (
            "mkdir n; echo '*' >n/.gitignore; echo x >n/x; git add -f n/x; git commit -q -m x; git rm -q --cached n/x",
            "n/x created read-only",
        ),
        (
            "mkdir n; echo '*.o' >n/.gitignore; echo x >n/x",
            "n/x created read-only",
        ),
        (
            "mkdir n; printf '*\n!x\n' >n/.gitignore; echo x >n/x",
            "n/x created read-only",
        ),
        (
            "echo '*' >n; mkdir m; ln -s ../n m/.gitignore; echo x >m/x",
            "m/x created read-only",
        ),
        (
            "mkdir -p n/secrets; echo '*' >n/.gitignore; echo k >n/secrets/k",
            "n/secrets/k created excluded",
        ),
    ] {
        let case = Case::new();
        case.does(script);
        let findings = case.findings();
        assert!(
            findings.contains(&format!("{found} violation")),
            "{script}: {findings}"
        );
    }
}

#[test]
fn what_a_client_writes_for_itself_is_a_notice_unless_it_is_tracked() {
    let case = Case::new();
    case.does("mkdir .claude; echo '{}' >.claude/settings.local.json; echo h >.aider.input.history; echo '{}' >.claude/settings.json");
    assert_snapshot!(case.findings(), @"
    .claude/settings.json created read-only violation
    .aider.input.history created read-only notice
    .claude/settings.local.json created read-only notice
    ");
    case.does("rm .claude/settings.json; git add -A; git commit -q -m state");
    assert_snapshot!(case.findings(), @"
    .aider.input.history created read-only violation
    .claude/settings.local.json created read-only violation
    ");
}
