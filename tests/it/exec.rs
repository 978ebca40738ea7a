//! What a command in a fence commits comes back by an import, all or nothing.

use std::io::Write as _;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Stdio;

use crate::support::{Said, TestRepo, is_root};

/// Runs a script in the fence of a worktree.
fn fenced(repo: &TestRepo, options: &[&str], script: &str) -> Said {
    repo.fenced(options, script)
}

/// A worktree, where a fence works here.
fn project() -> Option<TestRepo> {
    let repo = TestRepo::project();
    repo.add("task");
    repo.has_fence(&[]).then_some(repo)
}

/// Puts a script in the place of git, whose first line takes it out of PATH; the start of a line that has it there.
fn with_git(repo: &TestRepo, script: &str) -> String {
    let bin = repo.root().join("bin");
    std::fs::create_dir(&bin).expect("it is ours");
    let script = format!("#!/bin/sh\nPATH=${{PATH#*:}}\n{script}\n");
    std::fs::write(bin.join("git"), script).expect("it is ours");
    crate::support::chmod(&bin.join("git"), 0o755);
    format!("PATH={}:$PATH", bin.display())
}

fn tip(repo: &TestRepo) -> String {
    repo.git(&["rev-parse", "agentwt/task"])
}

fn log(repo: &TestRepo) -> String {
    repo.log_of_task()
}

fn runs(repo: &TestRepo) -> String {
    let below = [
        "refs/agentwt/run/",
        "refs/agentwt/incoming/",
        "refs/agentwt/kept/",
    ];
    repo.git(&[&["for-each-ref", "--format=%(refname)"], &below[..]].concat())
}

fn private(repo: &TestRepo) -> std::path::PathBuf {
    repo.main().join(".git/agentwt/worktrees/task/private")
}

#[test]
fn commits_in_scope_come_back_and_git_works_inside() {
    let Some(repo) = project() else { return };
    let script = "set -e; echo 1 >src/one.rs; git add -A; git commit -qm one
        echo 2 >src/two.rs; git add -A; git commit -qm two; git commit -q --amend -m three
        echo 4 >src/one.rs; git stash -q; git stash pop -q; git commit -qam four
        git tag t; git tag -d t >/dev/null; git gc -q; git fsck --no-progress; git status --porcelain";
    fenced(&repo, &[], script).ok();
    assert_eq!(log(&repo), "four\nthree\none");
    assert_eq!(runs(&repo), "", "nothing is left of the run");
    assert!(!private(&repo).join("git").exists());
    repo.agentwt(&["verify", "task"]).ok();
    let status = repo.git_in(&repo.worktree("task"), &["status", "--porcelain"]);
    assert_eq!(status, "", "the index came along");
}

#[test]
fn a_rebase_onto_main_is_brought_back() {
    let Some(repo) = project() else { return };
    fenced(
        &repo,
        &[],
        "echo 1 >src/one.rs; git add -A; git commit -qm one",
    )
    .ok();
    repo.write("src/upstream.rs", "u\n");
    repo.commit_all("upstream");
    let said = fenced(
        &repo,
        &[],
        "git rebase -q main && git merge-base --is-ancestor main HEAD",
    );
    said.ok();
    assert_eq!(log(&repo), "one");
    repo.agentwt(&["verify", "task"]).ok();
}

#[test]
fn a_commit_out_of_scope_moves_nothing_and_the_next_run_goes_on() {
    let Some(repo) = project() else { return };
    let before = tip(&repo);
    // a commit needs no file on disk
    let script = "set -e; blob=$(echo bad | git hash-object -w --stdin)
        git update-index --cacheinfo 100644,$blob,docs/api.md; git commit -qm bad";
    let said = fenced(&repo, &[], script);
    assert_eq!(said.status, 120, "{said}");
    assert!(said.stderr.contains("NO task: "), "{said}");
    assert!(said.stderr.contains("docs/api.md modified"), "{said}");
    assert_eq!(tip(&repo), before, "the branch stays");
    assert_eq!(runs(&repo), "refs/agentwt/incoming/task");
    let said = repo.agentwt(&["remove", "task"]);
    assert_eq!(said.status, 4, "{said}");
    assert!(said.stderr.contains("not imported"), "{said}");
    let script = "git log -1 --format=%s; git reset -q HEAD~1; echo 1 >src/one.rs
        git add -A; git commit -qm good";
    let said = fenced(&repo, &[], script).ok();
    assert_eq!(said, "bad", "the next run goes on there");
    assert_eq!(log(&repo), "good");
    assert_eq!(runs(&repo), "");
    repo.agentwt(&["verify", "task"]).ok();
}

#[test]
fn what_the_user_allows_of_other_repositories_stops_no_import() {
    let repo = TestRepo::project();
    repo.git(&["config", "protocol.file.allow", "never"]);
    repo.add("task");
    if !repo.has_fence(&[]) {
        return;
    }
    let script =
        "echo 1 >src/one.rs; git add -A; git commit -qm one; git tag $(printf 'a\\302\\233m')";
    for options in [&[][..], &["--withhold"]] {
        let said = fenced(&repo, options, script);
        said.ok();
        assert!(!said.stderr.contains('\u{9b}'), "{said}");
    }
    assert_eq!(log(&repo), "one");
}

#[test]
fn a_commit_out_of_scope_moves_nothing_wherever_head_is() {
    for end in [
        "git checkout -q --detach HEAD~1",
        "git symbolic-ref HEAD refs/heads/none; git rm -q --cached docs/x",
        "git branch side HEAD~1; git symbolic-ref HEAD refs/heads/side; git reset -q",
    ] {
        let Some(repo) = project() else { return };
        let before = tip(&repo);
        let script = format!(
            "set -e; blob=$(echo bad | git hash-object -w --stdin)
            git update-index --add --cacheinfo 100644,$blob,docs/x; git commit -qm bad; {end}"
        );
        let said = fenced(&repo, &[], &script);
        assert_eq!(said.status, 120, "{end}: {said}");
        assert_eq!(tip(&repo), before, "{end}");
    }
}

#[test]
fn what_a_run_packed_is_there_in_the_next() {
    let Some(repo) = project() else { return };
    let script = "set -e; echo 1 >src/one.rs; git add -A; git commit -qm good
        blob=$(echo bad | git hash-object -w --stdin)
        git update-index --cacheinfo 100644,$blob,docs/api.md; git commit -qm bad; git gc -q";
    assert_eq!(fenced(&repo, &[], script).status, 120);
    fenced(&repo, &[], "git reset -q HEAD~1").ok();
    assert_eq!(log(&repo), "good");
    // a stash of the user does not hide that of a command
    repo.write("docs/api.md", "by the user\n");
    repo.git(&["stash", "-q"]);
    let script = "echo 2 >src/one.rs; git stash -q; git gc -q";
    fenced(&repo, &[], script).ok();
    let script = "git stash pop -q && cat src/one.rs && git commit -qam popped";
    assert_eq!(fenced(&repo, &[], script).ok(), "2");
    assert_eq!(repo.git(&["show", "stash@{0}:docs/api.md"]), "by the user");
    // a ref that was written without its log
    let script = "set -e; git commit -q --allow-empty -m logged
        c=$(git commit-tree -p HEAD -m unlogged HEAD^{tree}); echo $c >$AGENTWT_PRIVATE_GIT/refs/heads/agentwt/task; git gc -q";
    fenced(&repo, &[], script).ok();
    assert_eq!(log(&repo), "unlogged\nlogged\npopped\ngood");
    // nor does a branch with a longer name
    let script = "set -e; git commit -q --allow-empty -m last; git branch -m agentwt/task agentwt/task/more; git gc -q";
    fenced(&repo, &[], script).ok();
    let kept = repo.git(&["log", "--format=%s", "--glob=refs/agentwt/kept/task"]);
    assert!(kept.contains("last"), "{kept}");
}

#[test]
fn a_run_on_another_branch_goes_on_where_the_user_commits() {
    let Some(repo) = project() else { return };
    let user = || {
        let worktree = repo.worktree("task");
        repo.git_in(&worktree, &["commit", "-q", "--allow-empty", "-m", "user"]);
    };
    let script =
        "set -e; git switch -qc side; echo 1 >src/one.rs; git add src/one.rs; git commit -qm one
        echo 2 >src/two.rs; git add src/two.rs";
    fenced(&repo, &[], script).ok();
    user();
    let status = fenced(&repo, &[], "git status --porcelain");
    assert_eq!(
        status.ok(),
        "A  src/two.rs",
        "the index is that of its HEAD"
    );
    let script = "git branch -qM agentwt/task agentwt; git switch -q agentwt";
    fenced(&repo, &[], script).ok();
    user();
    fenced(&repo, &[], "true").ok();
    let script = "git symbolic-ref HEAD; git status --porcelain";
    assert_eq!(
        fenced(&repo, &[], script).ok(),
        "refs/heads/agentwt\nA  src/two.rs"
    );
}

#[test]
fn what_a_run_packs_undoes_no_commit_of_the_user() {
    let Some(repo) = project() else { return };
    let script = "set -e; unset GIT_COMMITTER_DATE; git commit -q --allow-empty -m one; echo 1 >src/mod/util.rs; git stash -q";
    fenced(&repo, &[], script).ok();
    let worktree = repo.worktree("task");
    repo.git_in(&worktree, &["commit", "-q", "--allow-empty", "-m", "user"]);
    fenced(&repo, &[], "git pack-refs --all").ok();
    assert_eq!(log(&repo), "user\none");
    repo.git_in(&worktree, &["reset", "-q", "--hard", "HEAD~1"]);
    fenced(&repo, &[], "git gc -q").ok();
    assert_eq!(log(&repo), "one");
    repo.git_in(&worktree, &["commit", "-q", "--allow-empty", "-m", "again"]);
    fenced(&repo, &[], "git gc -q").ok();
    assert_eq!(log(&repo), "again\none");
}

#[test]
fn without_the_excluded_objects_a_run_goes_on_where_the_user_commits() {
    let Some(repo) = project() else { return };
    let script =
        "set -e; git commit -q --allow-empty -m one; echo 1 >src/mod/util.rs; git stash -q";
    fenced(&repo, &["--withhold"], script).ok();
    let user = "echo user >src/main.rs; git commit -qam user";
    repo.sh(&repo.worktree("task"), user).ok();
    let script = "git stash pop -q && git commit -qam two && git log --format=%s -1 && git show HEAD:src/main.rs";
    assert_eq!(fenced(&repo, &["--withhold"], script).ok(), "two\nuser");
    assert_eq!(log(&repo), "two\nuser\none");
}

#[test]
fn a_split_index_comes_with_its_parts() {
    let Some(repo) = project() else { return };
    let worktree = repo.worktree("task");
    fenced(&repo, &[], "echo 1 >src/mod/util.rs; git stash -q").ok();
    let split = "git config core.splitIndex true; git update-index --split-index; git commit -q --allow-empty -m user";
    repo.sh(&worktree, split).ok();
    fenced(&repo, &[], "git status --porcelain && git stash pop -q").ok();
}

#[test]
fn what_the_user_stages_between_two_runs_stays_staged() {
    let Some(repo) = project() else { return };
    let worktree = repo.worktree("task");
    fenced(&repo, &[], "echo 1 >src/mod/util.rs; git stash -q").ok();
    let stage = "echo good >src/main.rs; git add src/main.rs; echo more >src/main.rs";
    repo.sh(&worktree, stage).ok();
    let status = |name: &str| {
        let inside = fenced(&repo, &[], "git status --porcelain").ok();
        let outside = repo.git_in(&worktree, &["status", "--porcelain"]);
        assert_eq!(
            (&*inside, &*outside),
            ("MM src/main.rs", "MM src/main.rs"),
            "{name}"
        );
        assert_eq!(repo.git_in(&worktree, &["show", ":src/main.rs"]), "good");
    };
    status("with the stash");
    fenced(&repo, &[], "git stash drop -q").ok();
    status("without it");
    // also where the command ends elsewhere
    let script = "set -e; echo 1 >src/one.rs; git add src/one.rs; git commit -qm one src/one.rs; git switch -q --detach";
    fenced(&repo, &[], script).ok();
    assert_eq!(log(&repo), "one");
    assert_eq!(
        repo.git_in(&worktree, &["status", "--porcelain"]),
        "MM src/main.rs"
    );
    // a lock that is left is no change
    let lock = repo.main().join(".git/worktrees/task/index.lock");
    std::fs::write(&lock, "").expect("it is ours");
    let script =
        "git switch -q agentwt/task; echo 1 >src/mod/util.rs; git stash push -q src/mod/util.rs
        echo 2 >src/two.rs; git add src/two.rs";
    let _ = fenced(&repo, &[], script);
    let status = fenced(&repo, &[], "git status --porcelain src/two.rs");
    std::fs::remove_file(&lock).expect("it is ours");
    assert_eq!(status.ok(), "A  src/two.rs");
}

