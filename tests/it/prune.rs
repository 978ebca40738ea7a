//! `prune`: what is left over goes, what may be work or another's stays, and each says why.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use crate::support::{Said, Shim, TestRepo};

/// What makes a file look as if nobody has touched it for long.
const OLD: &str = "touch -h -d '2026-01-02 03:04:05'";

/// A repository with the worktree `task`, in which this was done.
#[track_caller]
fn after(script: &str) -> TestRepo {
    let repo = TestRepo::project();
    repo.add("task");
    sh(&repo, script);
    repo
}

#[track_caller]
fn sh(repo: &TestRepo, script: &str) {
    repo.sh(
        repo.main(),
        &format!("set -e\nold() {{ {OLD} \"$@\"; }}\n{script}"),
    )
    .ok();
}

/// The lines of `--porcelain`: what became of it, kind, what, why.
#[track_caller]
fn lines(said: &Said) -> Vec<String> {
    let fields = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        fields[..4].join(" | ")
    };
    said.ok().lines().map(fields).collect()
}

#[track_caller]
fn prune(repo: &TestRepo, options: &[&str]) -> Vec<String> {
    let mut arguments = vec!["prune", "--porcelain"];
    arguments.extend(options);
    lines(&repo.agentwt(&arguments))
}

/// That -n says what then happens, and does nothing; what happens.
#[track_caller]
fn as_announced(repo: &TestRepo, options: &[&str]) -> Vec<String> {
    let before = repo.fingerprint();
    let mut dry = vec!["-n"];
    dry.extend(options);
    let announced = prune(repo, &dry);
    assert_eq!(repo.fingerprint(), before, "-n touches nothing");
    let done = prune(repo, options);
    let without = |lines: &[String], word: &str| -> Vec<String> {
        let mut lines: Vec<String> = lines
            .iter()
            .map(|line| line.replacen(word, "removed", 1))
            .collect();
        lines.retain(|line| !line.contains("| deleted |"));
        lines
    };
    assert_eq!(
        without(&announced, "would-remove"),
        without(&done, "removed")
    );
    done
}

