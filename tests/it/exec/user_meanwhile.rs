//! What the user does while a command runs is not lost.

use std::path::Path;

use super::{meanwhile, private, runs, with_git};
use crate::support::{TestRepo, allow_root, fenced_task};

#[test]
fn a_branch_that_the_user_moved_meanwhile_stays() {
    let Some(repo) = fenced_task() else { return };
    let worktree = repo.worktree("task");
    let ready = worktree.join("src/ready");
    let script = "echo 1 >src/one.rs; git add -A; git commit -qm one
        for n in $(seq 200); do test -e src/ready && break; sleep 0.05; done; rm src/ready";
    let user = |dir: &Path| {
        repo.git_in(dir, &["commit", "-q", "--allow-empty", "-m", "of the user"]);
        std::fs::write(&ready, "").expect("it is ours");
    };
    let said = std::thread::scope(|threads| {
        let run = threads.spawn(|| repo.fenced(&[], script));
        while !private(&repo).join("git/refs/heads/agentwt/task").exists() && !run.is_finished() {
            std::thread::yield_now();
        }
        user(&worktree);
        run.join().expect("it ends")
    });
    assert_eq!(said.status, 120, "{said}");
    assert!(
        said.stderr.contains("moved while the command ran"),
        "{said}"
    );
    assert_eq!(repo.log_of_task(), "of the user");
    let kept = repo.git(&["log", "-1", "--format=%s", "refs/agentwt/incoming/task"]);
    assert_eq!(kept, "one");
    // the way that was printed, and that `list` prints as long as they wait, merges them
    let listed = repo.agentwt(&["list"]).ok();
    let (_, way) = listed.split_once("to go on: ").expect("it waits");
    let way = way.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.stderr.contains(&way), "{way}: {said}");
    let way = way.replace("$TMP/repo", &repo.main().display().to_string());
    repo.keep_as("before");
    repo.sh(repo.main(), &way).ok();
    assert_eq!(repo.git(&["show", "agentwt/task:src/one.rs"]), "1");
    // a command that goes on instead keeps them
    repo.sh(repo.root(), "rm -rf repo; mv before repo").ok();
    repo.fenced(&[], "git log -1 --format=%s; test -e src/one.rs")
        .ok();
    let kept = runs(&repo);
    assert!(kept.starts_with("refs/agentwt/kept/task/"), "{kept}");
}

#[test]
fn stashes_of_a_run_are_named_where_the_user_committed_meanwhile() {
    let Some(repo) = fenced_task() else { return };
    let worktree = repo.worktree("task");
    let script =
        "echo 1 >src/one.rs; git add -A; git commit -qm one; echo 2 >src/one.rs; git stash -q";
    meanwhile(&repo, script, || {
        repo.git_in(
            &worktree,
            &["commit", "-q", "--allow-empty", "-m", "of the user"],
        );
    })
    .fails(120);
    let said = repo.fenced(&[], "true");
    said.ok();
    assert!(
        said.stderr
            .contains("git log --glob=refs/agentwt/kept/task; to apply one"),
        "{said}"
    );
    let kept = ["log", "--glob=refs/agentwt/kept/task", "--format=%s"];
    assert!(repo.git(&kept).contains("WIP on agentwt/task"));
}

#[test]
fn the_index_of_a_run_is_not_given_to_another_branch() {
    let Some(repo) = fenced_task() else { return };
    let worktree = repo.worktree("task");
    let script = "echo 1 >src/one.rs; git add -A; git commit -qm one";
    let said = meanwhile(&repo, script, || {
        repo.git_in(&worktree, &["switch", "-qc", "other"]);
    });
    // it may be checked out elsewhere by now, or be in the middle of a rebase
    assert_eq!(said.status, 120, "{said}");
    assert!(said.stderr.contains("was switched away"), "{said}");
    let way = "switch agentwt/task && git agentwt exec task -- true";
    assert!(said.stderr.contains(way), "{said}");
    assert_eq!(repo.log_of_task(), "");
    let staged = repo.git_in(&worktree, &["diff", "--cached", "--name-only"]);
    assert_eq!(staged, "", "the index is that of the other branch");
    repo.git_in(&worktree, &["switch", "-qf", "agentwt/task"]);
    repo.fenced(&[], "true").ok();
    assert_eq!(repo.log_of_task(), "one");
    let status = repo.git_in(&worktree, &["status", "--porcelain"]);
    assert_eq!(status, "");
}

