//! What can happen in a worktree and in the main worktree beside it, as data.

/// Where things happen: what may be written, what may only be read, what is excluded, what the
/// base ignores; each as a file of the base and as a new one.
pub const PATHS: &[&str] = &[
    "src/a.rs",
    "src/d/b.rs",
    "src/new.rs",
    "src/a.log",
    "tests/t.rs",
    "package.json",
    "README.md",
    "docs/guide.md",
    "docs/d/deep.md",
    "docs/new",
    "docs/odd\n\t\"n\\",
    "docs",
    "src/a.rs/below",
    "README.md/below",
    "tool.sh",
    "link",
    "secrets/key",
    "secrets/new",
    "src/secrets/key",
    "trace.log",
    "build/out",
    "-n",
];

/// What main goes on with: everything but the ignore rules, which both sides read.
const UPSTREAM: &[&str] = &[
    "src/a.rs",
    "src/d/b.rs",
    "README.md",
    "docs/guide.md",
    "docs/new",
    "docs/up",
    "secrets/key",
    "secrets/new",
    "tool.sh",
    "trace.log",
];

/// One operation. Whether git refuses it does not matter: what is there afterwards does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Writes one of a few contents, so that states come to be the same again.
    Write(&'static str, usize),
    Append(&'static str),
    Delete(&'static str),
    Rename(&'static str, &'static str),
    /// Turns the executable bit.
    Chmod(&'static str),
    Link(&'static str, &'static str),
    Directory(&'static str),
    /// Adds a line to a file of ignore rules, of the worktree or of the repository.
    Ignore(&'static str, &'static str),
    /// Git in the worktree.
    Git(&'static [&'static str]),
    /// Git in the worktree, with a path.
    GitPath(&'static [&'static str], &'static str),
    /// Stages everything and commits it.
    Commit,
    Amend,
    /// Stages everything and goes on with what is in progress.
    Continue,
    /// Gives up what is in progress.
    Abort,
    /// Puts an entry into the index that is nowhere on disk.
    Cacheinfo(&'static str, usize),
    /// A commit on main, in the main worktree.
    Upstream(&'static str, usize),
    UpstreamDelete(&'static str),
    /// The newest commit of main is replaced by another.
    UpstreamAmend(&'static str, usize),
    /// The user merges the worktree's branch.
    UpstreamTakesOver,
}

const GIT: &[&[&str]] = &[
    &["add", "-A"],
    &["add", "-A", "--sparse"],
    &["add", "-u"],
    &["commit", "-q", "-a", "-m", "all that is tracked"],
    &["commit", "-q", "-m", "what is staged"],
    &["reset", "-q", "--hard"],
    &["reset", "-q", "--hard", "HEAD~"],
    &["reset", "-q", "--soft", "HEAD~"],
    &["reset", "-q", "--mixed", "HEAD~"],
    &["reset", "-q"],
    &["reset", "-q", "--hard", "ORIG_HEAD"],
    &["stash", "-q"],
    &["stash", "-q", "-u"],
    &["stash", "pop", "-q"],
    &["stash", "apply", "-q", "--index"],
    &["merge", "-q", "--no-edit", "main"],
    &["merge", "-q", "--no-edit", "main"],
    &["merge", "-q", "--no-ff", "--no-commit", "main"],
    &["merge", "-q", "--no-edit", "-s", "ours", "main"],
    &["merge", "-q", "--no-edit", "-X", "theirs", "main"],
    &["merge", "-q", "--squash", "main"],
    &["merge", "-q", "--ff-only", "main"],
    &["merge", "-q", "--no-edit", "topic"],
    &["rebase", "-q", "main"],
    &["rebase", "-q", "main"],
    &["rebase", "-q", "--apply", "main"],
    &["rebase", "-q", "-X", "theirs", "main"],
    &["rebase", "-q", "topic"],
    &["cherry-pick", "topic"],
    &["cherry-pick", "main"],
    &["revert", "--no-edit", "HEAD"],
    &["checkout", "-q", "--detach"],
    &["checkout", "-q", "agentwt/task"],
    &["checkout", "-q", "agentwt/task"],
    &["checkout", "-q", "-B", "other"],
    &["checkout", "-q", "topic"],
    &["checkout", "-q", "--detach", "main"],
    &["checkout", "-q", "--orphan", "fresh"],
    &["checkout", "-q", "HEAD~", "--", "."],
    &["checkout", "-q", "main", "--", "."],
    &["sparse-checkout", "disable"],
    &["sparse-checkout", "reapply"],
    &["clean", "-q", "-f", "-d"],
    &["clean", "-q", "-f", "-d", "-x"],
    &["read-tree", "main"],
    &["read-tree", "HEAD"],
    &["restore", "--staged", "--worktree", "."],
];

const GIT_PATH: &[&[&str]] = &[
    &["add", "--"],
    &["add", "-f", "--sparse", "--"],
    &["add", "-N", "--"],
    &["rm", "-q", "--cached", "--"],
    &["rm", "-q", "-r", "-f", "--"],
    &["checkout", "-q", "HEAD", "--"],
    &["checkout", "-q", "main", "--"],
    &["restore", "--"],
    &["reset", "-q", "--"],
    &["commit", "-q", "-m", "one path", "--"],
    &["update-index", "--assume-unchanged", "--"],
    &["update-index", "--skip-worktree", "--"],
    &["update-index", "--no-skip-worktree", "--"],
    &["update-index", "--chmod=+x", "--"],
    &["update-index", "--chmod=-x", "--"],
    &["update-index", "--force-remove", "--"],
];

const RULES: &[&str] = &["*", "docs/", "new*", "!*.log", "/secrets/", "README.md"];

const RULE_FILES: &[&str] = &[".gitignore", "src/.gitignore", "docs/.gitignore", ""];

/// Makes the same choices in every run (xorshift64*).
pub struct Choices(u64);

impl Choices {
    pub const fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let word = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(word).unwrap_or_default() % end
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

impl Op {
    pub fn any(choices: &mut Choices) -> Self {
        let path = choices.one(PATHS);
        match choices.below(40) {
            0..=5 => Self::Write(path, choices.below(3)),
            6 | 7 => Self::Append(path),
            8 => Self::Delete(path),
            9 | 10 => Self::Rename(path, choices.one(PATHS)),
            11 => Self::Chmod(path),
            12 => Self::Link(path, choices.one(&["README.md", "src", "..", "nowhere"])),
            13 => Self::Directory(path),
            14 => Self::Ignore(choices.one(RULE_FILES), choices.one(RULES)),
            15..=18 => Self::Commit,
            19 => Self::Amend,
            20 | 21 => Self::Continue,
            22 => Self::Abort,
            23 => Self::Cacheinfo(path, choices.below(3)),
            24 | 25 => Self::Upstream(choices.one(UPSTREAM), choices.below(3)),
            26 => Self::UpstreamDelete(choices.one(UPSTREAM)),
            27 => Self::UpstreamAmend(choices.one(UPSTREAM), choices.below(3)),
            28 => Self::UpstreamTakesOver,
            29..=32 => Self::GitPath(choices.one(GIT_PATH), path),
            _ => Self::Git(choices.one(GIT)),
        }
    }
}
