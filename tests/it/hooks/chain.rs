//! The user's hooks beside ours, where ours finds out by itself whether there are any
//! (`hooks/core-hooksPath.sh`).

use super::{World, with_each_git};
use crate::support::is_root;

/// Two commits with another README, which is only to be read, and hooks that `LOG` says of.
const TWO: &str = r#"LOG=$MAIN/../log
other() { git -C "$MAIN" branch other; git -C "$MAIN" switch -q other; echo other >"$MAIN/README.md"
    git -C "$MAIN" commit -q -a -m other; git -C "$MAIN" switch -q main; }
hook() { mkdir -p "$1"; printf '#!/bin/sh\necho "$1 $(ls -l README.md | cut -c3)" >>"%s"\n' "$LOG" >"$1/post-index-change"
    chmod 555 "$1/post-index-change"; }
other
"#;

/// Whether our scripts start the user's hooks: git before 2.54.
fn is_chained(world: &World) -> bool {
    let stub = ".git/worktrees/task/agentwt/hooks/post-commit";
    world.repo.main().join(stub).exists()
}

#[test]
fn the_users_hook_goes_first_and_runs_once_wherever_it_is() {
    for (set_up, runs) in [
        ("true", false),
        ("hook $MAIN/.git/hooks", true),
        ("hook $MAIN/.git/hooks; chmod -x $MAIN/.git/hooks/*", false),
        // not the owner's to start, which root does all the same
        (
            "hook $MAIN/.git/hooks; chmod 411 $MAIN/.git/hooks/*",
            is_root(),
        ),
        ("mkdir -p $MAIN/.git/hooks/post-index-change", false),
        (
            "mkdir -p $MAIN/.git/hooks; ln -s /none $MAIN/.git/hooks/post-index-change",
            false,
        ),
        (
            "hook $MAIN/.git/tools; mkdir -p $MAIN/.git/hooks; ln -s ../tools/post-index-change $MAIN/.git/hooks",
            true,
        ),
        (
            "git config core.hooksPath .husky/_; hook .husky/_; echo .husky >>$MAIN/.git/info/exclude",
            true,
        ),
        (
            "git config core.hooksPath .husky/_; hook $MAIN/.git/hooks",
            false,
        ),
        (
            "git config core.hooksPath \"$MAIN/.git/my hooks\"; hook \"$MAIN/.git/my hooks\"",
            true,
        ),
        (
            "git config --global core.hooksPath '~/global'; hook \"$HOME/global\"",
            true,
        ),
        (
            "git config --file $HOME/more core.hooksPath '~/global'; hook \"$HOME/global\"
            git config --global includeIf.gitdir:/.path '~/more'",
            true,
        ),
        (
            "git config --global includeIf.gitdir:/none/.path '~/more'; hook $MAIN/.git/hooks",
            true,
        ),
        // where nothing can be written down, and where a path is not UTF-8
        (
            "hook $MAIN/.git/hooks; s=$MAIN/.git/worktrees/task/agentwt; rm -f $s/users; mkdir $s/users",
            true,
        ),
        (
            "h=$MAIN/.git/$(printf 'h\\377'); git config core.hooksPath \"$h\"; hook \"$h\"",
            true,
        ),
    ] {
        with_each_git("", |world| {
            world.does(&format!("{TWO}{set_up}"));
            let log = world.repo.root().join("log");
            for branch in ["other", "agentwt/task"] {
                let _ = std::fs::remove_file(&log);
                // only git-config(1) obeys the variable, which our script asks
                let said = world.does(&format!("GIT_CONFIG=/none git switch -q {branch}"));
                // that verification cannot read such a setting it says once, after the switch
                let most = usize::from(set_up.contains("377"));
                let faults = said.matches("error:").count();
                assert!(faults <= most, "{}: {set_up}: {said}", world.version);
                let said = std::fs::read_to_string(&log).unwrap_or_default();
                // and that we refresh the index is not told
                let of_files: Vec<&str> = said.lines().collect();
                let found = is_chained(world)
                    .then_some("1 w")
                    .or(of_files.first().copied());
                let expected: Vec<&str> = found.filter(|_| runs).into_iter().collect();
                assert_eq!(of_files, expected, "{}: {set_up}", world.version);
                assert_eq!(of_files.is_empty(), !runs, "{}: {set_up}", world.version);
                world.bits_are_right(set_up);
            }
        });
    }
}

