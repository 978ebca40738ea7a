//! Judges what was left behind: by an `add` that was killed, by git, by hand.
//!
//! Nothing of it is repaired here: `git agentwt prune` removes remains, `add` and `remove` go on
//! with what they began, and a lock of git's is the user's to remove.

use super::{Diagnosis, Level, Topic, some, word, words};
use crate::worktree::leftover::OLD;

/// Holds what was left behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// Names whose `add` began and did not end; whether a process of its number runs.
    pub incomplete: Vec<(String, Runs)>,
    /// Names whose directory is gone.
    pub missing: Vec<String>,
    /// Names whose record cannot be read, and why.
    pub damaged: Vec<(String, String)>,
    /// Names of worktrees whose record was removed.
    pub lost: Vec<String>,
    /// What stands in `.agentwt/worktrees` and is nobody's.
    pub unrecorded: Vec<(String, Stray)>,
    /// Directories in which files waited to be moved in.
    pub placing: Vec<String>,
    /// How many entries wait in `.agentwt/worktrees/.deleted` to be deleted.
    pub trash: usize,
    /// Private git directories that lead nowhere.
    pub admin: Vec<(String, AdminFault)>,
    /// Lock files of git's, with their age in seconds.
    pub locks: Vec<(String, u64)>,
    /// How many gits run in this repository; none where processes cannot be looked at.
    pub gits: Option<usize>,
    /// Branches that `add` would name so and that have no record, with that name.
    pub branches: Vec<(String, String)>,
    /// What was saved before something was removed or replaced.
    pub saved: Vec<Saved>,
}

/// Says whether a process runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// One of that number does.
    Maybe,
    /// None does.
    No,
}

/// Says what a directory without a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stray {
    /// A worktree of plain git's.
    Worktree,
    /// An empty directory.
    Empty,
    /// Anything else.
    Other,
}

/// Says what is wrong with a private git directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdminFault {
    /// `git worktree add` was killed: it is locked as "initializing", and git never prunes it.
    Initializing,
    /// Its worktree is not at this path.
    Dangling(String),
    /// It names no worktree.
    NoWorktree,
}

/// Holds refs that keep saved work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// The namespace: `refs/agentwt/rescue`.
    pub below: &'static str,
    /// How many.
    pub count: usize,
    /// The time of the oldest, as its name has it.
    pub oldest: String,
}

fn line(check: &'static str, level: Level, found: impl Into<String>) -> Diagnosis {
    Diagnosis::new(Topic::Leftovers, check, level, found)
}

/// Judges it.
#[must_use]
pub fn diagnose(all: &Leftovers) -> Vec<Diagnosis> {
    let mut lines = records(all);
    lines.extend(directories(all));
    lines.extend(all.admin.iter().map(admin));
    lines.extend(
        all.locks
            .iter()
            .map(|(path, age)| lock(path, *age, all.gits)),
    );
    if lines.is_empty() {
        lines.push(line("leftovers", Level::Ok, "nothing was left behind"));
    }
    lines.extend(kept(all));
    lines
}

fn records(all: &Leftovers) -> Vec<Diagnosis> {
    let mut lines = Vec::new();
    for (name, runs) in &all.incomplete {
        lines.push(match runs {
            Runs::Maybe => line(
                "incomplete",
                Level::Note,
                format!("`add` of {name} is running"),
            ),
            Runs::No => line(
                "incomplete",
                Level::Warning,
                format!("`add` of {name} was killed"),
            )
            .fixed_by(format!(
                "git agentwt add {name}, with the options it had; or to clear it: git agentwt prune"
            )),
        });
    }
    if !all.missing.is_empty() {
        let found = format!("the directory is gone of {}", some(&all.missing));
        let fix = format!("git agentwt remove {}", words(&all.missing));
        lines.push(line("missing", Level::Warning, found).fixed_by(fix));
    }
    for (name, why) in &all.damaged {
        let found = format!("the record of {name} cannot be read: {why}");
        let fix = format!(
            "save what is in .agentwt/worktrees/{name}, remove it (git worktree remove --force .agentwt/worktrees/{name}), then git agentwt prune"
        );
        lines.push(line("damaged", Level::Problem, found).fixed_by(fix));
    }
    if !all.lost.is_empty() {
        let found = format!(
            "the record was removed of {}: nothing can be verified",
            some(&all.lost)
        );
        let fix = format!(
            "look at its work first (git -C .agentwt/worktrees/{0} status), then git worktree remove .agentwt/worktrees/{0}; where the directory is gone: git agentwt prune",
            all.lost[0]
        );
        lines.push(line("lost", Level::Problem, found).fixed_by(fix));
    }
    lines
}

