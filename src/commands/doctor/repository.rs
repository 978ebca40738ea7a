//! Checks the settings of the repository, and what git ignores and tracks below `.agentwt`.

use crate::commands::doctor::answer::{DoctorCheck, Repair};
use crate::commands::doctor::context::{DoctorContext, some};
use crate::disk::files;
use crate::words::error::Error;
use crate::words::path::RepoPath;
use crate::worktree::ignore_rules;
use crate::worktree::ignore_rules::{EXCLUDE_RULE, WORKTREES_GITIGNORE_PATH};
use crate::worktree::repository::{CONFIG, WORKTREES};

/// Checks settings of git that break worktrees, and our config.
pub(super) fn settings(context: &DoctorContext<'_>) -> Vec<DoctorCheck> {
    let mut checks = worktree_config(context);
    checks.push(match &context.config {
        Ok(_) => DoctorCheck::ok("config", ".agentwt/config.toml and agentwt.* are valid"),
        Err(fault) => {
            let fix = "correct it; with the line shown: git agentwt scope";
            DoctorCheck::problem("config", fault, fix)
        }
    });
    checks
}

/// Checks, with `extensions.worktreeConfig`, that keys of one worktree are not in the common file
/// (git-worktree(1), "CONFIGURATION FILE"): each linked worktree would be bare, or would work on
/// the files of another.
fn worktree_config(context: &DoctorContext<'_>) -> Vec<DoctorCheck> {
    let mut checks = Vec::new();
    let is_on = common_setting(context, "extensions.worktreeconfig").is_some_and(|on| is_true(&on));
    if is_on {
        let bare = common_setting(context, "core.bare").filter(|bare| is_true(bare));
        let worktree = common_setting(context, "core.worktree");
        for (key, value) in [("core.bare", bare), ("core.worktree", worktree)] {
            checks.extend(value.map(|value| misplaced(context, key, &value)));
        }
    }
    if checks.is_empty() {
        let found = "no key of one worktree is common to all";
        checks.push(DoctorCheck::ok("worktree-config", found));
    }
    checks
}

/// The value of a setting in the common file, which has this scope (git-config(1), `--show-scope`).
fn common_setting(context: &DoctorContext<'_>, key: &str) -> Option<String> {
    let mut settings = context.settings.iter().rev();
    let (_, _, value) = settings.find(|(scope, name, _)| scope == "local" && name == key)?;
    Some(value.to_string())
}

fn is_true(value: &str) -> bool {
    let off = ["false", "no", "off", "0"];
    !off.contains(&value.to_ascii_lowercase().as_str())
}

/// The check that reports a key of one worktree in the common file.
fn misplaced(context: &DoctorContext<'_>, key: &str, value: &str) -> DoctorCheck {
    let file = context.repository.common_dir.join("config");
    let found = format!(
        "{key} stands in the common configuration beside extensions.worktreeConfig: it breaks \
            every linked worktree"
    );
    let fix = format!(
        "git config --file '{file}.worktree' {key} '{value}' && git config --file '{file}' \
            --unset-all {key}"
    );
    DoctorCheck::problem("worktree-config", found, fix)
}

/// Checks what git ignores and tracks below `.agentwt`.
pub(super) fn ignore_rules(context: &DoctorContext<'_>) -> Result<Vec<DoctorCheck>, Error> {
    let repository = context.repository;
    // any name will do: the file need not exist
    let file_of_worktree = format!("{WORKTREES}/task/file");
    let inside = RepoPath::parse(file_of_worktree.as_str()).expect("because it is normal");
    let config = RepoPath::parse(CONFIG).expect("because it is normal");
    let git = repository.git.at(&repository.root);
    let ignored = git.check_ignore(&[&inside, &config])?;
    let directory = WorktreesDirectory {
        exists: files::exists(&repository.root.join(WORKTREES)),
        is_ignored: ignored.contains(&inside),
    };
    let rules = ignore_rules::read(repository)?;
    let mut checks = vec![check_worktrees_ignored(rules, directory)];
    checks.extend(find_tracked_worktrees(context));
    checks.push(if context.index.contains(&config) {
        DoctorCheck::ok("config-file", ".agentwt/config.toml is committed")
    } else if !files::exists(&repository.root.join(CONFIG)) {
        let found = "there is no .agentwt/config.toml";
        DoctorCheck::note("config-file", found, "git agentwt init")
    } else if ignored.contains(&config) {
        DoctorCheck::warning(
            "config-file",
            ".agentwt/config.toml is ignored, so it does not reach other clones",
            "remove the rule that `git check-ignore -v .agentwt/config.toml` names, or git add \
                --force .agentwt/config.toml",
        )
    } else {
        DoctorCheck::note(
            "config-file",
            ".agentwt/config.toml is not committed",
            "git add .agentwt/config.toml && git commit -m 'agentwt: config' .agentwt/config.toml",
        )
    });
    Ok(checks)
}

