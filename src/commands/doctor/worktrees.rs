//! Checks the worktrees: our hooks and the user's in each, what is left over, as `prune -n` lists
//! it, and what is kept on purpose.

use camino::Utf8PathBuf;

use crate::actions::leftover::{Leftover, LeftoverKind, find};
use crate::actions::trash::list::list;
use crate::answer::worktree::hooks_silent;
use crate::commands::doctor::answer::{DoctorCheck, Repair};
use crate::commands::doctor::context::{DoctorContext, some};
use crate::disk::files;
use crate::git::environment::GitMode;
use crate::git::hooks::status::HooksState;
use crate::git::hooks::worktree_hooks::WorktreeHooks;
use crate::record::worktree::WatchedFile;
use crate::words::error::Error;
use crate::worktree::loaded::{Worktree, hooks_of};
use crate::worktree::repository::Main;

/// The refs of files that were saved before they were replaced.
const RESCUE: &str = "refs/agentwt/rescue/";

/// What the checks of the hooks of all worktrees found.
#[derive(Default)]
struct HooksChecks {
    /// The problems of single worktrees.
    problems: Vec<DoctorCheck>,
    /// The names of worktrees whose hooks are installed.
    installed: Vec<String>,
    /// The names of worktrees without hooks, as asked for.
    unwanted: Vec<String>,
    /// The names of worktrees with a commit at which no hook ran.
    silent: Vec<String>,
    /// The names of worktrees that lack the user's own hooks.
    lacking: Vec<String>,
}

/// Checks the hooks of every worktree that is there.
pub(super) fn hooks(context: &DoctorContext<'_>) -> Vec<DoctorCheck> {
    let mut hooks = HooksChecks::default();
    for worktree in &context.known {
        if files::is_directory(&worktree.record.path) {
            hooks.check(context, worktree);
        }
    }
    let mut checks: Vec<DoctorCheck> = users_hooks(context, &hooks.lacking).into_iter().collect();
    checks.append(&mut hooks.problems);
    if !hooks.silent.is_empty() {
        let found = format!("no hook ran at the last commits of {}", some(&hooks.silent));
        let fix = format!("git agentwt verify {}", hooks.silent.join(" "));
        checks.push(DoctorCheck::warning("hooks-silent", found, fix));
    }
    if let Some(first) = hooks.unwanted.first() {
        let found = format!("without hooks, as asked for: {}", some(&hooks.unwanted));
        let fix = format!("to have them: git agentwt hooks install {first}");
        checks.push(DoctorCheck::note("hooks", found, fix));
    }
    if !hooks.installed.is_empty() {
        let found = format!("installed, and git runs them: {}", some(&hooks.installed));
        checks.push(DoctorCheck::ok("hooks", found));
    }
    checks
}

impl HooksChecks {
    /// Checks the hooks of one worktree, and adds the worktree to the lists that it belongs to.
    fn check(&mut self, context: &DoctorContext<'_>, worktree: &Worktree) {
        let name = &worktree.record.name;
        let hooks = hooks_of(&context.repository.git, &worktree.record);
        let on_violation = Some(worktree.record.on_violation);
        let state = match hooks.and_then(|hooks| hooks.status(on_violation)) {
            Ok(state) => state,
            Err(error) => {
                self.problems.push(DoctorCheck::problem(
                    "hooks",
                    format!("the hooks of {name} cannot be read: {error}"),
                    format!("git agentwt hooks install {name}"),
                ));
                return;
            }
        };
        if lacks_users_hooks(context, worktree, &state.user_directory) {
            self.lacking.push(name.to_string());
        }
        if let Some(problem) = hooks_problem(worktree, &state) {
            self.problems.push(problem);
        } else if state.method.is_none() {
            self.unwanted.push(name.to_string());
        } else {
            self.installed.push(name.to_string());
            if is_silent(context, worktree) {
                self.silent.push(name.to_string());
            }
        }
    }
}

/// The check that says what is wrong with the hooks of a worktree; `None` if nothing is.
fn hooks_problem(worktree: &Worktree, hooks: &HooksState) -> Option<DoctorCheck> {
    let name = &worktree.record.name;
    let install = format!("git agentwt hooks install {name}");
    if hooks.method.is_none() {
        if !were_installed(worktree) {
            return None;
        }
        let found = format!("the hooks of {name} are gone");
        let check = DoctorCheck::problem("hooks", found, install);
        return Some(check.fixed_by(Repair::Hooks(name.clone())));
    }
    if let Some((scope, path)) = &hooks.overridden {
        let found = format!(
            "a core.hooksPath ({scope}) comes before the hooks of {name}: git runs those in {path}"
        );
        let fix = format!("git config --{scope} --unset core.hooksPath, then {install}");
        return Some(DoctorCheck::problem("hooks", found, fix));
    }
    if !hooks.faults.is_empty() {
        let faults = hooks.faults.join("; ");
        let found = format!("the hooks of {name} are not as installed: {faults}");
        let fix = format!("git agentwt verify {name}, and if that was you: {install}");
        return Some(DoctorCheck::problem("hooks", found, fix));
    }
    if let Some((program, false)) = &hooks.binary {
        let found = format!("the hooks of {name} start {program}, which is not there");
        let check = DoctorCheck::problem("hooks-program", found, install);
        return Some(check.fixed_by(Repair::Hooks(name.clone())));
    }
    None
}

