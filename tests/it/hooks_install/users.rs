//! The user's hooks: the same operations with and without ours must leave the same log.

use git_agentwt::git::hooks::scripts::Method;
use git_agentwt::git::process::Git;
use git_agentwt::git::runner::SharedRunner;

use super::gits::with_each_git;
use super::world::{Length, World, write_script};

/// Runs the same operations with and without ours; the user's hooks and git must say the same.
#[track_caller]
fn assert_same_for_the_user(length: Length, set_up: fn(&World)) {
    let [without, with] = [World::new(), World::new()];
    set_up(&without);
    set_up(&with);
    with.install();
    let said = [without.operate(length), with.operate(length)];
    assert_eq!(
        said[0], said[1],
        "git says the same and ends with the same status"
    );
    let refreshed = [&without, &with].map(|world| world.log("refreshed").is_empty());
    assert_eq!(
        refreshed[0], refreshed[1],
        "post-index-change runs for a mere refresh too"
    );
    let [before, after] = [without.log("user"), with.log("user")];
    assert!(before == after, "{}", first_difference(&before, &after));
    assert!(with.log("ours").contains("hook post-commit"), "ours ran");
    let status = with.status();
    assert!(status.is_complete(), "{status:?}");
}

fn first_difference(before: &str, after: &str) -> String {
    let pairs = before.lines().zip(after.lines());
    let at = pairs.take_while(|(a, b)| a == b).count();
    let show = |text: &str| {
        let lines = text.lines().skip(at.saturating_sub(12)).take(20);
        lines.collect::<Vec<_>>().join("\n")
    };
    format!(
        "without ours:\n{}\n\nwith ours:\n{}",
        show(before),
        show(after)
    )
}

#[test]
fn plain_hooks_run_as_before() {
    with_each_git(|| {
        assert_same_for_the_user(Length::Full, |world| world.user_hooks("main/.git/hooks"));
    });
}

#[test]
fn husky_hooks_of_the_worktree_run_as_before() {
    with_each_git(|| {
        assert_same_for_the_user(Length::Short, |world| {
            world.git("main", &["config", "core.hooksPath", ".husky/_"]);
            world.user_hooks("wt/.husky/_");
            write_script(&world.root.join("main/.git/info/exclude"), ".husky\n");
        });
    });
}

#[test]
fn a_missing_husky_directory_is_skipped_as_before() {
    with_each_git(|| {
        assert_same_for_the_user(Length::Short, |world| {
            world.git("main", &["config", "core.hooksPath", ".husky/_"]);
            world.user_hooks("main/.husky/_");
            world.user_hooks("main/.git/hooks");
        });
    });
}

#[test]
fn hooks_of_an_absolute_directory_run_as_before() {
    with_each_git(|| {
        assert_same_for_the_user(Length::Short, |world| {
            let path = world.root.join("my hooks");
            world.git("main", &["config", "core.hooksPath", path.as_str()]);
            world.user_hooks("my hooks");
        });
    });
}

#[test]
fn hooks_of_a_global_directory_run_as_before() {
    with_each_git(|| {
        assert_same_for_the_user(Length::Short, |world| {
            let home = std::env::var("HOME").expect("the test sets it");
            world.git(
                "main",
                &["config", "--global", "core.hooksPath", "~/global"],
            );
            world.user_hooks(&format!("{home}/global"));
        });
    });
}

#[test]
fn hooks_of_the_worktrees_own_setting_run_as_before() {
    with_each_git(|| {
        assert_same_for_the_user(Length::Short, |world| {
            world.git("main", &["config", "extensions.worktreeConfig", "true"]);
            world.git("main", &["config", "core.hooksPath", "/elsewhere"]);
            world.git("wt", &["config", "--worktree", "include.path", "/none"]);
            world.git("wt", &["config", "--worktree", "core.hooksPath", ".own"]);
            world.user_hooks("wt/.own");
            write_script(&world.root.join("main/.git/info/exclude"), ".own\n");
        });
    });
}

#[test]
fn generated_hooks_of_other_tools_run_as_before() {
    with_each_git(|| {
        assert_same_for_the_user(Length::Short, |world| {
            let hooks = world.root.join("main/.git/hooks");
            world.user_hooks("main/.git/tools");
            // pre-commit finds its directory from $0, lefthook goes by the repository's root.
            let pre_commit = "#!/usr/bin/env bash\nHERE=\"$(cd \"$(dirname \"$0\")\" && pwd)\"\n\
                ARGS=(hook-impl --hook-dir \"$HERE\" --)\nARGS+=(\"$@\")\n\
                exec \"$HERE/../tools/${0##*/}\" \"${ARGS[@]}\"\n";
            write_script(&hooks.join("pre-commit"), pre_commit);
            let lefthook = "dir=\"$(git rev-parse --show-toplevel)\"\n\
                \"$(git rev-parse --git-common-dir)/tools/${0##*/}\" run \"$dir\" \"$@\"\n";
            for name in ["commit-msg", "post-checkout", "pre-push", "post-rewrite"] {
                // Without a shebang: git gives such a file to sh.
                write_script(&hooks.join(name), lefthook);
            }
        });
    });
}

#[test]
fn hooks_that_change_what_git_does_are_chained_only_where_the_user_has_them() {
    with_each_git(|| {
        let world = World::new();
        let method = Method::of(
            Git::unchecked(&world.root, SharedRunner::default())
                .version()
                .expect("it says which"),
        );
        world.install();
        let stub = world.admin().join("agentwt/hooks/reference-transaction");
        let chains =
            std::fs::read_to_string(stub).is_ok_and(|text| text.contains("core.hooksPath"));
        assert!(!chains, "it would cost every command");
        let hook = world.root.join("main/.git/hooks/reference-transaction");
        write_script(
            &hook,
            "#!/bin/sh\necho \"$@\" >>\"$LOGS/user\"; cat >>\"$LOGS/user\"\n",
        );
        let late = world.status().faults;
        match method {
            Method::Configured => assert!(late.is_empty(), "{late:?}"),
            Method::HooksPath => {
                assert_eq!(late, ["your reference-transaction hook is newer than ours"]);
            }
        }
        world.install();
        assert!(world.status().is_complete());
        assert_eq!(world.status().method, Some(method));
        world.git("wt", &["commit", "-q", "--allow-empty", "-m", "x"]);
        let log = world.log("user");
        assert!(
            log.contains("committed\n") && log.contains(" refs/heads/topic\n"),
            "{log}"
        );
    });
}
