//! `reapply`: puts sparse patterns and write bits back, and never a content.

use insta::assert_snapshot;

use crate::support::{TestRepo, gits};

#[test]
fn when_all_is_as_it_should_be_it_says_so() {
    let (repo, worktree) = TestRepo::task_after("");
    assert_snapshot!(repo.agentwt(&["reapply", "task"]), @"
    --- stderr
    task: everything is as the scope says
    --- status 0
    ");
    assert_eq!(
        repo.agentwt_in(&worktree.join("src"), &["reapply"]),
        repo.agentwt(&["reapply", "task"])
    );
}

#[test]
fn write_bits_come_back() {
    let (repo, worktree) = TestRepo::task_after("chmod -R u+w .; chmod a-w src/main.rs");
    assert_snapshot!(repo.agentwt(&["reapply", "task", "-n"]), @"
    bits      .gitignore
    bits      README.md
    bits      docs/api.md
    bits      docs/guide.md
    bits      src/main.rs
    bits      tools/run.sh
    --- stderr
    task: would restore the write bits of 6 files, 0 excluded files
    --- status 0
    ");
    assert!(repo.findings(&worktree).contains(" perm "));
    assert_snapshot!(repo.agentwt(&["reapply", "task"]), @"
    bits      .gitignore
    bits      README.md
    bits      docs/api.md
    bits      docs/guide.md
    bits      src/main.rs
    bits      tools/run.sh
    --- stderr
    task: restored the write bits of 6 files, 0 excluded files
    --- status 0
    ");
    assert_eq!(repo.findings(&worktree), "");
    assert_eq!(
        repo.sh(&worktree, "git diff-files --name-only").stdout,
        "",
        "the index is refreshed"
    );
}

/// The other name would lose its bits too, and may be anywhere.
#[test]
fn write_bits_that_cannot_be_set_are_an_error() {
    let (repo, _) =
        TestRepo::task_after("chmod u+w README.md docs/api.md; ln README.md ../readme-elsewhere");
    assert_snapshot!(repo.agentwt(&["reapply", "task"]), @"
    bits      docs/api.md
    --- stderr
    error: cannot set the write bits of README.md: it has other names (hard links), and they share its mode
    task: restored the write bits of 1 file, 0 excluded files
    --- status 6
    ");
}

#[test]
fn excluded_files_go_and_patterns_come_back() {
    for (version, bin) in gits() {
        let repo = TestRepo::project().with_git(&bin);
        let worktree = repo.add("task");
        repo.sh(&worktree, "git sparse-checkout disable").ok();
        assert!(worktree.join("secrets/key.pem").exists());
        let said = repo.agentwt(&["reapply", "task"]);
        assert_eq!(said.status, 0, "{version}: {said}");
        assert!(!worktree.join("secrets").exists(), "{version}: {said}");
        assert_eq!(repo.findings(&worktree), "", "{version}");
    }
}

#[test]
fn what_it_did_to_excluded_files_is_this() {
    let (repo, _) = TestRepo::task_after("git sparse-checkout add /secrets/");
    assert_snapshot!(repo.agentwt(&["reapply", "task", "-n"]), @"
    --- stderr
    task: would restore the sparse patterns, the write bits of 0 files, 0 excluded files
    --- status 0
    ");
    assert_snapshot!(repo.agentwt(&["reapply", "task"]), @"
    --- stderr
    task: restored the sparse patterns, the write bits of 0 files, 0 excluded files
    --- status 0
    ");
}

#[test]
fn an_excluded_file_that_was_changed_stays_and_is_named() {
    let (repo, worktree) = TestRepo::task_after("mkdir secrets; echo mine >secrets/key.pem");
    assert_snapshot!(repo.agentwt(&["reapply", "task"]), @"
    excluded  secrets/key.pem
    --- stderr
    note: secrets/key.pem is excluded and stays on disk, because it is changed: save or revert it
    task: restored the write bits of 0 files, 1 excluded file
    --- status 0
    ");
    assert_eq!(
        std::fs::read(worktree.join("secrets/key.pem")).expect("it stays"),
        b"mine\n"
    );
}

#[test]
fn contents_are_never_changed() {
    let (repo, worktree) = TestRepo::task_after(
        "chmod u+w README.md; echo mine >>README.md; echo work >src/main.rs; git add src/main.rs; echo more >>src/main.rs; rm -f docs/api.md",
    );
    let before = repo.findings(&worktree);
    let status = repo.git_in(&worktree, &["status", "--porcelain"]);
    repo.agentwt(&["reapply", "task"]).ok();
    assert_eq!(repo.findings(&worktree), before);
    assert_eq!(repo.git_in(&worktree, &["status", "--porcelain"]), status);
    assert_eq!(
        std::fs::read(worktree.join("src/main.rs")).expect("it is there"),
        b"work\nmore\n"
    );
}

#[test]
fn json_names_what_was_put_back() {
    let (repo, _) = TestRepo::task_after("chmod u+w README.md");
    let said = repo.agentwt(&["reapply", "task", "--json"]).ok();
    let value: serde_json::Value = serde_json::from_str(&said).expect("it is JSON");
    assert_eq!(value["schema"], "agentwt.reapply/1");
    assert_eq!(
        value["write_bits"],
        serde_json::json!([{"path": "README.md"}])
    );
    assert_eq!(value["patterns"], false);
}

#[test]
fn without_a_name_outside_a_worktree_it_asks_for_one() {
    let (repo, _) = TestRepo::task_after("");
    let _ = repo.agentwt(&["reapply"]).fails(2);
    let _ = repo.agentwt(&["reapply", "tusk"]).fails(7);
}

#[test]
fn what_a_link_in_the_private_git_directory_leads_to_is_not_written() {
    for name in ["info/sparse-checkout", "config.worktree", "info"] {
        for command in [&["reapply", "task"][..], &["restore", "task"]] {
            let (repo, _) = TestRepo::task_after(&format!(
                "file=$(git rev-parse --absolute-git-dir)/{name}
                mv $file ../victim; ln -s $PWD/../victim $file"
            ));
            let verified = repo.agentwt(&["verify", "task"]);
            assert_eq!(verified.status, 1, "{name}: {verified}");
            assert!(verified.stdout.contains(name), "{verified}");
            let add = "cd .agentwt/worktrees; for file in $(find victim -type f); do echo '# precious' >>$file; done; tail -n 99 $(find victim -type f)";
            let victim = repo.sh(repo.main(), add);
            let done = repo.agentwt(command);
            assert_eq!(done.status, 0, "{name}: {done}");
            let now = "cd .agentwt/worktrees; tail -n 99 $(find victim -type f)";
            assert_eq!(repo.sh(repo.main(), now), victim, "{command:?}");
        }
    }
}

/// Git takes such a worktree for none.
#[test]
fn a_link_in_place_of_head_is_a_violation() {
    let (repo, _) = TestRepo::task_after(
        "head=$(git rev-parse --git-path HEAD); mv $head ../head; ln -s $PWD/../head $head",
    );
    let verified = repo.agentwt(&["verify", "task", "--format=tsv"]);
    let _ = verified.fails(1);
    assert!(
        verified.stdout.contains("@wt/HEAD\tintegrity"),
        "{verified}"
    );
}

/// Git writes a new index to where a link in its place leads, and entries of a log.
#[test]
fn what_a_link_for_the_index_or_a_log_leads_to_is_not_written() {
    for name in ["index", "logs", "logs/HEAD"] {
        let (repo, _) = TestRepo::task_after(&format!(
            "chmod u+w README.md; echo evil >>README.md; git commit -q -a -m evil
            file=$(git rev-parse --absolute-git-dir)/{name}
            mv $file ../victim; ln -s $PWD/../victim $file"
        ));
        let sum = "cd .agentwt/worktrees; find victim -type f | xargs sha1sum";
        let victim = repo.sh(repo.main(), sum);
        let verified = repo.agentwt(&["verify", "task"]);
        let told = verified.stdout.contains("a link stands in its place");
        assert!(told, "{name}: {verified}");
        for command in [&["restore", "task"][..], &["restore", "task", "--undo"]] {
            let done = repo.agentwt(command);
            assert_eq!(done.status, 0, "{name}: {done}");
            assert_eq!(repo.sh(repo.main(), sum), victim, "{name}: {command:?}");
        }
    }
}
