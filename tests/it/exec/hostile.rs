//! What a command does to its git directory runs nothing outside and hides no commit.

use super::{meanwhile, private, runs};
use crate::support::{allow_root, allow_root_words, fenced_task, is_root, wait_for_a_later_time};

#[test]
fn what_a_command_does_to_its_git_directory_hides_nothing_of_its_commits() {
    let Some(repo) = fenced_task() else { return };
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
        repo.fenced(&[], &script).ok();
        assert!(
            repo.log_of_task().starts_with(&number.to_string()),
            "{hiding}"
        );
        assert!(
            runs(&repo).contains("refs/agentwt/run/task/"),
            "{hiding}: the stash"
        );
        repo.fenced(&[], "git stash drop -q").ok();
    }
    assert_eq!(runs(&repo), "");
}

#[test]
fn a_link_in_the_git_directory_of_a_run_lets_nothing_be_removed_elsewhere() {
    let Some(repo) = fenced_task() else { return };
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
        let _ = repo.fenced(&[], &script);
        assert!(file.exists(), "{planted}");
        let _ = repo.fenced(&[], "true");
        assert!(file.exists(), "{planted}");
    }
}

#[test]
fn hooks_that_were_there_before_the_run_break_no_seal() {
    let Some(repo) = fenced_task() else { return };
    let hooks = repo.home().join("hooks");
    std::fs::create_dir(&hooks).expect("it is ours");
    std::fs::write(hooks.join("pre-commit"), "#!/bin/sh\n").expect("it is ours");
    crate::support::chmod(&hooks.join("pre-commit"), 0o755);
    repo.git(&["config", "--global", "core.hooksPath", "~/hooks"]);
    wait_for_a_later_time(repo.root());
    repo.fenced(&[], "true").fails(120);
    repo.git(&["config", "--global", "--unset", "core.hooksPath"]);
    let hook = repo.main().join(".git/hooks/pre-commit");
    std::fs::create_dir_all(hook.parent().expect("it has one")).expect("it is ours");
    std::fs::write(&hook, "#!/bin/sh\n").expect("it is ours");
    crate::support::chmod(&hook, 0o755);
    repo.agentwt(&["add", "other", "--write=src/**"]).ok();
    std::fs::remove_file(&hook).expect("it is ours");
    wait_for_a_later_time(repo.root());
    let allow = allow_root_words();
    let words = [&["exec", "other"], allow, &["--", "true"]].concat();
    repo.agentwt(&words).fails(120);
}

#[test]
fn what_is_broken_in_a_run_keeps_nothing_else_away() {
    let Some(repo) = fenced_task() else { return };
    let script = "set -e; echo 1 >src/one.rs; git add -A; git commit -qm one; echo 2 >src/one.rs; git stash -q
        : >$AGENTWT_PRIVATE_GIT/refs/heads/empty; : >$AGENTWT_PRIVATE_GIT/index.lock
        echo 1234567890123456789012345678901234567890 >$AGENTWT_PRIVATE_GIT/refs/heads/gone";
    repo.fenced(&[], script).ok();
    assert_eq!(repo.log_of_task(), "one");
    // that git cannot be started is no damage of what the run left
    let line = format!(
        "exec=$(command -v git-agentwt); PATH=/nonexistent $exec exec task --fence=landlock {} -- /bin/true",
        allow_root()
    );
    assert_ne!(repo.sh(repo.main(), &line).status, 0);
    repo.fenced(&[], "git stash pop -q && git commit -qam two")
        .ok();
    assert_eq!(repo.log_of_task(), "two\none");
    // as a loss of power leaves it
    let script = "set -e; echo 3 >src/one.rs; git commit -qam three; echo 4 >src/one.rs; git stash -q
        cd $AGENTWT_PRIVATE_GIT; : >refs/stash; rm refs/heads/agentwt/task; mkdir refs/heads/agentwt/task";
    repo.fenced(&[], script).ok();
    assert_eq!(repo.log_of_task(), "three\ntwo\none");
    repo.fenced(&[], "git stash pop -q && git commit -qam four")
        .ok();
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
        let said = repo.fenced(&[], "true");
        assert!(
            said.status != 0 && !said.stderr.contains("damaged"),
            "{said}"
        );
        chmod("u+w");
        let stashes = repo
            .fenced(&[], "git stash list | wc -l; git stash clear")
            .ok();
        assert_eq!(stashes.trim(), "1");
        assert_eq!(repo.log_of_task(), "z\nfour\nthree\ntwo\none");
    }
    // the stash and the commit before are whole
    let script =
        "set -e; echo 5 >src/one.rs; git commit -qam five; echo 6 >src/one.rs; git stash -q
        echo 7 >src/one.rs; git commit -qam seven; tip=$(git rev-parse HEAD | sed 's#..#&/#')
        chmod u+w $AGENTWT_PRIVATE_GIT/objects/$tip; : >$AGENTWT_PRIVATE_GIT/objects/$tip";
    assert_eq!(repo.fenced(&[], script).status, 5);
    let said = repo.fenced(&[], "true");
    assert!(said.stderr.contains("git log --glob="), "{said}");
    let kept = ["--glob=refs/agentwt/kept/task", "--format=%s"];
    let kept = repo.git(&[&["log"], &kept[..]].concat());
    assert!(kept.contains("five") && kept.contains("WIP on"), "{kept}");
}

