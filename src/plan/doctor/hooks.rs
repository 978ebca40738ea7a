//! Judges the hooks: ours in each worktree, and what becomes of the user's there.

use camino::Utf8PathBuf;

use super::{Diagnosis, Level, Repair, Topic, some, words};
use crate::name::WorktreeName;

/// Holds the hooks of all worktrees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllHooks {
    /// The user's `core.hooksPath`, with the scope of the setting.
    pub users: Option<(String, String)>,
    /// Each worktree of ours that is there.
    pub worktrees: Vec<WorktreeHooks>,
}

/// Holds the hooks of one worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorktreeHooks {
    /// The worktree.
    pub name: WorktreeName,
    /// How they are.
    pub state: HooksState,
    /// The program that they start first, if it is gone.
    pub gone: Option<Utf8PathBuf>,
    /// Whether its branch moved without a stored verification.
    pub silent: bool,
    /// The directory of the user's hooks, where it is one of the worktree's own and is not there
    /// although the main worktree has it: git then skips them and says nothing.
    pub users_missing: Option<Utf8PathBuf>,
}

/// Says how hooks are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HooksState {
    /// They are there, and git runs them.
    Installed,
    /// There are none, as was asked for.
    Unwanted,
    /// There are none, although they were installed.
    Gone,
    /// These things are not as installed.
    Altered(Vec<String>),
    /// Another `core.hooksPath` of this scope and directory comes before ours.
    Overridden(String, Utf8PathBuf),
    /// They cannot be looked at.
    Unreadable(String),
}

fn line(check: &'static str, level: Level, found: impl Into<String>) -> Diagnosis {
    Diagnosis::new(Topic::Hooks, check, level, found)
}

/// Judges them.
#[must_use]
pub fn diagnose(hooks: &AllHooks) -> Vec<Diagnosis> {
    let mut lines: Vec<Diagnosis> = users(hooks).into_iter().collect();
    for one in &hooks.worktrees {
        lines.extend(of_worktree(one));
    }
    let all = |is: fn(&WorktreeHooks) -> bool| -> Vec<String> {
        let them = hooks.worktrees.iter().filter(|one| is(one));
        them.map(|one| one.name.to_string()).collect()
    };
    let silent = all(|one| one.silent && one.state == HooksState::Installed);
    if !silent.is_empty() {
        let found = format!("no hook ran at the last commits of {}", some(&silent));
        let fix = format!("git agentwt verify {}", words(&silent));
        lines.push(line("hooks-silent", Level::Warning, found).fixed_by(fix));
    }
    let unwanted = all(|one| one.state == HooksState::Unwanted);
    if !unwanted.is_empty() {
        let found = format!("without hooks, as asked for: {}", some(&unwanted));
        let fix = format!("to have them: git agentwt hooks install {}", unwanted[0]);
        lines.push(line("hooks", Level::Note, found).fixed_by(fix));
    }
    let installed = all(|one| one.state == HooksState::Installed && one.gone.is_none());
    if !installed.is_empty() {
        let found = format!("installed, and git runs them: {}", some(&installed));
        lines.push(line("hooks", Level::Ok, found));
    }
    lines
}

fn of_worktree(one: &WorktreeHooks) -> Vec<Diagnosis> {
    let name = &one.name;
    let install = format!("git agentwt hooks install {name}");
    let mut lines = Vec::new();
    match &one.state {
        HooksState::Installed | HooksState::Unwanted => {}
        HooksState::Gone => {
            let found = format!("the hooks of {name} are gone");
            let line = line("hooks", Level::Problem, found).fixed_by(install.clone());
            lines.push(line.repaired_by(Repair::Hooks(name.clone())));
        }
        HooksState::Altered(faults) => {
            let found = format!(
                "the hooks of {name} are not as installed: {}",
                faults.join("; ")
            );
            let fix = format!("git agentwt verify {name}, and if that was you: {install}");
            lines.push(line("hooks", Level::Problem, found).fixed_by(fix));
        }
        HooksState::Overridden(scope, path) => {
            let found = format!(
                "a core.hooksPath ({scope}) comes before the hooks of {name}: git runs those in {path}"
            );
            let fix = format!("git config --{scope} --unset core.hooksPath, then {install}");
            lines.push(line("hooks", Level::Problem, found).fixed_by(fix));
        }
        HooksState::Unreadable(why) => {
            let found = format!("the hooks of {name} cannot be looked at: {why}");
            lines.push(line("hooks", Level::Problem, found).fixed_by(install.clone()));
        }
    }
    if let (Some(program), HooksState::Installed) = (&one.gone, &one.state) {
        let found = format!("the hooks of {name} start {program}, which is not there");
        let line = line("hooks-program", Level::Problem, found).fixed_by(install);
        lines.push(line.repaired_by(Repair::Hooks(name.clone())));
    }
    lines
}

/// A relative path is one of each worktree (git-config(1), `core.hooksPath`).
fn users(hooks: &AllHooks) -> Option<Diagnosis> {
    let (scope, path) = hooks.users.as_ref()?;
    let missing = hooks
        .worktrees
        .iter()
        .filter(|one| one.users_missing.is_some());
    let missing: Vec<String> = missing.map(|one| one.name.to_string()).collect();
    if missing.is_empty() {
        let found = format!("core.hooksPath is {path} ({scope}): our hooks run beside those there");
        return Some(line("hooks-path", Level::Ok, found));
    }
    let found = format!(
        "core.hooksPath is {path} ({scope}), which is not in {}: git skips your hooks there, and says nothing",
        some(&missing)
    );
    let fix = format!(
        "run your hooks' installer there (`npm install` for husky), or add \"{path}/**\" to the patterns of [worktree.file_sync]"
    );
    Some(line("hooks-path", Level::Warning, found).fixed_by(fix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worktree(state: HooksState) -> WorktreeHooks {
        WorktreeHooks {
            name: WorktreeName::parse("task").expect("it is a name"),
            state,
            gone: None,
            silent: false,
            users_missing: None,
        }
    }

    #[test]
    fn only_what_is_gone_is_repaired() {
        for (state, repairs) in [
            (HooksState::Installed, 0),
            (HooksState::Unwanted, 0),
            (HooksState::Gone, 1),
            (HooksState::Altered(vec!["x".to_owned()]), 0),
            (HooksState::Overridden("command".to_owned(), "/x".into()), 0),
            (HooksState::Unreadable("x".to_owned()), 0),
        ] {
            let lines = of_worktree(&worktree(state.clone()));
            let repaired = lines.iter().filter(|line| line.repair.is_some()).count();
            assert_eq!(repaired, repairs, "{state:?}");
        }
        let mut moved = worktree(HooksState::Installed);
        moved.gone = Some("/old/git-agentwt".into());
        assert!(of_worktree(&moved)[0].repair.is_some());
    }

    #[test]
    fn hooks_of_the_user_that_a_worktree_lacks_are_a_warning() {
        let mut hooks = AllHooks {
            users: Some(("local".to_owned(), ".husky/_".to_owned())),
            worktrees: vec![worktree(HooksState::Installed)],
        };
        assert_eq!(users(&hooks).map(|line| line.level), Some(Level::Ok));
        hooks.worktrees[0].users_missing = Some("/r/.husky/_".into());
        assert_eq!(users(&hooks).map(|line| line.level), Some(Level::Warning));
    }
}
