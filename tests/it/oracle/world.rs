//! The repository in which operations are performed, and what is known from having performed
//! them: which commits are upstream's.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::ops::Op;
use crate::support::TestRepo;

/// What the files of the base hold; [`Op::Write`] writes one of these.
const CONTENTS: [&str; 3] = [
    "one\ntwo\nthree\nfour\nfive\n",
    "one\nTWO\nthree\nfour\nfive\n",
    "one\ntwo\nthree\nfour\nFIVE\n",
];

pub struct World {
    pub repo: TestRepo,
    pub worktree: PathBuf,
    /// The private git directory.
    pub admin: PathBuf,
    pub base: String,
    /// Every place main has been at, by the user's doing.
    pub upstream: Vec<String>,
    /// What branches named when the worktree was made.
    pub foreign: Vec<String>,
}

impl World {
    pub fn new() -> Self {
        let repo = TestRepo::empty();
        repo.write(".gitignore", "build/\n*.log\n.agentwt/\n");
        for path in [
            "src/a.rs",
            "src/d/b.rs",
            "tests/t.rs",
            "package.json",
            "README.md",
            "docs/guide.md",
            "docs/d/deep.md",
            "secrets/key",
            "src/secrets/key",
            "tool.sh",
        ] {
            repo.write(path, CONTENTS[0]);
        }
        repo.chmod("tool.sh", 0o755);
        symlink("README.md", repo.main().join("link")).expect("a link");
        let first = repo.commit_all("first");
        repo.git(&["checkout", "-q", "-b", "topic"]);
        repo.write("docs/topic", "topic\n");
        repo.write("src/a.rs", CONTENTS[2]);
        let topic = repo.commit_all("topic");
        repo.git(&["checkout", "-q", "main"]);
        repo.write("docs/guide.md", "guide\n");
        let base = repo.commit_all("base");
        let arguments = ["task", "--write", "src/**", "--write", "tests/**"];
        let more = ["--write", "/package.json", "--exclude", "**/secrets/**"];
        repo.agentwt(&[&["add"], &arguments[..], &more[..]].concat())
            .ok();
        repo.learn_names("task");
        let worktree = repo.worktree("task");
        Self {
            admin: repo.main().join(".git/worktrees/task"),
            upstream: vec![first, base.clone()],
            foreign: vec![topic, base.clone()],
            base,
            worktree,
            repo,
        }
    }

    /// Performs an operation; the number tells its commits from others.
    pub fn perform(&mut self, number: usize, op: &Op) {
        let message = format!("operation {number}");
        let here = self.worktree.clone();
        match *op {
            Op::Write(path, content) => write(&here, path, CONTENTS[content]),
            Op::Append(path) => {
                let old = fs::read_to_string(here.join(path)).unwrap_or_default();
                write(&here, path, &format!("{old}more\n"));
            }
            Op::Delete(path) => remove(&here.join(path)),
            Op::Rename(from, to) => rename(&here, from, to),
            Op::Chmod(path) => chmod(&here.join(path)),
            Op::Link(path, text) => {
                make_way(&here, path);
                symlink(text, here.join(path)).expect("nothing is in the way");
            }
            Op::Directory(path) => {
                make_way(&here, path);
                fs::create_dir(here.join(path)).expect("nothing is in the way");
            }
            Op::Ignore(file, rule) => self.ignore(file, rule),
            Op::Git(arguments) => self.git(arguments),
            Op::GitPath(arguments, path) => self.git(&[arguments, &[path]].concat()),
            Op::Commit => {
                self.git(&["add", "-A"]);
                self.git(&["commit", "-q", "-m", &message]);
            }
            Op::Amend => {
                self.git(&["add", "-A"]);
                self.git(&["commit", "-q", "--amend", "-m", &message]);
            }
            Op::Continue => {
                self.git(&["add", "-A", "--sparse"]);
                self.in_progress("--continue");
            }
            Op::Abort => self.in_progress("--abort"),
            Op::Cacheinfo(path, content) => {
                let script = "printf %s \"$1\" | git hash-object -w --stdin";
                let mut command = self.repo.command("sh", &here);
                command.args(["-c", script, "sh", CONTENTS[content]]);
                let id = command.output().expect("sh starts").stdout;
                let id = String::from_utf8(id).expect("digits");
                let entry = ["--add", "--cacheinfo", "100644", id.trim(), path];
                self.git(&[&["update-index"], &entry[..]].concat());
            }
            Op::Upstream(path, content) => {
                write(self.repo.main(), path, CONTENTS[content]);
                self.upstream(&["commit", "-q", "-m", &message]);
            }
            Op::UpstreamDelete(path) => {
                remove(&self.repo.main().join(path));
                self.upstream(&["commit", "-q", "-m", &message]);
            }
            Op::UpstreamAmend(path, content) => {
                write(self.repo.main(), path, CONTENTS[content]);
                self.upstream(&["commit", "-q", "--amend", "-m", &message]);
            }
            Op::UpstreamTakesOver => {
                self.upstream(&["merge", "-q", "--no-edit", "agentwt/task"]);
                let _ = self.repo.try_git(self.repo.main(), &["merge", "--abort"]);
            }
        }
    }