#[test]
fn every_remain_goes_with_its_reason_and_the_healthy_stays() {
    let remains = [
        (
            "rm -rf .agentwt/worktrees/task2",
            "worktree | task2 | its directory is gone",
        ),
        (
            "mkdir -p .git/agentwt/worktrees/broken; echo nonsense > .git/agentwt/worktrees/broken/record.toml",
            "record | broken |",
        ),
        (
            "mkdir -p .git/agentwt/worktrees/void",
            "record | void | there is no record in it, and there is no worktree",
        ),
        (
            "mkdir .agentwt/worktrees/stray",
            "directory | .agentwt/worktrees/stray | it is empty, and nothing is recorded of it",
        ),
        (
            "mkdir -p .agentwt/worktrees/.placing-task/a; echo x > .agentwt/worktrees/.placing-task/a/b; chmod 500 .agentwt/worktrees/.placing-task/a",
            "copies | .agentwt/worktrees/.placing-task | the process that copied into it was killed",
        ),
        (
            "git clone -q . .agentwt/worktrees/.cloning-new",
            "copies | .agentwt/worktrees/.cloning-new | the process that copied into it was killed",
        ),
        (
            "mkdir -p .agentwt/worktrees/.deleted/x; echo y > .agentwt/worktrees/.deleted/x/y",
            "deleted | .agentwt/worktrees/.deleted | it waited to be deleted",
        ),
        (
            "mkdir -p .git/agentwt/locks; echo 1 > .git/agentwt/locks/other",
            "lock | @git/agentwt/locks/other | no process holds it",
        ),
        (
            "touch .git/worktrees/task/index.lock; old .git/worktrees/task/index.lock",
            "git-lock | $TMP/repo/.git/worktrees/task/index.lock | a git that was killed left it",
        ),
        (
            "touch .git/refs/heads/agentwt/task.lock; old .git/refs/heads/agentwt/task.lock",
            "git-lock | $TMP/repo/.git/refs/heads/agentwt/task.lock | a git that was killed left it",
        ),
        (
            "git update-ref refs/agentwt/trash/old/20200102T030405Z HEAD",
            "trash | refs/agentwt/trash/old/20200102T030405Z | it was removed",
        ),
        (
            "mkdir -p .git/agentwt/claims; echo x > .git/agentwt/claims/nobody.toml; old .git/agentwt/claims/nobody.toml",
            "claim | agentwt/claims/nobody.toml | no worktree has the name",
        ),
        (
            "touch .git/agentwt/worktrees/task/.agentwt-x; old .git/agentwt/worktrees/task/.agentwt-x",
            "temporary | @git/agentwt/worktrees/task/.agentwt-x | the process that wrote it was killed",
        ),
        (
            "mkdir -p .git/objects/tmp_objdir-agentwt-task/objects; echo x > .git/objects/tmp_objdir-agentwt-task/index; old .git/objects/tmp_objdir-agentwt-task",
            "temporary | @git/objects/tmp_objdir-agentwt-task | the process that wrote it was killed",
        ),
        (
            "echo x > .git/objects/.tmpAbc123; old .git/objects/.tmpAbc123",
            "temporary | @git/objects/.tmpAbc123 | the process that wrote it was killed",
        ),
        (
            "echo x > .git/agentwt/worktrees/task/rescue-index.lock; old .git/agentwt/worktrees/task/rescue-index.lock",
            "temporary | @git/agentwt/worktrees/task/rescue-index.lock | the process that wrote it was killed",
        ),
        (
            "echo x > .git/agentwt/worktrees/task/restore-index-4711.lock; old .git/agentwt/worktrees/task/restore-index-4711.lock",
            "temporary | @git/agentwt/worktrees/task/restore-index-4711.lock | the process that wrote it was killed",
        ),
        (
            "rm -rf .agentwt/worktrees/task2 .git/agentwt/worktrees/task2; git branch -q keep agentwt/task2",
            "entry | $TMP/repo/.git/worktrees/task2 | ",
        ),
        // a commit that HEAD left, and that a branch has
        (
            "cd .agentwt/worktrees/task2; git checkout -q main~0; git checkout -q agentwt/task2; cd ../../..; rm -rf .agentwt/worktrees/task2 .git/agentwt/worktrees/task2",
            "entry | $TMP/repo/.git/worktrees/task2 | ",
        ),
        (
            "mkdir .git/worktrees/x; echo initializing > .git/worktrees/x/locked; echo \"$PWD/.agentwt/worktrees/x/.git\" > .git/worktrees/x/gitdir; old .git/worktrees/x",
            "entry | $TMP/repo/.git/worktrees/x | `git worktree add` was killed",
        ),
    ];
    for (script, expected) in remains {
        let repo = after("");
        if script.contains("task2") {
            repo.add("task2");
        }
        sh(&repo, script);
        let done = as_announced(&repo, &[]);
        let line = done.first().cloned().unwrap_or_default();
        assert!(
            line.starts_with(&format!("removed | {expected}")),
            "{script}: {done:?}"
        );
        assert_eq!(done.len(), 1, "{script}: {done:?}");
        assert_eq!(prune(&repo, &[]), [""; 0], "{script}: nothing is left over");
        assert_eq!(repo.findings(&repo.worktree("task")), "", "{script}");
        let git = repo.git(&["worktree", "list", "--porcelain"]);
        assert_eq!(git.matches("worktree ").count(), 2, "{script}: {git}");
    }
}

