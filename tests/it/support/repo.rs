//! Makes repositories: [`TestRepo`].

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use git_agentwt::record::worktree::Intent;
use git_agentwt::record::worktree::Record;
use git_agentwt::words::name::BranchName;
use git_agentwt::words::name::WorktreeName;
use git_agentwt::words::toml_file::to_text;

use super::{Said, binary, hermetic, skipped, template};

/// Represents a repository in a temporary directory of its own, which is removed at the end.
pub struct TestRepo {
    tmp: tempfile::TempDir,
    root: PathBuf,
    main: PathBuf,
    path: Option<PathBuf>,
}

impl TestRepo {
    /// Makes an empty repository on branch `main`.
    #[must_use]
    #[track_caller]
    pub fn empty() -> Self {
        let repo = Self::nothing();
        template::put(&repo, "empty", Self::init);
        repo
    }

    fn init(&self) {
        self.git(&["init", "-q"]);
    }

    /// Makes an empty repository with more options for `git init`.
    #[must_use]
    #[track_caller]
    pub fn empty_with(options: &[&str]) -> Self {
        let repo = Self::nothing();
        let mut init = vec!["init", "-q"];
        init.extend(options);
        repo.git(&init);
        repo
    }

    /// The same as [`TestRepo::project`], where the build is: not in memory, on most machines.
    #[must_use]
    #[track_caller]
    pub fn project_on_disk() -> Self {
        let repo = Self::nothing_in(Path::new(env!("CARGO_TARGET_TMPDIR")));
        repo.init();
        repo.fill();
        repo
    }

    /// Makes a home and an empty directory where the main worktree is to be.
    #[track_caller]
    fn nothing() -> Self {
        Self::nothing_in(&std::env::temp_dir())
    }

    #[track_caller]
    fn nothing_in(place: &Path) -> Self {
        let tmp = tempfile::Builder::new()
            .prefix("agentwt")
            .tempdir_in(place)
            .expect("a directory");
        let root = tmp.path().canonicalize().expect("it is there");
        let main = root.join("repo");
        let repo = Self {
            tmp,
            root,
            main,
            path: None,
        };
        std::fs::create_dir_all(repo.home()).expect("a home");
        std::fs::create_dir_all(&repo.main).expect("a directory");
        let config = "[user]\n\tname = Ada\n\temail = ada@example.invalid\n\
            [init]\n\tdefaultBranch = main\n[advice]\n\tdetachedHead = false\n\
            [protocol \"file\"]\n\tallow = always\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n";
        std::fs::write(repo.home().join(".gitconfig"), config).expect("a configuration");
        repo
    }

    /// Makes a repository with a commit of a small project: `src`, `tests`, `docs`, a read-only
    /// top level, something secret, a link, an executable and ignore rules.
    #[must_use]
    #[track_caller]
    pub fn project() -> Self {
        let repo = Self::nothing();
        template::put(&repo, "project", Self::init_and_fill);
        repo
    }

    /// The small project with the worktree `task`; that directory.
    #[must_use]
    #[track_caller]
    pub fn with_task() -> (Self, PathBuf) {
        let repo = Self::project();
        let worktree = repo.add("task");
        (repo, worktree)
    }

    /// The same after lines of sh in the worktree.
    #[must_use]
    #[track_caller]
    pub fn task_after(lines: &str) -> (Self, PathBuf) {
        let (repo, worktree) = Self::with_task();
        repo.script(&worktree, lines);
        (repo, worktree)
    }

    /// Makes a repository with one committed file, `src/a`.
    #[must_use]
    #[track_caller]
    pub fn with_one_file() -> Self {
        let repo = Self::empty();
        repo.write("src/a", "a\n");
        repo.commit_all("one");
        repo
    }

    /// The small project with the repository `../lib` as submodule `vendor/lib`.
    #[must_use]
    #[track_caller]
    pub fn with_submodule() -> Self {
        let repo = Self::project();
        let script = "git init -q ../lib; echo lib >../lib/lib.c; git -C ../lib add .
            git -C ../lib commit -q -m lib; git submodule --quiet add ../lib vendor/lib
            git commit -q -m lib";
        repo.script(repo.main(), script);
        repo
    }

    fn init_and_fill(&self) {
        self.init();
        self.fill();
    }

    /// Makes the same, by git and not from a copy.
    #[must_use]
    #[track_caller]
    pub fn project_by_git() -> Self {
        let repo = Self::nothing();
        repo.init_and_fill();
        repo
    }

    /// Commits the small project.
    #[track_caller]
    pub fn fill(&self) {
        self.write("src/main.rs", "fn main() {}\n");
        self.write("src/mod/util.rs", "pub fn u() {}\n");
        self.write("tests/t.rs", "t\n");
        self.write("docs/guide.md", "guide\n");
        self.write("docs/api.md", "api v1\n");
        self.write("README.md", "read me\n");
        self.write("package.json", "{}\n");
        self.write("secrets/key.pem", "PEM\n");
        self.write("app/secrets/token", "TOKEN\n");
        self.write(".gitignore", "target/\n*.log\n");
        self.write("tools/run.sh", "#!/bin/sh\n");
        self.chmod("tools/run.sh", 0o755);
        std::os::unix::fs::symlink("README.md", self.main.join("link")).expect("a link");
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", "one"]);
    }

