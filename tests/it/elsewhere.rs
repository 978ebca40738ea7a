//! Variables that move git to another repository, worktree, index or object store move nothing of ours.

use std::path::Path;

use crate::support::TestRepo;

/// The variables, each with a value that leads to the repository `$TWO`, or out of this one.
const VARIABLES: [&str; 25] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES=$TWO/.git/objects",
    "GIT_ATTR_SOURCE=refs/heads/none",
    "GIT_CEILING_DIRECTORIES=$TWO/..",
    "GIT_COMMON_DIR=$TWO/.git",
    "GIT_CONFIG=$TWO/.git/config",
    "GIT_DEFAULT_HASH=sha256",
    "GIT_DIR=$TWO/.git",
    "GIT_GRAFT_FILE=$TWO/grafts",
    "GIT_ICASE_PATHSPECS=1",
    "GIT_IMPLICIT_WORK_TREE=0",
    "GIT_INDEX_FILE=$TWO/.git/index",
    "GIT_INDEX_VERSION=2",
    "GIT_INTERNAL_SUPER_PREFIX=sub/",
    "GIT_LITERAL_PATHSPECS=1",
    "GIT_NAMESPACE=other",
    "GIT_NO_REPLACE_OBJECTS=1",
    "GIT_OBJECT_DIRECTORY=$TWO/.git/objects",
    "GIT_PREFIX=src/",
    "GIT_QUARANTINE_PATH=$TWO/.git/objects",
    "GIT_REFERENCE_BACKEND=files:$TWO/.git",
    "GIT_REPLACE_REF_BASE=refs/heads/",
    "GIT_SHALLOW_FILE=$TWO/shallow",
    "GIT_WORK_TREE=$TWO",
    "GIT_WORK_TREE=.",
    "GIT_WORK_TREE=/nonexistent",
];

/// Two repositories; the second stands beside the first, and nobody works in it.
#[track_caller]
fn two() -> TestRepo {
    let repo = TestRepo::project();
    let line = "git init -q two; cd two; echo two >file; git add -A; git commit -qm two
        git rev-parse HEAD >shallow; git -C ../repo rev-parse HEAD >>shallow
        echo shallow >>.git/info/exclude";
    repo.sh(repo.root(), line).ok();
    repo
}

/// Everything that the second repository has.
#[track_caller]
fn other(repo: &TestRepo) -> String {
    let line = "find . -printf '%p %s %T@\\n' | sort; git for-each-ref";
    repo.sh(&repo.root().join("two"), line).ok()
}

/// Adds, uses and lands a worktree with this program before each command, in the main worktree.
#[track_caller]
fn used(how: &str) {
    let repo = two();
    let before = other(&repo);
    let two = repo.root().join("two").display().to_string();
    let how = how.replace("$TWO", &two);
    let run = |words: &str, dir: &Path| {
        let said = repo.sh(dir, &format!("{how} {words}"));
        assert_eq!(said.status, 0, "{how} {words}: {said}");
        said.stdout
    };
    let added = run("add task --write 'src/**'", repo.main());
    assert_eq!(added, "$TMP/repo/.agentwt/worktrees/task\n", "{how}");
    let dir = repo.worktree("task");
    let line = "echo one >src/one.rs; git add -A; git commit -qm one";
    repo.sh(&dir, line).ok();
    let verified = run("verify", &dir);
    assert_eq!(verified, "ok task: in scope, 1 path changed\n", "{how}");
    let listed = run("list --porcelain", repo.main());
    assert!(
        listed.contains("$TMP/repo/.agentwt/worktrees/task"),
        "{how}: {listed}"
    );
    run("scope --add-write 'docs/**' task", repo.main());
    run("land task", repo.main());
    assert_eq!(repo.git(&["log", "-1", "--format=%s"]), "one", "{how}");
    assert_eq!(repo.git(&["status", "--porcelain"]), "", "{how}");
    assert_eq!(other(&repo), before, "{how}");
}

#[test]
fn no_variable_moves_a_command_into_another_repository() {
    for variable in VARIABLES {
        used(&format!("env {variable} git-agentwt"));
    }
}

#[test]
fn no_option_of_git_moves_a_command_into_another_repository() {
    for options in [
        "--work-tree=$TWO",
        "--work-tree=.",
        "--git-dir=$TWO/.git",
        "--git-dir=$TWO/.git --work-tree=$TWO",
        "--namespace=other",
        "-c core.worktree=$TWO",
    ] {
        used(&format!("git {options} agentwt"));
    }
}

/// Whatever git names as its own is among the variables above.
#[test]
fn every_variable_that_git_calls_local_is_tried() {
    let repo = TestRepo::empty();
    let named = repo.git(&["rev-parse", "--local-env-vars"]);
    // with these git hands settings on, which are the user's
    let settings = ["GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT"];
    for name in named.lines().filter(|name| !settings.contains(name)) {
        let is_tried = |one: &&str| one.split('=').next() == Some(name);
        assert!(VARIABLES.iter().any(is_tried), "{name}");
        let is_known = git_agentwt::git::environment::LOCAL_VARIABLES
            .split(' ')
            .any(|one| one == name);
        assert!(is_known, "{name}");
    }
}