#[test]
fn a_switch_starts_no_other_git() {
    with_each_git("", |world| {
        world.does(&format!(
            "{TWO}git switch -q other; git switch -q agentwt/task"
        ));
        let trace = world.repo.root().join("trace");
        for set_up in [
            "true",
            "git config --global includeIf.gitdir:/none/.path '~/more'",
        ] {
            world.does(set_up);
            // the first switch after a change of the settings asks git where the user's hooks are
            world.does("git switch -q other; git switch -q agentwt/task");
            world.does(&format!(
                "GIT_TRACE2_EVENT={} git switch -q other; git switch -q agentwt/task",
                trace.display()
            ));
            let events = std::fs::read_to_string(&trace).expect("git has written it");
            let starts = events
                .lines()
                .filter(|line| line.contains("\"event\":\"start\""));
            let others: Vec<&str> = starts.filter(|line| !line.contains("\"switch\"")).collect();
            assert!(
                others.is_empty(),
                "{}: {set_up}: {others:#?}",
                world.version
            );
            std::fs::remove_file(&trace).expect("it is there");
        }
    });
}

/// A transaction of nothing says nothing (githooks(5), reference-transaction).
#[test]
fn the_users_reference_transaction_reads_what_git_says_byte_for_byte() {
    with_each_git("", |world| {
        let counting = "mkdir -p $MAIN/.git/hooks; h=$MAIN/.git/hooks/reference-transaction
            printf '#!/bin/sh\\necho $1 $(wc -c) >>\"%s\"\\n' \"$MAIN/../log\" >$h; chmod +x $h
            git config user.name x; git switch -q agentwt/task";
        world.does(counting);
        world.repo.agentwt(&["hooks", "install", "task"]).ok();
        let log = world.repo.root().join("log");
        let transactions = "id=$(git rev-parse HEAD); printf 'start\\nprepare\\ncommit\\n' | git update-ref --stdin
            git update-ref refs/heads/x $id; printf 'start\\nupdate refs/heads/y %s\\nprepare\\nabort\\n' $id | git update-ref --stdin";
        let said = ["task", "plain"].map(|name| {
            let _ = std::fs::remove_file(&log);
            if name == "plain" {
                world.does("git worktree add -q $MAIN/../plain");
                let _ = std::fs::remove_file(&log);
                world.does("git update-ref -d refs/heads/x");
                let _ = std::fs::remove_file(&log);
                world
                    .run(&world.repo.root().join("plain"), transactions)
                    .ok();
            } else {
                world.does(transactions);
            }
            std::fs::read_to_string(&log).expect("the hook ran")
        });
        assert_eq!(said[0], said[1], "{}", world.version);
        assert!(said[0].contains(" 0\n"), "{}: {}", world.version, said[0]);
    });
}

/// Git ignores the status in the state `committed`: the move was made, and belongs into the journal.
#[test]
fn a_hook_of_the_user_that_fails_once_all_is_done_hides_no_move() {
    with_each_git("", |world| {
        world.does(
            "mkdir -p $MAIN/.git/hooks; h=$MAIN/.git/hooks/reference-transaction
            printf '#!/bin/sh\\n[ \"$1\" != committed ]\\n' >$h; chmod +x $h",
        );
        world.repo.agentwt(&["hooks", "install", "task"]).ok();
        world.does("echo x >>src/main.rs; git commit -q -a -m x");
        let said = world.repo.agentwt(&["verify", "task"]).to_string();
        assert!(
            !said.contains("without our hooks"),
            "{}: {said}",
            world.version
        );
        let refusing = "h=$MAIN/.git/hooks/reference-transaction
            printf '#!/bin/sh\\n[ \"$1\" != prepared ]\\n' >$h; git commit -q --allow-empty -m y";
        let said = world.run(&world.worktree, refusing);
        assert_ne!(said.status, 0, "{}: {said}", world.version);
    });
}

/// The index stays as git has made it for others (`core.sharedRepository`, git-config(1)).
#[test]
fn the_index_keeps_its_permissions() {
    with_each_git("", |world| {
        world.does(&format!("{TWO}git switch -q other; git switch -q agentwt/task; git config core.sharedRepository group"));
        let mode = "umask 077; git switch -q other; ls -l \"$(git rev-parse --git-path index)\" | cut -c1-10";
        assert_eq!(
            world.does_out(mode).trim(),
            "-rw-rw----",
            "{}",
            world.version
        );
        world.bits_are_right("switch");
    });
}