fn directories(all: &Leftovers) -> Vec<Diagnosis> {
    let mut lines = Vec::new();
    for (name, stray) in &all.unrecorded {
        let path = word(&format!(".agentwt/worktrees/{name}"));
        lines.push(match stray {
            Stray::Worktree => {
                let found = format!("{path} is a worktree that `git agentwt add` did not make");
                let fix = format!(
                    "to verify it: git agentwt hooks install {path}; or git worktree remove {path}"
                );
                line("unrecorded", Level::Note, found).fixed_by(fix)
            }
            Stray::Empty => {
                let found = format!("{path} is empty, and nothing is recorded of it");
                line("unrecorded", Level::Warning, found).fixed_by("git agentwt prune")
            }
            Stray::Other => {
                let found = format!("{path} is no worktree, and nothing is recorded of it");
                let fix = format!("look at it (ls -A {path}), then move it away or rm -r {path}");
                line("unrecorded", Level::Warning, found).fixed_by(fix)
            }
        });
    }
    if !all.placing.is_empty() {
        let found = format!(
            "files that were being copied were left in {}",
            some(&all.placing)
        );
        lines.push(line("placing", Level::Warning, found).fixed_by("git agentwt prune"));
    }
    if all.trash > 0 {
        let found = format!(
            ".agentwt/worktrees/.deleted holds {} removed, not yet deleted",
            all.trash
        );
        lines.push(line("trash", Level::Note, found).fixed_by("git agentwt prune"));
    }
    lines
}

fn admin((path, fault): &(String, AdminFault)) -> Diagnosis {
    let shown = word(path);
    match fault {
        AdminFault::Initializing => {
            let found = format!(
                "{path} is locked as \"initializing\": `git worktree add` was killed, and git never prunes it"
            );
            let fix = format!("if no git runs here: rm {shown}/locked && git worktree prune");
            line("git-worktree", Level::Warning, found).fixed_by(fix)
        }
        AdminFault::Dangling(worktree) => {
            let found = format!("{path} belongs to {worktree}, which is not there");
            let fix = "git worktree prune; or if it was moved: git worktree repair <its new path>";
            line("git-worktree", Level::Note, found).fixed_by(fix)
        }
        AdminFault::NoWorktree => {
            let found = format!("{path} names no worktree: other gits may fail on it");
            line("git-worktree", Level::Warning, found).fixed_by("git worktree prune")
        }
    }
}

fn lock(path: &str, age: u64, gits: Option<usize>) -> Diagnosis {
    let shown = match age {
        0..60 => format!("{age} s"),
        60..7200 => format!("{} min", age / 60),
        _ => format!("{} h", age / 3600),
    };
    let found = format!("{path} is {shown} old");
    match gits {
        Some(1..) => line("lock", Level::Note, format!("{found}, and a git runs here"))
            .fixed_by("let it end"),
        Some(0) | None if age < OLD => {
            line("lock", Level::Note, found).fixed_by("look again later")
        }
        Some(0) => line(
            "lock",
            Level::Warning,
            format!("{found}, and no git runs here"),
        )
        .fixed_by(format!("rm {}", word(path))),
        None => line("lock", Level::Warning, found)
            .fixed_by(format!("if no git runs here: rm {}", word(path))),
    }
}

/// What is kept on purpose.
fn kept(all: &Leftovers) -> Vec<Diagnosis> {
    let mut lines = Vec::new();
    if let Some((branch, name)) = all.branches.first() {
        let names: Vec<String> = all
            .branches
            .iter()
            .map(|(branch, _)| branch.clone())
            .collect();
        let found = format!("no worktree is recorded for {}", some(&names));
        let (shown, to_list) = (word(branch), word(name));
        let fix = format!(
            "to go on there: git agentwt add {to_list} -b {shown}; or git branch -d {shown}"
        );
        lines.push(line("branch", Level::Note, found).fixed_by(fix));
    }
    for saved in &all.saved {
        let Saved {
            below,
            count,
            oldest,
        } = saved;
        let found = format!("{count} below {below}, the oldest of {oldest}");
        // what `restore` saved stays until somebody deletes it
        let expires = match *below {
            "refs/agentwt/trash" => "; those that have expired: git agentwt prune",
            _other => "",
        };
        let fix = format!(
            "to see them: git for-each-ref {below}; one that is not needed: git update-ref -d <ref>{expires}"
        );
        lines.push(line("saved", Level::Note, found).fixed_by(fix));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_old_lock_that_nobody_can_hold_is_to_be_removed() {
        for (age, gits, level, removes) in [
            (5, Some(0), Level::Note, false),
            (OLD, Some(0), Level::Warning, true),
            (OLD, Some(1), Level::Note, false),
            (5, Some(1), Level::Note, false),
            (5, None, Level::Note, false),
            (OLD, None, Level::Warning, true),
        ] {
            let line = lock("/r/.git/index.lock", age, gits);
            let fix = line.fix.unwrap_or_default();
            assert_eq!(
                (line.level, fix.contains("rm ")),
                (level, removes),
                "{age} {gits:?}"
            );
        }
    }

    #[test]
    fn an_add_that_may_run_is_left_alone() {
        let of = |runs| {
            records(&Leftovers {
                incomplete: vec![("task".to_owned(), runs)],
                ..Leftovers::default()
            })[0]
                .level
        };
        assert_eq!(of(Runs::Maybe), Level::Note);
        assert_eq!(of(Runs::No), Level::Warning);
    }

    #[test]
    fn nothing_is_said_to_be_left_where_only_kept_work_is() {
        let all = Leftovers {
            saved: vec![Saved {
                below: "refs/agentwt/rescue",
                count: 2,
                oldest: "20260102T030405Z".to_owned(),
            }],
            ..Leftovers::default()
        };
        let levels: Vec<_> = diagnose(&all).iter().map(|line| line.level).collect();
        assert_eq!(levels, [Level::Ok, Level::Note]);
    }
}