#[test]
fn whatever_may_be_work_or_anothers_stays_with_its_reason() {
    let all = [
        (
            "mkdir .agentwt/worktrees/stray; echo x > .agentwt/worktrees/stray/x",
            "directory | .agentwt/worktrees/stray | nothing is recorded of it",
        ),
        (
            "echo x > .agentwt/worktrees/note",
            "directory | .agentwt/worktrees/note | nothing is recorded",
        ),
        (
            "mkdir .agentwt/worktrees/.mine",
            "directory | .agentwt/worktrees/.mine | nothing is recorded",
        ),
        (
            "ln -s /nowhere .agentwt/worktrees/link",
            "directory | .agentwt/worktrees/link | nothing is recorded",
        ),
        (
            "mkdir elsewhere; ln -s \"$PWD/elsewhere\" .agentwt/worktrees/link",
            "directory | .agentwt/worktrees/link | nothing is recorded",
        ),
        (
            "git worktree add -q --detach .agentwt/worktrees/plain",
            "directory | .agentwt/worktrees/plain | it is a worktree without a record",
        ),
        (
            "git clone -q . .agentwt/worktrees/clone; mkdir .agentwt/worktrees/clone/.git/agentwt",
            "directory | .agentwt/worktrees/clone | it is a clone without a record",
        ),
        (
            "rm -r .git/agentwt/worktrees/task",
            "directory | .agentwt/worktrees/task | it is a worktree without a record",
        ),
        (
            "echo nonsense > .git/agentwt/worktrees/task/record.toml",
            "record | task |",
        ),
        (
            "cd .agentwt/worktrees/task; echo new > src/new.rs; git add src/new.rs; rm -rf \"$OLDPWD/.agentwt/worktrees/task\"",
            "worktree | task | 1 file has uncommitted changes; its directory is gone",
        ),
        (
            "cd .agentwt/worktrees/task; echo new > src/new.rs; git add src/new.rs; cd ../../..; rm -rf .agentwt/worktrees/task .git/agentwt/worktrees/task",
            "entry | $TMP/repo/.git/worktrees/task |",
        ),
        (
            "cd .agentwt/worktrees/task; git checkout -q --detach; git commit -q --allow-empty -m left; git checkout -q agentwt/task; cd ../../..; rm -rf .agentwt/worktrees/task .git/agentwt/worktrees/task",
            "entry | $TMP/repo/.git/worktrees/task |",
        ),
        (
            "mkdir .git/worktrees/task/sequencer; rm -rf .agentwt/worktrees/task .git/agentwt/worktrees/task",
            "entry | $TMP/repo/.git/worktrees/task |",
        ),
        (
            "git worktree add -q --detach ../other; rm -r ../other",
            "entry | $TMP/repo/.git/worktrees/other |",
        ),
        (
            "touch .git/worktrees/task/index.lock",
            "git-lock | $TMP/repo/.git/worktrees/task/index.lock | it is only",
        ),
        (
            "touch .git/config.lock; old .git/config.lock",
            "git-lock | $TMP/repo/.git/config.lock | it is",
        ),
        (
            "mkdir .git/reftable; touch .git/reftable/tables.list.lock; old .git/reftable/tables.list.lock",
            "git-lock | $TMP/repo/.git/reftable/tables.list.lock | it is",
        ),
        (
            "mkdir -p .git/agentwt/claims; echo x > .git/agentwt/claims/nobody.toml",
            "claim | agentwt/claims/nobody.toml | another process may wait for the claim",
        ),
    ];
    for (script, expected) in all {
        let repo = after(script);
        let before = repo.fingerprint();
        let done = prune(&repo, &["--force"]);
        let line = done.first().cloned().unwrap_or_default();
        if script.contains("OLDPWD") {
            // --force saves it first
            assert!(
                line.starts_with("removed | worktree | task"),
                "{script}: {done:?}"
            );
            repo.agentwt(&["remove", "--undo", "task", "-n"]).ok();
            let repo = after(script);
            let done = prune(&repo, &[]);
            assert_eq!(done, [format!("kept | {expected}")], "{script}");
            continue;
        }
        assert!(
            line.starts_with(&format!("kept | {expected}")),
            "{script}: {done:?}"
        );
        assert_eq!(done.len(), 1, "{script}: {done:?}");
        assert_eq!(repo.fingerprint(), before, "{script}");
    }
}

#[test]
fn what_a_killed_add_left_goes_wherever_it_was_killed() {
    let repo = TestRepo::project();
    repo.add("task");
    let shim = Shim::new(repo.root(), "kill -9 $PPID");
    let add = ["add", "half", "--write", "src/**"];
    let before = repo.fingerprint();
    let mut seen = 0;
    for at in 1.. {
        let (_, call) = shim.run(&repo, &add, at);
        if call.is_none() {
            break;
        }
        let done = prune(&repo, &[]);
        seen += usize::from(
            done.iter()
                .any(|line| line == "removed | incomplete | half | `add` was killed; work in it is kept in the trash"),
        );
        assert_eq!(
            prune(&repo, &["-n"]),
            [""; 0],
            "killed at {at}, {call:?}: {done:?}"
        );
        if repo.worktree("half").exists() {
            // killed after it was whole
            repo.agentwt(&["remove", "half"]).ok();
        }
        assert_eq!(
            repo.fingerprint(),
            before,
            "killed at {at}, {call:?}: {done:?}"
        );
    }
    assert!(seen > 0, "some left an intent: {seen}");
}

#[test]
fn a_name_that_somebody_works_on_is_left_alone() {
    let repo = after("rm -rf .agentwt/worktrees/task; mkdir -p .git/agentwt/locks");
    let mut lock = File::create(repo.main().join(".git/agentwt/locks/task")).expect("a lock");
    lock.write_all(b"4711\n").expect("it is written");
    lock.lock().expect("nobody has it");
    for options in [&["-n"][..], &[]] {
        assert_eq!(
            prune(&repo, options),
            ["kept | worktree | task | in use by process 4711"]
        );
    }
    drop(lock);
    let done = as_announced(&repo, &[]);
    assert_eq!(
        done,
        [
            "removed | lock | @git/agentwt/locks/task | no process holds it",
            "removed | worktree | task | its directory is gone",
        ]
    );
}

