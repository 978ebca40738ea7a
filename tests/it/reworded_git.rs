//! What git says is for people: an import, a landing and a removal decide by facts, whatever the words and
//! the language.

use crate::support::{Said, Shim, TestRepo, chmod, is_root, needs_root, skipped};

/// A worktree with this name, where a fence works here.
fn project() -> Option<TestRepo> {
    let repo = TestRepo::project();
    repo.add("task");
    repo.has_fence(&[]).then_some(repo)
}

/// Makes a `git` that says nothing in English: each line of standard error becomes another one. `act` is
/// shell code that stands before its work. Returns the directory for the search path.
fn reworded_git(repo: &TestRepo, act: &str) -> String {
    let bin = repo.root().join("reworded");
    std::fs::create_dir_all(&bin).expect("it is ours");
    let path = std::env::var("PATH").expect("a search path");
    let script = format!(
        "#!/bin/sh
        {act}
        said={bin}/said.$$
        PATH='{path}' git \"$@\" 2>$said
        status=$?
        while read -r line; do echo 'Das ging leider nicht.' >&2; done <$said
        rm -f $said
        exit $status
        ",
        bin = bin.display(),
    );
    std::fs::write(bin.join("git"), script).expect("it is ours");
    chmod(&bin.join("git"), 0o755);
    bin.display().to_string()
}

/// Imports what the run before left, with this git.
fn import_with(repo: &TestRepo, bin: &str) -> Said {
    let allow = if is_root() { "--allow-root" } else { "" };
    let line = format!("PATH={bin}:$PATH git-agentwt exec task {allow} -- true");
    repo.sh(repo.main(), &line)
}

/// Leaves a commit that is not imported yet, as its branch is locked.
fn leave(repo: &TestRepo, script: &str) {
    let lock = repo.main().join(".git/refs/heads/agentwt/task.lock");
    std::fs::write(&lock, "").expect("it is ours");
    assert_ne!(repo.fenced(&[], script).status, 0, "the branch is locked");
    std::fs::remove_file(&lock).expect("it is ours");
}

const COMMIT: &str = "echo 1 >src/one.rs; git add -A; git commit -qm one";

#[test]
fn what_the_machine_refuses_is_no_damage_in_any_words() {
    let Some(repo) = project() else { return };
    leave(&repo, COMMIT);
    let fetch_fails = "case \" $* \" in *\" fetch \"*) echo 'Kein Speicher' >&2; exit 128;; esac";
    let said = import_with(&repo, &reworded_git(&repo, fetch_fails));
    assert!(!said.fails(5).stderr.contains("damaged"), "{said}");
    repo.fenced(&[], "true").ok();
    assert_eq!(repo.log_of_task(), "one");
}

#[test]
fn what_is_broken_in_the_repository_is_no_damage_in_any_words() {
    let Some(repo) = project() else { return };
    leave(&repo, COMMIT);
    let broken = repo.main().join(".git/refs/heads/broken");
    std::fs::write(&broken, "").expect("it is ours");
    let said = import_with(&repo, &reworded_git(&repo, ""));
    assert!(!said.fails(5).stderr.contains("damaged"), "{said}");
    std::fs::remove_file(&broken).expect("it is ours");
    repo.fenced(&[], "true").ok();
    assert_eq!(repo.log_of_task(), "one");
}

#[test]
fn a_child_of_git_that_was_ended_is_started_again_in_any_words() {
    let Some(repo) = project() else { return };
    leave(&repo, COMMIT);
    let first_fails = "case \" $* \" in *\" fetch \"*) if mkdir ${0%/*}/once 2>/dev/null; then exit 128; fi;; esac";
    let said = import_with(&repo, &reworded_git(&repo, first_fails));
    said.ok();
    assert!(!said.stderr.contains("damaged"), "{said}");
    assert_eq!(repo.log_of_task(), "one");
}

