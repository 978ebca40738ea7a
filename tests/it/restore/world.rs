//! Gives the tests a worktree with work in scope of every kind, and compares how it was before.

use std::path::{Path, PathBuf};

use crate::support::{Said, TestRepo};

/// Work in scope of every kind: staged, edited on top of that, deleted, new, announced, and a
/// committed one.
const WORK: &str = "
    echo committed >src/done.rs; git add src/done.rs; git commit -qm 'in scope'
    echo staged >>src/main.rs; git add src/main.rs; echo edited >>src/main.rs
    rm tests/t.rs; echo new >src/new.rs; echo later >src/later.rs; git add -N src/later.rs
    echo '{1}' >package.json; git add package.json; chmod +x src/mod/util.rs
";

/// What may be edited.
const IN_SCOPE: &str = "src tests package.json";

/// Represents a repository with the worktree `task`, in which somebody has worked.
pub struct World {
    pub repo: TestRepo,
    pub worktree: PathBuf,
}

/// Holds everything that must come back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Everything {
    pub disk: String,
    pub index: String,
    pub head: String,
}

impl World {
    /// Works in scope only.
    #[track_caller]
    pub fn new() -> Self {
        Self::of(TestRepo::project())
    }

    /// Works in scope only, in a worktree of this repository.
    #[track_caller]
    pub fn of(repo: TestRepo) -> Self {
        let worktree = repo.add("task");
        let world = Self { repo, worktree };
        world.sh(WORK);
        world
    }

    /// Works in scope, then does this.
    #[track_caller]
    pub fn after(script: &str) -> Self {
        let world = Self::new();
        world.sh(script);
        world
    }

    /// Runs lines of sh in the worktree; `$MAIN` is the main one.
    #[track_caller]
    pub fn sh(&self, script: &str) -> String {
        self.repo.script(&self.worktree, script)
    }

    #[track_caller]
    pub fn git(&self, arguments: &[&str]) -> String {
        self.repo.git_in(&self.worktree, arguments)
    }

    /// Runs `restore task` with these arguments, from the main worktree.
    #[track_caller]
    pub fn restore(&self, arguments: &[&str]) -> Said {
        self.repo
            .agentwt(&[&["restore", "task"], arguments].concat())
    }

    /// Every entry on disk with its type, mode and content, the index, and HEAD. Write bits are
    /// git-agentwt's own, and not compared.
    #[track_caller]
    pub fn everything(&self, below: &str) -> Everything {
        let mut disk = Vec::new();
        for top in below.split(' ') {
            list(&self.worktree, Path::new(top), &mut disk);
        }
        disk.sort();
        let disk = disk.join("\n");
        Everything {
            disk,
            index: self.sh(&format!("git ls-files -s -z -- {below} | tr '\\0' '\\n'")),
            head: self.sh("git rev-parse HEAD; git symbolic-ref HEAD || :"),
        }
    }

    /// That a restore leaves no violation and no work in scope touched, and that all is as
    /// before once it is undone. What the restore said.
    #[track_caller]
    pub fn goes_and_comes_back(&self, arguments: &[&str]) -> Said {
        let before = self.everything(".");
        let work = self.everything(IN_SCOPE);
        let violations = self.findings();
        assert!(
            violations.contains("violation"),
            "there is one: {violations}"
        );
        let said = self.restore(arguments);
        assert_eq!(said.status, 0, "{said}");
        let left = self.findings();
        assert!(
            !left.contains(" violation"),
            "{violations}\n{said}\nleft:\n{left}"
        );
        let now = self.everything(IN_SCOPE);
        assert_eq!(now.disk, work.disk, "work in scope stays: {said}");
        assert_eq!(now.index, work.index, "work in scope stays staged: {said}");
        let undone = self.restore(&["--undo"]);
        assert_eq!(undone.status, 0, "{undone}");
        assert_eq!(self.everything("."), before, "{said}\n{undone}");
        let again = self.restore(&[arguments, &["-n"]].concat());
        assert_eq!(again.stdout, said.stdout, "the same is out of scope again");
        said
    }

    /// That nothing at all was changed, and what was said.
    #[track_caller]
    pub fn refuses(&self, status: i32, arguments: &[&str]) -> Said {
        let before = self.everything(".");
        let refs = self.repo.git(&["for-each-ref"]);
        let said = self.restore(arguments);
        assert_eq!(said.status, status, "{said}");
        assert_eq!(self.everything("."), before, "a refusal touches nothing");
        assert_eq!(self.repo.git(&["for-each-ref"]), refs, "no ref is made");
        said
    }

    /// What `verify` finds, as `path kind reason level` lines.
    #[track_caller]
    pub fn findings(&self) -> String {
        self.repo.findings(&self.worktree)
    }
}

/// Lists what stands at a path and below it, with kind and content. In the test itself, because a
/// process for each file is most of the time that these tests take.
#[track_caller]
fn list(root: &Path, path: &Path, found: &mut Vec<String>) {
    use std::os::unix::fs::PermissionsExt;
    let file = root.join(path);
    let is_git = path.file_name().is_some_and(|name| name == ".git");
    let Some(metadata) = std::fs::symlink_metadata(&file).ok().filter(|_| !is_git) else {
        return;
    };
    let kind = if metadata.is_symlink() {
        {
            let text = std::fs::read_link(&file).expect("a link");
            format!(
                "link {}",
                text.as_os_str().as_encoded_bytes().escape_ascii()
            )
        }
    } else if metadata.is_dir() {
        for entry in std::fs::read_dir(&file).expect("a directory") {
            let name = entry.expect("an entry").file_name();
            list(root, &path.join(name), found);
        }
        "directory".to_owned()
    } else if metadata.is_file() {
        let executable = metadata.permissions().mode() & 0o100 != 0;
        let bytes = std::fs::read(&file).expect("a file");
        let text = bytes.escape_ascii();
        format!("{} {text}", if executable { "x" } else { "-" })
    } else {
        "fifo".to_owned()
    };
    found.push(format!(
        "{}|{kind}",
        path.as_os_str().as_encoded_bytes().escape_ascii()
    ));
}

/// What a command said, with the time hidden in a rescue ref.
#[must_use]
pub fn without_time(said: &Said) -> String {
    said.without_times(&["refs/agentwt/rescue/task/"])
}