#[test]
fn what_the_user_stages_meanwhile_stays_staged() {
    let Some(repo) = fenced_task() else { return };
    let worktree = repo.worktree("task");
    let script = "echo 1 >src/one.rs; git add -A; git commit -qm one";
    let stage = "echo v1 >src/user.rs; git add src/user.rs; echo v2 >src/user.rs";
    let said = meanwhile(&repo, script, || {
        repo.sh(&worktree, stage).ok();
    });
    said.ok();
    assert_eq!(repo.log_of_task(), "one");
    let status = repo.git_in(&worktree, &["status", "--porcelain"]);
    assert_eq!(status, "AM src/user.rs");
    assert_eq!(repo.git_in(&worktree, &["show", ":src/user.rs"]), "v1");
    // but not beside a commit of the same file
    let script = "echo 2 >src/main.rs; git commit -qm two src/main.rs";
    let said = meanwhile(&repo, script, || {
        let stage = "echo v1 >src/main.rs; git add src/main.rs";
        repo.sh(&worktree, stage).ok();
    });
    assert_eq!(said.status, 120, "{said}");
    assert!(
        said.stderr.contains("you staged what the command"),
        "{said}"
    );
    assert_eq!(repo.log_of_task(), "one", "the branch stays");
    assert_eq!(repo.git_in(&worktree, &["show", ":src/main.rs"]), "v1");
    // a git that writes the index anew and stages nothing stops nothing
    repo.git_in(&worktree, &["reset", "-q"]);
    std::fs::remove_file(worktree.join("src/user.rs")).expect("it is there");
    repo.fenced(&[], "true").ok();
    meanwhile(&repo, script, || {
        repo.git_in(&worktree, &["reset", "-q"]);
    })
    .ok();
    assert_eq!(repo.log_of_task(), "two\none");
}

#[test]
fn a_merge_that_the_user_begins_meanwhile_is_finished_first() {
    let Some(repo) = fenced_task() else { return };
    let worktree = repo.worktree("task");
    let side = "git switch -qc side; echo side >src/main.rs; git commit -qam side; git switch -q -; echo mine >src/main.rs; git commit -qam mine";
    repo.sh(&worktree, side).ok();
    let script = "echo 1 >src/one.rs; git add -A; git commit -qm one";
    let said = meanwhile(&repo, script, || {
        assert_ne!(repo.sh(&worktree, "git merge -q side").status, 0);
    });
    assert_eq!(said.status, 120, "{said}");
    let way = "you began a merge, a rebase or the like while the command ran";
    assert!(said.stderr.contains(way), "{said}");
    assert_eq!(
        repo.git_in(&worktree, &["ls-files", "-u"]).lines().count(),
        3
    );
    // until then no command begins; to drop the merge is not the first that is advised
    let refused = repo.fenced(&[], "true");
    assert_eq!(refused.status, 125, "{refused}");
    let to_finish = refused.stderr.find("merge --continue");
    let to_drop = refused.stderr.find("merge --abort");
    assert!(to_finish.is_some() && to_finish < to_drop, "{refused}");
    repo.git_in(&worktree, &["merge", "--abort"]);
    repo.fenced(&[], "true").ok();
    assert_eq!(repo.log_of_task(), "one\nmine");
}

#[test]
fn a_staged_file_stays_where_the_command_commits_a_directory_of_that_name() {
    for (staged, commit) in [("src/d", "src/d/f"), ("src/e/f", "src/e")] {
        let Some(repo) = fenced_task() else { return };
        let worktree = repo.worktree("task");
        let script = format!(
            "mkdir -p $(dirname {commit}); echo 1 >{commit}; git add -A; git commit -qm one"
        );
        let said = meanwhile(&repo, &script, || {
            let stage = format!(
                "git update-index --add --cacheinfo 100644,$(echo v1 | git hash-object -w --stdin),{staged}"
            );
            repo.sh(&worktree, &stage).ok();
        });
        assert_eq!(said.status, 120, "{said}");
        assert!(
            said.stderr.contains("you staged what the command"),
            "{said}"
        );
        assert_eq!(repo.log_of_task(), "", "the branch stays");
        let content = repo.git_in(&worktree, &["show", &format!(":{staged}")]);
        assert_eq!(content, "v1");
        // with nothing of the user beside it, the commit comes
        repo.git_in(&worktree, &["reset", "-q"]);
        repo.fenced(&[], "true").ok();
        assert_eq!(repo.log_of_task(), "one");
    }
}

