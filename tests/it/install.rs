//! Runs install.sh for real, with the unoptimised build: a release build would take minutes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::skipped;

/// An empty PREFIX in a temporary directory.
struct Prefix {
    dir: tempfile::TempDir,
}

impl Prefix {
    #[must_use]
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        Self { dir }
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("prefix")
    }

    /// The script in the target directory of this test, which cargo has built before.
    fn install(&self) -> Command {
        let project = Path::new(env!("CARGO_MANIFEST_DIR"));
        let program = Path::new(env!("CARGO_BIN_EXE_git-agentwt"));
        let target = program.ancestors().nth(2).expect("it is in target/debug");
        let mut command = Command::new("sh");
        command
            .arg(project.join("install.sh"))
            .current_dir(self.dir.path())
            .env("PREFIX", self.root())
            .env("CARGO_TARGET_DIR", target)
            .env("CARGO_NET_OFFLINE", "true")
            .env_remove("DESTDIR")
            .env_remove("MANPATH");
        command
    }

    /// Every file and directory below the prefix, or none if it is not there.
    #[must_use]
    fn content(&self) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut open = vec![self.root()];
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    open.push(path.clone());
                }
                let inner = path.strip_prefix(self.root()).expect("it is below");
                found.insert(inner.to_string_lossy().into_owned());
            }
        }
        found
    }
}

#[track_caller]
fn succeed(command: &mut Command) -> String {
    let output = run(command);
    let problems = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{problems}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[track_caller]
fn run(command: &mut Command) -> Output {
    command.output().expect("a shell can be started")
}

#[test]
fn install_puts_everything_in_place_twice_the_same_and_uninstall_leaves_nothing() {
    let prefix = Prefix::new();
    let said = succeed(prefix.install().arg("--debug"));
    assert!(
        said.contains(concat!("installed git-agentwt ", env!("CARGO_PKG_VERSION"))),
        "{said}"
    );
    assert!(said.contains("add the program to your PATH"), "{said}");
    let first = prefix.content();
    for file in [
        "bin/git-agentwt",
        "share/man/man1/git-agentwt.1",
        "share/man/man1/git-agentwt-add.1",
        "share/man/man5/git-agentwt-config.5",
        "share/bash-completion/completions/git-agentwt",
        "share/zsh/site-functions/_git-agentwt",
        "share/fish/vendor_completions.d/git-agentwt.fish",
    ] {
        assert!(first.contains(file), "{file} is missing: {first:?}");
    }

    let bin = prefix.root().join("bin");
    let path = format!(
        "{}:{}",
        bin.to_string_lossy(),
        std::env::var("PATH").unwrap_or_default()
    );
    let said = succeed(prefix.install().arg("--debug").env("PATH", &path));
    assert!(!said.contains("add the program"), "{said}");
    assert_eq!(prefix.content(), first, "a second time changes nothing");

    let said = succeed(
        Command::new("git")
            .args(["agentwt", "--version"])
            .env("PATH", &path),
    );
    assert!(said.starts_with("git-agentwt "), "{said}");

    let said = succeed(prefix.install().arg("--uninstall"));
    assert!(said.contains("removed git-agentwt"), "{said}");
    assert!(!prefix.root().exists(), "{:?}", prefix.content());
    let said = succeed(prefix.install().arg("--uninstall"));
    assert!(said.contains("nothing of git-agentwt"), "{said}");
}

#[test]
fn man_finds_the_page_that_git_opens_for_help() {
    let prefix = Prefix::new();
    succeed(prefix.install().arg("--debug"));
    let manual = prefix.root().join("share/man");
    let found = Command::new("man")
        .args(["-w", "git-agentwt"])
        .env("MANPATH", &manual)
        .output();
    let Ok(found) = found else {
        skipped("man: sudo apt-get install man-db");
        return;
    };
    let found = String::from_utf8_lossy(&found.stdout).trim().to_owned();
    assert!(found.ends_with("share/man/man1/git-agentwt.1"), "{found:?}");

    // git runs `man git-agentwt` for `git agentwt --help`; without a terminal man prints it.
    let bin = prefix.root().join("bin").to_string_lossy().into_owned();
    let path = format!("{bin}:{}", std::env::var("PATH").unwrap_or_default());
    let page = succeed(
        Command::new("git")
            .args(["agentwt", "--help"])
            .env("PATH", path)
            .env("LC_ALL", "C.UTF-8")
            .env_remove("MANPATH")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("HOME", prefix.dir.path()),
    );
    assert!(page.contains("GIT-AGENTWT(1)"), "{page}");
}

#[test]
fn uninstall_keeps_what_it_did_not_install() {
    let prefix = Prefix::new();
    let theirs = prefix.root().join("share/man/man1");
    fs::create_dir_all(&theirs).expect("it is new");
    fs::create_dir(prefix.root().join("bin")).expect("it is new");
    fs::write(theirs.join("other.1"), "").expect("it is new");
    let before = prefix.content();
    succeed(prefix.install().arg("--debug"));
    assert!(prefix.content().len() > before.len());
    succeed(prefix.install().arg("--uninstall"));
    assert_eq!(prefix.content(), before, "an empty bin/ was there before");
}

#[test]
fn destdir_is_put_before_the_prefix_and_no_advice_is_given() {
    let prefix = Prefix::new();
    let said = succeed(
        prefix
            .install()
            .arg("--debug")
            .env("DESTDIR", prefix.root())
            .env("PREFIX", "/usr"),
    );
    assert!(!said.contains("PATH"), "{said}");
    assert!(prefix.content().contains("usr/bin/git-agentwt"));
}

#[test]
fn a_missing_tool_is_named_with_what_installs_it() {
    for (missing, help) in [("cargo", "rustup"), ("git", "apt-get"), ("cc", "gcc")] {
        let prefix = Prefix::new();
        let bin = prefix.dir.path().join("tools");
        fs::create_dir(&bin).expect("it is new");
        for tool in ["cargo", "git", "cc", "dirname"] {
            if tool == missing {
                continue;
            }
            let place = format!("command -v {tool}");
            let place = succeed(Command::new("sh").args(["-c", &place]));
            std::os::unix::fs::symlink(place.trim(), bin.join(tool)).expect("it is new");
        }
        let sh = succeed(Command::new("sh").args(["-c", "command -v sh"]));
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("install.sh");
        let output = run(Command::new(sh.trim())
            .arg(script)
            .env("PATH", &bin)
            .env("PREFIX", prefix.root()));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success());
        assert!(
            said.starts_with(&format!("install.sh: {missing} is not installed\n")),
            "{said}"
        );
        assert!(said.contains(help), "{said}");
        assert!(!prefix.root().exists(), "nothing is left behind");
    }
}
