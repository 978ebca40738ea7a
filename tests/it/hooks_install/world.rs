//! A repository with one linked worktree, somebody's hooks, and a binary that only writes down
//! how it was called.

use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output};

use camino::{Utf8Path, Utf8PathBuf};
use git_agentwt::config::value::OnViolation;
use git_agentwt::git::hooks::status::HooksState;
use git_agentwt::git::hooks::worktree_hooks::WorktreeHooks;
use git_agentwt::git::process::Git;
use git_agentwt::git::runner::SharedRunner;

const USER_HOOK: &str = include_str!("user-hook.sh");
const OPERATIONS: &str = include_str!("operations.sh");
const NAMES: [&str; 14] = [
    "applypatch-msg",
    "pre-applypatch",
    "post-applypatch",
    "pre-commit",
    "pre-merge-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-rebase",
    "post-checkout",
    "post-merge",
    "pre-push",
    "post-rewrite",
    "post-index-change",
];

/// How much of the operations to run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Length {
    Short,
    Full,
}

/// `main/`, its linked worktree `wt/`, its remote `remote/`, and two logs.
pub struct World {
    _dir: tempfile::TempDir,
    pub root: Utf8PathBuf,
}

impl World {
    #[must_use]
    #[track_caller]
    pub fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = Utf8Path::from_path(dir.path())
            .expect("it is UTF-8")
            .to_owned();
        let root = root.canonicalize_utf8().expect("it exists");
        let world = Self { _dir: dir, root };
        for name in ["logs", "bin", "main"] {
            fs::create_dir(world.root.join(name)).expect("a new directory");
        }
        world.fake("echo \"$@\" >>\"$LOGS/ours\"");
        world.git("main", &["init", "-q", "-b", "main", "."]);
        world.git("main", &["config", "maintenance.auto", "false"]);
        world.git("main", &["commit", "-q", "--allow-empty", "-m", "root"]);
        world.git("main", &["init", "-q", "--bare", "../remote"]);
        world.git("main", &["remote", "add", "origin", "../remote"]);
        world.git("main", &["worktree", "add", "-q", "-b", "topic", "../wt"]);
        world
    }

    pub fn admin(&self) -> Utf8PathBuf {
        self.root.join("main/.git/worktrees/wt")
    }

    pub fn binary(&self) -> Utf8PathBuf {
        self.root.join("bin/git-agentwt")
    }

    /// Makes the fake binary do this as a hook; it knows no variables.
    pub fn fake(&self, body: &str) {
        let text = format!("#!/bin/sh\n[ \"$1\" != env ] || exit 0\n{body}\n");
        write_script(&self.binary(), &text);
    }

    /// Puts the user's hooks, one script under all names, into a directory.
    pub fn user_hooks(&self, directory: &str) {
        for name in NAMES {
            write_script(&self.root.join(directory).join(name), USER_HOOK);
        }
    }

    pub fn hooks(&self) -> WorktreeHooks {
        let git = Git::unchecked(&self.root, SharedRunner::default());
        WorktreeHooks::of(&git, &self.admin(), &self.root.join("wt"))
            .expect("it is a linked worktree")
    }

    #[track_caller]
    pub fn install(&self) {
        self.install_asking(OnViolation::Report);
    }

    #[track_caller]
    pub fn install_asking(&self, ask: OnViolation) {
        self.hooks()
            .install(&self.binary(), ask)
            .expect("hooks are installed");
    }

    #[track_caller]
    pub fn status(&self) -> HooksState {
        self.hooks().status(None).expect("the status is read")
    }

    /// Runs git below the root; whatever it says.
    pub fn try_git(&self, dir: &str, args: &[&str]) -> Output {
        let mut command = Command::new("git");
        command.args(args).current_dir(self.root.join(dir));
        command.env("LOGS", self.root.join("logs"));
        command.output().expect("git starts")
    }

    /// Runs git below the root, which must succeed; its standard output.
    #[track_caller]
    pub fn git(&self, dir: &str, args: &[&str]) -> String {
        let answer = self.try_git(dir, args);
        let said = String::from_utf8_lossy(&answer.stderr).into_owned();
        assert!(answer.status.success(), "git {args:?}: {said}");
        String::from_utf8(answer.stdout).expect("git prints UTF-8 here")
    }

    /// Runs the operations; what they and git said, with every status.
    #[track_caller]
    pub fn operate(&self, length: Length) -> String {
        let length = match length {
            Length::Short => "short",
            Length::Full => "full",
        };
        let script = self.root.join("operations.sh");
        fs::write(&script, OPERATIONS).expect("the script is written");
        let answer = Command::new("sh")
            .args([script.as_str(), length])
            .env("ROOT", &self.root)
            .env("LOGS", self.root.join("logs"))
            .output()
            .expect("sh starts");
        self.portable(&String::from_utf8_lossy(&answer.stdout))
    }

    /// A log as far as it must be the same in every world and run.
    #[track_caller]
    pub fn log(&self, name: &str) -> String {
        let text = fs::read_to_string(self.root.join("logs").join(name)).unwrap_or_default();
        let changing = ["PWD=", "OLDPWD=", "SHLVL=", "_="].map(|name| format!("export {name}"));
        let mut out = String::new();
        for line in text.lines() {
            if !changing.iter().any(|start| line.starts_with(start)) {
                let _ = writeln!(out, "{}", without_pid(line));
            }
        }
        self.portable(&out)
    }

    /// The events that ours were started for, by the command that caused them; commands that
    /// caused none are left out.
    #[track_caller]
    pub fn matrix(&self) -> Vec<(String, String)> {
        let log = self.log("ours");
        let commands = log.split("== ").filter_map(|part| part.split_once('\n'));
        let events = |text: &str| {
            let short = |line: &str| line.strip_prefix("hook ").map(forget_ids);
            text.lines()
                .filter_map(short)
                .collect::<Vec<_>>()
                .join(", ")
        };
        commands
            .map(|(command, text)| (command.to_owned(), events(text)))
            .filter(|(_, events)| !events.is_empty())
            .collect()
    }

    fn portable(&self, text: &str) -> String {
        text.replace(self.root.as_str(), "ROOT")
    }
}

/// The name of a temporary index without the process that made it.
fn without_pid(line: &str) -> &str {
    let ends = ["/next-index-", "/index.stash."]
        .iter()
        .filter_map(|name| line.find(name));
    ends.min().map_or(line, |at| &line[..at])
}

/// An event and its arguments without commit ids.
fn forget_ids(line: &str) -> String {
    let words = line.split(' ').filter(|word| word.len() < 40);
    words.collect::<Vec<_>>().join(" ")
}

/// Writes an executable file and the directories above it.
#[track_caller]
pub fn write_script(path: &Utf8Path, text: &str) {
    fs::create_dir_all(path.parent().expect("it is in a directory")).expect("the directory");
    fs::write(path, text).expect("the script is written");
    fs::set_permissions(path, Permissions::from_mode(0o755)).expect("it is executable");
}
