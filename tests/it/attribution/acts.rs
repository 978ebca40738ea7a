//! What each of the three does, one script each: [`ACTS`].

/// Represents somebody who works with the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Actor {
    /// The agent, in its worktree.
    Agent,
    /// The user, in the main worktree.
    User,
    /// A teammate, in a clone that pushes to the remote.
    Upstream,
}

impl Actor {
    /// The name in commits and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::User => "user",
            Self::Upstream => "upstream",
        }
    }
}

/// Says how an act moves refs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By a command that runs hooks and writes logs.
    Plain,
    /// By one that runs no hook here, or writes no log that says what it is.
    Past,
    /// By a fetch.
    Fetch,
    /// By a push.
    Push,
    /// By a command of others that takes over what the agent made, knowingly.
    Takes,
    /// By one that makes git forget logs or objects.
    Forgets,
}

/// Holds one act: who, how, and the script.
pub type Act = (Actor, Way, &'static str);

/// What every script may use: `put` writes a file whose content says who wrote it.
pub const WORDS: &str = r#"put() {
    case $1 in */*) [ -d "${1%/*}" ] || mkdir -p "${1%/*}" ;; esac
    [ ! -e "$1" ] || rm -f "$1"
    echo "$WHO $N" >"$1"
}
work() { put "$1"; git add "$1"; git commit -q -m "$WHO $N"; }
level() { git fetch -q; git reset -q --hard origin/main; }
"#;

use Actor::{Agent as A, Upstream as R, User as U};
use Way::{Fetch, Forgets, Past, Plain, Push, Takes};

/// Every act that a sequence is made of. Those that stand more than once are done more often.
pub const ACTS: &[Act] = &[
    // the agent commits and edits
    (A, Plain, "work src/a"),
    (A, Plain, "work src/a"),
    (A, Plain, "work src/b"),
    (A, Plain, "work src/new"),
    (A, Plain, "work README"),
    (A, Plain, "work docs/x"),
    (A, Plain, "work docs/new"),
    (A, Plain, "put README"),
    (A, Plain, "put src/a; git add src/a"),
    (A, Plain, "git reset -q --hard"),
    (A, Plain, "git rm -q docs/x; git commit -q -m rm"),
    (A, Plain, "put src/a; git commit -q -a --amend -m amend"),
    (A, Plain, "put README; git commit -q -a --amend -m amend"),
    (A, Plain, "git commit -q --amend -m reworded"),
    (A, Plain, "git revert --no-edit HEAD || git revert --abort"),
    // the agent takes over
    (A, Plain, "git merge -q --no-edit main || git merge --abort"),
    (
        A,
        Plain,
        "git merge -q --no-edit origin/main || git merge --abort",
    ),
    (
        A,
        Plain,
        "git merge -q --no-edit -X theirs origin/main || git merge --abort",
    ),
    (A, Plain, "git merge -q --no-edit -s ours main"),
    (A, Plain, "git merge -q --no-edit dev || git merge --abort"),
    (
        A,
        Plain,
        "git merge -q --squash main && git commit -q -m squash || git reset -q --hard",
    ),
    (
        A,
        Plain,
        "git merge -q --squash origin/main && git commit -q -m squash || git reset -q --hard",
    ),
    (A, Plain, "git rebase -q main || git rebase --abort"),
    (A, Plain, "git rebase -q --apply main || git rebase --abort"),
    (A, Plain, "git rebase -q origin/main || git rebase --abort"),
    (
        A,
        Plain,
        "git rebase -q --onto dev $BASE || git rebase --abort",
    ),
    (A, Plain, "git cherry-pick main || git cherry-pick --abort"),
    (
        A,
        Plain,
        "git cherry-pick origin/main || git cherry-pick --abort",
    ),
    (A, Plain, "git cherry-pick dev || git cherry-pick --abort"),
    (A, Plain, "git checkout -q dev -- docs/dev"),
    // the agent goes elsewhere
    (A, Plain, "git reset -q --hard HEAD~"),
    (A, Plain, "git reset -q --soft HEAD~"),
    (A, Plain, "git reset -q --hard $BASE"),
    (A, Plain, "git reset -q --hard main"),
    (A, Plain, "git reset -q --hard origin/main"),
    (A, Plain, "git checkout -q --detach"),
    (A, Plain, "git checkout -q -b side"),
    (A, Plain, "git checkout -q agentwt/task"),
    (A, Plain, "git checkout -q agentwt/task"),
    (A, Plain, "git checkout -q dev"),
    (A, Plain, "git symbolic-ref HEAD refs/heads/dev"),
    (A, Plain, "git symbolic-ref HEAD refs/heads/agentwt/task"),
    // the agent moves refs
    (A, Plain, "git branch side"),
    (A, Plain, "git branch -f side HEAD"),
    (A, Plain, "git branch -f dev HEAD"),
    (A, Plain, "git branch -D side"),
    (A, Plain, "git branch -D dev"),
    (A, Past, "git branch -M side side2"),
    (A, Past, "git branch -M side dev"),
    (A, Past, "git branch -M dev dev2"),
    (A, Past, "git branch -C side dev"),
    (A, Past, "git branch -C agentwt/task copy"),
    (A, Past, "git branch -M agentwt/task renamed"),
    (A, Past, "git push -q . HEAD:refs/heads/y"),
    (A, Past, "git push -q -f . HEAD:dev"),
    (A, Past, "git push -q -f . HEAD:main"),
    (A, Past, "git push -q -f \"$MAIN\" HEAD:refs/heads/z"),
    (A, Past, "git push -q -f \"$MAIN\" HEAD:dev"),
    (A, Plain, "git tag mine"),
    (A, Plain, "git tag -f v1"),
    (A, Plain, "git tag -d mine"),
    (A, Plain, "git tag -d v1"),
    (A, Plain, "git update-ref refs/heads/main HEAD"),
    (A, Plain, "git update-ref refs/heads/u HEAD"),
    (A, Plain, "git update-ref -d refs/heads/dev"),
    (A, Plain, "git update-ref refs/remotes/origin/main HEAD"),
    (
        A,
        Plain,
        "git update-ref refs/remotes/origin/main origin/main~",
    ),
    (
        A,
        Plain,
        "git symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/dev",
    ),
    (A, Plain, "git worktree add -q -b made \"$ROOT/made\""),
    (A, Plain, "cd \"$ROOT/made\" && work README"),
    (A, Plain, "put README; git stash -q"),
    (A, Plain, "put src/a; git stash -q"),
    (A, Plain, "git stash pop -q || git reset -q --hard"),
    (A, Past, "git stash drop -q"),
    // the agent and the remote
    (A, Push, "git push -q origin HEAD:agentwt/task"),
    (A, Push, "git push -q -f -u origin HEAD:agentwt/task"),
    (A, Push, "git push -q -f origin HEAD:x"),
    (A, Push, "git push -q origin HEAD:main"),
    (A, Push, "git push -q -f origin HEAD:dev"),
    (A, Push, "git push -q origin --delete x"),
    (A, Fetch, "git fetch -q"),
    (A, Fetch, "git fetch -q"),
    (A, Fetch, "git fetch -q --prune"),
    (A, Fetch, "git fetch -q --depth 1"),
    (A, Fetch, "git fetch -q --deepen 1"),
    (A, Fetch, "git fetch -q origin main:fetched"),
    (A, Fetch, "git fetch -q . +HEAD:fetched"),
    (A, Fetch, "git fetch -q . +HEAD:dev"),
    (
        A,
        Fetch,
        "git pull -q --rebase origin main || git rebase --abort",
    ),
    (
        A,
        Fetch,
        "git pull -q --no-rebase --no-edit origin main || git merge --abort",
    ),
    (A, Fetch, "git pull -q --ff-only origin main"),
    // what forgets
    (A, Forgets, "git reflog expire --expire=now --all"),
    (A, Forgets, "git gc -q --prune=now"),
    (A, Plain, "git pack-refs --all"),
    (U, Forgets, "git reflog expire --expire=now --all"),
    (U, Forgets, "git gc -q --prune=now"),
    (U, Plain, "git pack-refs --all"),
    // the user
    (U, Plain, "work README"),
    (U, Plain, "work docs/x"),
    (U, Plain, "work src/a"),
    (U, Plain, "put docs/x; git commit -q -a --amend -m amend"),
    (
        U,
        Plain,
        "git merge -q --no-edit origin/main || git merge --abort",
    ),
    (U, Plain, "git merge -q --no-edit dev || git merge --abort"),
    (U, Plain, "git cherry-pick dev || git cherry-pick --abort"),
    (
        U,
        Takes,
        "git merge -q --no-edit agentwt/task || git merge --abort",
    ),
    (
        U,
        Takes,
        "git cherry-pick agentwt/task || git cherry-pick --abort",
    ),
    (
        U,
        Takes,
        "git merge -q --squash agentwt/task && git commit -q -m squash || git reset -q --hard",
    ),
    (U, Plain, "git rebase -q origin/main || git rebase --abort"),
    (U, Plain, "git reset -q --hard HEAD~"),
    (U, Plain, "git branch -f dev main"),
    (U, Plain, "git branch -D dev"),
    (U, Plain, "git branch users"),
    (U, Past, "git branch -M dev dev3"),
    (U, Past, "git branch -C main dev"),
    (U, Past, "git push -q -f . main:dev"),
    (U, Past, "git update-ref refs/heads/dev main"),
    (
        U,
        Plain,
        "git checkout -q dev && { work docs/dev; git checkout -q main; }",
    ),
    (U, Plain, "git checkout -q dev"),
    (U, Plain, "git checkout -q main"),
    (U, Plain, "git worktree add -q --detach ../users-own"),
    (U, Plain, "git tag theirs"),
    (U, Plain, "git tag -f v1"),
    (U, Plain, "git tag -d v1"),
    (U, Plain, "git stash pop -q || git reset -q --hard"),
    (U, Push, "git push -q origin main"),
    (U, Push, "git push -q -f origin main"),
    (U, Push, "git push -q -f origin dev"),
    (U, Fetch, "git fetch -q"),
    (U, Fetch, "git fetch -q --depth 1"),
    (
        U,
        Fetch,
        "git pull -q --rebase origin main || git rebase --abort",
    ),
    (U, Fetch, "git pull -q --ff-only origin main"),
    // upstream
    (R, Push, "level; work docs/x; git push -q"),
    (R, Push, "level; work README; git push -q"),
    (R, Push, "level; work src/b; git push -q"),
    (
        R,
        Push,
        "level; put docs/x; git commit -q -a --amend -m forced; git push -q -f",
    ),
    (R, Push, "level; git reset -q --hard HEAD~; git push -q -f"),
    (
        R,
        Push,
        "level; work docs/topic; git push -q -f origin HEAD:feature",
    ),
    (
        R,
        Push,
        "level; work docs/dev; git push -q -f origin HEAD:dev",
    ),
    (R, Push, "level; git push -q origin --delete dev"),
    (R, Push, "level; git tag -f t; git push -q -f origin t"),
    (
        R,
        Takes,
        "level; git merge -q --squash origin/agentwt/task && git commit -q -m squash && git push -q",
    ),
    (
        R,
        Takes,
        "level; git merge -q --no-edit origin/agentwt/task && git push -q",
    ),
];
