//! The index of the user and that of a run: neither loses what is staged in the other.

use std::path::Path;

use super::{meanwhile, private};
use crate::support::{bytes_of_id, fenced_task};

#[test]
fn a_split_index_comes_with_its_parts() {
    let Some(repo) = fenced_task() else { return };
    let worktree = repo.worktree("task");
    repo.fenced(&[], "echo 1 >src/mod/util.rs; git stash -q")
        .ok();
    let split = "git config core.splitIndex true; git update-index --split-index; git commit -q --allow-empty -m user";
    repo.sh(&worktree, split).ok();
    repo.fenced(&[], "git status --porcelain && git stash pop -q")
        .ok();
}

#[test]
fn what_the_user_stages_between_two_runs_stays_staged() {
    let Some(repo) = fenced_task() else { return };
    let worktree = repo.worktree("task");
    repo.fenced(&[], "echo 1 >src/mod/util.rs; git stash -q")
        .ok();
    let stage = "echo good >src/main.rs; git add src/main.rs; echo more >src/main.rs";
    repo.sh(&worktree, stage).ok();
    let status = |name: &str| {
        let inside = repo.fenced(&[], "git status --porcelain").ok();
        let outside = repo.git_in(&worktree, &["status", "--porcelain"]);
        assert_eq!(
            (&*inside, &*outside),
            ("MM src/main.rs", "MM src/main.rs"),
            "{name}"
        );
        assert_eq!(repo.git_in(&worktree, &["show", ":src/main.rs"]), "good");
    };
    status("with the stash");
    repo.fenced(&[], "git stash drop -q").ok();
    status("without it");
    // also where the command ends elsewhere
    let script = "set -e; echo 1 >src/one.rs; git add src/one.rs; git commit -qm one src/one.rs; git switch -q --detach";
    repo.fenced(&[], script).ok();
    assert_eq!(repo.log_of_task(), "one");
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
    let _ = repo.fenced(&[], script);
    let status = repo.fenced(&[], "git status --porcelain src/two.rs");
    std::fs::remove_file(&lock).expect("it is ours");
    assert_eq!(status.ok(), "A  src/two.rs");
}

#[test]
fn what_the_user_stages_while_a_run_is_elsewhere_stays_staged() {
    let Some(repo) = fenced_task() else { return };
    let worktree = repo.worktree("task");
    let stage = |staged: &str| {
        let script = format!(
            "set -e; echo {staged} >src/main.rs; git add src/main.rs; echo more >>src/main.rs"
        );
        repo.sh(&worktree, &script).ok();
    };
    let staged = || repo.git_in(&worktree, &["show", ":src/main.rs"]);
    let status = || repo.git_in(&worktree, &["status", "--porcelain"]);
    repo.fenced(&[], "git switch -qc other").ok();
    stage("good");
    let script = "set -e; git switch -q agentwt/task; echo 1 >src/mod/util.rs; git stash push -q src/mod/util.rs
        echo 1 >src/one.rs; git add src/one.rs; git commit -qm one";
    repo.fenced(&[], script).ok();
    assert_eq!(
        (&*repo.log_of_task(), &*staged(), &*status()),
        ("one", "good", "MM src/main.rs")
    );
    let inside = repo.fenced(&[], "git status --porcelain; git stash drop -q");
    assert_eq!(inside.ok(), "MM src/main.rs");
    // in the middle of something
    let script = "echo 2 >src/one.rs; git commit -qm two src/one.rs; git stash -q
        git rebase -q --onto HEAD~2 HEAD~1; git status --porcelain";
    let _ = repo.fenced(&[], script);
    let script = "git rebase --abort; git stash pop -q; git status --porcelain";
    repo.fenced(&[], script).ok();
    // what fits no commit of the run is not thrown away
    repo.fenced(&[], "git switch -qc again").ok();
    stage("better");
    let script = "set -e; git switch -q agentwt/task; git commit -qm two src/main.rs";
    let said = repo.fenced(&[], script);
    assert_eq!(said.status, 120, "{said}");
    assert!(
        said.stderr.contains("you staged what the command"),
        "{said}"
    );
    assert_eq!(staged(), "better");
}

