//! `--withhold`: the command has the commits of its branch, and nothing of the excluded files, in
//! whatever way it names them.

use std::fs;
use std::path::Path;

use super::private;
use crate::support::{Said, TestRepo, allow_root, allow_root_words, fenced_task};

/// The content of the excluded file.
const SECRET: &str = "PEM";
/// A commit of what is staged, of which git may not have all objects.
const COMMIT: &str =
    "git update-ref HEAD $(git commit-tree -p HEAD -m c $(git write-tree --missing-ok))";

#[test]
fn git_works_where_files_were_placed_that_it_is_told_to_ignore() {
    for fence in ["landlock", "mount"] {
        let fence_option = format!("--fence={fence}");
        let options = ["--withhold", fence_option.as_str()];
        let repo = TestRepo::project();
        let config = "schema_version = \"1.0\"\n[scope.default]\nwrite = [\"src/**\"]
            [worktree.file_sync]\nenabled = true\npatterns = [\".env\"]\n";
        repo.write(".agentwt/config.toml", config);
        repo.script(
            repo.main(),
            "echo .env >>.gitignore; git add -A; git commit -qm rules; echo S >.env",
        );
        repo.agentwt(&["add", "task"]).ok();
        if !repo.has_fence(&options) {
            continue;
        }
        let script = "git status --short; echo one >src/one; git add -A; git commit -qm one";
        let said = repo.fenced(&options, script);
        assert_eq!(said.status, 0, "{fence}: {said}");
        assert!(!said.stderr.contains("exclude"), "{fence}: {said}");
        assert_eq!(
            repo.git(&["show", "--format=", "--name-only", "agentwt/task"]),
            "src/one"
        );
    }
}

#[test]
fn without_the_excluded_objects_no_later_run_is_stopped() {
    let Some(repo) = fenced_task() else { return };
    let one = "echo 1 >src/one.rs; git add -A; git commit -qm first";
    repo.fenced(&["--withhold"], one).ok();
    // a commit without parents
    let rootless = "git update-ref HEAD $(git commit-tree -m rootless HEAD^{tree})";
    let said = repo.fenced(&["--withhold"], rootless);
    let printed = "git agentwt exec task -- git reset -q refs/agentwt/branch;";
    assert!(said.fails(120).stderr.contains(printed), "{said}");
    assert_eq!(repo.log_of_task(), "first");
    let left_out = "git reset -q refs/agentwt/branch; git log -1 --format=%s";
    assert_eq!(repo.fenced(&["--withhold"], left_out).ok(), "first");
    repo.fenced(&["--withhold"], rootless).fails(120);
    let orphan =
        "git reset -q; git stash -q; git checkout -q --orphan other; git commit -qm orphan";
    let said = repo.fenced(&["--withhold"], orphan);
    assert!(matches!(said.status, 0 | 120), "{said}");
    let _ = repo.fenced(&[], "true");
    let kept = repo.git(&["log", "--format=%s", "--glob=refs/agentwt"]);
    assert!(
        kept.contains("orphan") && kept.contains("rootless"),
        "{kept}"
    );
}

/// Runs a script without the excluded objects, whatever its end.
fn withheld(repo: &TestRepo, script: &str) -> String {
    let said = repo.fenced(&["--withhold"], script);
    format!("{}\n{}", said.stdout, said.stderr)
}

#[test]
fn what_is_withheld_comes_by_no_other_path() {
    for mode in ["100644", "120000", "160000"] {
        let stage = format!(
            "git update-index --add --cacheinfo {mode},$(git rev-parse HEAD:secrets/key.pem),src/x"
        );
        let unstaged = format!("{stage}; {COMMIT}; git rm -q --cached src/x; git commit -qm gone");
        let conflict = format!(
            "printf '%s 1\\tsrc/x\\n' \"{mode} $(git rev-parse HEAD:secrets/key.pem)\" |
            git update-index --index-info"
        );
        for script in [
            stage.clone(),
            format!("{stage}; {COMMIT}"),
            unstaged,
            conflict,
        ] {
            let Some(repo) = fenced_task() else { return };
            withheld(&repo, &script);
            for object in [
                ":src/x",
                ":1:src/x",
                "HEAD:src/x",
                "HEAD~1:src/x",
                "HEAD:secrets/key.pem",
            ] {
                let shown = withheld(&repo, &format!("git cat-file -p {object}"));
                assert!(!shown.contains(SECRET), "{script}: {object}: {shown}");
            }
        }
    }
}

#[test]
fn what_came_and_went_upstream_cannot_be_named_by_its_id() {
    for mode in ["100644", "120000"] {
        let Some(repo) = fenced_task() else { return };
        repo.write("secrets/key.pem", "PEM of later\n");
        repo.commit_all("a new key");
        let id = repo.git(&["rev-parse", "HEAD:secrets/key.pem"]);
        repo.write("secrets/key.pem", "");
        repo.commit_all("no key");
        // the object has the name, and none of the content
        let (begin, end) = id.split_at(2);
        let junk =
            format!("d=$AGENTWT_PRIVATE_GIT/objects/{begin}; mkdir -p $d; echo junk >$d/{end}");
        let stage = format!("git update-index --add --cacheinfo {mode},{id},src/x");
        let gone = format!("{stage}; {COMMIT}; git rm -q --cached src/x; {COMMIT}");
        for script in [
            stage.clone(),
            format!("{stage}; {COMMIT}"),
            format!("{junk}; {stage}; {COMMIT}"),
            gone,
        ] {
            let said = repo.fenced(&["--withhold"], &script);
            assert!(said.fails(120).stderr.contains("src/x"), "{script}: {said}");
            for object in [":src/x", "HEAD:src/x", "HEAD~1:src/x", &id] {
                let shown = withheld(&repo, &format!("git cat-file -p {object}"));
                assert!(!shown.contains(SECRET), "{script}: {object}: {shown}");
            }
            let undo = "rm -f $(find $AGENTWT_PRIVATE_GIT/objects -size -2c); git reset -q refs/agentwt/branch";
            repo.fenced(&["--withhold"], undo).ok();
        }
    }
}

#[test]
fn a_later_run_has_the_commits_of_the_branch_and_what_is_staged() {
    let Some(repo) = fenced_task() else { return };
    repo.fenced(
        &["--withhold"],
        "echo 1 >src/one.rs; git add -A; git commit -qm first",
    )
    .ok();
    let amend = "echo 2 >src/one.rs; git commit -qa --amend -m amended";
    repo.fenced(&["--withhold"], amend).ok();
    assert_eq!(repo.log_of_task(), "amended");
    repo.fenced(
        &["--withhold"],
        "echo 3 >src/one.rs; git commit -qam second",
    )
    .ok();
    repo.fenced(
        &["--withhold"],
        "git reset -q --soft HEAD~2; git commit -qm both",
    )
    .ok();
    assert_eq!(repo.log_of_task(), "both");
    repo.fenced(
        &["--withhold"],
        "echo 4 >src/one.rs; git add -A; rm src/one.rs",
    )
    .ok();
    repo.fenced(&["--withhold"], "git commit -qm staged; git checkout -q -f")
        .ok();
    assert_eq!(
        repo.git_in(&repo.worktree("task"), &["show", "HEAD:src/one.rs"]),
        "4"
    );
}

#[test]
fn what_a_command_writes_makes_git_bring_nothing_that_is_withheld() {
    // a commit whose parent is the excluded file; a tag in the place of which git reads that
    let parent = "c=$( (echo tree $(git rev-parse HEAD^{tree}); echo parent $id; \
        echo 'author u <u@x> 2700000000 +0000'; echo 'committer u <u@x> 2700000000 +0000'; \
        echo; echo m) | git hash-object -t commit -w --stdin --literally); \
        echo $c >$AGENTWT_PRIVATE_GIT/refs/heads/x";
    let replaced = "git tag -am m T; mkdir -p $AGENTWT_PRIVATE_GIT/refs/replace; \
        echo $id >$AGENTWT_PRIVATE_GIT/refs/replace/$(git rev-parse refs/tags/T)";
    for planted in [parent, replaced] {
        let Some(repo) = fenced_task() else { return };
        let id = repo.git(&["rev-parse", "HEAD:secrets/key.pem"]);
        let script = format!("id={id}; {planted}; echo x >>src/main.rs; git stash -q");
        withheld(&repo, &script);
        let user = "echo user >src/mod/util.rs; git commit -qam user";
        repo.sh(&repo.worktree("task"), user).ok();
        let shown = withheld(
            &repo,
            &format!("git log -1 --format=%s; git cat-file -p {id}"),
        );
        assert!(shown.contains("user"), "{planted}: {shown}");
        assert!(!shown.contains(SECRET), "{planted}: {shown}");
    }
}

#[test]
fn a_damaged_boundary_of_history_keeps_nothing_away() {
    let Some(repo) = fenced_task() else { return };
    let script =
        "echo x >>src/main.rs; git commit -qam one; echo garbage >$AGENTWT_PRIVATE_GIT/shallow";
    repo.fenced(&["--withhold"], script).ok();
    assert_eq!(repo.log_of_task(), "one");
    assert!(!private(&repo).join("git").exists());
}

/// Runs a script without the excluded objects in the worktree `task` of this repository.
fn withheld_in(repo: &TestRepo, main: &Path, script: &str) -> Said {
    let root = allow_root_words();
    let words = [
        &["exec", "task", "--withhold"],
        root,
        &["--", "sh", "-c", script],
    ]
    .concat();
    repo.agentwt_in(main, &words)
}

#[test]
fn a_partial_clone_fetches_nothing_that_is_withheld_and_its_runs_are_imported() {
    let Some(repo) = fenced_task() else { return };
    repo.git(&["config", "--global", "uploadpack.allowFilter", "true"]);
    repo.write("src/main.rs", "fn main() { }\n");
    repo.commit_all("two");
    let clone = "git clone -q --filter=blob:none file://$PWD ../partial
        cd ../partial && git-agentwt add task --exclude '**/secrets/**' --write 'src/**'";
    repo.sh(repo.main(), clone).ok();
    let partial = repo.main().with_file_name("partial");
    let shown = withheld_in(&repo, &partial, "git cat-file -p HEAD:secrets/key.pem");
    assert_ne!(shown.status, 0, "{shown}");
    assert!(!shown.stdout.contains(SECRET), "{shown}");
    withheld_in(&repo, &partial, "echo w >>src/main.rs; git commit -qam w1").ok();
    withheld_in(&repo, &partial, "echo w >>src/main.rs; git commit -qam w2").ok();
    assert_eq!(
        repo.git_in(&partial, &["log", "--format=%s", "-2", "agentwt/task"]),
        "w2\nw1"
    );
}

#[test]
fn a_submodule_finds_the_objects_that_it_borrows() {
    let Some(repo) = fenced_task() else { return };
    let script = "git config --global protocol.file.allow always; git init -q ../lib
        echo lib >../lib/lib.c; git -C ../lib add .; git -C ../lib commit -qm lib
        git submodule --quiet add file://$PWD/../lib src/lib; git commit -qm lib";
    repo.sh(repo.main(), script).ok();
    repo.write(
        ".agentwt/config.toml",
        "schema_version = \"1.0\"\n[scope.default]\nwrite = [\"src/**\"]\nexclude = [\"**/secrets/**\"]\n[setup]\nsubmodules = true\n",
    );
    repo.add("other");
    let root = allow_root_words();
    let borrowed = repo
        .main()
        .join(".git/worktrees/other/modules/src/lib/objects/info/alternates");
    assert!(borrowed.exists());
    let work = "echo 1 >src/one; git add -A; git commit -qm one; git -C src/lib log --format=%s; git status --short";
    let words = [
        &["exec", "other", "--withhold"],
        root,
        &["--", "sh", "-c", work],
    ]
    .concat();
    assert_eq!(repo.agentwt(&words).ok(), "lib");
    // the user's own doing, by which the submodule finds what is withheld
    let main_objects = repo.main().join(".git/objects");
    fs::write(&borrowed, format!("{}\n", main_objects.display())).expect("writable");
    let shown = format!("ls {}", main_objects.display());
    let words = [
        &["exec", "other", "--withhold"],
        root,
        &["--", "sh", "-c", &shown],
    ]
    .concat();
    assert_ne!(repo.agentwt(&words).status, 0);
}

#[test]
fn a_merge_with_a_commit_that_was_not_given_names_nothing_that_was_not() {
    let repo = TestRepo::project();
    repo.write("src/old.pem", "PEM of old\n");
    repo.commit_all("a key");
    let id = repo.git(&["rev-parse", "HEAD:src/old.pem"]);
    repo.git(&["rm", "-q", "src/old.pem"]);
    repo.git(&["commit", "-qm", "no key"]);
    repo.add("task");
    if !repo.has_fence(&[]) {
        return;
    }
    // with the old commit as parent, the merge has changed nothing
    let merge = format!(
        "parent=$(git cat-file -p HEAD | sed -n 's/^parent //p')
        git update-index --add --cacheinfo 100644,{id},src/old.pem
        c=$( (echo tree $(git write-tree --missing-ok); echo parent $(git rev-parse HEAD); echo parent $parent
        echo 'author u <u@x> 2700000000 +0000'; echo 'committer u <u@x> 2700000000 +0000'
        echo; echo m) | git hash-object -t commit -w --stdin --literally)
        git update-ref HEAD $c"
    );
    for last in [
        "",
        "git reset -q --soft HEAD; git rm -q --cached src/old.pem; git commit -qm gone",
    ] {
        let said = repo.fenced(&["--withhold"], &format!("{merge}; {last}"));
        assert!(said.fails(120).stderr.contains("src/old.pem"), "{said}");
        for object in ["HEAD:src/old.pem", "HEAD~1:src/old.pem", &id] {
            let shown = withheld(&repo, &format!("git cat-file -p {object}"));
            assert!(!shown.contains(SECRET), "{object}: {shown}");
        }
        repo.fenced(&["--withhold"], "git reset -q refs/agentwt/branch")
            .ok();
    }
}

#[test]
fn what_the_user_stages_is_no_deed_of_a_command_whose_index_is_gone() {
    let Some(repo) = fenced_task() else { return };
    let script = "touch src/started; until [ -e src/end ]; do sleep 0.05; done
        echo x >$AGENTWT_PRIVATE_GIT/index; rm src/started src/end; git stash -q 2>/dev/null; true";
    let line = format!(
        "(until [ -e src/started ]; do sleep 0.05; done; echo user >src/user; git add src/user
        touch src/end) & git-agentwt exec task --withhold {} -- sh -c '{script}'",
        allow_root()
    );
    repo.sh(&repo.worktree("task"), &line).ok();
    let staged = repo.fenced(&["--withhold"], "git show :src/user").ok();
    assert_eq!(staged, "user");
}

#[test]
fn a_command_is_given_the_commits_that_only_its_branch_has() {
    let own = "echo 1 >src/one.rs; git add src; git commit -qm first; git commit -qm second --allow-empty";
    for (user, subjects) in [
        ("true", "second first one"),
        (
            "git update-ref refs/remotes/origin/agentwt/task HEAD",
            "second first one",
        ),
        (
            "git update-ref refs/remotes/origin/other HEAD~1",
            "second first",
        ),
        ("git branch other", "second"),
        (
            "git switch -qc side HEAD~2; git commit -q --allow-empty -m side; git switch -q -
            git merge -q --no-edit side; git commit -q --allow-empty -m last",
            "last Merge",
        ),
    ] {
        let Some(repo) = fenced_task() else { return };
        let script = format!("{own}; {user}");
        repo.sh(&repo.worktree("task"), &script).ok();
        // a ref that was moved by hand is a violation
        let log = repo.fenced(&["--withhold"], "git log --format=%s").stdout;
        let mut given = Vec::new();
        for line in log.lines() {
            given.push(line.split(' ').next().unwrap_or_default());
        }
        assert_eq!(given.join(" "), subjects, "{user}");
    }
}
