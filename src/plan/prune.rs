//! Decides what `prune` removes, and why all else stays; pure.
//!
//! What would lose work is not decided here: a worktree goes by `remove`'s own rules
//! ([`super::remove`]), and what nobody recorded stays.

pub mod select;

/// Holds what the user asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// `--merged`.
    pub merged: bool,
    /// `--dead-owners`.
    pub dead_owners: bool,
    /// `--older-than`, in seconds.
    pub older_than: Option<u64>,
}

/// Says what kind of thing something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What a killed `add` has left.
    Incomplete,
    /// A worktree.
    Worktree,
    /// A record of a worktree.
    Record,
    /// A directory among the worktrees.
    Directory,
    /// Files that were being copied.
    Copies,
    /// A private git directory.
    Entry,
    /// A lock file of ours.
    Lock,
    /// A lock file of git's.
    GitLock,
    /// Removed worktrees that wait to be deleted.
    Deleted,
    /// What was saved of a removed worktree.
    Trash,
    /// What is known here of a claim.
    Claim,
    /// A file that was being written.
    Temporary,
}

impl Kind {
    /// It as a word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Incomplete => "incomplete",
            Self::Worktree => "worktree",
            Self::Record => "record",
            Self::Directory => "directory",
            Self::Copies => "copies",
            Self::Entry => "entry",
            Self::Lock => "lock",
            Self::GitLock => "git-lock",
            Self::Deleted => "deleted",
            Self::Trash => "trash",
            Self::Claim => "claim",
            Self::Temporary => "temporary",
        }
    }
}

/// Says what is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Clear what a killed `add` left, as the next `add` does.
    Clear,
    /// Remove the worktree, if `remove`'s rules allow it.
    Remove,
    /// Remove the record only.
    Forget,
    /// Remove a directory that is empty.
    Unmake,
    /// Remove a directory of ours with all that is in it.
    Delete,
    /// Remove a file of ours.
    Unlink,
}

/// Says what becomes of something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It goes, for this reason.
    Goes(Step, String),
    /// It stays, for this reason; and how to go on, if there is more to do.
    Stays(String, Option<String>),
}

/// Holds one candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// What kind of thing it is.
    pub kind: Kind,
    /// Its name, or its path.
    pub what: String,
    /// What becomes of it.
    pub fate: Fate,
}

/// Says what is recorded of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// Nothing.
    Nothing,
    /// A directory for a record, without one.
    Empty,
    /// An intent: `add` was killed.
    Incomplete,
    /// Something that cannot be read, for this reason.
    Damaged(String),
    /// A whole record, whose worktree's directory is not there.
    Gone,
    /// A whole record of a worktree that plain git made and has removed.
    Forgotten,
    /// A whole record of a worktree whose removal has begun.
    Begun,
    /// A whole record of a worktree that is there.
    There,
}

/// Says what stands where a worktree of a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Nothing.
    Nothing,
    /// An empty directory.
    Empty,
    /// A worktree of this repository.
    Worktree,
    /// A clone that `add` made.
    Clone,
    /// Anything else.
    Other,
}

/// Holds what is there of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameFacts {
    /// The name.
    pub name: String,
    /// What is recorded.
    pub recorded: Recorded,
    /// What stands at its place.
    pub place: Place,
    /// Whether git still has a private directory for it.
    pub entry: bool,
    /// Directories in which files wait to be moved in, below the root.
    pub copies: Vec<String>,
    /// How long ago what is known of a claim on it was written, in seconds, if anything is.
    pub claim: Option<u64>,
}

/// From which age on, in seconds, a lock of git's or an unfinished file is taken for a dead one:
/// git holds none for long, but an editor that waits for a message may.
pub const OLD: u64 = 10 * 60;
/// From which age on nobody waits for a claim any more.
const CLAIM_OLD: u64 = 24 * 3600;

impl Candidate {
    fn goes(kind: Kind, what: &str, step: Step, why: impl Into<String>) -> Self {
        Self {
            kind,
            what: what.to_owned(),
            fate: Fate::Goes(step, why.into()),
        }
    }

    fn stays(kind: Kind, what: &str, why: impl Into<String>, help: Option<String>) -> Self {
        Self {
            kind,
            what: what.to_owned(),
            fate: Fate::Stays(why.into(), help),
        }
    }
}