#[test]
fn what_the_command_plants_in_its_git_directory_runs_nothing_outside() {
    let Some(repo) = fenced_task() else { return };
    let mark = repo.root().join("mark");
    let script = format!(
        "cd \"$(git rev-parse --absolute-git-dir)\" && printf '#!/bin/sh\\ntouch {0}' >evil && chmod +x evil
        for key in core.fsmonitor core.sshCommand uploadpack.packObjectsHook core.editor diff.external; do
            git config $key \"$PWD/evil\"; done
        mkdir -p hooks; cp evil hooks/post-checkout; cp evil hooks/reference-transaction
        cd \"$AGENTWT_ROOT\"; echo 1 >src/one.rs; git -c core.fsmonitor= add -A; git -c core.fsmonitor= commit -qm one",
        mark.display()
    );
    let _ = repo.fenced(&[], &script);
    let _ = std::fs::remove_file(&mark);
    let _ = repo.fenced(&[], "true");
    repo.git_in(&repo.worktree("task"), &["status"]);
    assert!(!mark.exists(), "a planted program ran");
}

#[test]
fn a_damaged_git_directory_is_set_apart_and_the_next_run_begins_anew() {
    let Some(repo) = fenced_task() else { return };
    let damage = "cd $AGENTWT_PRIVATE_GIT/objects
        git commit -q --allow-empty -m broken; tip=$(git rev-parse HEAD | sed 's#..#&/#'); chmod u+w $tip; : >$tip";
    let said = repo.fenced(&[], damage);
    assert_eq!(said.status, 5, "{said}");
    let script = "git status --porcelain; git commit -q --allow-empty -m on";
    let said = repo.fenced(&[], script);
    said.ok();
    assert!(said.stderr.contains("is damaged, and kept at"), "{said}");
    assert_eq!(repo.log_of_task(), "on");
    // a number that was free once is taken again
    repo.fenced(&[], damage).fails(5);
    repo.fenced(&[], "true").ok();
    let kept = repo.main().join(".git/agentwt/worktrees/task/damaged0");
    std::fs::remove_dir_all(kept).expect("it is ours");
    repo.fenced(&[], damage).fails(5);
    repo.fenced(&[], "true").ok();
    repo.fenced(&[], damage).fails(5);
    repo.fenced(&[], "true").ok();
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
        repo.fenced(&[], &script).ok();
    }
    assert_eq!(repo.log_of_task(), "on\non\non\non\non\non\non");
    // what goes on has an index
    let junk =
        "echo 1 >src/one.rs; git add -A; git stash -q; echo junk >$AGENTWT_PRIVATE_GIT/index";
    repo.fenced(&[], junk).ok();
    repo.fenced(&[], "git stash pop -q && git commit -qm popped")
        .ok();
    assert_eq!(repo.log_of_task().lines().next(), Some("popped"));
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
fn a_command_that_verifies_itself_finds_its_git_file_as_it_is() {
    let Some(repo) = fenced_task() else { return };
    for fence in ["--fence=mount", "--fence=landlock"] {
        if repo.has_fence(&[fence]) {
            repo.fenced(&[fence], "git-agentwt verify && git agentwt list")
                .ok();
        }
    }
    // outside, it is no such file
    let file = format!("gitdir: {}/git\n", private(&repo).display());
    std::fs::write(repo.worktree("task").join(".git"), file).expect("it is ours");
    let said = repo.agentwt(&["verify", "task"]);
    assert_eq!(said.status, 1, "{said}");
}