#[test]
fn what_the_user_commits_during_the_import_stops_it() {
    let commit = "commit -q --allow-empty -m user";
    // as a commit whose lock of the index was before ours
    let move_head = "update-ref HEAD $(git commit-tree -p HEAD -m user HEAD^{tree})";
    for (when, command) in [(" fetch ", commit), ("of a fenced command", move_head)] {
        let Some(repo) = fenced_task() else { return };
        let worktree = repo.worktree("task");
        let git = format!(
            "case \" $* \" in *\"{when}\"*) if mkdir ${{0%/*}}/once 2>/dev/null; then
            (unset GIT_DIR GIT_WORK_TREE; cd {}; git {command} >&2); fi;; esac; exec git \"$@\"",
            worktree.display()
        );
        let path = with_git(&repo, &git);
        let allow = allow_root();
        let script = "echo 1 >src/one.rs; git add -A; git commit -qm one";
        let line = format!("{path} git-agentwt exec task {allow} -- sh -c '{script}'");
        let said = repo.sh(repo.main(), &line);
        said.fails(120);
        assert!(said.stderr.contains("it moved"), "{said}");
        let staged = repo.git_in(&worktree, &["diff", "--cached", "--name-only"]);
        assert_eq!((&*staged, &*repo.log_of_task()), ("", "user"), "{when}");
        repo.fenced(&[], "true").ok();
        assert_eq!(repo.log_of_task(), "user");
        let subjects = repo.git(&["log", "--format=%s", "--glob=refs/agentwt/kept"]);
        assert!(subjects.starts_with("one"), "{subjects}");
    }
}

#[test]
fn what_the_user_does_while_a_run_starts_is_not_lost() {
    let repo = TestRepo::empty();
    let init = ["init", "-q", "--ref-format=reftable", "rt"];
    if repo.try_git(repo.root(), &init).status != 0 {
        eprintln!("skipped: this git has no reftable");
        return;
    }
    // refs that are no files are listed by git
    let git = "act() { (unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE; cd $WORKTREE; eval \"$ACTION\") >&2; }
        case \" $* \" in *\" for-each-ref \"*\" refs/ \"*) echo >>${0%/*}/listings; now=$WHEN$(wc -l <${0%/*}/listings);; esac
        test \"$now\" != before$LISTING || act; git \"$@\"; status=$?; test \"$now\" != after$LISTING || act; exit $status";
    let path = with_git(&repo, git);
    let allow = allow_root();
    let exec = format!("git-agentwt exec task --fence=landlock {allow} -- sh -c");
    let prepare = "set -e; rm -rf rt bin/listings; git init -q --ref-format=reftable rt; cd rt; mkdir src; echo 1 >src/main
        git add -A; git commit -qm base; git-agentwt add task --write 'src/**' >/dev/null 2>&1";
    let stash = format!("{exec} 'echo 2 >src/main; git stash -q'");
    let commit = format!("{exec} 'echo 1 >src/one; git add src/one; git commit -qm one'");
    let (stage, nothing) = (format!("{exec} true"), "true".to_owned());
    let user = "echo user >src/user; git add src/user; git commit -qm user";
    let user_stages = "echo user >src/user; git add src/user; echo later >src/user";
    let kept = "git show $(git for-each-ref --format=\"%(refname)\" refs/agentwt/kept/ | head -1):src/main";
    let staged = "echo user >src/main; git add src/main; echo later >src/main";
    let refused = format!("echo bad >.agentwt/worktrees/task/top; {exec} '{staged}' || true");
    for (before, run, action, question) in [
        (&stash, &stage, user_stages, "git show :src/user"),
        (&nothing, &commit, user, "git log --format=%s | grep user"),
        (&stash, &commit, user, "git log --format=%s | grep user"),
        (&refused, &stage, user, kept),
    ] {
        for (when, listing) in [("before", 1), ("after", 1), ("before", 2), ("after", 2)] {
            let line = format!(
                "{prepare}; {before}; cd .agentwt/worktrees/task; export WORKTREE=$PWD ACTION='{action}' WHEN={when} LISTING={listing}
                set +e; {path} {run}; {question}"
            );
            let said = repo.sh(repo.root(), &line);
            assert_eq!(said.stdout, "user\n", "{run} {when} {listing}: {said}");
        }
    }
}

#[test]
fn what_the_scope_hides_during_a_run_is_absent_on_purpose() {
    let Some(repo) = fenced_task() else { return };
    let worktree = repo.worktree("task");
    // the user stages while the command merges a file that is hidden
    repo.write("secrets/new", "hidden\n");
    repo.sh(repo.main(), "git add -f secrets; git commit -qm hidden")
        .ok();
    let merge = "echo 1 >>src/main.rs; git commit -qam mine; git merge -q --no-edit main";
    meanwhile(&repo, merge, || {
        repo.sh(&worktree, "echo u >src/user.rs; git add src/user.rs")
            .ok();
    })
    .ok();
    let status = repo.git_in(&worktree, &["status", "--porcelain"]);
    assert_eq!(status, "A  src/user.rs");
    let hidden = repo.git_in(&worktree, &["ls-files", "-t", "secrets/new"]);
    assert_eq!(hidden, "S secrets/new");
}