/// Decides about everything of a name whose lock is ours.
#[must_use]
pub fn of_name(facts: &NameFacts) -> Vec<Candidate> {
    let name = facts.name.as_str();
    let place = format!(".agentwt/worktrees/{name}");
    let mut all = Vec::new();
    match &facts.recorded {
        Recorded::Nothing => all.extend(unrecorded(facts, &place)),
        Recorded::Empty if facts.place == Place::Nothing && !facts.entry => {
            let why = "there is no record in it, and no worktree";
            all.push(Candidate::goes(Kind::Record, name, Step::Forget, why));
        }
        Recorded::Empty => all.push(lost(facts, &place)),
        Recorded::Incomplete => {
            let why = "`add` was killed";
            all.push(Candidate::goes(Kind::Incomplete, name, Step::Clear, why));
        }
        Recorded::Damaged(why) => all.push(damaged(facts, why, &place)),
        Recorded::Gone => {
            let why = "its directory is gone";
            all.push(Candidate::goes(Kind::Worktree, name, Step::Remove, why));
        }
        Recorded::Forgotten => {
            let why = "git has no such worktree any more";
            all.push(Candidate::goes(Kind::Record, name, Step::Forget, why));
        }
        Recorded::Begun => {
            let why = "its removal was interrupted";
            all.push(Candidate::goes(Kind::Worktree, name, Step::Remove, why));
        }
        Recorded::There => {}
    }
    let copies = facts.copies.iter().map(|path| {
        let why = "whoever copied into it was killed";
        Candidate::goes(Kind::Copies, path, Step::Delete, why)
    });
    all.extend(copies);
    all.extend(facts.claim.and_then(|age| claim(facts, age)));
    all
}

/// A record that cannot be read gives no scope and no base: nobody can say what is work there.
fn damaged(facts: &NameFacts, why: &str, place: &str) -> Candidate {
    let name = facts.name.as_str();
    if facts.place == Place::Nothing && !facts.entry {
        let why = format!("{why}, and there is no worktree");
        return Candidate::goes(Kind::Record, name, Step::Forget, why);
    }
    let help = match facts.place {
        Place::Nothing => format!(
            "what was staged may still be in git's index for it: git worktree list; then git worktree remove {place}"
        ),
        Place::Clone | Place::Other => format!(
            "save what is in {place} (git -C {place} status), then rm -r {place} && git agentwt prune"
        ),
        Place::Empty | Place::Worktree => format!(
            "save what is in {place} (git -C {place} status), then git worktree remove --force {place} && git agentwt prune"
        ),
    };
    Candidate::stays(Kind::Record, name, why, Some(help))
}

fn unrecorded(facts: &NameFacts, place: &str) -> Option<Candidate> {
    match facts.place {
        Place::Nothing => None,
        Place::Empty => {
            let why = "it is empty, and nothing is recorded of it";
            Some(Candidate::goes(Kind::Directory, place, Step::Unmake, why))
        }
        Place::Worktree | Place::Clone | Place::Other => Some(lost(facts, place)),
    }
}

/// Something without a record, of which nobody can say that it is ours.
fn lost(facts: &NameFacts, place: &str) -> Candidate {
    match facts.place {
        Place::Worktree => {
            let why = "it is a worktree without a record";
            let help = format!(
                "look at its work (git -C {place} status), then git worktree remove {place}; to verify it: git agentwt hooks install {place}"
            );
            Candidate::stays(Kind::Directory, place, why, Some(help))
        }
        Place::Clone => {
            let why = "it is a clone without a record";
            let help = format!(
                "look at its work (git -C {place} status; git -C {place} log --branches --not --remotes), then rm -r {place}"
            );
            Candidate::stays(Kind::Directory, place, why, Some(help))
        }
        Place::Nothing => {
            let why = "git still has what was staged there";
            let help = "git worktree list; then git worktree prune".to_owned();
            Candidate::stays(Kind::Record, &facts.name, why, Some(help))
        }
        Place::Empty | Place::Other => {
            let why = "nothing is recorded of it, so nobody can say whose it is";
            let help = format!("look at it (ls -A {place}), then move it away or rm -r {place}");
            Candidate::stays(Kind::Directory, place, why, Some(help))
        }
    }
}

