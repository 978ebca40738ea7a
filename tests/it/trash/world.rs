//! Gives the tests a worktree with placed files, and says everything that must come back.

use std::path::{Path, PathBuf};

use crate::support::{Said, TestRepo, wait_until};

/// Represents a repository with the worktree `task`.
pub struct World {
    pub repo: TestRepo,
    pub worktree: PathBuf,
}

/// Holds everything that must come back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Everything {
    pub disk: String,
    pub git: String,
    pub findings: String,
}

impl World {
    /// Nobody has worked there yet.
    #[track_caller]
    pub fn new() -> Self {
        Self::of(TestRepo::project())
    }

    #[track_caller]
    pub fn of(repo: TestRepo) -> Self {
        Self::with(repo, "worktree")
    }

    /// With one of the two strategies.
    #[track_caller]
    pub fn with(repo: TestRepo, strategy: &str) -> Self {
        repo.write(".env", "A=1\n");
        repo.write("certs/a.log", "cert\n");
        repo.chmod("certs/a.log", 0o600);
        repo.write("src/local.json", "{}\n");
        std::os::unix::fs::symlink("certs/a.log", repo.main().join("cert")).expect("a link");
        let mut arguments = vec!["add", "task", "--exclude", "**/secrets/**"];
        arguments.extend(["--strategy", strategy]);
        for write in ["src/**", "tests/**", "/package.json"] {
            arguments.extend(["--write", write]);
        }
        for sync in [".env", "certs/**", "src/local.json", "cert"] {
            arguments.extend(["--sync", sync]);
        }
        repo.agentwt(&arguments).ok();
        let worktree = repo.worktree("task");
        Self { repo, worktree }
    }

    /// Somebody did this there.
    #[track_caller]
    pub fn after(script: &str) -> Self {
        let world = Self::new();
        world.sh(script);
        world
    }

    /// Whether it is a repository of its own.
    pub fn is_clone(&self) -> bool {
        self.worktree.join(".git").is_dir()
    }

    /// Runs lines of sh in the worktree; `$MAIN` is the main one, and `upstream` gives a clone what
    /// was committed there.
    #[track_caller]
    pub fn sh(&self, script: &str) -> String {
        let main = self.repo.main().display();
        let upstream = if self.is_clone() {
            "git fetch -q \"$MAIN\" +main:main"
        } else {
            ":"
        };
        let script = format!("set -e\nMAIN='{main}'\nupstream() {{ {upstream}; }}\n{script}");
        self.repo.sh(&self.worktree, &script).ok()
    }

    #[track_caller]
    pub fn agentwt(&self, arguments: &[&str]) -> Said {
        self.repo.agentwt(arguments)
    }

    /// Every entry on disk with its type, mode and content; what git says; what `verify` finds.
    #[track_caller]
    pub fn everything(&self) -> Everything {
        let findings = self.repo.findings(&self.worktree);
        let mut disk = Vec::new();
        list(&self.worktree, Path::new(""), &mut disk);
        disk.sort();
        if self.is_clone() {
            disk.retain(|line| !is_gits(line));
        }
        let script = "
            git status --porcelain=v2 --branch --ignored=no; git diff --binary; git diff --cached --binary
            git stash list; git log --format='%H %s' -9; git reflog show HEAD
            git ls-files -s -v -z | tr '\\0' '\\n'; git ls-files -u; git config --worktree -l
            git for-each-ref refs/heads refs/worktree refs/bisect; cat \"$(git rev-parse --git-dir)/HEAD\"
            cd \"$(git rev-parse --git-dir)\"; find . -path ./objects -prune -o -type f ! -name index ! -name chained -print | sort; cat agentwt/journal
            if test -e gitdir; then cat gitdir; else git for-each-ref; cat config; git fsck --no-dangling --no-progress 2>&1; fi
            git reflog show agentwt/task 2>/dev/null || :
        ";
        Everything {
            disk: disk.join("\n"),
            git: self.sh(script),
            findings,
        }
    }

    /// Removes it with its work; where it was saved.
    #[track_caller]
    pub fn remove(&self, more: &[&str]) -> String {
        let said = self.agentwt(&[&["remove", "task", "--force"], more].concat());
        let saved = said.ok();
        assert!(!self.worktree.exists(), "it is gone");
        let record = self.repo.main().join(".git/agentwt/worktrees/task");
        assert!(!record.exists(), "the record is gone");
        saved
    }

    /// Waits until the ignored files of all that is in the trash are deleted.
    pub fn wait_for_the_background(&self) {
        let is_busy = "for one in .git/agentwt/trash/*/; do
            [ ! -e \"$one/record.toml\" ] || [ -e \"$one/trimmed\" ] || echo \"$one\"; done
            ls .git/agentwt/locks 2>/dev/null; true";
        wait_until("the trash holds no ignored files", || {
            self.repo.sh(self.repo.main(), is_busy).stdout.is_empty()
        });
    }

    /// That it goes, and comes back with everything; what the undoing said.
    #[track_caller]
    pub fn goes_and_comes_back(&self, more: &[&str]) -> Said {
        let before = self.everything();
        let removed = self.remove(more);
        let said = self.agentwt(&["remove", "--undo", "task"]);
        assert_eq!(said.status, 0, "{said}");
        self.is_as(&before, &format!("{removed}\n{said}"));
        let fsck = self.repo.git(&["fsck", "--no-dangling", "--no-progress"]);
        assert_eq!(fsck, "");
        said
    }

    #[track_caller]
    pub fn is_as(&self, before: &Everything, said: &str) {
        let now = self.everything();
        assert_eq!(now.disk, before.disk, "{said}");
        assert_eq!(now.git, before.git, "{said}");
        assert_eq!(now.findings, before.findings, "{said}");
    }
}

/// Whether a line is of what git keeps by content, or writes anew whenever it looks.
fn is_gits(line: &str) -> bool {
    // and what a hook of ours found out for the others of one command
    let gits = [".git/objects/", ".git/index|", ".git/agentwt/users|"];
    gits.iter().any(|start| line.starts_with(start))
}

/// Lists what stands at a path and below it, with all permissions and the content.
#[track_caller]
fn list(root: &Path, path: &Path, found: &mut Vec<String>) {
    use std::os::unix::fs::PermissionsExt;
    let file = root.join(path);
    let metadata = std::fs::symlink_metadata(&file).expect("it is there");
    let kind = if metadata.is_symlink() {
        let text = std::fs::read_link(&file).expect("a link");
        let text = text.as_os_str().as_encoded_bytes().escape_ascii();
        format!("link {text}")
    } else if metadata.is_dir() {
        for entry in std::fs::read_dir(&file).expect("a directory") {
            let name = entry.expect("an entry").file_name();
            list(root, &path.join(name), found);
        }
        format!("directory {:o}", metadata.permissions().mode())
    } else {
        let bytes = std::fs::read(&file).expect("a file");
        let text = bytes.escape_ascii();
        format!("{:o} {text}", metadata.permissions().mode())
    };
    let path = path.as_os_str().as_encoded_bytes().escape_ascii();
    found.push(format!("{path}|{kind}"));
}
