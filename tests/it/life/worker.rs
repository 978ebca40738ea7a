//! A worker: lives the lives of its worktrees, one random act after another.

use std::path::PathBuf;

use super::ledger::{BlobId, Held, blob_id_of};
use super::world::{Answer, Run, World};
use crate::support::{Choices, is_root};

/// Each worker has as many names, which it uses again and again.
pub const NAMES: usize = 2;

/// Every act of a worker, with how often it is chosen.
const ACTS: [(Act, usize); 22] = [
    (Act::Add, 6),
    (Act::EditTracked, 6),
    (Act::NewFile, 6),
    (Act::Ignored, 2),
    (Act::SelfIgnored, 1),
    (Act::Placed, 1),
    (Act::OutOfScope, 2),
    (Act::Stage, 3),
    (Act::Commit, 10),
    (Act::Amend, 2),
    (Act::Stash, 1),
    (Act::OwnBranch, 1),
    (Act::Detach, 1),
    (Act::SwitchBack, 4),
    (Act::Exec, 6),
    (Act::Accept, 4),
    (Act::Restore, 1),
    (Act::Land, 7),
    (Act::Remove, 5),
    (Act::RemoveByForce, 3),
    (Act::Undo, 5),
    (Act::Prune, 2),
];

#[derive(Clone, Copy, Debug)]
enum Act {
    Add,
    EditTracked,
    NewFile,
    Ignored,
    SelfIgnored,
    Placed,
    OutOfScope,
    Stage,
    Commit,
    Amend,
    Stash,
    OwnBranch,
    Detach,
    SwitchBack,
    Exec,
    Accept,
    Restore,
    Land,
    Remove,
    RemoveByForce,
    Undo,
    Prune,
}

/// Represents a worker with what it has done.
pub struct Worker<'w> {
    world: &'w World,
    number: usize,
    choices: Choices,
    /// How many texts it has made.
    texts: usize,
    /// The worktree of the present act.
    name: String,
    directory: PathBuf,
}