/// What is known of a claim only counts for a worktree that is there, or for one who waits for it.
fn claim(facts: &NameFacts, age: u64) -> Option<Candidate> {
    let what = format!("agentwt/claims/{}.toml", facts.name);
    match facts.recorded {
        Recorded::Nothing | Recorded::Empty => {}
        Recorded::Incomplete
        | Recorded::Damaged(_)
        | Recorded::Gone
        | Recorded::Forgotten
        | Recorded::Begun
        | Recorded::There => return None,
    }
    let since = ago(age);
    Some(if age < CLAIM_OLD {
        let why = format!("somebody may wait for the claim: it was written {since} ago");
        Candidate::stays(Kind::Claim, &what, why, None)
    } else {
        let why = format!("no worktree has the name, and it was written {since} ago");
        Candidate::goes(Kind::Claim, &what, Step::Unlink, why)
    })
}

/// Holds a private git directory that leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryFacts {
    /// Its path.
    pub path: String,
    /// What is wrong with it.
    pub fault: super::doctor::leftovers::AdminFault,
    /// Whether our hooks are in it: `add` made it.
    pub ours: bool,
    /// What would go with it that is nowhere else; none when that cannot be told.
    pub work: Option<Work>,
}

/// Says what a private git directory without a worktree holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Nothing that is not elsewhere.
    None,
    /// Something staged, or commits that only its HEAD names.
    Some,
}

/// Decides about a private git directory.
#[must_use]
pub fn of_entry(facts: &EntryFacts) -> Candidate {
    use super::doctor::leftovers::AdminFault;
    let (path, ours) = (facts.path.as_str(), facts.ours);
    let stays = |why: &str, help: String| Candidate::stays(Kind::Entry, path, why, Some(help));
    let (why, by_git) = match &facts.fault {
        AdminFault::Initializing => (
            "`git worktree add` was killed".to_owned(),
            format!("if no git runs here: rm {path}/locked && git worktree prune"),
        ),
        AdminFault::Dangling(worktree) => (
            format!("{worktree} is not there"),
            format!(
                "git worktree prune; or if it was moved: git worktree repair <its new path> ({path})"
            ),
        ),
        AdminFault::NoWorktree => (
            "it names no worktree".to_owned(),
            "git worktree prune".to_owned(),
        ),
    };
    match (ours, facts.work) {
        (false, _) => stays(&format!("{why}, and plain git made it"), by_git),
        (true, Some(Work::None)) => Candidate::goes(Kind::Entry, path, Step::Delete, why),
        (true, Some(Work::Some)) => {
            let why = format!("{why}, but it has staged work, or commits that are nowhere else");
            let help = format!("git --git-dir {path} log -1; git --git-dir {path} diff --cached");
            stays(&why, help)
        }
        (true, None) => stays(&format!("{why}, and it cannot be read"), by_git),
    }
}

/// Holds a lock file of git's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockFacts {
    /// Its path.
    pub path: String,
    /// How old it is, in seconds.
    pub age: u64,
    /// Whether it is for one worktree, branch or ref of ours alone.
    pub ours: bool,
    /// How many gits run here; none where that cannot be told.
    pub gits: Option<usize>,
    /// Whether a process has it open; none where that cannot be told.
    pub open: Option<bool>,
}

/// Decides about a lock file of git's.
#[must_use]
pub fn of_lock(facts: &LockFacts) -> Candidate {
    let path = facts.path.as_str();
    let since = ago(facts.age);
    let stays =
        |why: String, help: Option<String>| Candidate::stays(Kind::GitLock, path, why, help);
    let by_hand = Some(format!("if no git runs here: rm {path}"));
    match (facts.open, facts.gits) {
        (Some(true), _) => stays("a process has it open".to_owned(), None),
        (_, Some(1..)) => stays("a git runs here".to_owned(), None),
        _ if facts.age < OLD => stays(format!("it is only {since} old"), None),
        (None, _) | (_, None) => stays(
            format!("it is {since} old, and this system does not tell whose it is"),
            by_hand,
        ),
        (Some(false), Some(0)) if facts.ours => {
            let why = format!("a git that was killed left it {since} ago");
            Candidate::goes(Kind::GitLock, path, Step::Unlink, why)
        }
        (Some(false), Some(0)) => stays(format!("it is {since} old, and not only ours"), by_hand),
    }
}

/// A length of time, in the largest unit of which there is at least one.
#[must_use]
pub fn ago(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests;
