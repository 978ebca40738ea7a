//! Checks the hooks: ours in each worktree, and the user's there.

use camino::Utf8PathBuf;

use super::{Context, DoctorCheck, Repair, some};
use crate::disk::files;
use crate::git::GitMode;
use crate::git::hooks::Hooks;
use crate::worktree::{Main, WatchedFile, Worktree, hooks_of};

/// Checks the hooks of every worktree that is there.
pub(super) fn hooks(context: &Context<'_>) -> Vec<DoctorCheck> {
    let mut checks = Vec::new();
    let (mut installed, mut unwanted) = (Vec::new(), Vec::new());
    let (mut silent, mut lacking) = (Vec::new(), Vec::new());
    let there = context.known.iter();
    for known in there.filter(|known| files::is_directory(&known.record.path)) {
        let name = &known.record.name;
        let install = format!("git agentwt hooks install {name}");
        let problem = |found: String, fix: String| DoctorCheck::problem("hooks", found, fix);
        let reinstalled = |check: DoctorCheck| check.fixed_by(Repair::Hooks(name.clone()));
        let hooks = hooks_of(&context.repository.git, &known.record);
        let status = match hooks.and_then(|hooks| hooks.status()) {
            Ok(status) => status,
            Err(error) => {
                let found = format!("the hooks of {name} cannot be read: {error}");
                checks.push(problem(found, install));
                continue;
            }
        };
        if lacks_users_hooks(context, known, &status.user_directory) {
            lacking.push(name.to_string());
        }
        match (&status.method, &status.overridden, &status.binary) {
            (None, ..) if were_installed(known) => {
                let found = format!("the hooks of {name} are gone");
                checks.push(reinstalled(problem(found, install)));
            }
            (None, ..) => unwanted.push(name.to_string()),
            (_, Some((scope, path)), _) => {
                let found = format!(
                    "a core.hooksPath ({scope}) comes before the hooks of {name}: git runs those in {path}"
                );
                let fix = format!("git config --{scope} --unset core.hooksPath, then {install}");
                checks.push(problem(found, fix));
            }
            _ if !status.faults.is_empty() => {
                let faults = status.faults.join("; ");
                let found = format!("the hooks of {name} are not as installed: {faults}");
                let fix = format!("git agentwt verify {name}, and if that was you: {install}");
                checks.push(problem(found, fix));
            }
            (_, _, Some((program, false))) => {
                let found = format!("the hooks of {name} start {program}, which is not there");
                let check = DoctorCheck::problem("hooks-program", found, install);
                checks.push(reinstalled(check));
            }
            _ => {
                installed.push(name.to_string());
                silent.extend(is_silent(context, known).then(|| name.to_string()));
            }
        }
    }
    if !silent.is_empty() {
        let found = format!("no hook ran at the last commits of {}", some(&silent));
        let fix = format!("git agentwt verify {}", silent.join(" "));
        checks.push(DoctorCheck::warning("hooks-silent", found, fix));
    }
    if let Some(first) = unwanted.first() {
        let found = format!("without hooks, as asked for: {}", some(&unwanted));
        let fix = format!("to have them: git agentwt hooks install {first}");
        checks.push(DoctorCheck::note("hooks", found, fix));
    }
    if !installed.is_empty() {
        let found = format!("installed, and git runs them: {}", some(&installed));
        checks.push(DoctorCheck::ok("hooks", found));
    }
    users_hooks(context, &lacking)
        .into_iter()
        .chain(checks)
        .collect()
}

/// Whether the record has digests of hooks of ours.
fn were_installed(known: &Worktree) -> bool {
    let mut files = known.record.integrity.iter();
    files.any(|file| file.file == WatchedFile::HooksBinary && file.digest.is_some())
}

/// Whether the branch has a commit that no hook has verified.
fn is_silent(context: &Context<'_>, known: &Worktree) -> bool {
    let own = known.readable_repository(context.repository);
    let git = own.git.with_mode(GitMode::Hardened);
    let head = git.rev_parse_commit(&known.record.branch.full_ref());
    head.ok().flatten().is_some_and(|head| {
        head != known.record.base.commit
            && !known.recorded_refs().is_ok_and(|refs| refs.contains(&head))
            && known.last_verification().map(|last| last.head) != Some(head)
    })
}

/// Whether the directory of the user's hooks is one of the worktree's own and is not there, although
/// the main worktree has it: git then skips the hooks, without a word.
fn lacks_users_hooks(context: &Context<'_>, known: &Worktree, directory: &Utf8PathBuf) -> bool {
    let repository = context.repository;
    let relative = directory.strip_prefix(&known.record.path);
    relative.is_ok_and(|relative| {
        repository.main == Main::Worktree
            && files::is_directory(&repository.root.join(relative))
            && !files::is_directory(directory)
    })
}

/// A relative path is one of each worktree (git-config(1), `core.hooksPath`).
fn users_hooks(context: &Context<'_>, lacking: &[String]) -> Option<DoctorCheck> {
    let (scope, path) = context.setting("core.hookspath")?;
    if Hooks::is_ours(path.as_str().into()) {
        return None;
    }
    if lacking.is_empty() {
        let found = format!("core.hooksPath is {path} ({scope}): our hooks run beside those there");
        return Some(DoctorCheck::ok("hooks-path", found));
    }
    let found = format!(
        "core.hooksPath is {path} ({scope}), which is not in {}: git skips your hooks there, and says nothing",
        some(lacking)
    );
    let fix = format!(
        "run your hooks' installer there (`npm install` for husky), or add \"{path}/**\" to the patterns of [worktree.file_sync]"
    );
    Some(DoctorCheck::warning("hooks-path", found, fix))
}
