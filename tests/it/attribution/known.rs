//! What the model found, or what the program is known to judge otherwise than the model, in the
//! shortest form: a table of acts and findings. The model says `known:` and the name of a case where
//! it allows for one of these.

use super::acts::{Act, Actor, Way};
use super::world::World;
use super::{CLONES, findings};

const A: Actor = Actor::Agent;
const U: Actor = Actor::User;
const R: Actor = Actor::Upstream;

/// In which clones a case is tried.
const FILES: &[usize] = &[0];
const TABLES: &[usize] = &[1];
const SHALLOW: &[usize] = &[2];
const FILES_AND_TABLES: &[usize] = &[0, 1];
const FILES_TABLES_SHALLOW: &[usize] = &[0, 1, 2];

/// Says what the findings are: a line each, place and level.
enum Finds {
    /// These and no others.
    Exactly(&'static str),
    /// This one too.
    With(&'static str),
    /// None that has this in it.
    Lacks(&'static str),
}

use Finds::{Exactly, Lacks, With};

/// Holds one case.
struct Case {
    name: &'static str,
    /// The numbers of the clones among [`CLONES`].
    clones: &'static [usize],
    acts: &'static [(Actor, &'static str)],
    finds: Finds,
}

const FORGET: &str = "git reflog expire --expire=now --all";
const MAKE_WORKTREE: &str = "git worktree add -q -b made \"$ROOT/made\"";
const PUSH_X: &str = "work src/a; git push -q -f origin HEAD:x";
const DELETE_X: &str = "git push -q origin --delete x";
const RESET_TO_PARENT: &str = "git reset -q --hard HEAD~";
const FORGET_AFTER_RESET: &str = "git reset -q --hard HEAD~; git reflog expire --expire=now --all";

const CASES: &[Case] = &[
    Case {
        name: "a merge of the user that was merged here, and taken back and replaced there",
        clones: FILES_AND_TABLES,
        acts: &[
            (U, "git merge -q --no-edit dev"),
            (A, "git merge -q main"),
            (U, RESET_TO_PARENT),
            (U, "put docs/x; git commit -q -a --amend -m amend"),
        ],
        finds: Exactly("docs/dev 2\n"),
    },
    Case {
        name: "a push past the hooks that the user merged, where the logs are gone",
        clones: FILES_AND_TABLES,
        acts: &[
            (A, "git rm -q docs/x; git commit -q -m rm"),
            (A, "git push -q -f \"$MAIN\" HEAD:dev"),
            (A, FORGET),
            (U, "git merge -q --no-edit dev"),
        ],
        finds: Exactly(""),
    },
    Case {
        name: "a merge that drops what main changed, where HEAD left the branch for an older one",
        clones: FILES_AND_TABLES,
        acts: &[
            (U, "work docs/x"),
            (A, "git cherry-pick dev"),
            (A, "git merge -q --no-edit -s ours main"),
            (A, "git symbolic-ref HEAD refs/heads/dev"),
        ],
        finds: With("docs/x 2"),
    },
    Case {
        name: "a reset of main to where the worktree went",
        clones: FILES,
        acts: &[(U, RESET_TO_PARENT), (A, "git reset -q --hard main")],
        finds: Exactly(""),
    },
    Case {
        name: "a branch that the user made again where the worktree went back to",
        clones: FILES_AND_TABLES,
        acts: &[
            (A, "git branch -D dev"),
            (U, RESET_TO_PARENT),
            (U, "git branch -f dev main"),
            (A, RESET_TO_PARENT),
        ],
        finds: Exactly("@git/config 1\n@git/refs/heads/dev 1\n"),
    },
    Case {
        name: "a merge of the user that failed on main where the agent had moved it",
        clones: FILES_AND_TABLES,
        acts: &[
            (A, "work README"),
            (U, FORGET),
            (A, "git update-ref refs/heads/main HEAD"),
            (U, "git merge -q --no-edit dev || git merge --abort"),
        ],
        finds: With("README 2"),
    },
    Case {
        name: "a branch of here whose log lost its beginning, moved by a fetch",
        clones: FILES_AND_TABLES,
        acts: &[
            (A, "git fetch -q . +HEAD:fetched"),
            (U, FORGET),
            (A, "git commit -q --amend --allow-empty -m amend"),
            (A, "git fetch -q . +HEAD:fetched"),
        ],
        finds: Lacks("@git/refs/heads/fetched 2"),
    },
    Case {
        name: "a move to the same place",
        clones: FILES,
        acts: &[
            (U, "work README"),
            (A, "git update-ref refs/heads/main main"),
        ],
        finds: Exactly(""),
    },
    Case {
        name: "a push of what is there",
        clones: FILES,
        acts: &[
            (A, "git push -q origin HEAD:main"),
            (U, "work docs/x; git push -q origin main"),
        ],
        finds: Exactly(""),
    },
    Case {
        name: "a push to the branch of another",
        clones: FILES,
        acts: &[(A, "git push -q -f origin HEAD:dev")],
        finds: Exactly("@git/refs/remotes/origin/dev 2\n"),
    },
    Case {
        name: "a log that was made to forget a push",
        clones: FILES_AND_TABLES,
        acts: &[(A, "git push -q -f origin HEAD:dev"), (A, FORGET)],
        finds: Exactly("@git/refs/remotes/origin/dev 2\n"),
    },
    Case {
        name: "a branch that was made here and its log forgot",
        clones: FILES,
        acts: &[
            (A, "git checkout -q -b side"),
            (A, FORGET),
            (A, "work src/a"),
        ],
        finds: Exactly("@git/refs/heads/side 1\n@head 1\n"),
    },
    Case {
        name: "a branch that was made here twice",
        clones: FILES,
        acts: &[
            (
                A,
                "git checkout -q -b side; work src/a; git checkout -q agentwt/task",
            ),
            (A, "git branch -D side; work src/b; git branch side"),
        ],
        finds: Exactly("@git/refs/heads/side 1\n"),
    },
    Case {
        name: "a branch that was pushed twice",
        clones: FILES,
        acts: &[(A, PUSH_X), (A, DELETE_X), (A, PUSH_X)],
        finds: Exactly("@git/refs/remotes/origin/x 1\n"),
    },
    Case {
        name: "a branch of others that was deleted and pushed again",
        clones: FILES,
        acts: &[
            (R, "level; work docs/x; git push -q origin HEAD:x"),
            (U, "git fetch -q"),
            (A, DELETE_X),
            (A, PUSH_X),
        ],
        finds: With("@git/refs/remotes/origin/x 2"),
    },
    Case {
        name: "a copy of the own branch that was deleted",
        clones: FILES,
        acts: &[(A, "git branch -C agentwt/task copy; git branch -D copy")],
        finds: Exactly("@git/refs/heads/copy 2\n"),
    },
    Case {
        name: "a base branch that the worktree rewound",
        clones: FILES,
        acts: &[
            (A, "git update-ref refs/remotes/origin/main origin/main~"),
            (A, RESET_TO_PARENT),
        ],
        finds: With("@head 2"),
    },
    Case {
        name: "work of others as the own branch",
        clones: FILES,
        acts: &[(A, "git reset -q --hard dev")],
        finds: With("docs/dev 2"),
    },
    Case {
        name: "work of others as the own branch while HEAD is elsewhere",
        clones: FILES,
        acts: &[
            (A, "git reset -q --hard dev"),
            (A, "git symbolic-ref HEAD refs/heads/dev"),
        ],
        finds: With("docs/dev 2"),
    },
    Case {
        name: "a staged state of upstream",
        clones: FILES,
        acts: &[(U, "work README"), (A, "git merge -q --squash main")],
        finds: Exactly(""),
    },
    Case {
        name: "a staged state of upstream that went on",
        clones: FILES,
        acts: &[
            (U, "work README"),
            (A, "git merge -q --squash main"),
            (U, "work README"),
        ],
        finds: Exactly(""),
    },
    Case {
        name: "a branch that was pushed to the path of the repository",
        clones: FILES,
        acts: &[
            (A, "work README"),
            (A, "git push -q \"$MAIN\" HEAD:refs/heads/z"),
            (A, RESET_TO_PARENT),
        ],
        finds: With("README 2"),
    },
    Case {
        name: "a renamed branch whose log is gone",
        clones: FILES,
        acts: &[
            (A, "git branch -M agentwt/task renamed"),
            (A, "work src/a"),
            (A, FORGET),
        ],
        finds: Lacks(" 2"),
    },
    Case {
        name: "a reset of main without a log to where the worktree went",
        clones: FILES,
        acts: &[(U, FORGET), (U, RESET_TO_PARENT), (A, RESET_TO_PARENT)],
        finds: Lacks("main 2"),
    },
    Case {
        name: "a move to the place of add before a commit of the user",
        clones: FILES,
        acts: &[
            (A, "git update-ref refs/heads/main HEAD"),
            (U, "work src/a"),
        ],
        finds: Exactly(""),
    },
    Case {
        name: "a push to the path of the repository of what the user took over",
        clones: FILES,
        acts: &[
            (A, "work src/a"),
            (U, "git merge -q --no-edit agentwt/task"),
            (A, "git push -q -f \"$MAIN\" HEAD:dev"),
        ],
        finds: With("@git/refs/heads/dev 1"),
    },
    Case {
        name: "a branch of others that was moved past the hooks and renamed",
        clones: FILES,
        acts: &[
            (A, "work src/a"),
            (A, "git push -q -f \"$MAIN\" HEAD:dev"),
            (A, "git branch -M dev dev2"),
        ],
        finds: With("@git/refs/heads/dev2 1"),
    },
    Case {
        name: "what one of two refs of upstream has that went different ways",
        clones: FILES,
        acts: &[
            (A, "git cherry-pick dev"),
            (U, "git merge -q --no-edit dev"),
            (R, "level; work docs/x; git push -q"),
            (U, "git fetch -q"),
        ],
        finds: Lacks("docs/dev 2"),
    },
    Case {
        name: "a revert of what one of two refs of upstream has",
        clones: FILES,
        acts: &[
            (U, "git merge -q --no-edit dev"),
            (R, "level; work docs/x; git push -q"),
            (U, "git fetch -q"),
            (
                A,
                "git merge -q --no-edit main; git rm -q docs/dev; git commit -q -m rm",
            ),
        ],
        finds: With("docs/dev 2"),
    },
    Case {
        name: "a branch beside HEAD whose work the user took over",
        clones: FILES,
        acts: &[
            (A, "git rm -q docs/x; git commit -q -m rm; git branch side"),
            (
                U,
                "git merge -q --squash agentwt/task; git commit -q -m squash",
            ),
            (A, "git rebase -q main"),
        ],
        finds: Exactly("@git/refs/heads/side 1\n"),
    },
    Case {
        name: "a branch whose first commit git collected",
        clones: FILES,
        acts: &[
            (A, "git branch -M agentwt/task renamed; work src/a"),
            (A, "put src/a; git commit -q -a --amend -m amend"),
            (U, "git gc -q --prune=now"),
        ],
        finds: Exactly("@git/refs/heads/renamed 1\n@head 1\n"),
    },
    Case {
        name: "work in a worktree that was made here and its log forgot",
        clones: FILES_AND_TABLES,
        acts: &[
            (A, MAKE_WORKTREE),
            (A, FORGET),
            (A, "cd \"$ROOT/made\" && work README"),
        ],
        finds: With("README 2"),
    },
    Case {
        name: "work that was pushed to the own branch and its log forgot",
        clones: FILES,
        acts: &[
            (A, "work docs/x; git push -q origin HEAD:agentwt/task"),
            (A, FORGET_AFTER_RESET),
        ],
        finds: With("docs/x 2"),
    },
    Case {
        name: "work that was pushed to another branch and its log forgot",
        clones: FILES,
        acts: &[
            (A, "work docs/x; git push -q origin HEAD:x"),
            (A, FORGET_AFTER_RESET),
        ],
        finds: With("docs/x 2"),
    },
    Case {
        name: "a merge that failed made no commit",
        clones: SHALLOW,
        acts: &[
            (A, "git checkout -q dev -- docs/dev; git merge -q dev"),
            (A, "git fetch -q --depth 1"),
        ],
        finds: With("@git/shallow 1"),
    },
    Case {
        name: "the ends of a fetch whose ref was taken back",
        clones: SHALLOW,
        acts: &[
            (R, "level; git reset -q --hard HEAD~; git push -q -f"),
            (U, "git merge -q --no-edit dev || git merge --abort"),
            (A, "git fetch -q --deepen 1"),
            (A, "git update-ref refs/remotes/origin/main origin/main~"),
        ],
        finds: With("@git/shallow 1"),
    },
    Case {
        name: "a copy of the branch of which no hook and no log tells",
        clones: TABLES,
        acts: &[
            (A, "work docs/x; git branch -C agentwt/task copy"),
            (A, FORGET_AFTER_RESET),
        ],
        finds: With("docs/x 2"),
    },
    Case {
        name: "a move of the branch that the user is on where refs are tables",
        clones: TABLES,
        acts: &[
            (A, "work src/a"),
            (U, FORGET),
            (A, "git update-ref refs/heads/main HEAD"),
        ],
        finds: With("@git/refs/heads/main 2"),
    },
    Case {
        name: "a rename over which others made the branch again",
        clones: FILES_AND_TABLES,
        acts: &[
            (
                A,
                "work src/a; git branch -f dev HEAD; git branch -M dev dev2",
            ),
            (U, "git update-ref refs/heads/dev main"),
        ],
        finds: With("@git/refs/heads/dev2 1"),
    },
    Case {
        name: "what the worktree pulled and pushed where it was",
        clones: FILES_TABLES_SHALLOW,
        acts: &[
            (R, "level; work docs/x; git push -q"),
            (A, "git pull -q --ff-only origin main"),
            (A, "git push -q origin HEAD:main"),
        ],
        finds: Lacks("docs/x"),
    },
    Case {
        name: "a branch that the user took back from under the worktree",
        clones: FILES_AND_TABLES,
        acts: &[
            (A, "git checkout -q dev; work src/a"),
            (U, "git update-ref refs/heads/dev main"),
            (A, "git reset -q --hard"),
        ],
        finds: With("@git/refs/heads/dev 1"),
    },
    Case {
        name: "a branch of others that was renamed at the base",
        clones: TABLES,
        acts: &[
            (A, "git fetch -q . +HEAD:dev"),
            (A, "git symbolic-ref HEAD refs/heads/dev"),
            (A, "git branch -M dev dev2"),
        ],
        finds: With("@head 2"),
    },
    Case {
        name: "a branch of others that was renamed under HEAD, and a merge that does not start",
        clones: TABLES,
        acts: &[
            (A, "git symbolic-ref HEAD refs/heads/dev"),
            (A, "git branch -M dev dev2"),
            (A, "git merge -q --no-edit -s ours main"),
        ],
        finds: Lacks("@git/refs/heads/dev2 2"),
    },
    Case {
        name: "a move of main to where the user had merged the work",
        clones: FILES_AND_TABLES,
        acts: &[
            (A, "work src/a"),
            (U, "git merge -q --no-edit agentwt/task"),
            (A, "git update-ref refs/heads/main HEAD"),
        ],
        finds: Lacks("main 2"),
    },
    Case {
        name: "a pull into a branch of here whose log is gone",
        clones: FILES_AND_TABLES,
        acts: &[
            (A, "git checkout -q -b side; git gc -q --prune=now"),
            (R, "level; work src/b; git push -q"),
            (A, "git pull -q --no-rebase --no-edit origin main"),
        ],
        finds: Exactly("@git/refs/heads/side 1\n@head 1\n"),
    },
    Case {
        name: "a branch of others that was packed here and renamed by the user",
        clones: FILES,
        acts: &[
            (U, "git checkout -q dev; work docs/x"),
            (A, "git pack-refs --all"),
            (U, "git branch -M dev dev3"),
        ],
        finds: Lacks("dev3"),
    },
    Case {
        name: "a commit of the user that was merged here and taken back there",
        clones: FILES_AND_TABLES,
        acts: &[
            (U, "work README"),
            (A, "git merge -q --no-edit main"),
            (U, RESET_TO_PARENT),
        ],
        finds: With("README 2"),
    },
    Case {
        name: "a commit of upstream that was pulled here and taken back there",
        clones: FILES_TABLES_SHALLOW,
        acts: &[
            (R, "level; work README; git push -q"),
            (A, "git pull -q --ff-only origin main"),
            (U, "git push -q -f origin main"),
        ],
        finds: With("README 2"),
    },
    Case {
        name: "work that was pushed to the base branch and taken back there",
        clones: FILES_TABLES_SHALLOW,
        acts: &[
            (A, "work README; git push -q origin HEAD:main"),
            (
                R,
                "level; git reset -q --hard HEAD~; work docs/x; git push -q -f",
            ),
            (U, "git fetch -q"),
        ],
        finds: With("README 2"),
    },
    Case {
        name: "work that the user merged and took back",
        clones: FILES_AND_TABLES,
        acts: &[
            (A, "work README"),
            (U, "git merge -q --no-edit agentwt/task"),
            (U, RESET_TO_PARENT),
        ],
        finds: With("README 2"),
    },
    Case {
        name: "work that the user merged into a commit and took back",
        clones: FILES_AND_TABLES,
        acts: &[
            (A, "work README"),
            (U, "work src/b; git merge -q --no-edit agentwt/task"),
            (U, "git reset -q --hard HEAD~; work docs/x"),
        ],
        finds: With("README 2"),
    },
    Case {
        name: "work onto which main was moved and that the user took back",
        clones: FILES_AND_TABLES,
        acts: &[
            (A, "work README; git update-ref refs/heads/main HEAD"),
            (U, "git reset -q --hard HEAD~; work docs/x"),
        ],
        finds: With("README 2"),
    },
    Case {
        name: "a commit of the user on another branch, onto which work and main were moved",
        clones: FILES_AND_TABLES,
        acts: &[
            (
                U,
                "git checkout -q dev && { work docs/dev; git checkout -q main; }",
            ),
            (A, "git rebase -q --onto dev $BASE"),
            (A, "git update-ref refs/heads/main HEAD"),
        ],
        finds: With("@head 2"),
    },
];

impl Case {
    /// Does the acts in a world as it was in the beginning; returns what is wrong with the findings.
    fn run(&self, world: &World) -> Option<String> {
        world.reset();
        for (at, (who, script)) in self.acts.iter().enumerate() {
            let act: Act = (*who, Way::Plain, script);
            world.does(&act, at + 1);
        }
        let found = findings(world);
        let is_right = match self.finds {
            Exactly(all) => found == all,
            With(one) => found.contains(one),
            Lacks(one) => !found.contains(one),
        };
        (!is_right).then(|| format!("{}:\n{found}", self.name))
    }
}

/// Tries all cases of one kind of clone.
#[track_caller]
fn check(clone: usize) {
    let world = World::new(CLONES[clone]);
    let mut wrong = String::new();
    for case in CASES {
        if case.clones.contains(&clone) {
            wrong.extend(case.run(&world));
        }
    }
    assert_eq!(wrong, "");
}

#[test]
fn where_refs_are_files() {
    check(FILES[0]);
}

#[test]
fn where_refs_are_tables() {
    check(TABLES[0]);
}

#[test]
fn in_a_shallow_clone() {
    check(SHALLOW[0]);
}