    /// Uses the git of this bin directory for everything.
    #[must_use]
    pub fn with_git(mut self, directory: &Path) -> Self {
        self.path = Some(directory.to_owned());
        self
    }

    /// The temporary directory, without links in it.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The home directory.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// The main worktree.
    #[must_use]
    pub fn main(&self) -> &Path {
        &self.main
    }

    /// The directory of a worktree.
    #[must_use]
    pub fn worktree(&self, name: &str) -> PathBuf {
        self.main.join(".agentwt/worktrees").join(name)
    }

    /// Writes the intent of an `add` that was killed, or runs in this process.
    pub fn write_intent(&self, name: &str, branch: &str, process: u32, began: &str) {
        let name = WorktreeName::parse(name).expect("a name");
        let path = self.worktree(name.as_str());
        let path = path.to_str().expect("UTF-8").into();
        let dir = self.main.join(".git/agentwt/worktrees").join(name.as_str());
        let intent = Intent {
            process,
            branch_at: None,
            record: Record {
                branch: BranchName::from_git(branch),
                ..Record::new(name, path, began.to_owned())
            },
        };
        std::fs::create_dir_all(&dir).expect("a directory");
        std::fs::write(dir.join("intent.toml"), to_text(&intent)).expect("written");
    }

    /// Keeps the directory for looking at it after a failure.
    #[allow(dead_code, reason = "for the moment, while a test fails")]
    pub fn keep(self) -> PathBuf {
        let root = self.root.clone();
        let _ = self.tmp.keep();
        root
    }

    /// A command of this world in a directory.
    #[must_use]
    pub fn command(&self, program: impl AsRef<OsStr>, dir: &Path) -> Command {
        let mut command = hermetic(program, &self.home(), dir);
        if let Some(git) = &self.path {
            let path = std::env::var("PATH").unwrap_or_default();
            let ours = binary().parent().map(Path::to_owned).unwrap_or_default();
            command.env(
                "PATH",
                format!("{}:{}:{path}", git.display(), ours.display()),
            );
        }
        command
    }

    /// Runs a line of sh in the main worktree on a terminal, by script(1); what the terminal gets. None
    /// where there is no script(1).
    pub fn on_a_terminal(&self, line: &str) -> Option<String> {
        let mut command = self.command("script", &self.main);
        command.env_remove("NO_COLOR").env("TERM", "xterm");
        command.args(["-q", "-e", "-c", line, "/dev/null"]);
        let output = command
            .env("SHELL", "/bin/sh")
            .stdin(Stdio::null())
            .output();
        if output.is_err() {
            skipped("script(1): sudo apt-get install bsdutils");
        }
        Some(String::from_utf8_lossy(&output.ok()?.stdout).into_owned())
    }

    /// Runs git in the main worktree; its stdout. Fails the test if git fails.
    #[track_caller]
    pub fn git(&self, arguments: &[&str]) -> String {
        self.git_in(&self.main, arguments)
    }

    /// Runs git in a directory; its stdout. Fails the test if git fails.
    #[track_caller]
    pub fn git_in(&self, dir: &Path, arguments: &[&str]) -> String {
        self.try_git(dir, arguments).ok()
    }

    /// Runs git in a directory, whatever comes of it.
    #[track_caller]
    pub fn try_git(&self, dir: &Path, arguments: &[&str]) -> Said {
        let output = self
            .command("git", dir)
            .args(arguments)
            .output()
            .expect("git starts");
        self.said(&output)
    }

    /// Runs `git-agentwt` in the main worktree.
    #[track_caller]
    pub fn agentwt(&self, arguments: &[&str]) -> Said {
        self.agentwt_in(&self.main, arguments)
    }

    /// Runs `git-agentwt` in a directory.
    #[track_caller]
    pub fn agentwt_in(&self, dir: &Path, arguments: &[&str]) -> Said {
        let output = self
            .command(binary(), dir)
            .args(arguments)
            .output()
            .expect("it starts");
        self.said(&output)
    }

    /// Runs `git-agentwt` in a directory with this standard input.
    #[track_caller]
    pub fn agentwt_with_input(&self, dir: &Path, arguments: &[&str], input: &[u8]) -> Said {
        let mut command = self.command(binary(), dir);
        command.args(arguments).stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let written = child.stdin.take().expect("a pipe").write_all(input);
        if let Err(error) = written {
            // one that has refused its arguments has ended without reading
            let kind = error.kind();
            assert_eq!(kind, std::io::ErrorKind::BrokenPipe, "{error}");
        }
        self.said(&child.wait_with_output().expect("it ends"))
    }

