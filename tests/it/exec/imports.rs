//! What comes back from a run: commits, index, submodules and large files, and where HEAD is then.

use super::{meanwhile, private, runs, tip};
use crate::support::{TestRepo, allow_root, fenced_task};

#[test]
fn content_that_the_scope_excludes_is_neither_offered_to_be_accepted_nor_to_be_restored() {
    let Some(repo) = fenced_task() else { return };
    let take = "git show main:secrets/key.pem >src/taken; git add -A; git commit -qm taken";
    let said = repo.fenced(&[], take);
    assert_eq!(said.status, 120, "{said}");
    assert!(said.stderr.contains("leak src/taken"), "{said}");
    assert!(!said.stderr.contains("git agentwt accept"), "{said}");
    assert!(!said.stderr.contains("git agentwt restore"), "{said}");
    // beside another change, `restore` has something to do
    let both = "blob=$(echo x | git hash-object -w --stdin)
        git update-index --cacheinfo 100644,$blob,README.md; git commit -qm outside";
    let said_of_both = repo.fenced(&[], both);
    assert!(
        said_of_both
            .stderr
            .contains("then those out of scope: git agentwt restore task"),
        "{said_of_both}"
    );
}

#[test]
fn a_rebase_onto_main_is_brought_back() {
    let Some(repo) = fenced_task() else { return };
    repo.fenced(&[], "echo 1 >src/one.rs; git add -A; git commit -qm one")
        .ok();
    repo.write("src/upstream.rs", "u\n");
    repo.commit_all("upstream");
    let said = repo.fenced(
        &[],
        "git rebase -q main && git merge-base --is-ancestor main HEAD",
    );
    said.ok();
    assert_eq!(repo.log_of_task(), "one");
    repo.agentwt(&["verify", "task"]).ok();
}

#[test]
fn a_commit_out_of_scope_moves_nothing_and_the_next_run_goes_on() {
    let Some(repo) = fenced_task() else { return };
    let before = tip(&repo);
    // a commit needs no file on disk
    let script = "set -e; blob=$(echo bad | git hash-object -w --stdin)
        git update-index --cacheinfo 100644,$blob,docs/api.md; git commit -qm bad";
    let said = repo.fenced(&[], script);
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
    let said = repo.fenced(&[], script).ok();
    assert_eq!(said, "bad", "the next run goes on there");
    assert_eq!(repo.log_of_task(), "good");
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
        let said = repo.fenced(options, script);
        said.ok();
        assert!(!said.stderr.contains('\u{9b}'), "{said}");
    }
    assert_eq!(repo.log_of_task(), "one");
}

#[test]
fn what_a_command_pulled_is_of_upstream_once_the_user_has_fetched_it() {
    let upstream = "git init -q --bare ../up; git remote add origin $(dirname $PWD)/up; git push -q origin main";
    let mate = "git clone -q ../up ../mate; cd ../mate; echo PEM of a mate >secrets/key.pem
        git commit -qam mate; git push -q origin HEAD:main";
    for pull in [
        "git pull -q --ff-only origin main",
        "git commit -q --allow-empty -m mine; git pull -q --rebase origin main",
        "git commit -q --allow-empty -m mine; git pull -q --no-rebase --no-edit origin main",
    ] {
        let repo = TestRepo::project();
        repo.sh(repo.main(), upstream).ok();
        repo.add("task");
        if !repo.has_fence(&[]) {
            return;
        }
        repo.sh(repo.main(), mate).ok();
        let up = repo.main().with_file_name("up");
        let shown = up.to_str().expect("UTF-8");
        let said = repo.fenced(&["--rw", shown], pull);
        let printed = "git fetch --all; then: git agentwt exec task -- true";
        assert!(said.fails(120).stderr.contains(printed), "{said}");
        repo.git(&["fetch", "-q", "--all"]);
        repo.fenced(&[], "true").ok();
        let verified = repo.agentwt(&["verify", "task"]);
        assert_eq!(verified.status, 0, "{pull}: {verified}");
    }
}