#[test]
fn an_import_fetches_once_where_nothing_fails() {
    let Some(repo) = project() else { return };
    leave(&repo, COMMIT);
    let count = "case \" $* \" in *\" fetch \"*task/private*) echo x >>${0%/*}/count;; esac";
    let bin = reworded_git(&repo, count);
    import_with(&repo, &bin).ok();
    let counted = std::fs::read_to_string(format!("{bin}/count")).expect("it was counted");
    assert_eq!(counted.lines().count(), 1);
}

#[test]
fn an_object_that_is_damaged_is_damage_in_any_words() {
    for damage in [
        // empty, as after a loss of power
        ": >$object",
        // whole by itself, but another one
        "cp $(ls -d $PWD/objects/??/* | grep -v $object | head -1) $object",
        "rm -f $object",
    ] {
        let Some(repo) = project() else { return };
        let script = format!(
            "set -e; git commit -q --allow-empty -m before; echo 1 >src/one.rs; git add -A
            git commit -qm one; object=$(git rev-parse HEAD:src/one.rs | sed 's#..#&/#')
            cd $AGENTWT_PRIVATE_GIT; object=$PWD/objects/$object; chmod u+w $object; {damage}"
        );
        repo.fenced(&[], &script).fails(5);
        let said = import_with(&repo, &reworded_git(&repo, ""));
        said.ok();
        assert!(
            said.stderr.contains("is damaged, and kept at"),
            "{damage}: {said}"
        );
    }
}

#[test]
fn content_that_git_refuses_is_set_apart_in_any_words() {
    let Some(repo) = project() else { return };
    let script = "set -e; mkdir src/m; printf '[submodule \"x\"]\n\tpath = x\n\turl = --x\n' >src/m/.gitmodules
        git add src/m; git commit -qm two";
    repo.fenced(&[], script).fails(5);
    let said = import_with(&repo, &reworded_git(&repo, ""));
    said.ok();
    assert!(said.stderr.contains("is damaged, and kept at"), "{said}");
}

#[test]
fn what_git_can_make_again_is_no_damage() {
    let Some(repo) = project() else { return };
    let script = "set -e; git commit -q --allow-empty -m one; git commit-graph write --reachable
        git repack -q -d; git multi-pack-index write
        cd $AGENTWT_PRIVATE_GIT/objects; chmod u+w info/commit-graph pack/multi-pack-index
        echo junk >info/commit-graph; echo junk >pack/multi-pack-index";
    repo.fenced(&[], script).ok();
    assert_eq!(repo.log_of_task(), "one");
}

#[test]
fn a_branch_whose_lock_a_killed_removal_left_is_deleted_in_any_words() {
    let repo = TestRepo::project();
    repo.add("task");
    let lock = repo.main().join(".git/refs/heads/agentwt/task.lock");
    let act = format!("touch '{}'; kill -9 $PPID; exit 77", lock.display());
    let shim = Shim::new(repo.root(), &act);
    let said = shim.run_at_words(&repo, &["remove", "task"], "update-ref -d");
    assert_eq!(said.status, 137, "{said}");
    assert!(lock.exists(), "{said}");
    let bin = reworded_git(&repo, "");
    let line = format!("PATH={bin}:$PATH git-agentwt remove task");
    let said = repo.sh(repo.main(), &line);
    assert_eq!(said.status, 0, "{said}");
    assert!(!lock.exists(), "{said}");
    assert_eq!(repo.git(&["branch", "--list", "agentwt/task"]), "");
}

/// A worktree with a commit, whose main is pushed to a server.
fn with_server() -> TestRepo {
    let repo = TestRepo::project();
    let line = "git clone -q --bare repo server.git; git clone -q server.git other
        git -C repo remote add origin ../server.git; git -C repo fetch -q origin";
    repo.sh(repo.root(), line).ok();
    let dir = repo.add("task");
    repo.sh(&dir, COMMIT).ok();
    repo
}

