//! Installing, repairing, looking at and removing hooks, and what must not change by it.

use std::fs;

use git_agentwt::config::value::OnViolation;
use git_agentwt::git::hooks::scripts::Method;
use git_agentwt::git::hooks::worktree_hooks::WorktreeHooks;
use git_agentwt::git::process::Git;
use git_agentwt::git::runner::SharedRunner;
use git_agentwt::git::version::GitVersion;

use super::gits::with_each_git;
use super::world::World;

#[test]
fn the_main_worktree_and_its_configuration_are_left_alone() {
    with_each_git(|| {
        let world = World::new();
        world.git("main", &["config", "extensions.worktreeConfig", "true"]);
        let config = fs::read(world.root.join("main/.git/config")).expect("it exists");
        world.install();
        world.git("main", &["commit", "-q", "--allow-empty", "-m", "x"]);
        assert_eq!(world.log("ours"), "");
        assert_eq!(
            fs::read(world.root.join("main/.git/config")).expect("it exists"),
            config
        );
        assert!(!world.root.join("main/.git/config.worktree").exists());
        let git = Git::unchecked(&world.root, SharedRunner::default());
        let main = world.root.join("main");
        let refused = WorktreeHooks::of(&git, &main.join(".git"), &main);
        assert!(refused.is_err(), "{refused:?}");
    });
}

#[test]
fn a_bare_repository_stays_bare_and_its_worktrees_work() {
    with_each_git(|| {
        let world = World::new();
        world.git("remote", &["fetch", "-q", "../main", "main:main"]);
        for name in ["one", "two"] {
            world.git(
                "remote",
                &[
                    "worktree",
                    "add",
                    "-q",
                    "-b",
                    name,
                    &format!("../{name}"),
                    "main",
                ],
            );
        }
        let git = Git::unchecked(&world.root, SharedRunner::default());
        let admin = world.root.join("remote/worktrees/one");
        let hooks = WorktreeHooks::of(&git, &admin, &world.root.join("one"));
        let hooks = hooks.expect("it is a linked worktree");
        let config = fs::read_to_string(world.root.join("remote/config")).expect("it exists");
        fs::create_dir(admin.join("config.worktree")).expect("a directory in its place");
        hooks
            .install(&world.binary(), OnViolation::Report)
            .expect_err("it cannot be written");
        let undone = fs::read_to_string(world.root.join("remote/config")).expect("it exists");
        assert_eq!(undone, config, "a failed install undoes what it did");
        assert!(!world.root.join("remote/config.worktree").exists());
        assert!(!admin.join("agentwt").exists());
        fs::remove_dir(admin.join("config.worktree")).expect("it is empty");
        hooks
            .install(&world.binary(), OnViolation::Report)
            .expect("hooks are installed");
        for name in ["one", "two"] {
            world.git(name, &["commit", "-q", "--allow-empty", "-m", "x"]);
            assert_eq!(
                world.git(name, &["rev-parse", "--is-bare-repository"]),
                "false\n"
            );
        }
        assert_eq!(
            world.git("remote", &["rev-parse", "--is-bare-repository"]),
            "true\n"
        );
        assert_eq!(world.log("ours"), "hook post-commit\n");
    });
}

#[test]
fn uninstall_leaves_everything_as_it_was() {
    with_each_git(|| {
        let world = World::new();
        world.user_hooks("main/.git/hooks");
        world.git("main", &["config", "extensions.worktreeConfig", "true"]);
        let file = world.admin().join("config.worktree");
        for before in [
            None,
            Some("[core]\n\thooksPath = .own\n[user]\n\tname = me # me\n"),
        ] {
            if let Some(text) = before {
                fs::write(&file, text).expect("it is written");
            }
            world.install();
            world.install_asking(OnViolation::Block);
            world.install();
            world.hooks().uninstall().expect("hooks are removed");
            world
                .hooks()
                .uninstall()
                .expect("hooks are removed already");
            assert_eq!(fs::read_to_string(&file).ok().as_deref(), before);
            assert!(!world.admin().join("agentwt").exists());
            assert_eq!(world.status().method, None);
        }
        world.install();
        world.git(
            "wt",
            &["config", "--worktree", "--add", "include.path", "other"],
        );
        world.git("wt", &["config", "--worktree", "x.y", "z"]);
        world.hooks().uninstall().expect("hooks are removed");
        let left = world.git("wt", &["config", "--worktree", "--list"]);
        assert_eq!(
            left,
            "core.hookspath=.own\nuser.name=me\ninclude.path=other\nx.y=z\n"
        );
    });
}