    /// Git in the worktree, without hooks; it may refuse.
    fn git(&self, arguments: &[&str]) {
        let all = [&["-c", "core.hooksPath=/dev/null"], arguments].concat();
        let _ = self.repo.try_git(&self.worktree, &all);
    }

    fn in_progress(&self, what: &str) {
        let at = |name: &str| self.admin.join(name).exists();
        if at("rebase-merge") || at("rebase-apply") {
            self.git(&["rebase", what]);
        } else if at("CHERRY_PICK_HEAD") {
            self.git(&["cherry-pick", what]);
        } else if at("REVERT_HEAD") {
            self.git(&["revert", what]);
        } else {
            self.git(&["merge", what]);
        }
    }

    /// Git in the main worktree, on what was written there.
    fn upstream(&mut self, arguments: &[&str]) {
        let main = self.repo.main();
        let _ = self.repo.try_git(main, &["add", "-A", "-f", "--", "."]);
        let _ = self.repo.try_git(main, &["reset", "-q", "--", ".agentwt"]);
        let _ = self.repo.try_git(main, arguments);
        let tip = self.repo.git(&["rev-parse", "main"]);
        if !self.upstream.contains(&tip) {
            self.upstream.push(tip);
        }
    }

    fn ignore(&self, file: &str, rule: &str) {
        let (dir, file) = match file {
            "" => (self.repo.main().join(".git"), "info/exclude"),
            file => (self.worktree.clone(), file),
        };
        let old = fs::read_to_string(dir.join(file)).unwrap_or_default();
        write(&dir, file, &format!("{old}{rule}\n"));
    }
}

fn remove(path: &Path) {
    match path.symlink_metadata() {
        Ok(data) if data.is_dir() => fs::remove_dir_all(path).expect("it is ours"),
        Ok(_) => fs::remove_file(path).expect("it is ours"),
        Err(_) => {}
    }
}

/// Removes what stands at a path, and what stands where its directories should be.
fn make_way(root: &Path, path: &str) {
    for (at, _) in path.match_indices('/') {
        let directory = root.join(&path[..at]);
        if !directory.symlink_metadata().is_ok_and(|data| data.is_dir()) {
            remove(&directory);
            fs::create_dir(&directory).expect("nothing is in the way");
        }
    }
    remove(&root.join(path));
}

fn write(root: &Path, path: &str, text: &str) {
    let executable = root.join(path).symlink_metadata();
    let executable = executable.is_ok_and(|data| data.is_file() && data.mode_has_x());
    make_way(root, path);
    fs::write(root.join(path), text).expect("nothing is in the way");
    if executable {
        chmod(&root.join(path));
    }
}

fn rename(root: &Path, from: &str, to: &str) {
    let is_there = root.join(from).symlink_metadata().is_ok();
    if is_there && !to.starts_with(from) && !from.starts_with(to) {
        make_way(root, to);
        // what had to make way may have been what was to be renamed
        let _ = fs::rename(root.join(from), root.join(to));
    }
}

fn chmod(path: &Path) {
    if let Ok(data) = path.symlink_metadata().as_ref()
        && data.is_file()
    {
        let bits = data.permissions().mode() ^ 0o111;
        fs::set_permissions(path, fs::Permissions::from_mode(bits)).expect("it is ours");
    }
}

trait ModeHasX {
    fn mode_has_x(&self) -> bool;
}

impl ModeHasX for fs::Metadata {
    fn mode_has_x(&self) -> bool {
        self.permissions().mode() & 0o100 != 0
    }
}