/// Lands with a git that says nothing in English.
fn land_with(repo: &TestRepo, act: &str, options: &str) -> Said {
    let bin = reworded_git(repo, act);
    let line = format!("PATH={bin}:$PATH git-agentwt land {options} task");
    repo.sh(repo.main(), &line)
}

#[test]
fn a_remote_that_went_on_is_pulled_from_in_any_words() {
    let repo = with_server();
    let line = "echo theirs >docs/theirs; git add -A; git commit -qm theirs; git push -q 2>&1";
    repo.sh(&repo.root().join("other"), line).ok();
    let said = land_with(&repo, "", "--push origin");
    assert_eq!(said.status, 5, "{said}");
    assert!(
        said.stderr.contains("bring main up to date first: git -C"),
        "{said}"
    );
    let help = said.stderr.split("first: ").nth(1).expect("a command");
    let line = help
        .trim_end()
        .replace("$TMP", &repo.root().display().to_string());
    repo.sh(repo.main(), &format!("{{ {line}; }} 2>&1")).ok();
    assert!(repo.main().join("docs/theirs").exists());
    assert!(repo.main().join("src/one.rs").exists());
}

#[test]
fn a_remote_that_has_nothing_else_is_not_pulled_from_in_any_words() {
    let repo = with_server();
    // a hook that says what git says where a pull helps
    let hook = "printf 'echo \"! [rejected] main (fetch first) (non-fast-forward)\" >&2; exit 1' \
        >server.git/hooks/pre-receive; chmod +x server.git/hooks/pre-receive";
    repo.sh(repo.root(), hook).ok();
    let said = repo.agentwt(&["land", "--push", "origin", "task"]);
    assert_eq!(said.status, 5, "{said}");
    assert!(said.stderr.contains("(fetch first)"), "{said}");
    let again = "help: nothing was changed; then: git agentwt land --push origin task\n";
    assert!(said.stderr.ends_with(again), "{said}");
}

/// A repository on a file system of its own, and a worktree whose commit has a file of 400 kB.
fn on_small_disk() -> Option<TestRepo> {
    if !needs_root() {
        return None;
    }
    let repo = TestRepo::project();
    let mount =
        "mv repo kept; mkdir repo; mount -t tmpfs -o size=4m none repo && cp -a kept/. repo";
    if repo.sh(repo.root(), mount).status != 0 {
        skipped("mount(8) of a tmpfs");
        return None;
    }
    let dir = repo.add("task");
    let line = "head -c 400000 /dev/urandom >src/big; git add -A; git commit -qm big";
    repo.sh(&dir, line).ok();
    repo.sh(repo.main(), "echo fill >>.git/info/exclude").ok();
    Some(repo)
}

#[test]
fn as_root_a_full_disk_is_seen_in_any_words() {
    let Some(repo) = on_small_disk() else { return };
    let fill = "head -c $(($(df --output=avail -B1 . | tail -n 1) - 200000)) /dev/zero >fill";
    repo.sh(repo.main(), fill).ok();
    let said = land_with(&repo, "", "");
    repo.sh(repo.main(), "rm fill").ok();
    let again = repo.agentwt(&["land", "task"]);
    repo.sh(repo.root(), "umount -l repo").ok();
    assert_eq!(said.status, 4, "{said}");
    assert!(said.stderr.contains("have no room in $TMP/repo"), "{said}");
    assert!(said.stderr.contains("to see the room: df -h"), "{said}");
    assert_eq!(again.status, 0, "{again}");
}

#[test]
fn a_disk_with_room_is_not_full_whatever_git_says() {
    let repo = TestRepo::project();
    let dir = repo.add("task");
    repo.sh(&dir, COMMIT).ok();
    let act = "case \" $* \" in *\" checkout-index \"*)
        echo 'fatal: unable to write: No space left on device' >&2; exit 1;; esac";
    let said = land_with(&repo, act, "");
    assert_eq!(said.status, 4, "{said}");
    assert!(
        said.stderr
            .contains("its files cannot be written in $TMP/repo"),
        "{said}"
    );
}