#[test]
fn nothing_runs_where_the_files_that_the_scope_excludes_cannot_be_listed() {
    let Some(repo) = fenced_task() else { return };
    let scope = "schema_version = \"1.0\"\n[scope.default]\nwrite = [\"src/**\"]\nexclude = [\"**/*.pem\"]\n";
    repo.write(".agentwt/config.toml", scope);
    repo.agentwt(&["add", "other"]).ok();
    let object =
        "git rev-parse --git-common-dir)/objects/$(git rev-parse HEAD:docs | sed 's|..|&/|'";
    let line = format!("mv $({object}) $(git rev-parse --git-common-dir)/gone");
    repo.sh(&repo.worktree("other"), &line).ok();
    let mut arguments = vec!["exec", "other"];
    arguments.extend(allow_root_words());
    arguments.extend(["--", "touch", "src/ran"]);
    let said = repo.agentwt(&arguments);
    said.fails(5);
    assert!(!repo.worktree("other").join("src/ran").exists(), "{said}");
}

#[test]
fn a_path_that_looks_like_a_setting_or_a_url_hinders_no_run() {
    let Some(repo) = fenced_task() else { return };
    let line = format!(
        "git clone -q . '../x=y%41' && cd '../x=y%41' && git agentwt add task --write 'src/**' &&
        git agentwt exec task --withhold {} -- true",
        allow_root()
    );
    repo.sh(repo.main(), &line).ok();
}

#[test]
fn objects_of_another_kind_than_named_are_damage() {
    let commit_by_hand = "commit() { { echo tree $1; echo parent $2; git cat-file -p HEAD | sed -n 's/^author/author/p;s/^committer/committer/p'; echo; echo m; } | git hash-object -t commit --literally -w --stdin; }
        set_branch() { mkdir -p $AGENTWT_PRIVATE_GIT/refs/heads/agentwt; echo $1 >$AGENTWT_PRIVATE_GIT/refs/heads/agentwt/task; }
        blob=$(echo a | git hash-object -w --stdin); tip=$(git rev-parse HEAD)";
    for odd in [
        "set_branch $blob",
        "set_branch $(git rev-parse HEAD:src)",
        "set_branch $(commit HEAD^{tree} $blob)",
        "set_branch $(commit $blob $tip)",
        "set_branch $(commit $tip $tip)",
        "tree=$(printf '40000 d\\0%b' $(echo $blob | sed 's/../\\\\x&/g') | git hash-object -t tree --literally -w --stdin)
        set_branch $(commit $tree $tip)",
        "tree=$(printf '100644 d\\0%b' $(git rev-parse HEAD:src | sed 's/../\\\\x&/g') | git hash-object -t tree --literally -w --stdin)
        set_branch $(commit $tree $tip)",
        "tag=$(printf 'object %s\\ntype commit\\ntag t\\ntagger a <a> 1 +0000\\n\\nm\\n' $blob | git hash-object -t tag --literally -w --stdin)
        set_branch $tag",
        "set_branch $(printf 'object %s\\ntype commit\\ntag t\\ntagger a <a> 1 +0000\\n\\nm\\n' $tip | git hash-object -t tag -w --stdin)",
    ] {
        let Some(repo) = fenced_task() else { return };
        let said = repo.fenced(&[], &format!("{commit_by_hand}\n{odd}"));
        assert_ne!(said.status, 0, "{odd}: {said}");
        let said = repo.fenced(&[], "git commit -q --allow-empty -m on");
        assert_eq!(said.status, 0, "{odd}: {said}");
        assert!(
            said.stderr.contains("is damaged, and kept at"),
            "{odd}: {said}"
        );
        assert_eq!(repo.log_of_task(), "on", "{odd}");
    }
}

#[test]
fn refs_and_logs_of_a_run_can_name_anything() {
    let Some(repo) = fenced_task() else { return };
    let script = "blob=$(echo a | git hash-object -w --stdin); tip=$(git rev-parse HEAD)
        git commit -q --allow-empty -m one; cd $AGENTWT_PRIVATE_GIT
        echo \"$tip $blob a <a> 1 +0000\tcommit: x\" >>logs/HEAD
        echo \"$tip $(git rev-parse HEAD:src) a <a> 1 +0000\tcommit: x\" >>logs/HEAD
        mkdir -p refs/remotes/origin; echo $blob >refs/heads/side; echo $blob >refs/stash
        echo $blob >refs/remotes/origin/main; rm -rf refs/agentwt; touch refs/agentwt";
    for message in ["one", "one\none"] {
        repo.fenced(&[], script).ok();
        assert_eq!(repo.log_of_task(), message);
    }
    repo.fenced(
        &[],
        "echo $(echo a | git hash-object --stdin) >$AGENTWT_PRIVATE_GIT/HEAD",
    )
    .ok();
    repo.fenced(
        &[],
        "git checkout -q agentwt/task; git commit -q --allow-empty -m two",
    )
    .ok();
    assert_eq!(repo.log_of_task(), "two\none\none");
    repo.agentwt(&["verify", "task"]).ok();
    repo.agentwt(&["remove", "task", "--force"]).ok();
}