    /// Runs a line of sh in a directory, whatever comes of it.
    #[track_caller]
    pub fn sh(&self, dir: &Path, line: &str) -> Said {
        let output = self
            .command("sh", dir)
            .args(["-c", line])
            .output()
            .expect("sh starts");
        self.said(&output)
    }

    /// Runs lines of sh in a directory, of which each must succeed; `$MAIN` is the main worktree.
    #[track_caller]
    pub fn script(&self, dir: &Path, lines: &str) -> String {
        let main = self.main.display();
        self.sh(dir, &format!("set -e\nMAIN='{main}'\n{lines}"))
            .ok()
    }

    /// Writes a hook of the repository, in sh.
    #[track_caller]
    pub fn hook(&self, name: &str, body: &str) {
        let file = self.main.join(".git/hooks").join(name);
        std::fs::create_dir_all(file.parent().expect("a parent")).expect("a directory");
        std::fs::write(&file, format!("#!/bin/sh\n{body}\n")).expect("a hook");
        chmod(&file, 0o755);
    }

    /// Turns the output of a process into what it said.
    #[track_caller]
    pub fn said(&self, output: &Output) -> Said {
        Said::of(output, &self.root.to_string_lossy())
    }

    /// Adds a worktree that may edit `src/**`, `tests/**` and `/package.json` and does not see
    /// `**/secrets/**`; its directory.
    #[track_caller]
    pub fn add(&self, name: &str) -> PathBuf {
        let scope = [
            "--write",
            "src/**",
            "--write",
            "tests/**",
            "--write",
            "/package.json",
        ];
        let mut arguments = vec!["add", name, "--exclude", "**/secrets/**"];
        arguments.extend(scope);
        self.agentwt(&arguments).ok();
        self.worktree(name)
    }

    /// Verifies a new worktree once its directories are old enough that the names in them are
    /// believed from then on (`GIT_AGENTWT_WALK=names`, docs/decisions/0025-known-names.md).
    #[track_caller]
    pub fn learn_names(&self, name: &str) {
        // the clock of file systems, which tells an older change from a later one
        std::thread::sleep(std::time::Duration::from_millis(25));
        let _verdict = self.agentwt(&["verify", name]);
    }

    /// Writes a file of the main worktree.
    #[track_caller]
    pub fn write(&self, path: &str, text: &str) {
        write(&self.main, path.as_bytes(), text.as_bytes());
    }

    /// Sets the permissions of a file of the main worktree.
    #[track_caller]
    pub fn chmod(&self, path: &str, mode: u32) {
        chmod(&self.main.join(path), mode);
    }

    /// Commits everything in the main worktree; the commit.
    #[track_caller]
    pub fn commit_all(&self, message: &str) -> String {
        self.commit_all_in(&self.main, message)
    }

    /// Commits everything in a worktree; the commit.
    #[track_caller]
    pub fn commit_all_in(&self, dir: &Path, message: &str) -> String {
        self.git_in(dir, &["add", "-A"]);
        self.git_in(dir, &["commit", "-q", "--allow-empty", "-m", message]);
        self.git_in(dir, &["rev-parse", "HEAD"])
    }

    /// The findings of a worktree as `path kind reason level` lines.
    #[track_caller]
    pub fn findings(&self, dir: &Path) -> String {
        let said = self.agentwt_in(dir, &["verify", "--format", "tsv"]);
        assert!(said.status < 2, "there is a verdict: {said}");
        said.stdout.replace('\t', " ")
    }

    /// The refs of ours, with the objects that they name, but for what is held for the private git
    /// directories of removed worktrees.
    #[track_caller]
    pub fn own_refs(&self) -> Vec<String> {
        let listed = self.git(&[
            "for-each-ref",
            "--format=%(refname) %(objectname)",
            "refs/agentwt",
        ]);
        let mut refs = Vec::new();
        for line in listed.lines() {
            if !line.contains("/trash/+git/") {
                refs.push(line.to_owned());
            }
        }
        refs
    }

    /// Everything that must be as before after a failed `add`: refs, worktrees, configuration,
    /// every file of the git directory that is not an object or a log, and the main worktree.
    #[track_caller]
    pub fn fingerprint(&self) -> String {
        let script = r"
            git for-each-ref; git worktree list; git status --porcelain --ignored
            cat .git/config; cat .git/info/exclude 2>/dev/null
            find . -path ./.git/objects -prune -o -path ./.git/logs -prune -o -print | sort
        ";
        let said = self.sh(&self.main, script);
        assert_eq!(said.status, 0, "{said}");
        said.stdout
    }
}

/// Writes a file whose name may be any bytes; its directory is made.
#[track_caller]
pub fn write(dir: &Path, path: &[u8], bytes: &[u8]) {
    let file = dir.join(OsStr::from_bytes(path));
    std::fs::create_dir_all(file.parent().expect("a parent")).expect("a directory");
    std::fs::write(&file, bytes)
        .unwrap_or_else(|error| panic!("write {}: {error}", file.display()));
}

/// Sets the permissions of a file.
#[track_caller]
pub fn chmod(file: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(mode)).expect("a file of ours");
}