#[test]
fn what_the_user_stages_while_a_run_is_elsewhere_stays_staged() {
    let Some(repo) = project() else { return };
    let worktree = repo.worktree("task");
    let stage = |staged: &str| {
        let script = format!(
            "set -e; echo {staged} >src/main.rs; git add src/main.rs; echo more >>src/main.rs"
        );
        repo.sh(&worktree, &script).ok();
    };
    let staged = || repo.git_in(&worktree, &["show", ":src/main.rs"]);
    let status = || repo.git_in(&worktree, &["status", "--porcelain"]);
    fenced(&repo, &[], "git switch -qc other").ok();
    stage("good");
    let script = "set -e; git switch -q agentwt/task; echo 1 >src/mod/util.rs; git stash push -q src/mod/util.rs
        echo 1 >src/one.rs; git add src/one.rs; git commit -qm one";
    fenced(&repo, &[], script).ok();
    assert_eq!(
        (&*log(&repo), &*staged(), &*status()),
        ("one", "good", "MM src/main.rs")
    );
    let inside = fenced(&repo, &[], "git status --porcelain; git stash drop -q");
    assert_eq!(inside.ok(), "MM src/main.rs");
    // in the middle of something
    let script = "echo 2 >src/one.rs; git commit -qm two src/one.rs; git stash -q
        git rebase -q --onto HEAD~2 HEAD~1; git status --porcelain";
    let _ = fenced(&repo, &[], script);
    let script = "git rebase --abort; git stash pop -q; git status --porcelain";
    fenced(&repo, &[], script).ok();
    // what fits no commit of the run is not thrown away
    fenced(&repo, &[], "git switch -qc again").ok();
    stage("better");
    let script = "set -e; git switch -q agentwt/task; git commit -qm two src/main.rs";
    let said = fenced(&repo, &[], script);
    assert_eq!(said.status, 120, "{said}");
    assert!(
        said.stderr.contains("you staged what the command"),
        "{said}"
    );
    assert_eq!(staged(), "better");
}

#[test]
fn what_a_run_staged_is_kept_where_the_index_of_the_user_stays() {
    let Some(repo) = project() else { return };
    let worktree = repo.worktree("task");
    let kept = || {
        let kept = repo.git(&[
            "for-each-ref",
            "--format=%(refname)",
            "refs/agentwt/kept/task/",
        ]);
        let show = |name: &str| repo.git(&["show", &format!("{name}:src/main.rs")]);
        kept.lines().map(show).collect::<Vec<_>>()
    };
    let script = |content: &str| {
        format!("echo {content} >src/main.rs; git add src/main.rs; echo disk >src/main.rs")
    };
    // the user stages, so the index of the run comes nowhere
    let said = meanwhile(&repo, &script("one"), || {
        repo.sh(&worktree, "echo user >src/user.rs; git add src/user.rs")
            .ok();
    });
    said.ok();
    assert!(
        said.stderr
            .contains("what the command staged is kept: git show refs/"),
        "{said}"
    );
    assert_eq!(kept(), ["one"]);
    // the user commits, so neither do the commits of the run
    let commit = format!(
        "{}; echo 1 >src/one.rs; git add src/one.rs; git commit -qm one src/one.rs",
        script("two")
    );
    let said = meanwhile(&repo, &commit, || {
        repo.git_in(&worktree, &["commit", "-qm", "user"]);
    });
    said.fails(120);
    fenced(&repo, &[], "true").ok();
    let mut all = kept();
    all.retain(|content| content == "two");
    assert!(!all.is_empty());
    // what the user staged before a run is not what the run staged
    repo.sh(&worktree, &script("three")).ok();
    let said = meanwhile(&repo, "true", || {
        repo.sh(&worktree, "echo more >src/user.rs; git add src/user.rs")
            .ok();
    });
    said.ok();
    assert!(!said.stderr.contains("is kept"), "{said}");
}

#[test]
fn a_branch_of_a_run_is_kept_also_where_its_commit_was_there() {
    let Some(repo) = project() else { return };
    let script = "set -e; git switch -qc side; echo 1 >src/main.rs; git commit -qam side";
    fenced(&repo, &[], script).ok();
    let script = "set -e; git switch -q agentwt/task; git branch same; git branch same2 main
        git commit -q --allow-empty -m gone; git reset -q --hard HEAD~; git stash list";
    fenced(&repo, &[], script).ok();
    let gone = repo.git_in(
        &repo.worktree("task"),
        &["log", "-1", "--format=%H", "-g", "--grep-reflog=abandoned"],
    );
    fenced(&repo, &[], &format!("git tag saved {gone}")).ok();
    let all = [
        "log",
        "--format=%s",
        "--glob=refs/agentwt/kept",
        "--not",
        "agentwt/task",
    ];
    let mut all: Vec<String> = repo.git(&all).lines().map(str::to_owned).collect();
    all.sort_unstable();
    assert_eq!(all, ["gone", "side"]);
    let said = fenced(&repo, &[], "true");
    said.ok();
    assert!(!said.stderr.contains("are kept"), "{said}");
    // what an earlier run left for a time is kept, too
    let script = "git checkout -q --detach; git commit -q --allow-empty -m detached";
    fenced(&repo, &[], script).ok();
    fenced(&repo, &[], "git branch save; git switch -q agentwt/task").ok();
    let kept = repo.git(&["log", "--format=%s", "--glob=refs/agentwt/kept"]);
    assert!(kept.contains("detached"), "{kept}");
}

#[test]
fn what_a_stopped_import_has_fetched_is_kept_all_the_same() {
    let Some(repo) = project() else { return };
    let script = "git switch -qc side; git commit -q --allow-empty -m side; git switch -q -
        git commit -q --allow-empty -m gone; git reset -q --hard HEAD~; git commit -q --allow-empty -m good
        echo 1 >src/main.rs; git stash -q; git checkout -q --detach HEAD~";
    let said = meanwhile(&repo, script, || {
        let from = private(&repo).join("git/objects/??");
        let to = repo.main().join(".git/objects");
        // objects are read-only
        let copy = format!("cp -Rn {} {}", from.display(), to.display());
        repo.sh(repo.main(), &copy).ok();
    });
    said.ok();
    assert_eq!(log(&repo), "good");
    let mut kept: Vec<String> = repo
        .git(&[
            "log",
            "--format=%s",
            "--glob=refs/agentwt/",
            "--not",
            "agentwt/task",
        ])
        .lines()
        .map(|line| line.split(' ').next().unwrap_or_default().to_owned())
        .collect();
    kept.sort_unstable();
    assert_eq!(kept, ["WIP", "gone", "index", "side"]);
    fenced(&repo, &[], "git switch -q agentwt/task; git stash drop -q").ok();
    let worktree = repo.worktree("task");
    let log = repo.git_in(&worktree, &["log", "-g", "--format=%s"]);
    assert!(log.contains("gone"), "{log}");
}

#[test]
fn submodules_that_a_run_made_stay() {
    let Some(repo) = project() else { return };
    let script =
        "git init -q --bare $AGENTWT_PRIVATE_GIT/modules/x; git commit -q --allow-empty -m one";
    fenced(&repo, &[], script).ok();
    assert!(private(&repo).join("git/modules/x/HEAD").exists());
    meanwhile(&repo, "git commit -q --allow-empty -m two", || {
        let worktree = repo.worktree("task");
        repo.git_in(&worktree, &["commit", "-q", "--allow-empty", "-m", "user"]);
    })
    .fails(120);
    let said = fenced(&repo, &[], "true");
    said.ok();
    assert!(said.stderr.contains("git directory is kept at"), "{said}");
    let kept = private(&repo).with_file_name("damaged0");
    assert!(kept.join("modules/x/HEAD").exists());
}

#[test]
fn a_merge_in_progress_is_on_top_of_the_commit_where_it_began() {
    let Some(repo) = project() else { return };
    let worktree = repo.worktree("task");
    let side = "git switch -qc side; echo side >src/main.rs; git commit -qam side; git switch -q -";
    let script = format!("{side}; git merge -q --no-commit --no-ff side");
    fenced(&repo, &[], &script).ok();
    repo.sh(
        &worktree,
        "echo user >src/user.rs; git add src/user.rs; git commit -qm user -- src/user.rs",
    )
    .ok();
    let said = fenced(
        &repo,
        &[],
        "git diff --cached --name-only; git commit -qm merged",
    );
    assert_eq!(said.fails(120).stdout, "src/main.rs\n");
    let merge = "git stash -q -u; git merge -q --no-edit refs/agentwt/incoming/task; cat src/user.rs src/main.rs";
    assert_eq!(repo.sh(&worktree, merge).ok(), "user\nside");
}

#[test]
fn an_amended_commit_comes_in_beside_a_stash() {
    let Some(repo) = project() else { return };
    let script = "echo 1 >src/main.rs; git stash -q; echo 1 >src/one.rs; git add src/one.rs; git commit -qm one";
    fenced(&repo, &[], script).ok();
    fenced(&repo, &[], "git commit -q --amend -m two").ok();
    assert_eq!(log(&repo), "two");
    fenced(
        &repo,
        &[],
        "git commit -q --amend -m three; git stash drop -q",
    )
    .ok();
    assert_eq!(log(&repo), "three");
}

#[test]
fn the_lock_of_an_import_that_was_killed_is_not_that_of_another() {
    let Some(repo) = project() else { return };
    let lock = repo.main().join(".git/worktrees/task/index.lock");
    std::fs::write(&lock, "git-agentwt").expect("it is ours");
    let commit = "echo 1 >>src/one.rs; git add src/one.rs; git commit -qm one";
    fenced(&repo, &[], commit).ok();
    assert!(!lock.exists());
    // but that of a git is
    std::fs::write(&lock, "").expect("it is ours");
    let said = fenced(&repo, &[], commit);
    let way = "when that is over: git agentwt exec task -- true";
    assert!(said.fails(120).stderr.contains(way), "{said}");
    let said = fenced(&repo, &[], "true");
    let said = said.fails(125);
    assert!(said.stderr.contains("index.lock"), "{said}");
    std::fs::remove_file(&lock).expect("it is ours");
    fenced(&repo, &[], "git stash list").ok();
    assert_eq!(log(&repo), "one\none");
}

#[test]
fn what_the_user_merged_of_a_run_does_not_stay_away() {
    let Some(repo) = project() else { return };
    let worktree = repo.worktree("task");
    let script = "echo 1 >src/one.rs; git add src/one.rs; git commit -qm one";
    let said = meanwhile(&repo, script, || {
        repo.git_in(&worktree, &["commit", "-q", "--allow-empty", "-m", "user"]);
    });
    said.fails(120);
    let merge = "git stash -q -u && git merge -q --no-edit refs/agentwt/incoming/task";
    repo.sh(&worktree, merge).ok();
    let said = fenced(
        &repo,
        &[],
        "git status --porcelain; git log -1 --format=%s HEAD^2",
    );
    assert_eq!(said.ok(), "one");
    assert!(!said.stderr.contains("is without"), "{said}");
}

