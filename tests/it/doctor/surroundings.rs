//! Settings, tools, the user's hooks, and programs on the search path.

use insta::assert_snapshot;

use super::{doctor, doctor_in, lines_of, well, wrong};
use crate::support::{TestRepo, binary, chmod};

#[test]
fn a_common_core_bare_beside_the_extension_is_moved_by_the_advice() {
    let repo = TestRepo::empty_with(&["--bare"]);
    let script = r"
        tree=$(git hash-object -t tree -w /dev/null)
        git update-ref refs/heads/main $(git commit-tree -m one $tree)
        git worktree add -q wt main
        git config extensions.worktreeConfig true
    ";
    repo.sh(repo.main(), script).ok();
    let worktree = repo.main().join("wt");
    assert_ne!(
        repo.try_git(&worktree, &["status"]).status,
        0,
        "git is broken there"
    );
    let said = doctor(&repo, &[]);
    said.fails(1);
    let line = lines_of(&said, "worktree-config");
    assert_snapshot!(line, @"problem settings: core.bare stands in the common configuration beside extensions.worktreeConfig: it breaks every linked worktree | git config --file '$TMP/repo/config.worktree' core.bare 'true' && git config --file '$TMP/repo/config' --unset-all core.bare");
    let root = repo.root().to_string_lossy().into_owned();
    let fix = line.rsplit(" | ").next().unwrap_or_default();
    let fix = fix.replace("$TMP", &root);
    repo.sh(repo.main(), &fix).ok();
    repo.git_in(&worktree, &["status"]);
    assert_eq!(wrong(&doctor_in(&repo, &worktree, &[])), "");
}

#[test]
fn hooks_of_the_user_that_a_worktree_lacks_are_told() {
    let repo = well();
    repo.write(".husky/_/pre-commit", "#!/bin/sh\n");
    repo.write(".husky/_/.gitignore", "*\n");
    repo.git(&["config", "core.hooksPath", ".husky/_"]);
    let said = doctor(&repo, &[]);
    let line = lines_of(&said, "hooks-path");
    assert!(
        line.starts_with("warning hooks: core.hooksPath is .husky/_ (local), which is not in task"),
        "{line}"
    );
    let worktree = repo.worktree("task");
    repo.sh(
        &worktree,
        "mkdir -p .husky/_ && cp ../../../.husky/_/* .husky/_/",
    )
    .ok();
    let line = lines_of(&doctor(&repo, &[]), "hooks-path");
    assert!(
        line.starts_with("ok hooks: core.hooksPath is .husky/_ (local)"),
        "{line}"
    );
}

#[test]
fn a_config_that_is_wrong_is_a_problem_and_all_else_is_told() {
    let repo = well();
    repo.write(
        ".agentwt/config.toml",
        "schema_version = \"1.0\"\nworktre = 1\n",
    );
    let said = doctor(&repo, &[]);
    said.fails(1);
    let line = lines_of(&said, "config");
    assert!(line.starts_with("problem settings: "), "{line}");
    assert!(lines_of(&said, "hooks").starts_with("ok "), "{said}");
}

#[test]
fn a_tool_is_named_with_the_line_that_keeps_it_out() {
    let repo = well();
    repo.write("Cargo.toml", "[workspace]\nmembers = [\"crates/*\"]\n");
    let line = lines_of(&doctor(&repo, &[]), "cargo");
    assert_snapshot!(line, @r#"note tools: cargo (Cargo.toml) may walk into .agentwt/worktrees | exclude = [".agentwt"] in [workspace] of Cargo.toml"#);
    repo.write("Cargo.toml", "[workspace]\nexclude = [\".agentwt\"]\n");
    let line = lines_of(&doctor(&repo, &[]), "cargo");
    assert_snapshot!(line, @"ok tools: cargo: its configuration names .agentwt |");
}

#[test]
fn what_git_tracks_below_the_worktrees_is_taken_out_by_the_advice() {
    let repo = well();
    repo.git(&["add", "--force", ".agentwt/worktrees/.gitignore"]);
    let said = doctor(&repo, &[]);
    said.fails(1);
    assert_snapshot!(lines_of(&said, "tracked"), @"problem ignore-rules: git tracks what is in .agentwt/worktrees: .agentwt/worktrees/.gitignore | git rm -r --cached --ignore-unmatch .agentwt/worktrees && git commit");
    repo.git(&[
        "rm",
        "-q",
        "-r",
        "--cached",
        "--ignore-unmatch",
        ".agentwt/worktrees",
    ]);
    assert_eq!(wrong(&doctor(&repo, &[])), "");
}

#[test]
fn another_program_that_is_first_on_the_path_is_told() {
    let repo = well();
    let other = repo.root().join("other");
    std::fs::create_dir_all(&other).expect("a directory");
    std::fs::copy(binary(), other.join("git-agentwt")).expect("a copy");
    chmod(&other.join("git-agentwt"), 0o755);
    let path = std::env::var("PATH").unwrap_or_default();
    let output = repo
        .command(binary(), repo.main())
        .args(["doctor", "--porcelain"])
        .env("PATH", format!("{}:{path}", other.display()))
        .output()
        .expect("it starts");
    let said = repo.said(&output);
    said.fails(1);
    let line = lines_of(&said, "program");
    assert!(
        line.starts_with("warning versions: PATH has $TMP/other/git-agentwt"),
        "{line}"
    );
}

#[test]
fn a_git_that_is_too_old_or_missing_is_a_problem_and_not_a_crash() {
    let repo = well();
    let old = repo.root().join("old");
    std::fs::create_dir_all(&old).expect("a directory");
    std::fs::write(old.join("git"), "#!/bin/sh\necho git version 2.30.1\n").expect("a script");
    chmod(&old.join("git"), 0o755);
    for (path, found) in [
        (
            old.display().to_string(),
            "problem versions: git 2.30.1 is too old: git-agentwt needs 2.39.0 or newer | upgrade git",
        ),
        (
            "/nowhere".to_owned(),
            "problem versions: cannot start `git`",
        ),
    ] {
        let output = repo
            .command(binary(), repo.main())
            .args(["doctor", "--porcelain"])
            .env("PATH", path)
            .output()
            .expect("it starts");
        let said = repo.said(&output);
        said.fails(1);
        let line = lines_of(&said, "git");
        assert!(line.starts_with(found), "{line}");
    }
}