#[test]
fn a_removal_that_was_interrupted_is_finished() {
    let repo = after("");
    let shim = Shim::new(
        repo.root(),
        "case \"$*\" in *'update-ref -d'*) kill -9 $PPID;; esac",
    );
    for at in 1..40 {
        let (said, call) = shim.run(&repo, &["remove", "task"], at);
        if said.status == 137 || call.is_none() {
            break;
        }
        if said.status == 0 {
            repo.add("task");
        }
    }
    let done = prune(&repo, &[]);
    assert!(
        done.contains(&"removed | worktree | task | its removal was interrupted".to_owned()),
        "{done:?}"
    );
    let _ = repo.agentwt(&["path", "task"]).fails(7);
    assert_eq!(repo.git(&["branch", "--list", "agentwt/task"]), "");
}

#[track_caller]
#[test]
fn a_worktree_that_was_moved_to_a_medium_keeps_its_entry_while_that_is_absent() {
    let repo = after(
        "git worktree move .agentwt/worktrees/task ../medium
        git worktree lock ../medium
        mv ../medium ../away",
    );
    prune(&repo, &[]);
    sh(
        &repo,
        "mv ../away ../medium
        test -z \"$(git -C ../medium status --porcelain)\"
        git -C ../medium log -1",
    );
}

fn commit(repo: &TestRepo, dir: &Path, text: &str) {
    std::fs::write(dir.join("src/main.rs"), text).expect("it can be edited");
    repo.commit_all_in(dir, text);
}

#[test]
fn work_on_which_another_task_stands_is_not_merged() {
    let repo = TestRepo::project();
    repo.agentwt(&["add", "below", "--write", "src/**"]).ok();
    commit(&repo, &repo.worktree("below"), "below");
    let stacked = [
        "add",
        "above",
        "--base",
        "agentwt/below",
        "--write",
        "src/**",
    ];
    repo.agentwt(&stacked).ok();
    let done = as_announced(&repo, &["--merged"]);
    assert_eq!(
        done,
        [
            "kept | worktree | above | nothing was committed there yet",
            "kept | worktree | below | 1 commit is not merged or pushed",
        ]
    );
    repo.git(&["merge", "-q", "agentwt/below"]);
    // what goes with it is named
    let output = repo.worktree("below").join("target");
    std::fs::create_dir(&output).expect("a directory");
    std::fs::write(output.join("o"), "x").expect("a file");
    let said = repo.agentwt(&["prune", "--merged", "-n"]);
    assert!(said.stdout.contains(", 1 ignored file (target/ "), "{said}");
    let done = as_announced(&repo, &["--merged"]);
    assert_eq!(
        done[1],
        "removed | worktree | below | its commits are merged or pushed"
    );
}

#[test]
fn merged_worktrees_go_and_those_with_anything_else_stay() {
    for strategy in ["worktree", "clone"] {
        let repo = TestRepo::project();
        let add = |name: &str| {
            let arguments = ["add", name, "--write", "src/**", "--strategy", strategy];
            repo.agentwt(&arguments).ok();
            repo.worktree(name)
        };
        let (fresh, merged, open, dirty) = (add("fresh"), add("merged"), add("open"), add("dirty"));
        commit(&repo, &merged, "merged");
        commit(&repo, &open, "open");
        let take = |dir: &Path| {
            let dir = dir.to_string_lossy().into_owned();
            repo.git(&["pull", "-q", "--no-rebase", "-X", "theirs", &dir, "HEAD"]);
        };
        take(&merged);
        commit(&repo, &dirty, "dirty");
        take(&dirty);
        std::fs::write(dirty.join("src/more.rs"), "x").expect("a file");
        assert_eq!(prune(&repo, &[]), [""; 0], "none is left over");
        let done = as_announced(&repo, &["--merged"]);
        assert_eq!(
            done,
            [
                "kept | worktree | dirty | 1 file is untracked; its commits are merged or pushed",
                "kept | worktree | fresh | nothing was committed there yet",
                "removed | worktree | merged | its commits are merged or pushed",
                "kept | worktree | open | 1 commit is not merged or pushed",
            ],
            "{strategy}"
        );
        assert!(fresh.exists() && open.exists() && dirty.exists() && !merged.exists());
        let forced = prune(&repo, &["--merged", "--force"]);
        assert_eq!(
            forced[0],
            "removed | worktree | dirty | its commits are merged or pushed"
        );
        repo.agentwt(&["remove", "--undo", "dirty"]).ok();
        assert_eq!(
            std::fs::read_to_string(dirty.join("src/more.rs")).expect("it is back"),
            "x"
        );
    }
}