/// True if no hook ran at the last commit of a worktree.
fn is_silent(context: &DoctorContext<'_>, worktree: &Worktree) -> bool {
    let repository = worktree.readable_repository(context.repository);
    let git = repository.git.with_mode(GitMode::Hardened);
    let head = git.rev_parse_commit(&worktree.record.branch.full_ref());
    let last = worktree.last_verification();
    hooks_silent(
        worktree,
        head.ok().flatten().as_ref(),
        last.as_ref().map(|last| &last.head),
    )
}

/// True if the record has digests of hooks of ours.
fn were_installed(worktree: &Worktree) -> bool {
    let mut files = worktree.record.integrity.iter();
    files.any(|file| file.file == WatchedFile::HooksBinary && file.digest.is_some())
}

/// True if the directory of the user's hooks is one of the worktree's own and is not there,
/// although the main worktree has it: git then skips the hooks, without a word.
fn lacks_users_hooks(
    context: &DoctorContext<'_>,
    worktree: &Worktree,
    directory: &Utf8PathBuf,
) -> bool {
    let repository = context.repository;
    let Ok(relative) = directory.strip_prefix(&worktree.record.path) else {
        return false;
    };
    repository.main == Main::Worktree
        && files::is_directory(&repository.root.join(relative))
        && !files::is_directory(directory)
}

/// A relative path is one of each worktree (git-config(1), `core.hooksPath`).
fn users_hooks(context: &DoctorContext<'_>, lacking: &[String]) -> Option<DoctorCheck> {
    let (scope, path) = context.setting("core.hookspath")?;
    if WorktreeHooks::is_ours(path.as_str().into()) {
        return None;
    }
    if lacking.is_empty() {
        let found = format!("core.hooksPath is {path} ({scope}): our hooks run beside those there");
        return Some(DoctorCheck::ok("hooks-path", found));
    }
    let found = format!(
        "core.hooksPath is {path} ({scope}), which is not in {}: git skips your hooks there, and \
            says nothing",
        some(lacking)
    );
    let fix = format!(
        "run your hooks' installer there, and add its command to the commands of [setup] (`npm \
            ci` for husky, which creates {path})"
    );
    Some(DoctorCheck::warning("hooks-path", found, fix))
}

/// Lists everything; nothing is removed.
pub(super) fn leftovers(context: &DoctorContext<'_>) -> Result<Vec<DoctorCheck>, Error> {
    let repository = context.repository;
    let now = jiff::Timestamp::now().as_second();
    let mut checks = Vec::new();
    for name in find::all_names(repository)? {
        let leftovers = find::of_name(repository, &name, now)?.all;
        if !leftovers.is_empty() && repository.name_lock(&name).is_held() {
            let found = format!("a command works on {name}");
            checks.push(DoctorCheck::note("in-use", found, ""));
        } else {
            checks.extend(leftovers.into_iter().map(judge));
        }
    }
    let in_trash = list(repository)?;
    let shared = find::shared(repository, &context.known, &in_trash, now)?;
    checks.extend(shared.into_iter().map(judge));
    if checks.is_empty() {
        checks.push(DoctorCheck::ok("leftovers", "nothing is left over"));
    }
    checks.extend(saved(context)?);
    Ok(checks)
}

fn judge(leftover: Leftover) -> DoctorCheck {
    use LeftoverKind::{Claim, Entry, Record, Temporary, Trash};
    let check = leftover.kind.as_str();
    let found = format!("{}: {}", leftover.what, leftover.why);
    if leftover.goes {
        let fix = "git agentwt prune";
        return match leftover.kind {
            Claim | Temporary | Trash => DoctorCheck::note(check, found, fix),
            _ => DoctorCheck::warning(check, found, fix),
        };
    }
    let Some(fix) = leftover.help else {
        return DoctorCheck::note(check, found, "");
    };
    match leftover.kind {
        Claim | Temporary | Trash => DoctorCheck::note(check, found, fix),
        Record => DoctorCheck::problem(check, found, fix),
        // without a directory of ours in it, the entry is that of a plain git worktree
        Entry if !files::is_directory(&leftover.path.join("agentwt")) => {
            DoctorCheck::note(check, found, fix)
        }
        _ => DoctorCheck::warning(check, found, fix),
    }
}

/// What `restore` saved.
fn saved(context: &DoctorContext<'_>) -> Result<Option<DoctorCheck>, Error> {
    let number = context.repository.git.for_each_ref(&[RESCUE])?.len();
    if number == 0 {
        return Ok(None);
    }
    let found = format!("saved files under {RESCUE}: {number}");
    let fix = format!(
        "to see them: git for-each-ref {RESCUE}; one that is not needed: git update-ref -d <ref>"
    );
    Ok(Some(DoctorCheck::note("saved", found, fix)))
}
