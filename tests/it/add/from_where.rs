//! `add` from every directory.

use super::{SRC, clone, mode};
use crate::support::{TestRepo, write};

#[test]
fn a_subfolder() {
    let repo = TestRepo::project();
    let path = repo.agentwt_in(&repo.main().join("src/mod"), SRC).ok();
    assert_eq!(path, "$TMP/repo/.agentwt/worktrees/task-5");
}

#[test]
fn another_directory_by_option_c() {
    let repo = TestRepo::project();
    let arguments = [&["-C", "repo/src"], SRC].concat();
    let path = repo.agentwt_in(repo.root(), &arguments).ok();
    assert_eq!(path, "$TMP/repo/.agentwt/worktrees/task-5");
}

#[test]
fn through_git_itself() {
    let repo = TestRepo::project();
    let path = repo.git(&[&["agentwt"], SRC].concat());
    assert_eq!(path, "$TMP/repo/.agentwt/worktrees/task-5");
}

#[test]
fn through_git_from_a_hook_with_gits_variables_set() {
    let repo = TestRepo::project();
    let line = "GIT_DIR=.git GIT_INDEX_FILE=.git/index git agentwt add task-5 --write ''";
    assert_eq!(
        repo.sh(repo.main(), line).ok(),
        "$TMP/repo/.agentwt/worktrees/task-5"
    );
}

#[test]
fn for_an_agent_program_inside_a_worktree_it_is_made_beside_it_from_the_main_worktree() {
    let repo = TestRepo::project();
    let config = "schema_version = \"1.0\"\n[scope.default]\nwrite = [\"src/**\"]\n";
    repo.write(".agentwt/config.toml", config);
    let other = repo.add("other");
    write(&other, b"src/new.rs", b"new\n");
    repo.commit_all_in(&other, "work of the other");
    let event = br#"{"hook_event_name":"WorktreeCreate","name":"task-5"}"#;
    let hook = ["hook", "claude-create"];
    let path = repo.agentwt_with_input(&other.join("src"), &hook, event);
    assert_eq!(path.ok(), "$TMP/repo/.agentwt/worktrees/task-5");
    let dir = repo.worktree("task-5");
    assert!(
        !dir.join("src/new.rs").exists(),
        "it starts from the main worktree's branch"
    );
    assert!(
        dir.join("secrets/key.pem").exists(),
        "the other's scope is not inherited"
    );
    assert_eq!(mode(&dir.join("tests/t.rs")), 0o444);
    assert_eq!(repo.findings(&dir), "");
}

#[test]
fn inside_a_plain_linked_worktree_it_is_made_in_the_main_one() {
    let repo = TestRepo::project();
    repo.git(&["worktree", "add", "-q", "../plain"]);
    let plain = repo.root().join("plain");
    repo.git_in(&plain, &["sparse-checkout", "set", "--no-cone", "/docs/"]);
    let path = repo.agentwt_in(&plain, SRC).ok();
    assert_eq!(path, "$TMP/repo/.agentwt/worktrees/task-5");
    assert_eq!(mode(&repo.worktree("task-5").join("README.md")), 0o444);
    let branch = repo.git_in(&repo.worktree("task-5"), &["log", "-1", "--format=%s"]);
    assert_eq!(branch, "one");
}

#[test]
fn through_a_link_to_the_repository() {
    let repo = TestRepo::project();
    std::os::unix::fs::symlink(repo.main(), repo.root().join("alias")).expect("a link");
    let path = repo.agentwt_in(&repo.root().join("alias/src"), SRC).ok();
    assert_eq!(path, "$TMP/repo/.agentwt/worktrees/task-5");
}

#[test]
fn a_worktree_of_a_bare_repository() {
    let repo = TestRepo::project();
    clone(&repo, &["--bare"], "repo.git");
    let bare = repo.root().join("repo.git");
    repo.git_in(&bare, &["worktree", "add", "-q", "../wt", "main"]);
    let wt = repo.root().join("wt");
    let path = repo.agentwt_in(&wt, SRC).ok();
    assert_eq!(path, "$TMP/repo.git/.agentwt/worktrees/task-5");
    let dir = bare.join(".agentwt/worktrees/task-5");
    assert_eq!(repo.findings(&dir), "");
    assert_eq!(
        repo.git_in(&wt, &["status", "--porcelain"]),
        "",
        "the other still works"
    );
    assert_eq!(
        repo.git_in(&bare, &["rev-parse", "--is-bare-repository"]),
        "true"
    );
}

#[test]
fn a_worktree_of_a_hidden_bare_repository_in_the_projects_directory() {
    let repo = TestRepo::project();
    clone(&repo, &["--bare"], "project/.bare");
    let project = repo.root().join("project");
    std::fs::write(project.join(".git"), "gitdir: ./.bare\n").expect("a file");
    repo.git_in(&project, &["worktree", "add", "-q", "main", "main"]);
    let path = repo.agentwt_in(&project.join("main/src"), SRC).ok();
    assert_eq!(path, "$TMP/project/.agentwt/worktrees/task-5");
    let dir = project.join(".agentwt/worktrees/task-5");
    assert_eq!(repo.findings(&dir), "");
    repo.git_in(&dir, &["status"]);
    let refused = repo.agentwt_in(&dir.join("src"), SRC);
    let (_, command) = refused.stderr.split_once(": cd ").expect("a command");
    let command = command.replace("$TMP", &repo.root().display().to_string());
    let again = repo.sh(repo.root(), &format!("cd {command}")).ok();
    assert_eq!(
        again, path,
        "from inside it, by the command that is printed"
    );
}

#[test]
fn a_repository_with_a_separate_git_directory() {
    let repo = TestRepo::project();
    repo.git(&["init", "-q", "--separate-git-dir", "../elsewhere.git"]);
    let path = repo.agentwt(SRC).ok();
    assert_eq!(path, "$TMP/repo/.agentwt/worktrees/task-5");
    assert_eq!(repo.findings(&repo.worktree("task-5")), "");
    let inside = repo.worktree("task-5").join("src");
    let again = repo.agentwt_in(&inside, &["path"]).ok();
    assert_eq!(again, path, "from inside");
}

#[test]
fn a_submodule_is_a_repository_of_its_own() {
    let repo = TestRepo::project();
    let url = clone(&repo, &[], "lib");
    repo.git(&["submodule", "-q", "add", &url.to_string_lossy(), "lib"]);
    repo.commit_all("a submodule");
    let path = repo.agentwt_in(&repo.main().join("lib"), SRC).ok();
    assert_eq!(path, "$TMP/repo/lib/.agentwt/worktrees/task-5");
    assert_eq!(
        repo.findings(&repo.main().join("lib/.agentwt/worktrees/task-5")),
        ""
    );
}