#[test]
fn dead_owners_and_age_select_and_narrow() {
    let repo = TestRepo::project();
    let mut dead = repo
        .command("sleep", repo.main())
        .arg("60")
        .spawn()
        .expect("it starts");
    let mut alive = repo
        .command("sleep", repo.main())
        .arg("60")
        .spawn()
        .expect("it starts");
    for (name, pid) in [("dead", dead.id()), ("owned", alive.id())] {
        let pid = pid.to_string();
        let arguments = [
            "add",
            name,
            "--write",
            "src/**",
            "--owner",
            name,
            "--owner-pid",
            &pid,
        ];
        repo.agentwt(&arguments).ok();
    }
    repo.add("free");
    dead.kill().expect("it runs");
    dead.wait().expect("it ends");
    let both = ["-n", "--dead-owners", "--older-than", "1h"];
    let narrowed = prune(&repo, &both);
    assert!(
        narrowed
            .iter()
            .all(|line| line.contains("| something happened there")),
        "{narrowed:?}"
    );
    let script = "for name in dead free; do
        sed -i 's/^created = .*/created = \"2026-01-02T03:04:05Z\"/' .git/agentwt/worktrees/$name/record.toml
        find .git/worktrees/$name .git/agentwt/worktrees/$name .git/logs/refs/heads/agentwt/$name .git/refs/heads/agentwt/$name -exec touch -h -d '2026-01-02 03:04:05' {} +
    done";
    sh(&repo, script);
    let said = prune(&repo, &both);
    assert!(said[0].starts_with("would-remove | worktree | dead | its owner `dead` has ended, and nothing happened there for "), "{said:?}");
    let older = prune(&repo, &["-n", "--older-than", "7d"]);
    let words: Vec<&str> = older
        .iter()
        .filter_map(|line| line.split(" | ").next())
        .collect();
    assert_eq!(words, ["would-remove", "would-remove", "kept"], "{older:?}");
    let done = as_announced(&repo, &["--dead-owners"]);
    assert_eq!(
        done,
        [
            "removed | worktree | dead | its owner `dead` has ended",
            "kept | worktree | free | it has no owner",
            "kept | worktree | owned | its owner `owned` is alive",
        ]
    );
    alive.kill().expect("it runs");
    alive.wait().expect("it ends");
}

#[test]
fn prune_beside_running_adds_takes_none_of_them() {
    let repo = TestRepo::project();
    std::thread::scope(|scope| {
        for number in 0..6 {
            let repo = &repo;
            scope.spawn(move || {
                let name = format!("task-{number}");
                repo.agentwt(&["add", &name, "--write", "src/**"]).ok();
            });
        }
        for _ in 0..6 {
            let done = prune(&repo, &[]);
            let wrong = |line: &&String| line.starts_with("removed") && !line.contains("| lock |");
            assert_eq!(done.iter().find(wrong), None, "{done:?}");
        }
    });
    for number in 0..6 {
        assert_eq!(repo.findings(&repo.worktree(&format!("task-{number}"))), "");
    }
    assert_eq!(prune(&repo, &[]), [""; 0]);
}

#[test]
fn a_git_that_runs_prune_itself_does_not_keep_its_locks() {
    let repo = after(
        "touch .git/worktrees/task/index.lock; old .git/worktrees/task/index.lock
        touch .git/refs/heads/agentwt/task.lock; old .git/refs/heads/agentwt/task.lock",
    );
    let program = Path::new(env!("CARGO_BIN_EXE_git-agentwt"));
    let directory = program.parent().expect("a directory").display();
    let line = format!("PATH='{directory}':$PATH git agentwt prune --porcelain");
    let done = lines(&repo.sh(repo.main(), &line));
    assert_eq!(done.len(), 2, "{done:?}");
    assert!(
        done.iter()
            .all(|line| line.starts_with("removed | git-lock |")),
        "{done:?}"
    );
}