#[test]
fn what_a_refused_command_did_can_be_accepted() {
    let Some(repo) = fenced_task() else { return };
    let script = "set -e; blob=$(echo fine | git hash-object -w --stdin)
        git update-index --cacheinfo 100644,$blob,docs/api.md; git commit -qm api; git tag mine";
    let said = repo.fenced(&[], script);
    assert!(
        said.fails(120)
            .stderr
            .contains("git agentwt accept task <path>"),
        "{said}"
    );
    repo.agentwt(&["accept", "task", "docs/none"]).fails(4);
    let said = repo.agentwt(&["accept", "task", "docs/api.md"]);
    assert!(said.ok().contains("docs/api.md"), "{said}");
    repo.fenced(&[], "true").ok();
    assert_eq!(repo.log_of_task(), "api");
    repo.agentwt(&["verify", "task"]).ok();
    // what is only staged too, and not another content of the path
    let stage =
        "git update-index --cacheinfo 100644,$(echo $1 | git hash-object -w --stdin),docs/api.md";
    repo.fenced(&[], &stage.replace("$1", "better")).fails(120);
    repo.agentwt(&["accept", "task", "docs/api.md"]).ok();
    repo.fenced(&[], &stage.replace("$1", "worse")).fails(120);
    repo.fenced(&[], &stage.replace("$1", "better")).ok();
}

#[test]
fn a_push_to_a_branch_of_others_is_reported_until_it_is_accepted() {
    let upstream = "git init -q --bare ../up; git remote add origin $(dirname $PWD)/up; git push -q origin main";
    let repo = TestRepo::project();
    repo.sh(repo.main(), upstream).ok();
    repo.add("task");
    if !repo.has_fence(&[]) {
        return;
    }
    let up = repo.main().with_file_name("up");
    let shown = up.to_str().expect("UTF-8");
    let script = "set -e; echo 1 >src/one.rs; git add -A; git commit -qm one
        git push -q origin HEAD:agentwt/task; git push -q origin HEAD:new";
    let said = repo.fenced(&["--rw", shown], script);
    said.ok();
    let script = "set -e; echo 2 >src/one.rs; git commit -qam two; git push -q origin HEAD:main";
    let said = repo.fenced(&["--rw", shown], script);
    let words = &said.fails(120).stderr;
    assert!(
        words.contains("refs/remotes/origin/main") && words.contains("--refs"),
        "{said}"
    );
    repo.git(&["fetch", "-q", "--all"]);
    repo.fenced(&[], "true").fails(120);
    assert_eq!(repo.log_of_task(), "one");
    repo.agentwt(&["accept", "task", "--refs"]).ok();
    repo.fenced(&[], "true").ok();
    assert_eq!(repo.log_of_task(), "two\none");
}

#[test]
fn a_commit_out_of_scope_moves_nothing_wherever_head_is() {
    for end in [
        "git checkout -q --detach HEAD~1",
        "git symbolic-ref HEAD refs/heads/none; git rm -q --cached docs/x",
        "git branch side HEAD~1; git symbolic-ref HEAD refs/heads/side; git reset -q",
    ] {
        let Some(repo) = fenced_task() else { return };
        let before = tip(&repo);
        let script = format!(
            "set -e; blob=$(echo bad | git hash-object -w --stdin)
            git update-index --add --cacheinfo 100644,$blob,docs/x; git commit -qm bad; {end}"
        );
        let said = repo.fenced(&[], &script);
        assert_eq!(said.status, 120, "{end}: {said}");
        assert_eq!(tip(&repo), before, "{end}");
    }
}

#[test]
fn submodules_that_a_run_made_stay() {
    let Some(repo) = fenced_task() else { return };
    let script =
        "git init -q --bare $AGENTWT_PRIVATE_GIT/modules/x; git commit -q --allow-empty -m one";
    repo.fenced(&[], script).ok();
    assert!(private(&repo).join("git/modules/x/HEAD").exists());
    meanwhile(&repo, "git commit -q --allow-empty -m two", || {
        let worktree = repo.worktree("task");
        repo.git_in(&worktree, &["commit", "-q", "--allow-empty", "-m", "user"]);
    })
    .fails(120);
    let said = repo.fenced(&[], "true");
    said.ok();
    assert!(said.stderr.contains("git directory is kept at"), "{said}");
    let kept = private(&repo).with_file_name("damaged0");
    assert!(kept.join("modules/x/HEAD").exists());
}

#[test]
fn a_submodule_of_a_run_stays_without_its_head() {
    let Some(repo) = fenced_task() else { return };
    let script =
        "git init -q --bare $AGENTWT_PRIVATE_GIT/modules/x; rm $AGENTWT_PRIVATE_GIT/modules/x/HEAD";
    repo.fenced(&[], script).ok();
    assert!(private(&repo).join("git/modules/x/objects").exists());
}

#[test]
fn a_submodule_that_could_not_be_cloned_leaves_nothing() {
    let Some(repo) = fenced_task() else { return };
    let script = "git submodule add /nonexistent/x src/lib 2>/dev/null
        test -d $AGENTWT_PRIVATE_GIT/modules/src";
    repo.fenced(&[], script).ok();
    assert!(!private(&repo).join("git").exists());
}