#[test]
fn a_filter_of_the_attributes_that_a_setting_names_runs_in_a_run() {
    let repo = TestRepo::project();
    let script = "echo '*.dat filter=up' >.git/mine; git config filter.up.clean 'tr a-z A-Z'
        git config core.attributesFile $PWD/.git/mine";
    repo.sh(repo.main(), script).ok();
    repo.add("task");
    if !repo.has_fence(&[]) {
        return;
    }
    let script =
        "echo small >src/x.dat; git add src/x.dat; git commit -qm x; git show HEAD:src/x.dat";
    assert_eq!(fenced(&repo, &[], script).ok(), "SMALL");
}

#[test]
fn a_path_with_a_new_line_is_no_other_path() {
    let Some(repo) = project() else { return };
    let allow = if is_root() { "--allow-root" } else { "" };
    let odd = repo.main().join("a\n\"b");
    let line = format!(
        "odd='{}'; git clone -q . \"$odd\"; cd \"$odd\"; git-agentwt add task --write 'src/**'
        git-agentwt exec task {allow} -- git rev-parse HEAD",
        odd.display()
    );
    let said = repo.sh(repo.main(), &line);
    assert_eq!(
        said.ok().lines().last(),
        Some(&*repo.git(&["rev-parse", "HEAD"])),
        "{said}"
    );
}

#[test]
fn what_is_in_progress_goes_on_though_the_user_committed() {
    let Some(repo) = project() else { return };
    let worktree = repo.worktree("task");
    let script = "git switch -qc side; echo side >src/main.rs; git commit -qam side; git switch -q -
        echo mine >src/main.rs; git commit -qam mine; echo precious >src/mod/util.rs; git rebase -q --autostash side";
    let said = meanwhile(&repo, script, || {
        repo.git_in(&worktree, &["commit", "-q", "--allow-empty", "-m", "user"]);
    });
    said.fails(120);
    fenced(&repo, &[], "git rebase --abort; cat src/mod/util.rs").fails(120);
    let text = std::fs::read_to_string(worktree.join("src/mod/util.rs"));
    assert_eq!(text.expect("it is there"), "precious\n");
    let said = fenced(&repo, &[], "git log -1 --format=%s");
    assert_eq!(said.ok(), "user");
    assert!(said.stderr.contains("is without the commits"), "{said}");
}

#[test]
fn a_name_that_no_ref_can_have_hides_no_commit() {
    let Some(repo) = project() else { return };
    let script = "set -e; git commit -q --allow-empty -m one; git pack-refs --all
        echo \"$(git rev-parse HEAD) ../../x: Permission denied\" >>$AGENTWT_PRIVATE_GIT/packed-refs";
    fenced(&repo, &[], script).ok();
    assert_eq!(log(&repo), "one");
    // nor is what git quotes of a file taken for what the disk said
    let script = "set -e; mkdir src/m; printf '[submodule \"x\"]\n\tpath = x\n\turl = --x: Permission denied\n' >src/m/.gitmodules
        git add src/m; git commit -qm two";
    fenced(&repo, &[], script).fails(5);
    let said = fenced(&repo, &[], "true");
    said.ok();
    assert!(said.stderr.contains("is damaged"), "{said}");
}

#[test]
fn a_file_that_an_index_calls_clean_is_read_by_git() {
    let Some(repo) = project() else { return };
    let old = repo.git(&["rev-parse", "HEAD:src/main.rs"]);
    let leave = "set -e; echo s >src/s.rs; git add -A; git stash -q
        echo hidden >src/main.rs; sleep 1.1; git add src/main.rs; git rev-parse :src/main.rs";
    let new = fenced(&repo, &[], leave).ok();
    let file = private(&repo).join("git/index");
    let mut bytes = std::fs::read(&file).expect("the run left it");
    let (old, new) = (bytes_of(&old), bytes_of(&new));
    let at = bytes.windows(new.len()).position(|part| part == new);
    let at = at.expect("the entry has it");
    bytes[at..at + new.len()].copy_from_slice(&old);
    let end = bytes.len() - old.len();
    bytes[end..].fill(0);
    std::fs::write(&file, bytes).expect("it is ours");
    fenced(&repo, &[], "true").ok();
    let status = repo.git_in(&repo.worktree("task"), &["status", "--porcelain"]);
    assert_eq!(status, " M src/main.rs");
}

/// The bytes of an object id.
fn bytes_of(id: &str) -> Vec<u8> {
    let digit = |at| u8::from_str_radix(&id[at..at + 2], 16).expect("hexadecimal");
    (0..id.len()).step_by(2).map(digit).collect()
}

#[test]
fn contents_of_large_files_come_along_by_their_name() {
    let Some(repo) = project() else { return };
    // as git-lfs stores them
    let script = "set -e; echo big >src/big; id=$(sha256sum src/big | cut -c 1-64); d=$AGENTWT_PRIVATE_GIT/lfs/objects/aa/bb
        mkdir -p $d; cp src/big $d/$id; other=$(echo other | sha256sum | cut -c 1-64); echo forged >$d/$other
        ln -s /etc/passwd $d/${id%?}x; git add -A; git commit -qm big; echo $id";
    let id = fenced(&repo, &[], script).ok();
    let objects = repo.main().join(".git/lfs/objects/aa/bb");
    let names = std::fs::read_dir(objects).into_iter().flatten().flatten();
    let names: Vec<_> = names.map(|entry| entry.file_name()).collect();
    assert_eq!(names, [&*id]);
    assert!(!private(&repo).join("git").exists());
}

#[test]
fn a_large_file_of_lfs_is_not_in_memory_at_once() {
    let Some(repo) = project() else { return };
    let name = "a".repeat(64);
    let line = format!(
        "ulimit -v 500000; git-agentwt exec task --fence=landlock {} -- sh -c 'd=$AGENTWT_PRIVATE_GIT/lfs/objects/aa/aa; mkdir -p $d
        truncate -s 600M $d/{name}'",
        if is_root() { "--allow-root" } else { "" },
    );
    repo.sh(repo.main(), &line).ok();
}

#[test]
fn a_repository_that_a_run_made_is_named() {
    let Some(repo) = project() else { return };
    let script = "mkdir -p src/a/objects src/a/refs src/b src/c/.git
        echo 'ref: refs/heads/main' | tee src/a/HEAD src/c/.git/HEAD >src/b/HEAD; echo ../a >src/b/commondir";
    let said = fenced(&repo, &[], script);
    for path in ["src/a", "src/b", "src/c"] {
        let note = format!("{path} is a repository of its own");
        assert!(said.stderr.contains(&note), "{said}");
    }
}

#[test]
fn what_a_command_reset_away_is_in_the_reflog() {
    let Some(repo) = project() else { return };
    let script = "set -e; echo 1 >src/one.rs; git add -A; git commit -qm one; git rev-parse HEAD
        git commit -q --amend -m two; git rev-parse HEAD; git reset -q --hard HEAD~1";
    let said = fenced(&repo, &[], script).ok();
    assert_eq!(said.lines().count(), 2);
    let log = repo.git_in(&repo.worktree("task"), &["reflog", "--no-abbrev"]);
    for abandoned in said.lines() {
        assert!(log.contains(abandoned), "{log}");
        repo.git(&["gc", "--quiet", "--prune=now"]);
        repo.git(&["cat-file", "-e", abandoned]);
    }
    assert_eq!(runs(&repo), "");
    repo.agentwt(&["verify", "task"]).ok();
    fenced(&repo, &[], "true").ok();
    repo.agentwt(&["remove", "task"]).ok();
}

#[test]
fn what_a_command_reset_away_is_kept_by_a_ref_while_a_git_has_the_lock_of_head() {
    let Some(repo) = project() else { return };
    let log = repo.main().join(".git/worktrees/task/logs/HEAD");
    let before = std::fs::read_to_string(&log).expect("the log of HEAD");
    let lock = repo.main().join(".git/worktrees/task/HEAD.lock");
    std::fs::write(&lock, "").expect("the lock of a git");
    let script = "set -e; echo 1 >src/one.rs; git add -A; git commit -qm one; git rev-parse HEAD
        git reset -q --hard HEAD~1";
    let abandoned = fenced(&repo, &[], script).ok();
    let after = std::fs::read_to_string(&log).expect("the log of HEAD");
    assert_eq!(
        after, before,
        "the git that has the lock may write the log anew"
    );
    std::fs::remove_file(&lock).expect("the lock is still that of the other git");
    repo.git(&["gc", "--quiet", "--prune=now"]);
    repo.git(&["cat-file", "-e", &abandoned]);
}

#[test]
fn what_a_command_does_to_its_git_directory_hides_nothing_of_its_commits() {
    let Some(repo) = project() else { return };
    let hidings = [
        "git config transfer.hideRefs refs/",
        "echo ../../../../.. >$AGENTWT_PRIVATE_GIT/commondir",
        "git rev-parse HEAD >$AGENTWT_PRIVATE_GIT/shallow",
        "chmod 0 $AGENTWT_PRIVATE_GIT",
        "mv $AGENTWT_PRIVATE_GIT/refs $AGENTWT_PRIVATE_GIT/r; ln -s r $AGENTWT_PRIVATE_GIT/refs",
    ];
    for (number, hiding) in hidings.into_iter().enumerate() {
        let script = format!(
            "set -e; echo {number} >src/one.rs; git add -A; git commit -qm {number}
            echo x >>src/one.rs; git stash -q; {hiding}"
        );
        fenced(&repo, &[], &script).ok();
        assert!(log(&repo).starts_with(&number.to_string()), "{hiding}");
        assert!(
            runs(&repo).contains("refs/agentwt/run/task/"),
            "{hiding}: the stash"
        );
        fenced(&repo, &[], "git stash drop -q").ok();
    }
    assert_eq!(runs(&repo), "");
}

#[test]
fn a_link_in_the_git_directory_of_a_run_lets_nothing_be_removed_elsewhere() {
    let Some(repo) = project() else { return };
    for planted in ["refs/heads/agentwt", "refs/heads", "refs"] {
        let below = "refs/heads/agentwt"
            .strip_prefix(planted)
            .expect("it is above");
        let file = repo.main().join(format!("own{below}/task.lock"));
        std::fs::create_dir_all(file.parent().expect("it has one")).expect("it is ours");
        std::fs::write(&file, "mine").expect("it is ours");
        let script = format!(
            "cd $AGENTWT_PRIVATE_GIT && rm -rf {planted} && ln -s {}/own {planted}",
            repo.main().display()
        );
        let _ = fenced(&repo, &[], &script);
        assert!(file.exists(), "{planted}");
        let _ = fenced(&repo, &[], "true");
        assert!(file.exists(), "{planted}");
    }
}

#[test]
fn with_a_refused_index_the_next_run_goes_on_and_can_mend_it() {
    let Some(repo) = project() else { return };
    let script = "set -e; echo 1 >src/one.rs; git add -A; git commit -qm one
        git update-index --assume-unchanged src/one.rs";
    let said = fenced(&repo, &[], script);
    assert_eq!(said.status, 120, "{said}");
    assert!(said.stderr.contains("marked assume-unchanged"), "{said}");
    let script = "git log -1 --format=%s; git update-index --no-assume-unchanged src/one.rs";
    let said = fenced(&repo, &[], script).ok();
    assert_eq!(said, "one", "the commit is there again");
    assert_eq!(log(&repo), "one");
}