/// Finds files of worktrees that the index of the main worktree has.
fn find_tracked_worktrees(context: &DoctorContext<'_>) -> Option<DoctorCheck> {
    let directory = format!("{WORKTREES}/");
    let mut tracked = Vec::new();
    for path in &context.index {
        if path.as_bstr().starts_with(directory.as_bytes()) {
            tracked.push(path.to_string());
        }
    }
    if tracked.is_empty() {
        return None;
    }
    let found = format!("git tracks what is in {WORKTREES}: {}", some(&tracked));
    let fix = "git rm -r --cached --ignore-unmatch .agentwt/worktrees && git commit";
    Some(DoctorCheck::problem("tracked", found, fix))
}

/// The directory `.agentwt/worktrees`.
#[derive(Clone, Copy)]
struct WorktreesDirectory {
    exists: bool,
    is_ignored: bool,
}

/// Checks that git ignores `.agentwt/worktrees`, and that both rules are there that see to it: one
/// alone does not last (`worktree/ignore_rules.rs`).
fn check_worktrees_ignored(
    rules: ignore_rules::IgnoreRules,
    directory: WorktreesDirectory,
) -> DoctorCheck {
    if !directory.exists && !directory.is_ignored {
        let found =
            "there is no .agentwt/worktrees yet; init and add write the rules that ignore it";
        return DoctorCheck::ok("ignored", found);
    }
    let mut faults = Vec::new();
    if !rules.exclude_rule {
        faults.push(format!("{EXCLUDE_RULE} is not in info/exclude"));
    }
    if !rules.gitignore {
        faults.push(format!("there is no {WORKTREES_GITIGNORE_PATH}"));
    }
    if faults.is_empty() && directory.is_ignored {
        return DoctorCheck::ok("ignored", "git ignores .agentwt/worktrees");
    }
    if faults.is_empty() {
        return DoctorCheck::problem(
            "ignored",
            "both rules are there, and git does not ignore .agentwt/worktrees",
            "remove the rule that `git check-ignore -v .agentwt/worktrees/x` names: it begins \
                with '!'",
        );
    }
    let missing = faults.join(", and ");
    let fix = "git agentwt doctor --fix";
    let check = if directory.is_ignored {
        let found = format!("{missing}: another rule still ignores .agentwt/worktrees");
        DoctorCheck::warning("ignored", found, fix)
    } else {
        let found = format!("{missing}: `git add -A` would add worktrees");
        DoctorCheck::problem("ignored", found, fix)
    };
    check.fixed_by(Repair::IgnoreRules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_that_is_missing_is_repaired() {
        for (exclude_rule, gitignore, is_ignored, level, fixable) in [
            (true, true, true, "ok", false),
            (false, true, true, "warning", true),
            (true, false, true, "warning", true),
            (false, false, false, "problem", true),
            (true, true, false, "problem", false),
        ] {
            let rules = ignore_rules::IgnoreRules {
                exclude_rule,
                gitignore,
            };
            let directory = WorktreesDirectory {
                exists: true,
                is_ignored,
            };
            let check = check_worktrees_ignored(rules, directory);
            assert_eq!(check.level.as_str(), level);
            assert_eq!(check.repair.is_some(), fixable);
        }
    }
}