#[test]
fn a_merge_in_progress_is_on_top_of_the_commit_where_it_began() {
    let Some(repo) = fenced_task() else { return };
    let worktree = repo.worktree("task");
    let side = "git switch -qc side; echo side >src/main.rs; git commit -qam side; git switch -q -";
    let script = format!("{side}; git merge -q --no-commit --no-ff side");
    repo.fenced(&[], &script).ok();
    repo.sh(
        &worktree,
        "echo user >src/user.rs; git add src/user.rs; git commit -qm user -- src/user.rs",
    )
    .ok();
    let said = repo.fenced(&[], "git diff --cached --name-only; git commit -qm merged");
    assert_eq!(said.fails(120).stdout, "src/main.rs\n");
    let merge = "git stash -q -u; git merge -q --no-edit refs/agentwt/incoming/task; cat src/user.rs src/main.rs";
    assert_eq!(repo.sh(&worktree, merge).ok(), "user\nside");
}

#[test]
fn an_amended_commit_comes_in_beside_a_stash() {
    let Some(repo) = fenced_task() else { return };
    let script = "echo 1 >src/main.rs; git stash -q; echo 1 >src/one.rs; git add src/one.rs; git commit -qm one";
    repo.fenced(&[], script).ok();
    repo.fenced(&[], "git commit -q --amend -m two").ok();
    assert_eq!(repo.log_of_task(), "two");
    repo.fenced(&[], "git commit -q --amend -m three; git stash drop -q")
        .ok();
    assert_eq!(repo.log_of_task(), "three");
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
    assert_eq!(repo.fenced(&[], script).ok(), "SMALL");
}

#[test]
fn a_path_with_a_new_line_is_no_other_path() {
    let Some(repo) = fenced_task() else { return };
    let allow = allow_root();
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
fn contents_of_large_files_come_along_by_their_name() {
    let Some(repo) = fenced_task() else { return };
    // as git-lfs stores them
    let script = "set -e; echo big >src/big; id=$(sha256sum src/big | cut -c 1-64); d=$AGENTWT_PRIVATE_GIT/lfs/objects/aa/bb
        mkdir -p $d; cp src/big $d/$id; other=$(echo other | sha256sum | cut -c 1-64); echo forged >$d/$other
        ln -s /etc/passwd $d/${id%?}x; git add -A; git commit -qm big; echo $id";
    let id = repo.fenced(&[], script).ok();
    let objects = repo.main().join(".git/lfs/objects/aa/bb");
    let names = std::fs::read_dir(objects).into_iter().flatten().flatten();
    let names: Vec<_> = names.map(|entry| entry.file_name()).collect();
    assert_eq!(names, [&*id]);
    assert!(!private(&repo).join("git").exists());
}

#[test]
fn a_large_file_of_lfs_is_not_in_memory_at_once() {
    let Some(repo) = fenced_task() else { return };
    let name = "a".repeat(64);
    let line = format!(
        "ulimit -v 500000; git-agentwt exec task --fence=landlock {} -- sh -c 'd=$AGENTWT_PRIVATE_GIT/lfs/objects/aa/aa; mkdir -p $d
        truncate -s 600M $d/{name}'",
        allow_root(),
    );
    repo.sh(repo.main(), &line).ok();
}

#[test]
fn a_repository_that_a_run_made_is_named() {
    let Some(repo) = fenced_task() else { return };
    let script = "mkdir -p src/a/objects src/a/refs src/b src/c/.git
        echo 'ref: refs/heads/main' | tee src/a/HEAD src/c/.git/HEAD >src/b/HEAD; echo ../a >src/b/commondir";
    let said = repo.fenced(&[], script);
    for path in ["src/a", "src/b", "src/c"] {
        let note = format!("{path} is a repository of its own");
        assert!(said.stderr.contains(&note), "{said}");
    }
}

#[test]
fn findings_that_are_alike_are_one_line() {
    let Some(repo) = fenced_task() else { return };
    let script = "set -e; blob=$(echo bad | git hash-object -w --stdin)
        for n in $(seq 60); do echo 100644,$blob,docs/new/f$n; done |
        while read entry; do git update-index --add --cacheinfo $entry; done; git commit -qm bad";
    let said = repo.fenced(&[], script);
    assert_eq!(said.status, 120, "{said}");
    assert!(said.stderr.contains("docs/ (60) created"), "{said}");
    assert!(said.stderr.lines().count() < 10, "{said}");
}