#[test]
fn what_is_in_the_middle_or_put_aside_is_there_again() {
    let Some(repo) = project() else { return };
    let script = "set -e; for n in 1 2; do echo $n >src/one.rs; git add -A; git commit -qm $n; done
        echo 3 >src/staged.rs; git add src/staged.rs; git stash -q
        GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git rebase -q -i HEAD~2 2>/dev/null";
    let said = fenced(&repo, &[], script);
    said.ok();
    assert!(said.stderr.contains("in the middle of a rebase"), "{said}");
    assert!(runs(&repo).contains("refs/agentwt/run/task/"));
    let script = "set -e; git commit -q --amend -m first; git rebase --continue >/dev/null 2>&1
        git stash pop -q; git commit -qm staged";
    fenced(&repo, &[], script).ok();
    assert_eq!(log(&repo), "staged\n2\nfirst");
    assert_eq!(runs(&repo), "");
    // and a worktree of its own, with the HEAD of that one
    let script =
        "git worktree add -q --detach src/w && cd src/w && git commit -q --allow-empty -m own";
    fenced(&repo, &[], script).ok();
    // also after a commit of the user, which the next one is made on
    let worktree = repo.worktree("task");
    repo.git_in(&worktree, &["commit", "-q", "--allow-empty", "-m", "user"]);
    let script = "git commit -q --allow-empty -m next";
    fenced(&repo, &[], script).ok();
    assert_eq!(log(&repo), "next\nuser\nstaged\n2\nfirst");
    // what the user threw away does not come again
    repo.git_in(&worktree, &["reset", "-q", "--hard", "HEAD~1"]);
    fenced(&repo, &[], "true").ok();
    assert_eq!(log(&repo), "user\nstaged\n2\nfirst");
    let script = "git -C src/w log -1 --format=%s && git worktree remove src/w";
    assert_eq!(fenced(&repo, &[], script).ok(), "own");
    assert!(!private(&repo).join("git").exists());
}

#[test]
fn branches_and_tags_of_a_run_are_kept_and_stop_nothing() {
    let Some(repo) = project() else { return };
    let script =
        "set -e; git tag -am t t; git branch merged; git switch -qc side; echo 1 >src/side.rs
        git add -A; git commit -qm side; git switch -q agentwt/task";
    let said = fenced(&repo, &[], script);
    said.ok();
    let named = "kept (2): refs/heads/side, refs/tags/t; to see them";
    assert!(said.stderr.contains(named), "{said}");
    for kept in runs(&repo).lines() {
        repo.git(&["rev-parse", "-q", "--verify", kept]);
    }
    assert_eq!(runs(&repo).matches("refs/agentwt/kept/task/").count(), 2);
    let said = fenced(&repo, &[], "true");
    assert_eq!(said.ok() + &said.stderr, "");
    repo.agentwt(&["remove", "task"]).ok();
}

#[test]
fn what_is_staged_and_not_committed_stays_on_disk_or_in_the_run() {
    let Some(repo) = project() else { return };
    let worktree = repo.worktree("task");
    let script = "set -e; echo 1 >src/one.rs; echo s >src/staged.rs; git add -A
        git commit -qm one src/one.rs; echo other >src/staged.rs";
    fenced(&repo, &[], script).ok();
    repo.git(&["fsck", "--no-progress"]);
    let status = repo.git_in(&worktree, &["status", "--porcelain"]);
    assert_eq!(status, "AM src/staged.rs");
    assert!(!private(&repo).join("git").exists());
    // what the user staged is staged for the command, and stays so; of which files git reads again tells the time
    let index = repo.main().join(".git/worktrees/task/index");
    let time = || std::fs::metadata(&index).and_then(|index| index.modified());
    let before = time().expect("it is there");
    fenced(&repo, &[], "git diff --cached --quiet && exit 1; true").ok();
    assert_eq!(time().expect("it is there"), before);
    assert_eq!(repo.git_in(&worktree, &["show", ":src/staged.rs"]), "s");
    fenced(&repo, &[], "git commit -qm two").ok();
    assert_eq!(repo.git(&["show", "agentwt/task:src/staged.rs"]), "s");
    assert_eq!(log(&repo), "two\none");
    repo.agentwt(&["verify", "task"]).ok();
}