#[test]
fn people_and_programs_are_told_the_same() {
    let repo = after(
        "mkdir .agentwt/worktrees/stray .agentwt/worktrees/full; echo x > .agentwt/worktrees/full/x",
    );
    insta::assert_snapshot!(repo.agentwt(&["prune", "-n"]), @r"
    would remove
      directory .agentwt/worktrees/stray: it is empty, and nothing is recorded of it
    kept
      directory .agentwt/worktrees/full: nothing is recorded of it
        to go on: look at it (ls -A .agentwt/worktrees/full), then move it away or rm -r .agentwt/worktrees/full
    --- status 0
    ");
    let json = repo.agentwt(&["prune", "--json"]).ok();
    for part in [
        "\"schema\": \"agentwt.prune/1\"",
        "\"done\": \"removed\"",
        "\"done\": \"kept\"",
    ] {
        assert!(json.contains(part), "{json}");
    }
    let nul = repo.agentwt(&["prune", "-z"]).ok();
    assert!(nul.ends_with('\0') && !nul.contains('\n'), "{nul:?}");
    sh(&repo, "rm -r .agentwt/worktrees/full");
    insta::assert_snapshot!(repo.agentwt(&["prune"]), @r"
    --- stderr
    nothing to prune
    --- status 0
    ");
    let _ = repo.agentwt(&["prune", "--older-than", "7"]).fails(2);
}

#[test]
fn what_a_run_left_in_a_worktree_of_git_stays_until_it_is_taken() {
    let repo = TestRepo::project();
    let config = "schema_version = \"1.0\"\n[scope.default]\nwrite = [\"src/**\"]\n";
    repo.write(".agentwt/config.toml", config);
    repo.commit_all("config");
    repo.git(&["worktree", "add", "-q", "../plain", "-b", "plain"]);
    repo.agentwt(&["hooks", "install", "../plain"]).ok();
    let script = "git=$PWD/.git/agentwt/worktrees/plain/private/git
        git clone -q --bare . $git && git -C $git update-ref refs/heads/plain \\
        $(git -C $git commit-tree -p plain -m one plain^{tree}) && git worktree remove -f ../plain";
    sh(&repo, script);
    let kept = repo.agentwt(&["prune"]).ok();
    let (_, take) = kept.split_once("to go on: ").expect("it says how");
    let (take, _) = take.split_once(';').expect("and then");
    let take = take.replace("$TMP", &repo.root().to_string_lossy());
    sh(&repo, &take);
    assert_eq!(repo.git(&["log", "-1", "--format=%s", "plain-run"]), "one");
    repo.agentwt(&["prune"]).ok();
    assert!(!repo.main().join(".git/agentwt/worktrees/plain").exists());
}

/// What stands in a directory elsewhere, with the permissions; its name is not UTF-8.
const ELSEWHERE: &str = "away=../$(printf 'caf\\351'); find \"$away\" -printf '%P %m\\n' | sort";

#[test]
fn nothing_is_touched_behind_a_link_to_a_name_that_is_not_utf8() {
    let scripts = [
        // on the way
        "rm -rf .agentwt/worktrees; mkdir -p .agentwt; ln -s \"$PWD/$away\" .agentwt/worktrees",
        // at the end
        "mkdir -p .agentwt/worktrees; ln -s \"$PWD/$away\" .agentwt/worktrees/.placing-x",
        "mkdir -p .agentwt/worktrees; ln -s \"$PWD/$away/empty\" .agentwt/worktrees/x",
    ];
    for script in scripts {
        let repo = TestRepo::project();
        let make = "away=../$(printf 'caf\\351'); mkdir -p \"$away/.placing-x/sub\" \"$away/empty\" \"$away/.cloning-y\"
            echo f >\"$away/.placing-x/sub/f\"; chmod 500 \"$away/.placing-x/sub\"";
        sh(&repo, &format!("{make}; {script}"));
        let before = repo.sh(repo.main(), ELSEWHERE).ok();
        assert!(before.contains(".placing-x/sub 500"), "{before}");
        let said = repo.agentwt(&["prune", "--force"]);
        let after = repo.sh(repo.main(), ELSEWHERE).ok();
        assert_eq!(after, before, "{script}: {said}");
    }
}

#[test]
fn what_cannot_be_read_of_a_recorded_worktree_does_not_stop_it() {
    let repo = after("mkdir .git/worktrees/task/locked; mkdir .agentwt/worktrees/stray");
    let said = repo.agentwt(&["prune"]);
    assert_eq!(said.status, 0, "{said}");
    assert!(!repo.worktree("stray").exists(), "{said}");
}
