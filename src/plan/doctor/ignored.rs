//! Judges what git ignores and tracks below `.agentwt`.

use super::{Diagnosis, Level, Repair, Topic, some};
use crate::worktree::ignore_rules::{EXCLUDE_RULE, IgnoreRules, WORKTREES_GITIGNORE_PATH};

/// Holds what git ignores and tracks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignored {
    /// Our own rules.
    pub rules: IgnoreRules,
    /// `.agentwt/worktrees` itself: without it there is nothing to ignore yet.
    pub worktrees: bool,
    /// Whether git ignores what is in `.agentwt/worktrees`, by whatever rule.
    pub is_ignored: bool,
    /// Paths below `.agentwt/worktrees` in the index of the main worktree.
    pub tracked: Vec<String>,
    /// The config.
    pub config: ConfigFile,
}

/// Says how git has our config.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigFile {
    /// There is none.
    Missing,
    /// It is tracked.
    Tracked,
    /// It is there, and nobody has added it.
    Untracked,
    /// It is there, and ignored.
    Ignored,
}

fn line(check: &'static str, level: Level, found: impl Into<String>) -> Diagnosis {
    Diagnosis::new(Topic::Ignored, check, level, found)
}

/// Judges it.
#[must_use]
pub fn diagnose(ignored: &Ignored) -> Vec<Diagnosis> {
    let mut lines = vec![worktrees(ignored)];
    if !ignored.tracked.is_empty() {
        let found = format!(
            "git tracks what is in .agentwt/worktrees: {}",
            some(&ignored.tracked)
        );
        let fix = "git rm -r --cached --ignore-unmatch .agentwt/worktrees && git commit";
        lines.push(line("tracked", Level::Problem, found).fixed_by(fix));
    }
    lines.push(match ignored.config {
        ConfigFile::Missing => line("config-file", Level::Note, "there is no .agentwt/config.toml")
            .fixed_by("git agentwt init"),
        ConfigFile::Tracked => line("config-file", Level::Ok, ".agentwt/config.toml is committed"),
        ConfigFile::Untracked => {
            line("config-file", Level::Note, ".agentwt/config.toml is not committed").fixed_by(
                "git add .agentwt/config.toml && git commit -m 'agentwt: config' .agentwt/config.toml",
            )
        }
        ConfigFile::Ignored => {
            let found = ".agentwt/config.toml is ignored, so nobody else gets it";
            let fix = "take the rule out that `git check-ignore -v .agentwt/config.toml` names, or git add --force .agentwt/config.toml";
            line("config-file", Level::Warning, found).fixed_by(fix)
        }
    });
    lines
}

/// One rule alone does not last: a branch can hide the file, `git clean -ffd` passes over what
/// the other covers.
fn worktrees(ignored: &Ignored) -> Diagnosis {
    let IgnoreRules {
        exclude_rule,
        gitignore,
    } = ignored.rules;
    let rule = (!exclude_rule).then(|| format!("{EXCLUDE_RULE} is not in info/exclude"));
    let file = (!gitignore).then(|| format!("there is no {WORKTREES_GITIGNORE_PATH}"));
    if !ignored.worktrees && !ignored.is_ignored {
        let found =
            "there is no .agentwt/worktrees yet; init and add write the rules that ignore it";
        return line("ignored", Level::Ok, found);
    }
    let missing: Vec<String> = rule.into_iter().chain(file).collect();
    match (ignored.is_ignored, missing.is_empty()) {
        (true, true) => line("ignored", Level::Ok, "git ignores .agentwt/worktrees"),
        (false, true) => {
            let found = "both rules are there, and git does not ignore .agentwt/worktrees";
            let fix = "take the rule out that `git check-ignore -v .agentwt/worktrees/x` names: it begins with '!'";
            line("ignored", Level::Problem, found).fixed_by(fix)
        }
        (is_ignored, false) => {
            let (level, so) = if is_ignored {
                (Level::Warning, "another rule ignores it still")
            } else {
                (Level::Problem, "`git add -A` would take worktrees in")
            };
            let found = format!("{}: {so}", missing.join(", and "));
            line("ignored", level, found)
                .fixed_by("git agentwt doctor --fix")
                .repaired_by(Repair::IgnoreRules)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_that_is_missing_is_repaired() {
        for (exclude_rule, gitignore, is_ignored, level, repaired) in [
            (true, true, true, Level::Ok, false),
            (false, true, true, Level::Warning, true),
            (true, false, true, Level::Warning, true),
            (false, false, false, Level::Problem, true),
            (true, true, false, Level::Problem, false),
        ] {
            let said = worktrees(&Ignored {
                rules: IgnoreRules {
                    exclude_rule,
                    gitignore,
                },
                worktrees: true,
                is_ignored,
                tracked: Vec::new(),
                config: ConfigFile::Tracked,
            });
            assert_eq!((said.level, said.repair.is_some()), (level, repaired));
        }
    }
}