#[test]
fn the_index_of_a_run_comes_without_what_git_would_believe_of_it() {
    let Some(repo) = project() else { return };
    let worktree = repo.worktree("task");
    // one that stands in two files, and one that cannot be read
    for (number, script) in [
        "git update-index --split-index",
        "echo junk >$AGENTWT_PRIVATE_GIT/index",
        "rm $AGENTWT_PRIVATE_GIT/index; ln -s /etc/passwd $AGENTWT_PRIVATE_GIT/index",
        "echo 3 >src/.longr1; git add src/.longr1; sed -i 's#src/.longr1#src/.git./1#' $AGENTWT_PRIVATE_GIT/index
        python3 -c 'import hashlib, os; p = os.environ[\"AGENTWT_PRIVATE_GIT\"] + \"/index\"; b = open(p, \"rb\").read()[:-20]
open(p, \"wb\").write(b + hashlib.sha1(b).digest())'; rm src/.longr1",
    ]
    .into_iter()
    .enumerate()
    {
        let script = format!(
            "set -e; echo {number} >src/one.rs; git add -A; git commit -qm {number}; {script}"
        );
        fenced(&repo, &[], &script).ok();
        assert_eq!(log(&repo).lines().next(), Some(&*number.to_string()));
        assert_eq!(repo.git_in(&worktree, &["status", "--porcelain"]), "");
        repo.agentwt(&["verify", "task"]).ok();
    }
    // that of the user can stand in two files too
    repo.git_in(&worktree, &["update-index", "--split-index"]);
    assert_eq!(fenced(&repo, &[], "git status --porcelain").ok(), "");
    // a tree of which git believes that it is what the entries below it are
    let other = repo.git(&["rev-parse", "HEAD:src"]);
    let docs = repo.git(&["rev-parse", "HEAD:docs"]);
    let leave = "echo left >src/one.rs; git stash -q; git write-tree >/dev/null";
    fenced(&repo, &[], leave).ok();
    let file = private(&repo).join("git/index");
    let mut bytes = std::fs::read(&file).expect("the run left it");
    let (docs, other) = (bytes_of(&docs), bytes_of(&other));
    let at = bytes.windows(docs.len()).rposition(|part| part == docs);
    let at = at.expect("the cached tree has it");
    bytes[at..at + docs.len()].copy_from_slice(&other);
    let end = bytes.len() - docs.len();
    bytes[end..].fill(0);
    std::fs::write(&file, bytes).expect("it is ours");
    fenced(&repo, &[], "true").ok();
    std::fs::write(worktree.join("src/one.rs"), "by the user\n").expect("it is writable");
    repo.git_in(&worktree, &["commit", "-qam", "by the user"]);
    assert_eq!(
        repo.git(&["diff", "--stat", "main", "agentwt/task", "--", "docs"]),
        ""
    );
}

#[test]
fn a_directory_that_is_gone_and_a_log_full_of_rubbish_stop_no_import() {
    let Some(repo) = project() else { return };
    let script = "echo 1 >../one.rs; git add -A ..; git commit -qm one
        i=0; while test $i -lt 30000; do i=$((i+1)); printf '%040d %040d a <a> 1 +0000\tx\n' 0 $i; done >>$AGENTWT_PRIVATE_GIT/logs/HEAD
        rmdir ../gone";
    let place = repo.worktree("task").join("src/gone");
    std::fs::create_dir(&place).expect("it is writable");
    let root = if is_root() { "--allow-root" } else { "" };
    let line = format!("git agentwt exec {root} -- sh -c \"$1\"");
    let began = std::time::Instant::now();
    let output = repo
        .command("sh", &place)
        .args(["-c", &line, "sh", script])
        .output();
    let output = output.expect("sh starts");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(log(&repo), "one");
    assert!(began.elapsed().as_secs() < 60, "each entry was asked for");
}

#[test]
fn what_is_broken_in_the_repository_is_no_damage_of_a_run() {
    let Some(repo) = project() else { return };
    let broken = repo.main().join(".git/refs/heads/broken");
    std::fs::write(&broken, "").expect("it is ours");
    let script = "echo 1 >src/one.rs; git add -A; git commit -qm one";
    for script in [script, "true"] {
        let said = fenced(&repo, &[], script);
        assert!(said.fails(5).stderr.contains("refs/heads/broken"), "{said}");
    }
    std::fs::remove_file(&broken).expect("it is ours");
    fenced(&repo, &[], "true").ok();
    assert_eq!(log(&repo), "one");
}

#[test]
fn what_the_machine_refuses_to_git_is_no_damage_of_a_run() {
    for said in [
        "remote: fatal: Out of memory, malloc failed (tried to allocate 9 bytes)",
        "fatal: cannot create async thread: Resource temporarily unavailable",
        "error: mmap failed: Cannot allocate memory",
    ] {
        let Some(repo) = project() else { return };
        let lock = repo.main().join(".git/refs/heads/agentwt/task.lock");
        std::fs::write(&lock, "").expect("it is ours");
        let script = "echo 1 >src/one.rs; git add -A; git commit -qm one";
        fenced(&repo, &[], script).fails(5);
        std::fs::remove_file(&lock).expect("it is ours");
        let git = format!(
            "case \" $* \" in *\" fetch \"*) echo '{said}' >&2; exit 128;; esac; exec git \"$@\""
        );
        let path = with_git(&repo, &git);
        let allow = if is_root() { "--allow-root" } else { "" };
        let line = format!("{path} git-agentwt exec task {allow} -- true");
        repo.sh(repo.main(), &line).fails(5);
        fenced(&repo, &[], "true").ok();
        assert_eq!(log(&repo), "one", "{said}");
    }
}

#[test]
fn a_git_that_is_ended_in_the_import_is_started_again() {
    let Some(repo) = project() else { return };
    let lock = repo.main().join(".git/refs/heads/agentwt/task.lock");
    std::fs::write(&lock, "").expect("it is ours");
    let script = "echo 1 >src/one.rs; git add -A; git commit -qm one";
    fenced(&repo, &[], script).fails(5);
    std::fs::remove_file(&lock).expect("it is ours");
    let git = "case \" $* \" in *\" fetch \"*) if mkdir ${0%/*}/once 2>/dev/null; then
        echo 'fatal: fetch-pack: invalid index-pack output' >&2; exit 128; fi;; esac; exec git \"$@\"";
    let path = with_git(&repo, git);
    let allow = if is_root() { "--allow-root" } else { "" };
    let line = format!("{path} git-agentwt exec task {allow} -- true");
    repo.sh(repo.main(), &line).ok();
    assert!(repo.root().join("bin/once").exists());
    assert_eq!(log(&repo), "one");
}

#[test]
fn hooks_that_were_there_before_the_run_break_no_seal() {
    let Some(repo) = project() else { return };
    let hooks = repo.home().join("hooks");
    std::fs::create_dir(&hooks).expect("it is ours");
    std::fs::write(hooks.join("pre-commit"), "#!/bin/sh\n").expect("it is ours");
    crate::support::chmod(&hooks.join("pre-commit"), 0o755);
    repo.git(&["config", "--global", "core.hooksPath", "~/hooks"]);
    std::thread::sleep(std::time::Duration::from_millis(20));
    fenced(&repo, &[], "true").fails(120);
    repo.git(&["config", "--global", "--unset", "core.hooksPath"]);
    let hook = repo.main().join(".git/hooks/pre-commit");
    std::fs::create_dir_all(hook.parent().expect("it has one")).expect("it is ours");
    std::fs::write(&hook, "#!/bin/sh\n").expect("it is ours");
    crate::support::chmod(&hook, 0o755);
    repo.agentwt(&["add", "other", "--write=src/**"]).ok();
    std::fs::remove_file(&hook).expect("it is ours");
    std::thread::sleep(std::time::Duration::from_millis(20));
    let allow: &[&str] = if is_root() { &["--allow-root"] } else { &[] };
    let words = [&["exec", "other"], allow, &["--", "true"]].concat();
    repo.agentwt(&words).fails(120);
}

#[test]
fn an_import_that_was_stopped_goes_on() {
    let Some(repo) = project() else { return };
    let lock = repo.main().join(".git/refs/heads/agentwt/task.lock");
    std::fs::write(&lock, "").expect("it is ours");
    let said = fenced(
        &repo,
        &[],
        "echo 1 >src/one.rs; git add -A; git commit -qm one",
    );
    assert_eq!(said.status, 5, "{said}");
    std::fs::remove_file(&lock).expect("it is ours");
    fenced(&repo, &[], "true").ok();
    assert_eq!(log(&repo), "one");
    assert_eq!(runs(&repo), "");
}

#[test]
fn a_bare_repository_is_no_hidden_worktree() {
    let Some(repo) = project() else { return };
    let root = repo.root().display().to_string();
    let script = format!(
        "git clone -q --bare . {root}/bare.git; cd {root}/bare.git; git worktree add -q ../beside main"
    );
    repo.sh(repo.main(), &script).ok();
    let allow = if is_root() { "--allow-root" } else { "" };
    for fence in ["landlock", "mount"] {
        let line = format!(
            "git-agentwt add {fence} --write 'src/**' >/dev/null && git-agentwt exec {fence} --fence {fence} {allow} -- \
            sh -c 'echo 1 >src/one.rs; git add -A; git commit -qm one; cat ../other/src/main.rs {root}/beside/src/main.rs; true'"
        );
        let said = repo.sh(&repo.root().join("beside"), &line);
        if said.status == 9 {
            continue;
        }
        assert_eq!(said.ok(), "");
        let bare = repo.root().join("bare.git");
        let log = repo.git_in(
            &bare,
            &["log", "-1", "--format=%s", &format!("agentwt/{fence}")],
        );
        assert_eq!(log, "one");
    }
}

#[test]
fn a_program_that_looks_in_all_directories_above_is_not_refused() {
    let repo = TestRepo::project();
    for name in ["Cargo.toml", ".cargo/config.toml", "hidden.toml"] {
        repo.write(name, "of the main worktree\n");
    }
    repo.sh(repo.main(), "ln -s secrets/key key.toml").ok();
    repo.write("secret.toml", "harmless\n");
    repo.write("directory.toml", "a file\n");
    repo.commit_all("settings");
    repo.write("own.toml", "untracked\n");
    repo.agentwt(&["add", "task", "--write=src/**", "--exclude=/hidden.toml"])
        .ok();
    repo.sh(
        repo.main(),
        "git rm -q --cached secret.toml; git commit -qm secret; rm directory.toml",
    )
    .ok();
    repo.write("directory.toml/key", "untracked\n");
    // as cargo, pytest and uv do
    let script = "cd src; while [ $PWD != / ]; do cd ..; for name in \
        Cargo.toml .cargo/config.toml; do if test -e $name; then cat $name >/dev/null || exit 1; fi; done; done";
    let main = repo.main().display();
    for fence in ["--fence=landlock", "--fence=mount"] {
        if repo.has_fence(&[fence]) {
            repo.fenced(&[fence], script).ok();
            for name in [
                "hidden.toml",
                "own.toml",
                "key.toml",
                "secret.toml",
                "directory.toml/key",
            ] {
                let said = repo.fenced(&[fence], &format!("cat {main}/{name}"));
                assert_eq!((said.status, &*said.stdout), (1, ""), "{fence} {name}");
            }
        }
    }
}

#[test]
fn the_terminal_of_a_command_is_opened_by_its_names() {
    let Some(repo) = project() else { return };
    let root = if is_root() { "--allow-root" } else { "" };
    for fence in ["landlock", "mount"] {
        if repo.has_fence(&[&format!("--fence={fence}")]) {
            let script = "echo one >/dev/stderr && echo two >$(tty)";
            let line = format!("git-agentwt exec task --fence {fence} {root} -- sh -c '{script}'");
            let Some(said) = repo.on_a_terminal(&line) else {
                return;
            };
            assert_eq!(said, "one\r\ntwo\r\n", "{fence}");
            // and a file that the command is given
            let script = "echo one >/dev/stderr && echo two >/dev/stdout";
            let line = format!(
                "git-agentwt exec task --fence {fence} {root} -- sh -c '{script}' >log 2>errors"
            );
            repo.sh(repo.main(), &line).ok();
            let written =
                ["log", "errors"].map(|name| std::fs::read_to_string(repo.main().join(name)));
            assert_eq!(written.map(Result::unwrap), ["two\n", "one\n"], "{fence}");
            let line = format!(
                "echo kept >input; git-agentwt exec task --fence {fence} {root} -- sh -c 'echo lost >/dev/stdin' <input"
            );
            assert_eq!(repo.sh(repo.main(), &line).status, 2, "{fence}");
        }
    }
}

#[test]
fn one_key_is_one_signal_of_the_command() {
    let Some(repo) = project() else { return };
    if !repo.has_fence(&["--fence=landlock"]) {
        return;
    }
    let worktree = repo.worktree("task");
    let count = "import signal, time\nsignal.signal(2, lambda *_: open('src/log', 'a').write('x'))\n\
        open('src/ready', 'w').close()\nend = time.time() + 1.5\nwhile time.time() < end: time.sleep(0.01)\n";
    std::fs::write(worktree.join("src/count.py"), count).expect("it is ours");
    let allow = if is_root() { "--allow-root" } else { "" };
    let line = format!(
        "git agentwt -C {} exec task --fence=landlock {allow} -- python3 src/count.py",
        worktree.display()
    );
    let mut command = repo.command("script", repo.main());
    command
        .args(["-qec", &line, "/dev/null"])
        .env("SHELL", "/bin/sh");
    let command = command.stdin(Stdio::piped()).stdout(Stdio::null());
    let Ok(mut terminal) = command.spawn() else {
        return;
    };
    let mut tries = 0..500;
    while !worktree.join("src/ready").exists() && tries.next().is_some() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let keys = terminal.stdin.as_mut().expect("a pipe");
    keys.write_all(b"\x03")
        .and_then(|()| keys.flush())
        .expect("it reads");
    terminal.wait().expect("it ends");
    let log = std::fs::read_to_string(worktree.join("src/log"));
    assert_eq!(log.unwrap_or_default(), "x");
}

#[test]
fn a_command_that_stops_itself_stops_the_whole_job() {
    let Some(repo) = project() else { return };
    let root = if is_root() { "--allow-root" } else { "" };
    let script = repo.worktree("task").join("src/stop.sh");
    std::fs::write(&script, "kill -TSTP $$; echo on\n").expect("it is ours");
    let exec = format!("git agentwt exec task {root} -- sh {}", script.display());
    let line =
        format!("timeout --foreground -k 2 20 bash --norc -ic '{exec}; echo shell; fg >/dev/null'");
    let Some(said) = repo.on_a_terminal(&line) else {
        return;
    };
    let lines: Vec<&str> = said.lines().map(str::trim).collect();
    assert!(lines.ends_with(&["shell", "on"]), "{said}");
}

#[test]
fn nothing_behind_a_link_is_granted() {
    let Some(repo) = project() else { return };
    repo.agentwt(&["add", "other", "--write=src/way/in/**"])
        .ok();
    let outside = repo.root().join("outside");
    std::fs::create_dir_all(outside.join("in")).expect("it is ours");
    let way = repo.worktree("other").join("src/way");
    std::os::unix::fs::symlink(&outside, way).expect("it is ours");
    let root: &[&str] = if is_root() { &["--allow-root"] } else { &[] };
    let words = [&["exec", "other", "--print-policy"], root, &["--", "true"]];
    let policy = repo.agentwt(&words.concat()).ok();
    assert!(!policy.contains("\"path\": \"src/way"), "{policy}");
    let script = format!("touch {}/in/new", outside.display());
    let words = [&["exec", "other"], root, &["--", "sh", "-c", &script]];
    assert_ne!(repo.agentwt(&words.concat()).status, 0);
    assert!(!outside.join("in/new").exists());
}

#[test]
fn a_branch_that_the_user_moved_meanwhile_stays() {
    let Some(repo) = project() else { return };
    let worktree = repo.worktree("task");
    let ready = repo.root().join("ready");
    let script = format!(
        "echo 1 >src/one.rs; git add -A; git commit -qm one; for n in $(seq 200); do test -e {} && break; sleep 0.05; done",
        ready.display()
    );
    let user = |dir: &Path| {
        repo.git_in(dir, &["commit", "-q", "--allow-empty", "-m", "of the user"]);
        std::fs::write(&ready, "").expect("it is ours");
    };
    let said = std::thread::scope(|threads| {
        let run = threads.spawn(|| fenced(&repo, &[], &script));
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
    assert_eq!(log(&repo), "of the user");
    let kept = repo.git(&["log", "-1", "--format=%s", "refs/agentwt/incoming/task"]);
    assert_eq!(kept, "one");
    fenced(&repo, &[], "git log -1 --format=%s; test -e src/one.rs").ok();
    let kept = runs(&repo);
    assert!(kept.starts_with("refs/agentwt/kept/task/"), "{kept}");
}

#[test]
fn a_killed_run_is_imported_by_the_next() {
    let Some(repo) = project() else { return };
    let before = tip(&repo);
    let line = format!(
        "git-agentwt exec task {} -- sh -c 'echo 1 >src/one.rs; git add -A; git commit -qm one; sleep 5' & run=$!
        for n in $(seq 200); do test -e {}/git/refs/heads/agentwt/task && break; sleep 0.05; done; kill -9 $run; wait $run",
        if is_root() { "--allow-root" } else { "" },
        private(&repo).display()
    );
    let _ = repo.sh(repo.main(), &line);
    assert_eq!(tip(&repo), before, "the branch is where it was");
    let said = fenced(&repo, &[], "git log -1 --format=%s").ok();
    assert_eq!((said.as_str(), log(&repo).as_str()), ("one", "one"));
}

#[test]
fn what_a_killed_exec_left_running_ends_before_the_next_run() {
    let Some(repo) = project() else { return };
    let pid = repo.worktree("task").join("src/pid");
    let line = format!(
        "git-agentwt exec task --fence=landlock {} -- sh -c 'echo 1 >src/one.rs; git add -A; git commit -qm one
        (setsid sh -c \"echo \\$\\$ >src/new; mv src/new src/pid; exec sleep 1000\" &); sleep 1000' >/dev/null 2>&1 & run=$!
        for n in $(seq 200); do test -e {} && break; sleep 0.05; done; kill -9 $run; wait $run",
        if is_root() { "--allow-root" } else { "" },
        pid.display()
    );
    let _ = repo.sh(repo.main(), &line);
    let number = std::fs::read_to_string(&pid).expect("the command ran");
    let line = Path::new("/proc").join(number.trim()).join("cmdline");
    // a process that has ended has none
    let runs = || std::fs::read(&line).is_ok_and(|line| !line.is_empty());
    assert!(runs(), "nothing is left to be ended");
    fenced(&repo, &[], "rm src/pid").ok();
    assert!(!runs(), "it goes on");
    assert_eq!(log(&repo), "one");
}

/// Removes a file at the end, so that a command ends also where a test panics.
struct Removed<'a>(&'a Path);

impl Drop for Removed<'_> {
    fn drop(&mut self) {
        // it is gone where the directory is
        let _ = std::fs::remove_file(self.0);
    }
}

/// Runs a script in the fence while something else is done: that begins when the script has ended, and the
/// run ends after it.
fn meanwhile(repo: &TestRepo, script: &str, other: impl FnOnce()) -> Said {
    let done = repo.worktree("task").join("src/done");
    let script = format!("{script}; touch src/done; while test -e src/done; do sleep 0.01; done");
    std::thread::scope(|threads| {
        let run = threads.spawn(|| fenced(repo, &[], &script));
        while !done.exists() {
            std::thread::yield_now();
        }
        let removed = Removed(&done);
        other();
        drop(removed);
        run.join().expect("it ends")
    })
}

#[test]
fn the_index_of_a_run_is_not_given_to_another_branch() {
    let Some(repo) = project() else { return };
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
    assert_eq!(log(&repo), "");
    let staged = repo.git_in(&worktree, &["diff", "--cached", "--name-only"]);
    assert_eq!(staged, "", "the index is that of the other branch");
    repo.git_in(&worktree, &["switch", "-qf", "agentwt/task"]);
    fenced(&repo, &[], "true").ok();
    assert_eq!(log(&repo), "one");
    let status = repo.git_in(&worktree, &["status", "--porcelain"]);
    assert_eq!(status, "");
}

#[test]
fn what_the_user_stages_meanwhile_stays_staged() {
    let Some(repo) = project() else { return };
    let worktree = repo.worktree("task");
    let script = "echo 1 >src/one.rs; git add -A; git commit -qm one";
    let stage = "echo v1 >src/user.rs; git add src/user.rs; echo v2 >src/user.rs";
    let said = meanwhile(&repo, script, || {
        repo.sh(&worktree, stage).ok();
    });
    said.ok();
    assert_eq!(log(&repo), "one");
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
    assert_eq!(log(&repo), "one", "the branch stays");
    assert_eq!(repo.git_in(&worktree, &["show", ":src/main.rs"]), "v1");
    // a git that writes the index anew and stages nothing stops nothing
    repo.git_in(&worktree, &["reset", "-q"]);
    std::fs::remove_file(worktree.join("src/user.rs")).expect("it is there");
    fenced(&repo, &[], "true").ok();
    meanwhile(&repo, script, || {
        repo.git_in(&worktree, &["reset", "-q"]);
    })
    .ok();
    assert_eq!(log(&repo), "two\none");
}

#[test]
fn a_merge_that_the_user_begins_meanwhile_is_finished_first() {
    let Some(repo) = project() else { return };
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
    repo.git_in(&worktree, &["merge", "--abort"]);
    fenced(&repo, &[], "true").ok();
    assert_eq!(log(&repo), "one\nmine");
}

#[test]
fn a_staged_file_stays_where_the_command_commits_a_directory_of_that_name() {
    for (staged, commit) in [("src/d", "src/d/f"), ("src/e/f", "src/e")] {
        let Some(repo) = project() else { return };
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
        assert_eq!(log(&repo), "", "the branch stays");
        let content = repo.git_in(&worktree, &["show", &format!(":{staged}")]);
        assert_eq!(content, "v1");
        // with nothing of the user beside it, the commit comes
        repo.git_in(&worktree, &["reset", "-q"]);
        fenced(&repo, &[], "true").ok();
        assert_eq!(log(&repo), "one");
    }
}

#[test]
fn what_the_user_commits_during_the_import_stops_it() {
    let commit = "commit -q --allow-empty -m user";
    // as a commit whose lock of the index was before ours
    let move_head = "update-ref HEAD $(git commit-tree -p HEAD -m user HEAD^{tree})";
    for (when, command) in [(" fetch ", commit), ("of a fenced command", move_head)] {
        let Some(repo) = project() else { return };
        let worktree = repo.worktree("task");
        let git = format!(
            "case \" $* \" in *\"{when}\"*) if mkdir ${{0%/*}}/once 2>/dev/null; then
            (unset GIT_DIR GIT_WORK_TREE; cd {}; git {command} >&2); fi;; esac; exec git \"$@\"",
            worktree.display()
        );
        let path = with_git(&repo, &git);
        let allow = if is_root() { "--allow-root" } else { "" };
        let script = "echo 1 >src/one.rs; git add -A; git commit -qm one";
        let line = format!("{path} git-agentwt exec task {allow} -- sh -c '{script}'");
        let said = repo.sh(repo.main(), &line);
        said.fails(120);
        assert!(said.stderr.contains("it moved"), "{said}");
        let staged = repo.git_in(&worktree, &["diff", "--cached", "--name-only"]);
        assert_eq!((&*staged, &*log(&repo)), ("", "user"), "{when}");
        fenced(&repo, &[], "true").ok();
        assert_eq!(log(&repo), "user");
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
    let allow = if is_root() { "--allow-root" } else { "" };
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
    let Some(repo) = project() else { return };
    let worktree = repo.worktree("task");
    let status = || repo.git_in(&worktree, &["status", "--porcelain"]);
    meanwhile(&repo, "echo 1 >>src/main.rs", || {
        let hide = ["scope", "task", "--add-exclude", "docs/**"];
        repo.agentwt(&hide).ok();
    })
    .ok();
    assert_eq!(status(), " M src/main.rs");
    // also where the user stages while the command merges a file that is hidden
    repo.write("secrets/new", "hidden\n");
    repo.sh(repo.main(), "git add -f secrets; git commit -qm hidden")
        .ok();
    let merge = "git commit -qam mine; git merge -q --no-edit main";
    meanwhile(&repo, merge, || {
        repo.sh(&worktree, "echo u >src/user.rs; git add src/user.rs")
            .ok();
    })
    .ok();
    assert_eq!(status(), "A  src/user.rs");
    let hidden = repo.git_in(&worktree, &["ls-files", "-t", "secrets/new"]);
    assert_eq!(hidden, "S secrets/new");
}

#[test]
fn other_programs_than_git_find_the_objects_of_the_repository() {
    let Some(repo) = project() else { return };
    for fence in ["landlock", "mount"] {
        let fence = format!("--fence={fence}");
        if repo.has_fence(&[&fence]) {
            let script = "sed s,^,:, \"$(git rev-parse --git-dir)/objects/info/alternates\"";
            let said = fenced(&repo, &[&fence], script).ok();
            assert_eq!(said, ":$TMP/repo/.git/objects", "they read no quotes");
        }
    }
}

#[test]
fn a_git_that_only_looks_stops_nothing() {
    let Some(repo) = project() else { return };
    let worktree = repo.worktree("task");
    std::fs::write(worktree.join("src/user.rs"), "v1\n").expect("it is writable");
    repo.git_in(&worktree, &["add", "src/user.rs"]);
    let script = "echo 1 >src/one.rs; git add src/one.rs; git commit -qm one src/one.rs";
    let look = || {
        let index = repo.main().join(".git/worktrees/task/index");
        let time = |file: &Path| {
            file.metadata()
                .and_then(|meta| meta.modified())
                .expect("a file")
        };
        let before = time(&index);
        while time(&index) == before {
            let file = std::fs::File::open(worktree.join("src/main.rs")).expect("it is there");
            file.set_modified(std::time::SystemTime::now())
                .expect("it is ours");
            repo.git_in(&worktree, &["status", "--porcelain"]);
        }
    };
    meanwhile(&repo, script, look).ok();
    assert_eq!(log(&repo), "one");
    assert_eq!(repo.git_in(&worktree, &["show", ":src/user.rs"]), "v1");
    // what the user takes back is not staged again
    let said = meanwhile(&repo, "true", || {
        repo.git_in(&worktree, &["reset", "-q"]);
    });
    said.ok();
    let status = repo.git_in(&worktree, &["status", "--porcelain"]);
    assert_eq!(status, "?? src/user.rs");
}

#[test]
fn the_index_never_undoes_the_commits_of_a_run() {
    let Some(repo) = project() else { return };
    let worktree = repo.worktree("task");
    let script =
        "set -e; for n in 1 2 3; do echo $n >src/one.rs; git add -A; git commit -qm $n; done
        git checkout -q --detach HEAD~2";
    fenced(&repo, &[], script).ok();
    assert_eq!(log(&repo), "3\n2\n1");
    let staged = || repo.git_in(&worktree, &["diff", "--cached", "--name-only"]);
    assert_eq!(staged(), "");
    fenced(&repo, &[], "git switch -q agentwt/task").ok();
    let lock = repo.main().join(".git/worktrees/task/index.lock");
    std::fs::write(&lock, "").expect("it is ours");
    let said = fenced(&repo, &[], "echo 4 >src/one.rs; git commit -qam 4");
    assert_eq!(said.status, 120, "{said}");
    assert_eq!(log(&repo), "3\n2\n1", "a git is there");
    std::fs::remove_file(&lock).expect("it is ours");
    fenced(&repo, &[], "true").ok();
    assert_eq!(log(&repo), "4\n3\n2\n1");
    assert_eq!(staged(), "");
}

#[test]
fn what_is_broken_in_a_run_keeps_nothing_else_away() {
    let Some(repo) = project() else { return };
    let script = "set -e; echo 1 >src/one.rs; git add -A; git commit -qm one; echo 2 >src/one.rs; git stash -q
        : >$AGENTWT_PRIVATE_GIT/refs/heads/empty; : >$AGENTWT_PRIVATE_GIT/index.lock
        echo 1234567890123456789012345678901234567890 >$AGENTWT_PRIVATE_GIT/refs/heads/gone";
    fenced(&repo, &[], script).ok();
    assert_eq!(log(&repo), "one");
    // that git cannot be started is no damage of what the run left
    let line = format!(
        "exec=$(command -v git-agentwt); PATH=/nonexistent $exec exec task --fence=landlock {} -- /bin/true",
        if is_root() { "--allow-root" } else { "" }
    );
    assert_ne!(repo.sh(repo.main(), &line).status, 0);
    fenced(&repo, &[], "git stash pop -q && git commit -qam two").ok();
    assert_eq!(log(&repo), "two\none");
    // as a loss of power leaves it
    let script = "set -e; echo 3 >src/one.rs; git commit -qam three; echo 4 >src/one.rs; git stash -q
        cd $AGENTWT_PRIVATE_GIT; : >refs/stash; rm refs/heads/agentwt/task; mkdir refs/heads/agentwt/task";
    fenced(&repo, &[], script).ok();
    assert_eq!(log(&repo), "three\ntwo\none");
    fenced(&repo, &[], "git stash pop -q && git commit -qam four").ok();
    // nor is a disk that cannot be written
    if !is_root() {
        let objects = repo.main().join(".git/objects");
        let chmod = |mode: &str| {
            let line = format!(
                "find {} -type d -exec chmod {mode} {{}} +",
                objects.display()
            );
            repo.sh(repo.main(), &line).ok();
        };
        let script = "git commit -q --allow-empty -m z; echo 3 >src/one.rs; git stash -q";
        assert_ne!(meanwhile(&repo, script, || chmod("a-w")).status, 0);
        let said = fenced(&repo, &[], "true");
        assert!(
            said.status != 0 && !said.stderr.contains("damaged"),
            "{said}"
        );
        chmod("u+w");
        let stashes = fenced(&repo, &[], "git stash list | wc -l; git stash clear").ok();
        assert_eq!(stashes.trim(), "1");
        assert_eq!(log(&repo), "z\nfour\nthree\ntwo\none");
    }
    // the stash and the commit before are whole
    let script =
        "set -e; echo 5 >src/one.rs; git commit -qam five; echo 6 >src/one.rs; git stash -q
        echo 7 >src/one.rs; git commit -qam seven; tip=$(git rev-parse HEAD | sed 's#..#&/#')
        chmod u+w $AGENTWT_PRIVATE_GIT/objects/$tip; : >$AGENTWT_PRIVATE_GIT/objects/$tip";
    assert_eq!(fenced(&repo, &[], script).status, 5);
    let said = fenced(&repo, &[], "true");
    assert!(said.stderr.contains("git log --glob="), "{said}");
    let kept = ["--glob=refs/agentwt/kept/task", "--format=%s"];
    let kept = repo.git(&[&["log"], &kept[..]].concat());
    assert!(kept.contains("five") && kept.contains("WIP on"), "{kept}");
}

#[test]
fn killed_at_any_moment_a_run_loses_nothing() {
    let Some(repo) = project() else { return };
    let root = if is_root() { "--allow-root" } else { "" };
    for number in 0..16 {
        let before = tip(&repo);
        let script =
            format!("echo {number} >src/k{number}.rs; git add -A; git commit -qm k{number}");
        // a start takes some ten milliseconds, and so does the import; bubblewrap that is ended as it begins can
        // leave a process that waits, until the next run
        let line = format!(
            "git-agentwt exec task {root} -- sh -c '{script}' >/dev/null 2>&1 & run=$!
            sleep 0.{:03}; kill -9 $run 2>/dev/null; wait $run",
            number * 6
        );
        let _ = repo.sh(repo.main(), &line);
        let now = tip(&repo);
        let made = repo.git(&["log", "-1", "--format=%s", "agentwt/task"]);
        assert!(
            now == before || made == format!("k{number}"),
            "{number}: {made}"
        );
        fenced(
            &repo,
            &[],
            "git add -A; git commit -qm rest || true; git status --porcelain",
        )
        .ok();
        let there = repo
            .worktree("task")
            .join(format!("src/k{number}.rs"))
            .exists();
        let file = format!("agentwt/task:src/k{number}.rs");
        let is_committed = repo.try_git(repo.main(), &["cat-file", "-e", &file]).status == 0;
        assert_eq!(there, is_committed, "{number}");
        repo.agentwt(&["verify", "task"]).ok();
    }
    repo.git(&["fsck", "--no-progress", "--connectivity-only"]);
}

#[test]
fn what_the_command_plants_in_its_git_directory_runs_nothing_outside() {
    let Some(repo) = project() else { return };
    let mark = repo.root().join("mark");
    let script = format!(
        "cd \"$(git rev-parse --absolute-git-dir)\" && printf '#!/bin/sh\\ntouch {0}' >evil && chmod +x evil
        for key in core.fsmonitor core.sshCommand uploadpack.packObjectsHook core.editor diff.external; do
            git config $key \"$PWD/evil\"; done
        mkdir -p hooks; cp evil hooks/post-checkout; cp evil hooks/reference-transaction
        cd \"$AGENTWT_ROOT\"; echo 1 >src/one.rs; git -c core.fsmonitor= add -A; git -c core.fsmonitor= commit -qm one",
        mark.display()
    );
    let _ = fenced(&repo, &[], &script);
    let _ = std::fs::remove_file(&mark);
    let _ = fenced(&repo, &[], "true");
    repo.git_in(&repo.worktree("task"), &["status"]);
    assert!(!mark.exists(), "a planted program ran");
}

#[test]
fn a_damaged_git_directory_is_set_apart_and_the_next_run_begins_anew() {
    let Some(repo) = project() else { return };
    let damage = "cd $AGENTWT_PRIVATE_GIT/objects
        git commit -q --allow-empty -m broken; tip=$(git rev-parse HEAD | sed 's#..#&/#'); chmod u+w $tip; : >$tip";
    let said = fenced(&repo, &[], damage);
    assert_eq!(said.status, 5, "{said}");
    let script = "git status --porcelain; git commit -q --allow-empty -m on";
    let said = fenced(&repo, &[], script);
    said.ok();
    assert!(said.stderr.contains("is damaged, and kept at"), "{said}");
    assert_eq!(log(&repo), "on");
    // a number that was free once is taken again
    fenced(&repo, &[], damage).fails(5);
    fenced(&repo, &[], "true").ok();
    let kept = repo.main().join(".git/agentwt/worktrees/task/damaged0");
    std::fs::remove_dir_all(kept).expect("it is ours");
    fenced(&repo, &[], damage).fails(5);
    fenced(&repo, &[], "true").ok();
    fenced(&repo, &[], damage).fails(5);
    fenced(&repo, &[], "true").ok();
    // what can be written anew is no damage
    for mendable in [
        "rm -r packed-refs info objects/info; mkfifo packed-refs; ln -s $HOME info; touch refs/stash.lock
        chmod 0 HEAD index objects refs",
        "mkfifo pipe; ln -sf pipe HEAD; mkdir index.lock",
        ": >HEAD; : >refs/heads/agentwt/task; rm packed-refs; mkdir packed-refs",
        "git pack-refs --all; : >packed-refs",
        "rm -rf refs/heads objects/info; touch refs/heads objects/info",
        "python3 -c 'import os; [(os.mkdir(\"d\" * 200), os.chdir(\"d\" * 200)) for _ in range(50)]'",
    ] {
        let script = format!("cd $AGENTWT_PRIVATE_GIT; git commit -q --allow-empty -m on; {mendable}");
        fenced(&repo, &[], &script).ok();
    }
    assert_eq!(log(&repo), "on\non\non\non\non\non\non");
    // what goes on has an index
    let junk =
        "echo 1 >src/one.rs; git add -A; git stash -q; echo junk >$AGENTWT_PRIVATE_GIT/index";
    fenced(&repo, &[], junk).ok();
    fenced(&repo, &[], "git stash pop -q && git commit -qm popped").ok();
    assert_eq!(log(&repo).lines().next(), Some("popped"));
    // nothing waits for the pipe
    let place = private(&repo).display().to_string();
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let waits = all.filter(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(&place)
    });
    assert_eq!(waits.count(), 0);
    let said = repo.agentwt(&["remove", "--delete-branch", "task"]);
    assert!(
        said.fails(4).stderr.contains("damaged git directory"),
        "{said}"
    );
    let home = repo.home();
    assert!(!home.join("sparse-checkout").exists() && !home.join("exclude").exists());
}

#[test]
fn statuses_are_those_of_the_command() {
    let Some(repo) = project() else { return };
    for (script, status) in [
        ("exit 3", 3),
        ("kill -TERM $$", 143),
        ("no-such-program", 127),
    ] {
        assert_eq!(fenced(&repo, &[], script).status, status, "{script}");
    }
    assert_eq!(
        fenced(&repo, &["--timeout", "200ms"], "sleep 60").status,
        124
    );
    let said = fenced(&repo, &["--net", "lan"], "true");
    assert_eq!(said.status, 125, "{said}");
    let nested = "git-agentwt exec task -- true; echo $?";
    assert_eq!(fenced(&repo, &[], nested).ok(), "125");
    if is_root() {
        let said = repo.agentwt(&["exec", "task", "--", "true"]);
        assert_eq!(said.status, 125, "{said}");
    }
}

#[test]
fn the_committed_config_only_narrows() {
    let Some(repo) = project() else { return };
    let config = |fence: &str| {
        let text = format!("schema_version = \"1.0\"\n{fence}");
        repo.write(".agentwt/config.toml", &text);
    };
    let outside = repo.root().join("outside");
    std::fs::create_dir(&outside).expect("it is ours");
    let strongest = fenced(&repo, &["-v"], "true").stderr;
    let strongest = strongest.lines().find(|line| line.contains("fence: "));
    let strongest = strongest.expect("it is told").to_owned();
    for kind in ["none", "perms", "landlock"] {
        config(&format!("[fence]\nkind = \"{kind}\"\n"));
        let said = fenced(&repo, &["-v"], "echo x >docs/new");
        assert!(said.stderr.contains(&strongest), "{kind}: {said}");
        assert_ne!(said.status, 0, "{kind}");
    }
    let write = format!("echo x >{}/x", outside.display());
    config(&format!("[fence]\nrw = [\"{}\"]\n", outside.display()));
    let said = fenced(&repo, &[], &write);
    assert!(
        said.status != 0 && said.stderr.contains("`rw` of the config does not count"),
        "{said}"
    );
    repo.git(&[
        "config",
        "--global",
        "agentwt.rw",
        outside.to_str().expect("UTF-8"),
    ]);
    fenced(&repo, &[], &write).ok();
    let connect = "python3 -c 'import socket; socket.socket(socket.AF_INET)'";
    fenced(&repo, &[], connect).ok();
    config("[fence]\nnet = \"none\"\n");
    assert_ne!(fenced(&repo, &[], connect).status, 0, "less network counts");
}

#[test]
fn one_command_at_a_time_runs_in_a_worktree() {
    let Some(repo) = project() else { return };
    std::thread::scope(|threads| {
        let long = threads.spawn(|| fenced(&repo, &[], "touch src/started; sleep 3"));
        while !repo.worktree("task").join("src/started").exists() {
            std::thread::yield_now();
        }
        let said = fenced(&repo, &[], "true");
        assert_eq!(said.status, 125, "{said}");
        assert!(said.stderr.contains("a command runs in"), "{said}");
        long.join().expect("it ends").ok();
    });
}

#[test]
fn run_adds_executes_and_removes_what_is_clean() {
    let Some(repo) = project() else { return };
    let root: &[&str] = if is_root() { &["--allow-root"] } else { &[] };
    let run = |options: &[&str], script: &str| {
        let words = [
            &["run", "other", "--write", "src/**"],
            root,
            options,
            &["--", "sh", "-c", script],
        ];
        repo.agentwt(&words.concat())
    };
    assert_eq!(run(&["--rm"], "echo hello").ok(), "hello");
    assert!(!repo.worktree("other").exists());
    let script = "echo 1 >src/one.rs; git add -A; git commit -qm one";
    let said = run(&["--rm"], script);
    said.ok();
    assert!(said.stderr.contains("the worktree stays"), "{said}");
    assert_eq!(run(&[], "exit 7").status, 7);
}

#[test]
fn to_print_the_policy_runs_and_creates_nothing() {
    let Some(repo) = project() else { return };
    let said = fenced(&repo, &["--print-policy"], "touch src/ran").ok();
    assert!(said.contains("\"grants\""), "{said}");
    let said = repo.agentwt(&["exec", "--all", "--print-policy", "--", "touch", "src/ran"]);
    said.fails(2);
    assert!(!repo.worktree("task").join("src/ran").exists());
    let root: &[&str] = if is_root() { &["--allow-root"] } else { &[] };
    let run = [
        &["run", "new", "--write", "src/**", "--print-policy"],
        root,
        &["--", "true"],
    ];
    repo.agentwt(&run.concat()).fails(7);
    assert!(!repo.worktree("new").exists());
}

#[test]
fn what_cannot_be_granted_starts_nothing_and_leaves_nothing() {
    let Some(repo) = project() else { return };
    let root: &[&str] = if is_root() { &["--allow-root"] } else { &[] };
    for (option, status, said) in [
        ("--rw=.git", 9, "would make the repository writable"),
        ("--rw=.git/hooks", 9, "would make the repository writable"),
        ("--rw=.", 9, "would make the repository writable"),
        ("--rw=/", 9, "would make the repository writable"),
        ("--socket=.git", 9, "would make the repository writable"),
        (
            "--socket=.git/hooks",
            9,
            "would make the repository writable",
        ),
        ("--rw=/nowhere", 125, "something that is there"),
        ("--socket=/nowhere", 125, "something that is there"),
        ("--net=foo", 125, "unknown value"),
    ] {
        let _ = std::fs::create_dir_all(repo.main().join(".git/hooks"));
        let words = ["run", "new", "--write=src/**", option];
        let run = [&words, root, &["--", "touch", "src/ran"]].concat();
        let refused = repo.agentwt(&run);
        assert_eq!(refused.status, status, "{option}: {refused}");
        assert!(refused.stderr.contains(said), "{option}: {refused}");
        assert!(!repo.worktree("new").exists(), "{option}");
        let branch = repo.git(&["branch", "--list", "agentwt/new"]);
        assert_eq!(branch, "", "{option}");
    }
    fenced(&repo, &["--timeout=60"], "true").ok();
    fenced(&repo, &["--timeout=0"], "true").ok();
    fenced(&repo, &["--timeout=1e18"], "true").ok();
    // also before the fence has started it
    for time in ["0.2", "0.003"] {
        let began = std::time::Instant::now();
        let timeout = format!("--timeout={time}");
        assert_eq!(fenced(&repo, &[&timeout], "sleep 30").status, 124);
        assert!(began.elapsed().as_secs() < 5);
    }
}

#[test]
fn no_link_that_a_command_can_have_made_is_followed() {
    let Some(repo) = project() else { return };
    let home = repo.home();
    let link = |to: &str, at: &Path| {
        std::os::unix::fs::symlink(home.join(to), at).expect("it is ours");
    };
    for directory in ["cache/made", ".cache/uv", ".local/dir", "other/deep"] {
        std::fs::create_dir_all(home.join(directory)).expect("it is ours");
    }
    link("other", &home.join("cache/planted"));
    link("cache", &home.join("link"));
    link("other", &home.join(".cache/pip"));
    link("other", &home.join(".local/state"));
    let worktree = repo.worktree("task");
    link("other", &worktree.join("src/planted"));
    let inside = worktree.join("src/planted/deep");
    let script =
        "cd; ls -d cache/made >/dev/null; for at in other other/deep cache cache/made .cache/uv; do
        touch $at/new 2>/dev/null && echo $at; done; true";
    let home_of = |path: &str| format!("--rw={}", home.join(path).display());
    for (option, writable) in [
        (home_of("cache/planted"), ""),
        (home_of("link"), ""),
        (format!("--rw={}", inside.display()), ""),
        (home_of("link/made"), ""),
        (home_of("cache/made"), "cache/made"),
        (home_of("cache"), "cache\ncache/made"),
        ("--preset=uv".to_owned(), ".cache/uv"),
        ("--preset=pip".to_owned(), ""),
        ("--preset=opencode".to_owned(), ""),
    ] {
        let said = fenced(&repo, &[&option], script);
        assert_eq!(said.ok(), writable, "{option}: {said}");
        let is_told = said.stderr.contains("is not followed");
        assert_eq!(is_told, writable.is_empty(), "{option}: {said}");
    }
    // what a preset names is made, and is no link then
    let state = "echo x >~/.npm/state && echo x >src/one.rs && chmod 0 src/one.rs";
    let said = fenced(&repo, &["--preset=npm"], state);
    assert_eq!(said.status, if is_root() { 0 } else { 120 }, "{said}");
    assert!(home.join(".npm/state").exists());
    fenced(&repo, &[], "chmod 644 src/one.rs").ok();
    // nor one in /dev/shm, where a command at landlock may write
    let shared = tempfile::tempdir_in("/dev/shm").expect("there is room");
    link(".local", &shared.path().join("way"));
    let option = format!("--rw={}/way/dir", shared.path().display());
    let said = fenced(&repo, &[&option], "true");
    assert!(said.stderr.contains("is not followed"), "{said}");
    // nor one in what is writable in this run as well
    let options = [home_of("cache"), home_of("cache/planted/deep")];
    let said = fenced(&repo, &options.each_ref().map(|option| &**option), script);
    assert_eq!(said.ok(), "cache\ncache/made");
}

#[test]
fn findings_that_are_alike_are_one_line() {
    let Some(repo) = project() else { return };
    let script = "set -e; blob=$(echo bad | git hash-object -w --stdin)
        for n in $(seq 60); do echo 100644,$blob,docs/new/f$n; done |
        while read entry; do git update-index --add --cacheinfo $entry; done; git commit -qm bad";
    let said = fenced(&repo, &[], script);
    assert_eq!(said.status, 120, "{said}");
    assert!(said.stderr.contains("docs/ (60) created"), "{said}");
    assert!(said.stderr.lines().count() < 10, "{said}");
}

#[test]
fn a_signal_reaches_the_commands_in_all_worktrees() {
    let Some(repo) = project() else { return };
    repo.add("second");
    let line = format!(
        "git-agentwt exec --all {} -- sh -c 'trap \"echo >src/ended; exit 3\" TERM; echo >src/began; while :; do sleep 0.05; done' >/dev/null 2>&1 & run=$!
        for n in $(seq 200); do test -e {1}/src/began && test -e {2}/src/began && break; sleep 0.05; done
        kill -TERM $run; wait $run; echo $?",
        if is_root() { "--allow-root" } else { "" },
        repo.worktree("task").display(),
        repo.worktree("second").display()
    );
    let said = repo.sh(repo.main(), &line);
    assert_eq!(said.stdout.trim(), "143", "{said}");
    for name in ["task", "second"] {
        assert!(repo.worktree(name).join("src/ended").exists(), "{name}");
    }
}

#[test]
fn a_signal_at_any_moment_of_the_start_ends_the_command() {
    let Some(repo) = project() else { return };
    for fence in ["landlock", "mount"] {
        if !repo.has_fence(&[&format!("--fence={fence}")]) {
            continue;
        }
        let line = format!(
            "for ms in 00 04 08 12 16 20 24 28 32 36 40 50 60; do
                git-agentwt exec task --fence={fence} {} -- sleep 30 & run=$!; sleep 0.0$ms; kill -TERM $run; wait $run; echo $?
            done 2>/dev/null",
            if is_root() { "--allow-root" } else { "" }
        );
        let began = std::time::Instant::now();
        let said = repo.sh(repo.main(), &line);
        assert_eq!(said.stdout, "143\n".repeat(13), "{fence}: {said}");
        assert!(
            began.elapsed().as_secs() < 25,
            "{fence}: a command ran to its end"
        );
    }
}

#[test]
fn a_command_that_is_stopped_is_ended_too() {
    let Some(repo) = project() else { return };
    for fence in ["landlock", "mount"] {
        if !repo.has_fence(&[&format!("--fence={fence}")]) {
            continue;
        }
        let line = format!(
            "git-agentwt exec task --fence={fence} {} -- sh -c 'touch src/there; kill -STOP $$; sleep 20' & run=$!
            while ! test -e {}/src/there; do sleep 0.01; done; sleep 0.3; kill -TERM $run; wait $run; echo $?; rm {}/src/there",
            if is_root() { "--allow-root" } else { "" },
            repo.worktree("task").display(),
            repo.worktree("task").display(),
        );
        let began = std::time::Instant::now();
        let said = repo.sh(repo.main(), &line);
        assert_eq!(said.stdout, "143\n", "{fence}: {said}");
        assert!(
            began.elapsed().as_secs() < 15,
            "{fence}: it was not continued"
        );
    }
}

#[test]
fn a_time_limit_ends_a_stopped_command_where_no_shell_waits() {
    let Some(repo) = project() else { return };
    let allow = if is_root() { "--allow-root" } else { "" };
    for fence in ["landlock", "mount"] {
        if !repo.has_fence(&[&format!("--fence={fence}")]) {
            continue;
        }
        // the leader of the session of a terminal, so that its process group is orphaned
        let line = format!(
            "timeout -s KILL 15 script -qec \"git-agentwt exec task --fence={fence} {allow} --timeout 1 -- sh -c 'kill -STOP \\$\\$; sleep 60'\" /dev/null </dev/null"
        );
        let said = repo.sh(repo.main(), &line);
        assert_eq!(said.status, 124, "{fence}: {said}");
    }
}

#[test]
fn a_worktree_that_git_knows_by_a_link_is_hidden() {
    let Some(repo) = project() else { return };
    let script = "git worktree add -q --detach ../known; mv ../known ../real; ln -s real ../known; echo TOP >../real/top";
    repo.sh(repo.main(), script).ok();
    let file = repo.root().join("real/top").display().to_string();
    for fence in ["landlock", "mount"] {
        let fence = format!("--fence={fence}");
        if repo.has_fence(&[&fence]) {
            let said = fenced(&repo, &[&fence], &format!("echo x >src/one.rs; cat {file}"));
            assert!(said.status == 1 && !said.stdout.contains("TOP"), "{said}");
            assert!(repo.worktree("task").join("src/one.rs").exists());
        }
    }
}

#[test]
fn all_worktrees_get_the_command_and_a_table() {
    let Some(repo) = project() else { return };
    repo.add("two");
    let root: &[&str] = if is_root() { &["--allow-root"] } else { &[] };
    let script = "echo in $AGENTWT_NAME; test $AGENTWT_NAME = task";
    let words = [&["exec", "--all"], root, &["--", "sh", "-c", script]].concat();
    let said = repo.agentwt(&words);
    assert_eq!(said.status, 1, "{said}");
    assert!(said.stderr.contains("two | in two"), "{said}");
    assert!(said.stdout.contains("task  ok"), "{said}");
    // a path is that of the directory that `-C` names, and the words of the command are its own
    std::fs::create_dir(repo.main().join("docs/shared")).expect("it is ours");
    let options = ["-C", "docs", "exec", "--json", "--rw=shared", "--all"];
    let script = "test $1 = --all && touch ../../../docs/shared/$AGENTWT_NAME";
    let words = [&options, root, &["--", "sh", "-c", script, "sh", "--all"]].concat();
    let said = repo.agentwt(&words);
    assert!(said.ok().contains("\"outcome\""), "{said}");
    assert!(repo.main().join("docs/shared/two").exists());
    // a directory that is called like a form is none
    std::fs::create_dir(repo.main().join("json")).expect("it is ours");
    let options = ["-C", "json", "exec", "--all", "--format", "json"];
    let words = [&options, root, &["--", "true"]].concat();
    let said = repo.agentwt(&words).ok();
    assert!(said.contains("\"outcome\""), "{said}");
}

#[test]
fn what_a_run_left_is_kept_where_the_directory_is_gone() {
    for with_git in [true, false] {
        let Some(repo) = project() else { return };
        let worktree = repo.worktree("task");
        let script = "echo 1 >src/one.rs; git add -A; git commit -qm one";
        let said = meanwhile(&repo, script, || {
            if with_git {
                let path = worktree.to_str().expect("UTF-8");
                repo.git(&["worktree", "remove", "--force", path]);
            } else {
                std::fs::remove_dir_all(&worktree).expect("it is ours");
            }
        });
        assert_ne!(said.status, 0, "{said}");
        let said = fenced(&repo, &[], "true");
        assert_eq!(said.status, 125, "{said}");
        assert!(said.stderr.contains("git agentwt prune -n"), "{said}");
        for prune in [&["prune", "-n"][..], &["prune"]] {
            let kept = repo.agentwt(prune).ok();
            assert!(kept.contains("left work that is not imported"), "{kept}");
            assert!(kept.contains("git agentwt remove --force task"), "{kept}");
        }
        let said = repo.agentwt(&["remove", "--force", "task"]);
        said.ok();
        assert!(!private(&repo).exists());
        if with_git {
            let glob = "--glob=refs/agentwt/kept/task";
            assert!(
                said.stderr.contains(&format!("is kept: git log {glob}")),
                "{said}"
            );
            assert_eq!(repo.git(&["log", "-1", "--format=%s", glob]), "one");
        } else {
            // the whole of it is in the trash
            repo.agentwt(&["remove", "--undo", "task"]).ok();
            repo.git_in(&worktree, &["checkout", "-q", "."]);
            fenced(&repo, &[], "true").ok();
            assert_eq!(log(&repo), "one");
        }
    }
}

#[test]
fn directories_that_were_made_for_a_run_and_stay_empty_go() {
    let repo = TestRepo::project();
    repo.agentwt(&["add", "task", "--write", "x/y/z/**", "--write", "x/w/"])
        .ok();
    if !repo.has_fence(&[]) {
        return;
    }
    let made = repo.worktree("task").join("x");
    assert!(!made.exists());
    fenced(&repo, &[], "test -d x/y/z && test -d x/w").ok();
    assert!(!made.exists());
    fenced(&repo, &[], "echo 1 >x/y/z/one").ok();
    assert!(made.join("y/z/one").exists() && !made.join("w").exists());
}

#[test]
fn a_command_that_verifies_itself_finds_its_git_file_as_it_is() {
    let Some(repo) = project() else { return };
    for fence in ["--fence=mount", "--fence=landlock"] {
        if repo.has_fence(&[fence]) {
            fenced(&repo, &[fence], "git-agentwt verify && git agentwt list").ok();
        }
    }
    // outside, it is no such file
    let file = format!("gitdir: {}/git\n", private(&repo).display());
    std::fs::write(repo.worktree("task").join(".git"), file).expect("it is ours");
    let said = repo.agentwt(&["verify", "task"]);
    assert_eq!(said.status, 1, "{said}");
}

#[test]
fn a_socket_that_was_given_is_connected_to_and_nothing_is_written_beside_it() {
    let Some(repo) = project() else { return };
    let place = repo.home().join("place");
    std::fs::create_dir(&place).expect("it is ours");
    let _listener = UnixListener::bind(place.join("socket")).expect("it is free");
    let connect = format!(
        "python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{0}/socket\")' \
        && ! touch {0}/new 2>/dev/null",
        place.display()
    );
    for fence in ["--fence=mount", "--fence=landlock", "--fence=container"] {
        for given in [place.clone(), place.join("socket")] {
            if repo.has_fence(&[fence]) {
                let option = format!("--socket={}", given.display());
                fenced(&repo, &[fence, &option], &connect).ok();
                assert!(!place.join("new").exists(), "{fence} {option}");
            }
        }
    }
}