#[test]
fn what_a_run_staged_is_kept_where_the_index_of_the_user_stays() {
    let Some(repo) = fenced_task() else { return };
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
    repo.fenced(&[], "true").ok();
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
fn a_file_that_an_index_calls_clean_is_read_by_git() {
    let Some(repo) = fenced_task() else { return };
    let old = repo.git(&["rev-parse", "HEAD:src/main.rs"]);
    let leave = "set -e; echo s >src/s.rs; git add -A; git stash -q
        echo hidden >src/main.rs; sleep 1.1; git add src/main.rs; git rev-parse :src/main.rs";
    let new = repo.fenced(&[], leave).ok();
    let file = private(&repo).join("git/index");
    let mut bytes = std::fs::read(&file).expect("the run left it");
    let (old, new) = (bytes_of_id(&old), bytes_of_id(&new));
    let at = bytes.windows(new.len()).position(|part| part == new);
    let at = at.expect("the entry has it");
    bytes[at..at + new.len()].copy_from_slice(&old);
    let end = bytes.len() - old.len();
    bytes[end..].fill(0);
    std::fs::write(&file, bytes).expect("it is ours");
    repo.fenced(&[], "true").ok();
    let status = repo.git_in(&repo.worktree("task"), &["status", "--porcelain"]);
    assert_eq!(status, " M src/main.rs");
}

#[test]
fn what_is_staged_and_not_committed_stays_on_disk_or_in_the_run() {
    let Some(repo) = fenced_task() else { return };
    let worktree = repo.worktree("task");
    let script = "set -e; echo 1 >src/one.rs; echo s >src/staged.rs; git add -A
        git commit -qm one src/one.rs; echo other >src/staged.rs";
    repo.fenced(&[], script).ok();
    repo.git(&["fsck", "--no-progress"]);
    let status = repo.git_in(&worktree, &["status", "--porcelain"]);
    assert_eq!(status, "AM src/staged.rs");
    assert!(!private(&repo).join("git").exists());
    // what the user staged is staged for the command, and stays so; of which files git reads again tells the time
    let index = repo.main().join(".git/worktrees/task/index");
    let time = || std::fs::metadata(&index).and_then(|index| index.modified());
    let before = time().expect("it is there");
    repo.fenced(&[], "git diff --cached --quiet && exit 1; true")
        .ok();
    assert_eq!(time().expect("it is there"), before);
    assert_eq!(repo.git_in(&worktree, &["show", ":src/staged.rs"]), "s");
    repo.fenced(&[], "git commit -qm two").ok();
    assert_eq!(repo.git(&["show", "agentwt/task:src/staged.rs"]), "s");
    assert_eq!(repo.log_of_task(), "two\none");
    repo.agentwt(&["verify", "task"]).ok();
}

#[test]
fn the_index_of_a_run_comes_without_what_git_would_believe_of_it() {
    let Some(repo) = fenced_task() else { return };
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
        repo.fenced(&[], &script).ok();
        assert_eq!(repo.log_of_task().lines().next(), Some(&*number.to_string()));
        assert_eq!(repo.git_in(&worktree, &["status", "--porcelain"]), "");
        repo.agentwt(&["verify", "task"]).ok();
    }
    // that of the user can stand in two files too
    repo.git_in(&worktree, &["update-index", "--split-index"]);
    assert_eq!(repo.fenced(&[], "git status --porcelain").ok(), "");
    // a tree of which git believes that it is what the entries below it are
    let other = repo.git(&["rev-parse", "HEAD:src"]);
    let docs = repo.git(&["rev-parse", "HEAD:docs"]);
    let leave = "echo left >src/one.rs; git stash -q; git write-tree >/dev/null";
    repo.fenced(&[], leave).ok();
    let file = private(&repo).join("git/index");
    let mut bytes = std::fs::read(&file).expect("the run left it");
    let (docs, other) = (bytes_of_id(&docs), bytes_of_id(&other));
    let at = bytes.windows(docs.len()).rposition(|part| part == docs);
    let at = at.expect("the cached tree has it");
    bytes[at..at + docs.len()].copy_from_slice(&other);
    let end = bytes.len() - docs.len();
    bytes[end..].fill(0);
    std::fs::write(&file, bytes).expect("it is ours");
    repo.fenced(&[], "true").ok();
    std::fs::write(worktree.join("src/one.rs"), "by the user\n").expect("it is writable");
    repo.git_in(&worktree, &["commit", "-qam", "by the user"]);
    assert_eq!(
        repo.git(&["diff", "--stat", "main", "agentwt/task", "--", "docs"]),
        ""
    );
}

#[test]
fn a_git_that_only_looks_stops_nothing() {
    let Some(repo) = fenced_task() else { return };
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
    assert_eq!(repo.log_of_task(), "one");
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
    let Some(repo) = fenced_task() else { return };
    let worktree = repo.worktree("task");
    let script =
        "set -e; for n in 1 2 3; do echo $n >src/one.rs; git add -A; git commit -qm $n; done
        git checkout -q --detach HEAD~2";
    repo.fenced(&[], script).ok();
    assert_eq!(repo.log_of_task(), "3\n2\n1");
    let staged = || repo.git_in(&worktree, &["diff", "--cached", "--name-only"]);
    assert_eq!(staged(), "");
    repo.fenced(&[], "git switch -q agentwt/task").ok();
    let lock = repo.main().join(".git/worktrees/task/index.lock");
    std::fs::write(&lock, "").expect("it is ours");
    let said = repo.fenced(&[], "echo 4 >src/one.rs; git commit -qam 4");
    assert_eq!(said.status, 120, "{said}");
    assert_eq!(repo.log_of_task(), "3\n2\n1", "a git is there");
    std::fs::remove_file(&lock).expect("it is ours");
    repo.fenced(&[], "true").ok();
    assert_eq!(repo.log_of_task(), "4\n3\n2\n1");
    assert_eq!(staged(), "");
}

#[test]
fn an_index_that_cannot_be_read_is_replaced_also_while_there_are_violations() {
    let Some(repo) = fenced_task() else { return };
    let script = "set -e; id=$(echo 1 | git hash-object -w --stdin)
        git update-index --add --cacheinfo 100644,$id,docs/new.md; git commit -qm bad
        echo junk >$AGENTWT_PRIVATE_GIT/index";
    let said = repo.fenced(&[], script);
    assert_ne!(said.status, 0, "{said}");
    assert_eq!(repo.log_of_task(), "", "{said}");
    let said = repo.fenced(&[], "git status --porcelain >/dev/null && echo readable");
    assert_eq!(said.stdout, "readable\n", "{said}");
}