#[test]
fn installing_again_repairs_and_switches_the_method() {
    with_each_git(|| {
        let world = World::new();
        world.install();
        let method = Method::of(
            Git::unchecked(&world.root, SharedRunner::default())
                .version()
                .expect("it says which"),
        );
        assert_eq!(complete(&world), Some(method));
        // What the other method leaves behind, as far as git would obey it.
        let hooks = world.admin().join("agentwt/hooks");
        let config = fs::read_to_string(hooks.join("config")).expect("it exists");
        let other = match method {
            Method::Configured => "[core]\n\thooksPath = /elsewhere\n",
            Method::HooksPath => "[hook \"agentwt-post-commit\"]\n\tcommand = false\n",
        };
        fs::write(hooks.join("config"), other).expect("it is written");
        assert_eq!(complete(&world), None);
        fs::remove_file(hooks.join("agentwt.d/post-merge")).expect("it was there");
        world.install();
        assert_eq!(
            fs::read_to_string(hooks.join("config")).expect("it exists"),
            config
        );
        assert_eq!(complete(&world), Some(method));
        world.git("wt", &["commit", "-q", "--allow-empty", "-m", "x"]);
        assert_eq!(world.log("ours"), "hook post-commit\n");
    });
}

#[test]
fn status_names_what_is_wrong() {
    with_each_git(|| {
        let world = World::new();
        world.install();
        let version = Git::unchecked(&world.root, SharedRunner::default())
            .version()
            .expect("it says which");
        let method = Method::of(version);
        assert_eq!(
            world.status().user_directory,
            world.root.join("main/.git/hooks")
        );
        world.git("main", &["config", "extensions.worktreeConfig", "false"]);
        assert_eq!(world.status().faults, ["extensions.worktreeConfig is off"]);
        world.git("main", &["config", "extensions.worktreeConfig", "true"]);
        let script = world.admin().join("agentwt/hooks/agentwt.d/post-commit");
        fs::write(&script, "").expect("it is written");
        assert_eq!(
            world.status().faults,
            [format!("{script} is missing or altered")]
        );
        world.install();
        world.git("wt", &["config", "--worktree", "core.hooksPath", "/mine"]);
        if version < GitVersion::CONFIGURED_HOOKS {
            let (scope, path) = ("worktree".to_owned(), "/mine".into());
            assert_eq!(world.status().overridden, Some((scope, path)));
            world.install();
        }
        assert_eq!(complete(&world), Some(method));
        assert_eq!(world.status().user_directory, "/mine");
        world.git(
            "wt",
            &[
                "config",
                "--worktree",
                "hook.agentwt-post-commit.enabled",
                "off",
            ],
        );
        let expected = match method {
            Method::Configured => vec!["our post-commit hook is disabled by a setting".to_owned()],
            Method::HooksPath => Vec::new(),
        };
        assert_eq!(world.status().faults, expected);
    });
}

#[test]
fn a_script_that_asks_before_a_commit_and_is_gone_is_named() {
    with_each_git(|| {
        let world = World::new();
        world.install_asking(OnViolation::Block);
        let script = world.admin().join("agentwt/hooks/agentwt.d/pre-commit");
        fs::remove_file(&script).expect("it is there");
        let status = world
            .hooks()
            .status(Some(OnViolation::Block))
            .expect("it is read");
        assert_eq!(status.on_violation, OnViolation::Block);
        assert!(
            status
                .faults
                .contains(&format!("{script} is missing or altered")),
            "{status:?}"
        );
    });
}

/// The method, if all is as installed.
fn complete(world: &World) -> Option<Method> {
    let status = world.status();
    status.method.filter(|_| status.is_complete())
}