impl<'w> Worker<'w> {
    /// Begins with the choices of this seed.
    pub fn new(world: &'w World, number: usize) -> Self {
        let seed = world.seed.wrapping_mul(1000) + number as u64 + 1;
        let mut choices = Choices(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        choices.below(1);
        Self {
            world,
            number,
            choices,
            texts: 0,
            name: String::new(),
            directory: PathBuf::new(),
        }
    }

    /// Acts until the time is over.
    pub fn live(mut self) {
        while !self.world.is_over() {
            self.name = format!("life-{}-{}", self.number, self.choices.below(NAMES));
            self.directory = self.world.repo.worktree(&self.name);
            let act = self.choose();
            self.act(act);
            if self.choices.below(8) == 0 {
                let own = format!("life-{}-", self.number);
                let when = format!("after {act:?}");
                self.world.audit(&when, |name| name.starts_with(&own));
            }
        }
    }

    /// Chooses an act, by how often it is to be chosen.
    fn choose(&mut self) -> Act {
        let total = ACTS.iter().map(|weighed| weighed.1).sum();
        let mut rest = self.choices.below(total);
        for weighed in ACTS {
            if rest < weighed.1 {
                return weighed.0;
            }
            rest -= weighed.1;
        }
        unreachable!("the rest is below the total")
    }

    fn act(&mut self, act: Act) {
        let is_there = self.directory.join(".git").exists();
        // an answer that can only be a refusal is asked for now and then
        let is_bold = self.choices.below(8) == 0;
        match act {
            Act::Add if !is_there || is_bold => self.add(),
            Act::Undo if !is_there || is_bold => self.undo(),
            Act::Add | Act::Undo => {}
            Act::Prune => self.prune(),
            // nothing to do without a worktree
            _ if !is_there && !is_bold => {}
            Act::Remove => self.remove(&["remove"]),
            Act::RemoveByForce => self.remove_by_force(),
            Act::Land => self.land(),
            _ if is_there => self.work(act),
            _ => {}
        }
    }

    fn work(&mut self, act: Act) {
        let tracked = format!("src/worker-{}.txt", self.number);
        let number = self.texts;
        let worker = self.number;
        match act {
            Act::EditTracked => self.write(act, &tracked, Held::Loose),
            Act::NewFile => self.write(act, &format!("src/new-{worker}-{number}.txt"), Held::Loose),
            Act::OutOfScope => self.write(act, &format!("docs/{worker}-{number}.md"), Held::Loose),
            Act::Placed => self.write(act, ".env", Held::Loose),
            Act::Ignored => {
                self.make_directory("target", "");
                self.write(act, &format!("target/{number}"), Held::UntilRemoval);
            }
            Act::SelfIgnored => {
                self.make_directory(".venv", "*\n");
                self.write(act, &format!(".venv/{number}"), Held::Loose);
            }
            Act::Stage => self.stage(),
            Act::Commit => self.commit(),
            Act::Amend => self.amend(),
            Act::Stash => {
                self.git(&["stash", "push", "-q"]);
            }
            Act::OwnBranch => {
                let branch = format!("own-{worker}-{number}");
                self.git(&["switch", "-q", "-c", &branch]);
            }
            Act::Detach => {
                self.git(&["switch", "-q", "--detach"]);
            }
            Act::SwitchBack => self.switch_back(),
            Act::Exec => self.exec(),
            Act::Accept => {
                self.ours(&["accept", &self.name.clone(), "--all"]);
            }
            Act::Restore => {
                self.ours(&["restore", &self.name.clone()]);
            }
            _ => unreachable!("{act:?} needs no worktree"),
        }
    }

    // ---- what an agent does ------------------------------------------------------------------

    /// Makes a text that stands nowhere else.
    fn text(&mut self) -> String {
        self.texts += 1;
        format!("life {} {} {}\n", self.world.seed, self.number, self.texts)
    }

    /// Makes a directory; with a text, that of its `.gitignore`.
    fn make_directory(&self, name: &str, ignored: &str) {
        let directory = self.directory.join(name);
        // the worktree may be gone
        let _ = std::fs::create_dir(&directory);
        if !ignored.is_empty() {
            let _ = std::fs::write(directory.join(".gitignore"), ignored);
        }
    }

    fn write(&mut self, act: Act, path: &str, held: Held) {
        let before = std::fs::read(self.directory.join(path)).unwrap_or_default();
        let text = self.text();
        if !self.world.put(&self.directory, path, &text) {
            return;
        }
        self.world
            .enter(&self.name, path, text, &format!("{act:?}"), held);
        let blob = blob_id_of(&before);
        if self.staged(path).as_ref() != Some(&blob) {
            self.world.ledger.give_up(&blob, "its writer overwrote it");
        }
    }

    /// The blob of a path in the index.
    fn staged(&self, path: &str) -> Option<BlobId> {
        let line = self.git(&["ls-files", "-s", "--", path])?;
        line.split(' ').nth(1).map(ToOwned::to_owned)
    }

    /// Stages the tracked file of the worker; what was staged there before is given up.
    fn stage(&mut self) {
        let path = format!("src/worker-{}.txt", self.number);
        let before = self.staged(&path);
        if self.git(&["add", "--", &path]).is_some() {
            self.give_up_staged(&path, before);
        }
    }

    fn give_up_staged(&self, path: &str, before: Option<BlobId>) {
        let bytes = std::fs::read(self.directory.join(path)).unwrap_or_default();
        let on_disk = blob_id_of(&bytes);
        if let Some(before) = before
            && before != on_disk
            && self.staged(path).as_ref() != Some(&before)
        {
            self.world
                .ledger
                .give_up(&before, "its writer staged another");
        }
    }

    fn commit(&mut self) {
        let path = format!("src/worker-{}.txt", self.number);
        let before = self.staged(&path);
        // half of the commits have only what was staged
        if self.choices.below(2) == 0 && self.git(&["add", "-A"]).is_some() {
            self.give_up_staged(&path, before);
        }
        if self.git(&["commit", "-q", "-m", "work"]).is_some() {
            self.world.ledger.commit(&self.blobs_of_head());
        }
    }

    /// Replaces the last commit, if it is the worktree's own.
    fn amend(&mut self) {
        let own = self.git(&["rev-list", "-1", "HEAD", "^main"]);
        if own.is_none_or(|own| own.is_empty()) {
            return;
        }
        let path = format!("src/worker-{}.txt", self.number);
        let replaced = self.blobs_of_head();
        let before = self.staged(&path);
        if self.git(&["add", "--", "src"]).is_some() {
            self.give_up_staged(&path, before);
        }
        if self
            .git(&["commit", "-q", "--amend", "-m", "amended"])
            .is_some()
        {
            let blobs = self.blobs_of_head();
            self.world.ledger.replace_commit(&replaced);
            self.world.ledger.commit(&blobs);
        }
    }

    /// Goes back to the branch of the worktree: a commit of a detached HEAD stays in the reflog.
    fn switch_back(&mut self) {
        let left = self.git(&["rev-list", "HEAD", "--not", "--branches"]);
        let mut blobs = Vec::new();
        for commit in left.unwrap_or_default().lines() {
            blobs.extend(self.blobs_of(commit));
        }
        let branch = format!("agentwt/{}", self.name);
        if self.git(&["switch", "-q", &branch]).is_some() {
            self.world.ledger.replace_commit(&blobs);
        }
    }

    fn blobs_of_head(&self) -> Vec<BlobId> {
        self.blobs_of("HEAD")
    }

    /// The blobs that a commit brought.
    fn blobs_of(&self, commit: &str) -> Vec<BlobId> {
        let words = ["diff-tree", "--no-commit-id", "-r", "--root", commit];
        let lines = self.git(&words).unwrap_or_default();
        let ids = lines.lines().filter_map(|line| line.split(' ').nth(3));
        ids.map(ToOwned::to_owned).collect()
    }

    fn git(&self, words: &[&str]) -> Option<String> {
        self.world.git(&self.name, &self.directory, words)
    }

    /// Lets a command in a fence write a text, commit it, and write another over it.
    fn exec(&mut self) {
        let fence = self.choices.one(&["none", "landlock"]);
        let path = format!("src/exec-{}-{}.txt", self.number, self.texts);
        let first = self.text();
        let second = self.text();
        let script = "printf '%s\\n' \"$2\" >\"$1\" && echo wrote 1
            git add -- \"$1\" && git commit -qm exec && echo committed
            printf '%s\\n' \"$3\" >\"$1\" && echo wrote 2";
        let name = self.name.clone();
        let option = format!("--fence={fence}");
        let mut words = vec!["exec", &name, &option];
        if is_root() {
            words.push("--allow-root");
        }
        words.extend(["--", "sh", "-c", script, "sh", &path]);
        words.extend([first.trim_end(), second.trim_end()]);
        let answer = self.ours(&words);
        let act = format!("exec in {fence}");
        let is_overwritten = answer.stdout.contains("wrote 2");
        let is_committed = answer.stdout.contains("committed");
        if answer.stdout.contains("wrote 1") {
            // a killed command may have overwritten it and not said so
            let held = if is_committed {
                Held::Committed
            } else if is_overwritten || answer.status == 137 {
                Held::GivenUp("its writer overwrote it")
            } else {
                Held::Loose
            };
            self.world.enter(&name, &path, first, &act, held);
        }
        if is_overwritten {
            self.world.enter(&name, &path, second, &act, Held::Loose);
        }
    }

    // ---- what its user does ------------------------------------------------------------------

    /// Runs the program; every fourth time it is killed.
    fn ours(&mut self, words: &[&str]) -> Answer {
        let run = match self.choices.below(4) {
            0 => Run::Killed,
            _ => Run::ToItsEnd,
        };
        self.world
            .agentwt(&self.name, words, run, &mut self.choices)
    }

    fn add(&mut self) {
        let name = self.name.clone();
        let strategy = self
            .choices
            .one(&["worktree", "worktree", "worktree", "worktree", "clone"]);
        let answer = self.ours(&["add", &name, "--strategy", strategy]);
        if answer.status == 4 {
            // a branch with work was left: it is taken up, as the refusal says
            let branch = format!("agentwt/{name}");
            self.ours(&["add", &name, "-b", &branch, "--strategy", strategy]);
        }
    }

    fn remove(&mut self, words: &[&str]) {
        let name = self.name.clone();
        let words = [words, &[&name]].concat();
        let answer = self.ours(&words);
        // out of scope, refused, or not there
        let is_left = matches!(answer.status, 1 | 4 | 7);
        if !is_left {
            self.world.ledger.remove_worktree(&name);
        }
    }

    fn remove_by_force(&mut self) {
        let commands: [&[&str]; 3] = [
            &["remove", "--force"],
            &["remove", "-ff"],
            &["remove", "--force", "-D"],
        ];
        let command = self.choices.one(&commands);
        self.remove(command);
    }

    fn land(&mut self) {
        let commands: [&[&str]; 4] = [
            &["land"],
            &["land", "--squash"],
            &["land", "--rebase"],
            &["land", "--keep"],
        ];
        let command = self.choices.one(&commands);
        // what is not committed, or not in scope, is not landed
        if self.choices.below(2) == 0 && self.directory.join(".git").exists() {
            self.switch_back();
            self.commit();
            self.work(Act::Accept);
        }
        self.remove(command);
    }

    fn undo(&mut self) {
        let name = self.name.clone();
        self.ours(&["remove", "--undo", &name]);
    }

    fn prune(&mut self) {
        let run = self
            .choices
            .one(&[Run::ToItsEnd, Run::ToItsEnd, Run::Killed]);
        match self.choices.below(4) {
            0 => {
                let guard = self.world.removing_any.write().expect("no failure");
                self.world
                    .agentwt("main", &["prune", "--merged"], run, &mut self.choices);
                self.world.ledger.remove_any_worktree();
                drop(guard);
            }
            1 => {
                self.world
                    .agentwt("main", &["prune"], run, &mut self.choices);
            }
            _ => {
                self.world.prune_at_once(run, &mut self.choices);
            }
        }
    }
}
